// Package guards has variables that locks guard, and some that they do not.
package guards

import "sync"

type account struct {
	mu      sync.Mutex
	balance int    // want guarded by mu
	limit   int    // want guarded by mu
	owner   string // want read-only
	early   int    // want unsafe: read without mu
	wrong   int    // want unsafe: written without mu
	started int    // want unsafe: written without mu
	late    int    // want unsafe: written without mu
	called  int    // want unsafe: written without mu
	either  int    // want unsafe: written without mu
	looped  int    // want guarded by mu
	inside  int    // want guarded by mu
	twice   int    // want guarded by mu
	tried   int    // want unsafe: written without a lock
}

func newAccount(owner string) *account {
	a := &account{owner: owner}
	a.balance = 1
	a.setLimit(10)
	return a
}

// setLimit requires a.mu, or an account that nobody knows.
func (a *account) setLimit(n int) { a.limit = n }

func (a *account) deposit(n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if n < 0 {
		return
	}
	a.add(n)
	a.setLimit(n)
}

func (a *account) add(n int) {
	a.balance += n
	a.addAgain(n, 3)
}

// addAgain calls itself.
func (a *account) addAgain(n, times int) {
	a.twice += n
	if times > 0 {
		a.addAgain(n, times-1)
	}
}

func (a *account) unlocksEarly() int {
	a.mu.Lock()
	a.early++
	a.mu.Unlock()
	return a.early
}

func transfer(from, to *account) {
	from.mu.Lock()
	defer from.mu.Unlock()
	from.wrong--
	to.wrong++
}

func (a *account) starts() {
	a.mu.Lock()
	defer a.mu.Unlock()
	go func() { a.started++ }()
	a.started--
	defer func() { a.late++ }()
	a.late--
}

func (a *account) locks()   { a.mu.Lock() }
func (a *account) unlocks() { a.mu.Unlock() }

func (a *account) usesHelpers() {
	a.locks()
	a.inside++
	a.unlocks()
	a.called++
	a.locks()
	a.called++
	a.unlocks()
}

func (a *account) branches(c bool) {
	if c {
		a.mu.Lock()
	}
	a.either++
	if c {
		a.mu.Unlock()
	}
	a.mu.Lock()
	a.either++
	a.mu.Unlock()
	for range 10 {
		a.mu.Lock()
		a.looped++
		a.mu.Unlock()
	}
	if a.mu.TryLock() {
		a.tried++
		a.mu.Unlock()
	}
}

type table struct {
	sync.RWMutex
	reads  int // want guarded by RWMutex, which readers share
	writes int // want unsafe: written without RWMutex
	inner  struct {
		mu sync.Mutex
		n  int // want guarded by inner.mu
	}
	nested part
}

type part struct {
	mu sync.Mutex
	n  int // want guarded by mu
}

func (t *table) use() int {
	t.Lock()
	t.reads++
	t.writes++
	t.Unlock()
	t.RLock()
	defer t.RUnlock()
	t.writes++
	t.nested.mu.Lock()
	t.nested.n++
	t.nested.mu.Unlock()
	t.inner.mu.Lock()
	t.inner.n++
	t.inner.mu.Unlock()
	return t.reads
}

var (
	mu     sync.Mutex
	total  int   // want guarded by guards.mu
	other  int   // want unsafe: written without guards.mu
	config = "x" // want read-only
)

type item struct {
	n int // want guarded by guards.mu
}

var state struct {
	mu sync.Mutex
	n  int // want guarded by mu
}

func globals(i *item) string {
	mu.Lock()
	total++
	other++
	i.n++
	mu.Unlock()
	other++
	state.mu.Lock()
	state.n++
	state.mu.Unlock()
	return config
}

// A reaches reaches its locks by pointers, one of which changes.
type far struct {
	mu sync.Mutex
	n  int // want guarded by mu
	m  int // want unsafe: written without a lock
}

type reaches struct {
	fixed   *far // want read-only
	changes *far // want unsafe: written without a lock
}

func (r *reaches) use() {
	r.fixed.mu.Lock()
	r.fixed.n++
	r.fixed.mu.Unlock()
	r.changes.mu.Lock()
	r.changes.m++
	r.changes.mu.Unlock()
	r.changes = nil
}

func run() {
	a, b := newAccount("a"), newAccount("b")
	r := &reaches{fixed: &far{}, changes: &far{}}
	t := &table{}
	i := &item{}
	for range 2 {
		go func() {
			a.deposit(1)
			b.deposit(2)
			transfer(a, b)
			println(a.owner, a.unlocksEarly())
			a.starts()
			a.usesHelpers()
			a.branches(true)
			println(t.use(), globals(i))
			r.use()
		}()
	}
}

var start = run // want local

func main() { run() }
