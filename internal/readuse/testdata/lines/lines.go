// Package lines has lines with what is true of them, in comments: u of updates, c of copies, and a size. A dash stands for nothing.
package lines

import "sync"

type counter struct {
	mu   sync.Mutex
	n, m int
	f    float64
	u    uint8
	ok   bool
	name string
	next *counter
	list []int
	by   map[string]int
	p    *int
	any  any
}

var global, other int32

func updates(c *counter, d int, k uint8) {
	c.n++               // uc 8
	c.n += d            // uc 8
	c.n = 3*c.n - c.m   // uc 8
	c.n = -c.n          // uc 8
	c.n = c.n ^ c.n>>1  // uc 8
	c.n <<= k           // uc 8
	c.n <<= d           // uc 8
	c.f = c.f / 2       // uc 8
	c.f = 2 / c.f       // uc 8
	c.n = c.n / 2       // uc 8
	c.n = c.n / (d + 1) // uc 8
	global++            // uc 4
	c.ok = !c.ok        // uc 1
	c.u += k            // uc 1
	*c.p++              // u 8
	c.next.n++          // u 8
}

func copies(c *counter, local int) {
	c.n = c.m            // c 8
	c.m = c.n + local    // c 8
	global = other       // c 4
	c.ok = c.n > 3       // c 8
	c.next = c.next.next // - 8
	c.f = float64(c.n)   // c 8
	c.name = c.next.name // - 0
}

func decides(c *counter, d int) int {
	if c.ok { // - 1
		d++
	}
	c.n = 10 / c.m                // - 8
	c.n = 1 << c.m                // - 8
	c.n = c.list[c.m]             // - 0
	c.list[c.m] = 3               // - 0
	c.by["x"] = c.n               // - 8
	c.by["x"]++                   // - 8
	c.n = c.by[c.name]            // - 0
	c.name = c.name + "x"         // - 0
	c.any = c.n                   // - 0
	println(c.n)                  // - 8
	work(c.n)                     // - 8
	c.n = work(c.n)               // - 8
	c.n += c.next.n               // u 8
	c.n, c.m = c.m, c.n           // - 8
	c.n, c.m = c.n+1, c.list[c.n] // - 0
	c.n, c.list[c.u] = c.n+1, 1   // u 0
	return c.n                    // - 8
}

func work(n int) int { return n }

func captured() (int, bool) {
	var wg sync.WaitGroup
	n, ok := 0, false
	wg.Go(func() {
		n++       // uc 8
		ok = true // - 1
	})
	wg.Wait()
	return n, ok // - 8
}

func generic[T int | string](p, q *T) {
	*p += *q // - 0
}

type pair[T any] struct {
	first, second T
	n             int
}

func (p *pair[T]) swap(q *pair[T]) {
	p.n = q.n // - 0
	*p = *q   // - 0
	func() {
		p.n++ // - 0
	}()
}

type named struct{ name string }

type small struct{ n int32 }

func structs(p, q *named, r, s *small, c *counter) {
	*p, c.n = *q, 1 // - 0
	*r, c.n = *s, 1 // - 8
	*r = *s         // c 4
}
