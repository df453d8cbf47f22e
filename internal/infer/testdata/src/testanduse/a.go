package testanduse

import (
	"sync"
	"sync/atomic"
)

type T struct {
	n, limit int
	next     *T
	list     []int
	set      map[string]bool
	closed   bool
	ch       chan int
	state    int
	flag     atomic.Bool
	count    atomic.Int64
	ready    bool
}

var instance *T

func use(*T)   {}
func use1(int) {}

func pointers(t *T) {
	if t.next != nil { // want `test-and-use of t.next, ends at a.go:28$`
		t.next.n = 1
	}
	if p := t.next; p != nil { // want `test-and-use of t.next, ends at a.go:31$`
		use(t.next)
	}
	if t.next != nil && t.limit > 0 { // want `test-and-use of t.next, ends at a.go:34$`
		use(t.next)
	}
	if t.next == nil { // want `test-and-use of t.next, ends at a.go:37$`
		t.next = new(T)
	}
	use(t.next)
}

func lazy() *T {
	if instance == nil { // want `test-and-use of instance, ends at a.go:44$`
		instance = new(T)
	}
	return instance
}

var mu sync.Mutex

// Double-checked locking tests again what it uses.
func again(t *T, k string) {
	if t.next == nil {
		mu.Lock()
		defer mu.Unlock()
		if t.next == nil {
			t.next = new(T)
		}
	}
}

func againMap(t *T, k string) {
	if _, ok := t.set[k]; !ok {
		mu.Lock()
		defer mu.Unlock()
		if _, ok := t.set[k]; !ok {
			t.set[k] = true
		}
	}
}

func againAtomic(t *T) {
	if t.count.Load() == 0 {
		mu.Lock()
		defer mu.Unlock()
		if t.count.Load() == 0 {
			t.count.Store(1)
		}
	}
}

func opposite(t *T) *T {
	if next := t.next; next != nil {
		return next
	}
	mu.Lock()
	defer mu.Unlock()
	if t.next == nil {
		t.next = new(T)
	}
	return t.next
}

// Another test is a use.
func narrower(t *T) {
	if t.state > 0 { // want `test-and-use of t.state, ends at a.go:97$`
		if t.state > 1 { // want `test-and-use of t.state, ends at a.go:98$`
			t.state = 1
		}
	}
}

func early(t *T) {
	if t.next == nil { // want `test-and-use of t.next, ends at a.go:107$`
		return
	}
	use(t.next)
}

func panics(t *T) {
	if t.n > t.limit { // want `test-and-use of t.n, ends at a.go:114$`
		panic("too many")
	}
	t.n = 3
}

func maps(t *T, k, other string) {
	if _, ok := t.set[k]; !ok { // want `test-and-use of t.set, ends at a.go:119$`
		t.set[k] = true
	}
	if t.set[k] { // want `test-and-use of t.set, ends at a.go:122$`
		delete(t.set, k)
	}
	if len(t.set) > 10 { // want `test-and-use of t.set, ends at a.go:125$`
		clear(t.set)
	}
}

func (t *T) grow() { t.list = append(t.list, 1) }

func slices(t *T, i int) {
	if len(t.list) > i { // want `test-and-use of t.list, ends at a.go:133$`
		use1(t.list[i])
	}
	for i := 0; i < len(t.list); i++ { // want `test-and-use of t.list, ends at a.go:136$`
		use1(t.list[i])
	}
}

func closes(t *T) {
	if !t.closed { // want `test-and-use of t.closed, ends at a.go:142$`
		t.closed = true
		close(t.ch)
	}
}

func switches(t *T) {
	switch t.state { // want `test-and-use of t.state, ends at a.go:150, a.go:154, a.go:156$`
	case 0, 1:
		t.state = 2
	case 2:
		use1(t.limit)
	case 3:
		use1(t.state)
	default:
		t.state = 0
	}
}

func atomics(t *T) {
	if !t.flag.Load() { // want `test-and-use of t.flag, ends at a.go:162$`
		t.flag.Store(true)
	}
	if t.count.Load() < 10 { // want `test-and-use of t.count, ends at a.go:165$`
		t.count.Add(1)
	}
}

// A swap sees what it replaces.
func swaps(t *T) {
	if !t.flag.Load() && t.flag.CompareAndSwap(false, true) {
		use(t)
	}
	if n := t.count.Load(); n < 10 {
		if t.count.CompareAndSwap(n, n+1) {
			use1(int(t.count.Load()))
		}
	}
}

// The use is in a function that is called.
func (t *T) start() { t.ready = true }

func starts(t *T) {
	if !t.ready { // want `test-and-use of t.ready, ends at a.go:182$`
		t.start()
	}
}

// Nothing is used in a branch.
func unused(t *T) {
	if t.n > 3 {
		use(t)
	}
	use1(t.n)
	v := t.limit
	use1(v)
	if v > 3 {
		use1(v)
	}
}

// Another variable, or another element, is used.
func others(t *T, a, b string) {
	if t.n > 3 {
		t.limit = 1
	}
	if t.next.n > 3 {
		t.n = 1
	}
	if m := t.set; m[a] {
		m[b] = true
	}
}

// The tested variable is local to the function.
func own(t *T) {
	t.n = 4
	n := 3
	if n > 2 {
		n--
	}
	mine := T{}
	if mine.n > 2 {
		mine.n--
	}
}

// On one line; nothing comes back to the test.
func line(t *T) {
	if t.next != nil && t.next.n > 0 { // want `test-and-use of t.next, ends at a.go:231$`
		use(t)
	}
}

// On one line in a loop: if the first test fails, the test of the next iteration would be taken for
// the use.
func lines(t *T) {
	for range 3 {
		if t.next != nil && t.next.n > 0 {
			use(t)
		}
	}
}

// In a later iteration the use is made without the test. A section that an earlier test began would
// still be open.
func stale(t *T, a bool) {
	for range 3 {
		ok := true
		if a {
			ok = t.next != nil
		}
		if ok {
			use(t.next)
		}
	}
}

// The same without a loop: the use belongs to the test on every path.
func either(t *T, a bool) {
	if a || t.next != nil { // want `test-and-use of t.next, ends at a.go:263$`
		use(t.next)
	}
}

// In a condition of a loop the test is made before each iteration.
func loop(t *T) {
	for t.n > 0 { // want `test-and-use of t.n, ends at a.go:270$`
		t.n = 0
	}
	for !t.closed { // want `test-and-use of t.closed, ends at a.go:275$`
		use(t)
	}
	t.closed = false
}

var once sync.Once

// In goroutines' literals.
func literals() func() {
	done := false
	go func() {
		if !done { // want `test-and-use of done, ends at a.go:285$`
			done = true
		}
	}()
	counter := 0
	func() {
		if counter == 0 {
			counter = 1
		}
	}()
	return func() { done = true }
}

// The test is in the only caller of the function that reads. That function is not called through an
// interface.
type stack struct {
	mu   sync.Mutex
	jobs []int
}

var work stack

func (s *stack) size() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.jobs) // want `test-and-use of s.jobs, ends at a.go:315$`
}

func (s *stack) take() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.jobs = s.jobs[1:]
}

func latest() {
	if work.size() > 0 {
		work.take()
	}
}

// A caller that reaches the use without the test: the section ends in first only.
type pile struct{ jobs []int }

var heap pile

func (p *pile) size() int { return len(p.jobs) } // want "test-and-use of p.jobs, ends at a.go:331"

func (p *pile) take() { p.jobs = p.jobs[1:] }

func first() {
	if heap.size() > 0 {
		heap.take()
	}
}

func second() {
	use1(heap.size())
	heap.take()
}

// Exported: other packages may call it. The section ends in third only.
type Pile struct{ jobs []int }

func (p *Pile) Size() int { return len(p.jobs) } // want "test-and-use of p.jobs, ends at a.go:349"

func (p *Pile) Take() { p.jobs = nil }

func third(p *Pile) {
	if p.Size() > 0 {
		p.Take()
	}
}
