package shadow

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/heisen-go/heisen"
)

// BenchmarkAt measures an access to the state of a word, in programs of several sizes: one word after the
// other, in random order, and with each word in a page of address space of its own. It also measures the
// memory for each word.
func BenchmarkAt(b *testing.B) {
	const words = 1 << 17
	rng := rand.New(rand.NewPCG(1, 2))
	sequential, random, scattered := make([]heisen.Object, words), make([]heisen.Object, words), make([]heisen.Object, words)
	for i := range words {
		sequential[i] = heisen.Object(0xc000000000 + 8*i)
		random[i] = heisen.Object(0xc000000000 + 8*rng.IntN(8*words))
		scattered[i] = heisen.Object(rng.Uint64N(1<<47)) &^ 7
	}
	for _, c := range []struct {
		name    string
		objects []heisen.Object
	}{{"sequential", sequential}, {"random", random}, {"scattered", scattered}} {
		b.Run(fmt.Sprintf("order=%s", c.name), func(b *testing.B) {
			m := New[[2]uint64](nil, nil)
			for _, o := range c.objects {
				m.At(o)[0]++
			}
			b.ReportMetric(float64(m.Stats().Bytes)/float64(m.Stats().Words), "B/word")
			for i := 0; b.Loop(); i++ {
				count := &m.At(c.objects[i%words])[1] // Go 1.26.0 does not compile it without the variable
				*count++
			}
		})
	}
}
