package consecutive

import "sync/atomic"

type T struct {
	n, m  int
	next  *T
	count atomic.Int64
}

func use(int) {}

// Table 1: each combination of modes.
func modes(t *T) {
	use(t.n) // want `consecutive of t.n, ends at a.go:16$`
	use(t.n) // want `consecutive of t.n, ends at a.go:17$`
	t.n = 1  // want `consecutive of t.n, ends at a.go:18$`
	t.n = 2  // want `consecutive of t.n, ends at a.go:19$`
	use(t.n)
}

func branches(t *T, how int) {
	t.m = 1 // want `consecutive of t.m, ends at a.go:26, a.go:28$`
	switch how {
	case 0:
		use(t.m)
	case 1:
		t.m = 2
	case 2:
		return
	default:
		panic("no")
	}
}

// A loop: the access of the next iteration comes after this one.
func loop(t *T) {
	for i := range 3 {
		t.n = i // want `consecutive of t.n, ends at a.go:39$`
	}
}

// An access on the path is an end, whatever comes after it.
func between(t *T, other bool) {
	t.n = 1 // want `consecutive of t.n, ends at a.go:47, a.go:49$`
	if other {
		use(t.n) // want `consecutive of t.n, ends at a.go:49$`
	}
	t.n = 3
}

// Into a function and out of it.
func (t *T) set() { t.m = 4 } // want `consecutive of t.m, ends at a.go:58$`

func calls(t *T) {
	use(t.m) // want `consecutive of t.m, ends at a.go:53$`
	t.set()
	use(t.m)
}

// Another object.
func other(t *T) {
	t.next.n = 1 // want `consecutive of t.next, ends at a.go:64$`
	t.next = nil // want `consecutive of t.next, ends at a.go:65$`
	t.next.n = 2
}

// A compare-and-swap checks.
func swap(t *T) {
	v := t.count.Load()
	t.count.CompareAndSwap(v, v+1)
}
