// Package beside has slices of structs that the lock beside them guards, and pointers that are chosen from several.
package beside

import "sync"

// Good: each element belongs to one house.

type house struct {
	mu     sync.Mutex
	floors []floor // want read-only
}

type floor struct {
	up, down []int // want guarded by beside.house.mu of another object; elements read-only
	visits   int   // want guarded by beside.house.mu of another object
	height   int   // want read-only
}

func newHouse(n int) *house { return &house{floors: make([]floor, n)} }

func (h *house) take(at int, up bool) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	queue := &h.floors[at].down
	if up {
		queue = &h.floors[at].up
	}
	if len(*queue) == 0 {
		return h.floors[at].height
	}
	first := (*queue)[0]
	*queue = (*queue)[1:]
	h.floors[at].visits++
	return first
}

func (h *house) count() (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range h.floors {
		n += h.floors[i].visits + len(h.floors[i].up) + len(h.floors[i].down)
	}
	return n
}

// Bad: one access without the lock.

type barn struct {
	mu    sync.Mutex
	boxes []box // want read-only
}

type box struct {
	hay   int // want unsafe: without beside.barn.mu of another object
	horse int // want guarded by beside.barn.mu of another object
}

func (b *barn) feed(i int) {
	b.mu.Lock()
	b.boxes[i].hay--
	b.boxes[i].horse++
	b.mu.Unlock()
	b.boxes[i].hay++
}

// Bad: two objects may have one slice.

type shared struct {
	mu    sync.Mutex
	cells []cell // want guarded by mu
}

type cell struct {
	n int // want unsafe: without a lock
}

func (s *shared) use(other *shared) {
	s.mu.Lock()
	s.cells[0].n++
	cells := s.cells
	s.mu.Unlock()
	other.mu.Lock()
	other.cells = cells
	other.mu.Unlock()
}

// Bad: the lock of another object.

type shelf struct {
	mu    sync.Mutex
	books []book // want read-only
}

type book struct {
	pages int // want unsafe: without beside.shelf.mu of another object
}

func (s *shelf) move(other *shelf) {
	s.mu.Lock()
	s.books[0].pages++
	other.books[1].pages--
	s.mu.Unlock()
}

// Bad: the slice is read without a lock while others replace it.

type list struct {
	mu    sync.Mutex
	items []item // want unsafe: without mu
}

type item struct {
	n int // want unsafe: which is race-unsafe
}

func (l *list) add() {
	items := &l.items
	l.mu.Lock()
	(*items)[0].n++
	l.items = make([]item, 3)
	l.mu.Unlock()
	if len(l.items) > 2 {
		l.mu.Lock()
		l.items[1].n--
		l.mu.Unlock()
	}
}

// Bad: a pointer to an element stays behind.

type yard struct {
	mu    sync.Mutex
	carts []cart // want read-only
	last  *cart  // want guarded by mu
}

type cart struct {
	wheels int // want unsafe: without beside.yard.mu of another object
}

func (y *yard) push(i int) {
	y.mu.Lock()
	y.carts[i].wheels++
	y.last = &y.carts[i]
	y.mu.Unlock()
}

func (y *yard) turn() {
	y.mu.Lock()
	last := y.last
	y.mu.Unlock()
	last.wheels--
}

// A pointer that is chosen.

type pair struct {
	mu   sync.Mutex
	a, b int // want guarded by mu
	c, d int // want unsafe: its address is taken
	e    int // want unsafe: without a lock
	f    int // want unsafe: without mu
}

func (p *pair) more(b bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := &p.a
	if b {
		n = &p.b
	}
	*n++
	m := &p.c
	if b {
		m = &p.d
	}
	increment(m)
	p.f++
}

func (p *pair) open(b bool) {
	n := &p.e
	if b {
		p.mu.Lock()
		defer p.mu.Unlock()
		n = &p.f
	}
	if n == nil {
		return
	}
	if b {
		*n--
	}
}

func increment(n *int) { *n++ }

// In a loop, the pointer may be that of another object, whose lock is not held any more.

type link struct {
	mu   sync.Mutex
	n    int   // want unsafe: without a lock
	next *link // want read-only
}

func walk(l *link) {
	last := &l.n
	for l != nil {
		l.mu.Lock()
		*last++
		last = &l.n
		l.mu.Unlock()
		l = l.next
	}
}

// Anybody may call these.
var calls = []any{
	newHouse, (*house).take, (*house).count, (*barn).feed, (*shared).use, (*shelf).move, (*list).add, (*yard).push, (*yard).turn,
	(*pair).more, (*pair).open, walk,
} // want local
