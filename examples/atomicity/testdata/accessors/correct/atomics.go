package correct

import (
	"sync"
	"sync/atomic"
)

// Closer: Close is for the first only.
type Closer struct {
	closed atomic.Bool
	times  atomic.Int64
}

func (c *Closer) reset() {
	c.closed.Store(false)
}

func (c *Closer) Close() {
	if c.closed.Swap(true) {
		return
	}
	c.times.Add(1)
}

// Limiter: Allow counts down to 0.
type Limiter struct{ left atomic.Int64 }

func (l *Limiter) reset() {
	l.left.Store(1)
}

func (l *Limiter) remaining() int64 { return l.left.Load() }

func (l *Limiter) Allow() bool {
	for {
		n := l.remaining()
		if n <= 0 {
			return false
		}
		if l.left.CompareAndSwap(n, n-1) {
			return true
		}
	}
}

// Handlers: Append makes a longer list, and stores it if nobody else did.
type Handlers struct{ list atomic.Pointer[[]string] }

func (h *Handlers) reset() {
	h.list.Store(nil)
}

func (h *Handlers) Append(name string) {
	for {
		old := h.list.Load()
		var list []string
		if old != nil {
			list = append(list, *old...)
		}
		list = append(list, name)
		if h.list.CompareAndSwap(old, &list) {
			return
		}
	}
}

// Users: Login stores a user that is not there.
type Users struct{ m sync.Map }

func (u *Users) reset() {
	u.m.Delete("a")
}

func (u *Users) Login(name string) bool {
	_, found := u.m.LoadOrStore(name, 1)
	return !found
}

// Visits: Count replaces what it has loaded if nobody else did.
type Visits struct{ m sync.Map }

func (v *Visits) reset() {
	v.m.Store("a", 0)
}

func (v *Visits) Count(page string) {
	for {
		n, ok := v.m.LoadOrStore(page, 1)
		if !ok || v.m.CompareAndSwap(page, n, n.(int)+1) {
			return
		}
	}
}
