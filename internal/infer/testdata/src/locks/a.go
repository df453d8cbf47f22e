// The test data for locks that are held.
package locks

import "sync"

type T struct {
	mu    sync.Mutex
	rw    sync.RWMutex
	cond  *sync.Cond
	other sync.Mutex
	n     int
	queue []int
	sync.Mutex
}

var mu sync.Mutex

func use(int) {}

func held(t *T) {
	t.mu.Lock()
	t.n++
	t.mu.Unlock()
	t.rw.Lock()
	defer t.rw.Unlock()
	t.n++
	mu.Lock()
	t.Lock()
	mu.Unlock()
	t.n++
	t.Unlock()
}

func deferred(t *T) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.n > 3 {
		t.n = 0
	}
}

func released(t *T) {
	t.mu.Lock()
	v := t.n // want `load-and-store of t.n`
	t.mu.Unlock()
	v = 2 * v
	t.mu.Lock()
	t.n = v
	t.mu.Unlock()
}

func late(t *T) {
	v := t.n // want `load-and-store of t.n`
	t.mu.Lock()
	defer t.mu.Unlock()
	t.n = v + 1
}

func perhaps(t *T, lock bool) {
	if lock {
		t.mu.Lock()
		defer t.mu.Unlock()
	}
	t.n++ // want `load-and-store of t.n`
	if t.other.TryLock() {
		t.n++ // want `load-and-store of t.n`
		t.other.Unlock()
	}
}

// Readers keep out writers, but not other readers.
func readers(t *T) {
	t.rw.RLock()
	defer t.rw.RUnlock()
	if t.n > 3 {
		use(t.n)
	}
	t.n++ // want `load-and-store of t.n`
}

func waits(t *T) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.n == 0 {
		t.cond.Wait()
	}
	n := t.n // want `load-and-store of t.n`
	t.cond.Wait()
	t.n = n - 1
}

func (t *T) pause() {
	t.mu.Unlock()
	use(1)
	t.mu.Lock()
}

func pauses(t *T) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.n // want `load-and-store of t.n`
	t.pause()
	t.n = n + 1
}

// The lock of another object.
func another(t, u *T) {
	u.mu.Lock()
	t.mu.Lock()
	n := t.n // want `load-and-store of t.n`
	t.mu.Unlock()
	use(n)
	t.mu.Lock()
	t.n = n + 1
	t.mu.Unlock()
}

// One path holds the lock, one does not.
func ways(t *T, b bool) {
	t.mu.Lock()
	n := t.n // want `load-and-store of t.n`
	if b {
		t.n = n + 1
		t.mu.Unlock()
		return
	}
	t.mu.Unlock()
	t.n = n + 2
}
