package loadandstore

import "sync/atomic"

type Counter struct {
	n, limit int
	list     []int
	counts   map[string]int
	lists    map[string][]string
	next     *Counter
	typed    atomic.Int64
	plain    int64
	flag     atomic.Bool
}

var total int

func increments(c *Counter, k string) {
	c.n++                                // want `load-and-store of c.n, ends at a.go:19$`
	c.n += 2                             // want `load-and-store of c.n, ends at a.go:20$`
	c.n = c.n + f(3)                     // want `load-and-store of c.n, ends at a.go:21$`
	total--                              // want `load-and-store of total, ends at a.go:22$`
	c.list = append(c.list, 1)           // want `load-and-store of c.list, ends at a.go:23$`
	c.counts[k]++                        // want `load-and-store of c.counts, ends at a.go:24$`
	c.lists[k] = append(c.lists[k], "v") // want `load-and-store of c.lists, ends at a.go:25$`
	c.counts[k] = f(c.counts[k])         // want `load-and-store of c.counts, ends at a.go:26$`
	c.list[0] += 2                       // want `load-and-store of c.list\[0\], ends at a.go:27$`
	c.next = c.next.next                 // want `load-and-store of c.next, ends at a.go:28$`
}

func f(n int) int { return n + 1 }

// The value goes through a local variable.
func local(c *Counter) {
	v := c.n // want `load-and-store of c.n, ends at a.go:38$`
	v *= 2
	f(v)
	c.n = v
}

// Each branch has an end of its own; one has none.
func branches(c *Counter, how int) {
	v := c.n // want `load-and-store of c.n, ends at a.go:46, a.go:48$`
	switch how {
	case 0:
		c.n = v + 1
	case 1:
		c.n = v - 1
	case 2:
		panic("no")
	}
}

// A value that is merged with another.
func wraps(c *Counter) {
	v := c.n + 1 // want `load-and-store of c.n, ends at a.go:60$`
	if v > 100 {
		v = 0
	}
	c.n = v
}

func atomics(c *Counter) {
	c.typed.Store(c.typed.Load() + 1)                            // want `load-and-store of c.typed, ends at a.go:64$`
	atomic.StoreInt64(&c.plain, f64(atomic.LoadInt64(&c.plain))) // want `load-and-store of c.plain, ends at a.go:65$`
	old := c.flag.Load()                                         // want `load-and-store of c.flag, ends at a.go:67$`
	c.flag.Store(!old)
	c.typed.Add(c.typed.Load()) // want `load-and-store of c.typed, ends at a.go:68$`
}

func f64(n int64) int64 { return n + 1 }

// A compare-and-swap looks at what it overwrites.
func swaps(c *Counter) {
	for {
		old := c.typed.Load()
		if c.typed.CompareAndSwap(old, old+1) {
			return
		}
	}
}

func add(c *Counter) { c.typed.Add(1) }

// The value stored does not depend on the value read.
func unrelated(c *Counter) int {
	old := c.n
	c.n = 7
	c.n = old // the value read is lost anyway
	c.limit = c.n
	return old
}

// The object changes on the way.
func other(c *Counter) {
	v := c.next.n
	c.next = nil
	c.next.n = v + 1
}

func walk(c *Counter) {
	for p := c; p != nil; p = p.next {
		p.n++ // want `load-and-store of p.n, ends at a.go:103$`
	}
	for p := c; p != nil; p = p.next {
		v := p.n
		p = p.next
		p.n = v
	}
}

// Different elements.
func elements(c *Counter, a, b string, i, j int) {
	c.counts[a] = c.counts[b] + 1
	c.list[i] = c.list[j] + 1
	c.list[i] = c.list[i] + 1 // want `load-and-store of c.list\[i\], ends at a.go:116$`
}

// The value stored was read in the iteration before: there is no section within one iteration.
func turns(c *Counter) {
	previous := 0
	for range 3 {
		current := c.n
		c.n = previous + 1
		previous = current
	}
}

// In a later iteration the store is made without the load. A section that an earlier load began
// would still be open.
func stale(c *Counter, a, b bool) {
	for range 3 {
		v := 0
		if a {
			v = c.n
		}
		if b {
			c.n = v + 1
		}
	}
}

// A loop behind the entry: the first store ends the section.
func repeats(c *Counter) {
	v := c.n // want `load-and-store of c.n, ends at a.go:147$`
	for range 3 {
		c.n = v + 1
	}
}

// In functions that are called.
func (c *Counter) set(n int) { c.n = n }

func setter(c *Counter) {
	c.set(c.n + 1) // want `load-and-store of c.n, ends at a.go:152$`
}

func generic[T any](s *Stack[T], e T) {
	s.elems = append(s.elems, e) // want `load-and-store of s.elems, ends at a.go:159$`
}

type Stack[T any] struct{ elems []T }

// Over several lines, at the lines that the compiler gives to the accesses.
func lines(c *Counter) {
	c. // want `load-and-store of c.n, ends at a.go:167$`
		n +=
		f(
			3)
	c.list =
		append(
			c.list, // want `load-and-store of c.list, ends at a.go:170$`
			1)
	total = // want `load-and-store of total, ends at a.go:174$`
		total
}

func init() { total++ }
