package broken

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

func (c *Closer) isClosed() bool { return c.closed.Load() }

func (c *Closer) Close() {
	if c.isClosed() {
		return
	}
	c.closed.Store(true)
	c.times.Add(1)
}

// Limiter: Allow counts down to 0.
type Limiter struct{ left atomic.Int64 }

func (l *Limiter) reset() {
	l.left.Store(1)
}

func (l *Limiter) remaining() int64 { return l.left.Load() }

func (l *Limiter) setRemaining(n int64) { l.left.Store(n) }

func (l *Limiter) Allow() bool {
	n := l.remaining()
	if n <= 0 {
		return false
	}
	l.setRemaining(n - 1)
	return true
}

// Handlers: Append makes a longer list, and stores it.
type Handlers struct{ list atomic.Pointer[[]string] }

func (h *Handlers) reset() {
	h.list.Store(nil)
}

func (h *Handlers) all() []string {
	if p := h.list.Load(); p != nil {
		return *p
	}
	return nil
}

func (h *Handlers) replace(list []string) { h.list.Store(&list) }

func (h *Handlers) Append(name string) {
	list := append([]string(nil), h.all()...)
	h.replace(append(list, name))
}

// Users: Login stores a user that is not there.
type Users struct{ m sync.Map }

func (u *Users) reset() {
	u.m.Delete("a")
}

func (u *Users) Login(name string) bool {
	if _, ok := u.m.Load(name); ok {
		return false
	}
	u.m.Store(name, 1)
	return true
}

// Visits: Count stores what it has loaded, plus one.
type Visits struct{ m sync.Map }

func (v *Visits) reset() {
	v.m.Store("a", 0)
}

func (v *Visits) of(page string) int {
	n, ok := v.m.Load(page)
	if !ok {
		return 0
	}
	return n.(int)
}

func (v *Visits) set(page string, n int) { v.m.Store(page, n) }

func (v *Visits) Count(page string) { v.set(page, v.of(page)+1) }
