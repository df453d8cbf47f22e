// Package elements has slices and maps.
package elements

import "sync"

type cache struct {
	mu     sync.Mutex
	values map[string]int // want read-only; elements guarded by mu
	list   []int          // want guarded by mu; elements guarded by mu
	leaked []int8         // want guarded by mu; elements unsafe
	given  []int32        // want read-only; elements unsafe
	names  []string       // want read-only; elements read-only
	free   map[int]bool   // want read-only; elements unsafe
	twice  []uint         // want guarded by mu; elements unsafe
	pair   []uint         // want guarded by mu; elements unsafe
}

func newCache(given []int32) *cache {
	c := &cache{values: map[string]int{}, given: given}
	c.list = make([]int, 3)
	c.list[0] = 1
	c.values["x"] = 1
	c.names = []string{"a", "b"}
	c.free = make(map[int]bool)
	return c
}

func (c *cache) use(s string) []int8 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.values[s]++
	delete(c.values, s)
	for i := range c.list {
		c.list[i]++
	}
	c.list = append(c.list, len(c.values))
	c.leaked = append(c.leaked, 1)
	both := make([]uint, 2)
	c.twice = both
	c.pair = both
	c.twice[0]++
	c.pair[0]++
	return c.leaked
}

func (c *cache) free1() string {
	c.free[1] = true
	c.given[0]++
	return c.names[0]
}

// A copy of the struct has the same elements.
type copied struct {
	mu   sync.Mutex
	list []int16 // want read-only; elements unsafe
}

func (c *copied) use() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list[0]++
	list := struct{ list []int16 }{c.list}
	list.list[0]++
}

// items are structs in a slice: their fields are memory of their own.
type items struct {
	mu   sync.Mutex
	list []item // want guarded by mu
}

type item struct {
	n int // want unsafe: written without a lock
	m int // want unsafe: written without a lock
}

func (i *items) use() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.list = append(i.list[:0:0], make([]item, 2)...)
	i.list[0].n++
	return i.list[1].m
}

type inner struct {
	list []int64 // want unsafe: written without a lock; elements unsafe
	mine []int64 // want guarded by mu; elements guarded by mu
	mu   sync.Mutex
}

// A nested has its elements put back to another object.
type nested struct {
	in *inner // want unsafe: written without a lock
}

func (n *nested) use(other *inner) {
	list := append(n.in.list, 1)
	n.in = other
	n.in.list = list
	other.mu.Lock()
	defer other.mu.Unlock()
	other.mine = append(other.mine[:1], 1)
	other.mine = other.mine[1:]
	other.mine[0]++
}

func run() {
	n, in := &nested{in: &inner{}}, &inner{}
	c, d, i := newCache(make([]int32, 1)), &copied{list: make([]int16, 1)}, &items{}
	for range 2 {
		go func() {
			println(c.use("x")[0], c.free1(), i.use())
			d.use()
			n.use(in)
		}()
	}
}

var start = run // want local
