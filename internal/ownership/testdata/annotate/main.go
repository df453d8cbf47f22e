// Command annotate has variables that annotations can and cannot describe.
package main

import (
	"sync"
	"sync/atomic"
)

// account has a balance.
type account struct {
	mu sync.RWMutex

	// balance is in cents.
	balance int
	owners  []string // who may withdraw
	calls   int64
	state   struct {
		mu    sync.Mutex
		level int
	}
	n    int // +checklocks:mu
	a, b int // declared together
	c    int // behind them
}

type small struct{ n int }

var (
	total   int // of all accounts
	totalMu sync.Mutex
	smallMu sync.Mutex
)

var shared = &account{}

var one = &small{}

// deposit adds money.
func (a *account) deposit(n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.add(n)
	a.n++
	a.a++
	a.b++
	a.c++
}

// add is called with the lock.
func (a *account) add(n int) {
	a.addTwice(n - n/2)
	a.addTwice(n / 2)
	a.owners = append(a.owners, "x")
}

func (a *account) addTwice(n int) { a.balance += n }

func (a *account) read() int {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.get() + a.n + a.a + a.b + a.c
}

func (a *account) get() int { return a.balance + len(a.owners) }

func (a *account) count() {
	atomic.AddInt64(&a.calls, 1)
	a.state.mu.Lock()
	a.state.level++
	a.state.mu.Unlock()
}

func sum(n int) {
	totalMu.Lock()
	addTotal(n)
	totalMu.Unlock()
}

func addTotal(n int) {
	total += n
}

func (s *small) work() {
	smallMu.Lock()
	s.n++
	smallMu.Unlock()
}

func newAccount() *account {
	a := &account{balance: 1}
	a.addTwice(2) // nobody else knows it
	return a
}

func main() {
	var working sync.WaitGroup
	shared = newAccount()
	for range 2 {
		working.Go(func() {
			shared.deposit(1)
			shared.count()
			sum(shared.read())
			one.work()
			bump()
		})
	}
	working.Wait()
}
