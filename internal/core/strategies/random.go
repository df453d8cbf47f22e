package strategies

// generator generates random numbers with SplitMix64 (Steele, Lea, Flood: Fast Splittable
// Pseudorandom Number Generators, OOPSLA 2014).
type generator struct{ state uint64 }

func (g *generator) seed(seed uint64) { g.state = seed }

func (g *generator) next() uint64 {
	g.state += 0x9E3779B97F4A7C15
	z := g.state
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

// below returns a number from 0 to n-1, for n up to 1<<32. The bias is below n in 2^32.
func (g *generator) below(n uint64) uint64 { return (g.next() >> 32) * n >> 32 }
