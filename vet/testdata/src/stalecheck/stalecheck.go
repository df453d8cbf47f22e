// Package stalecheck has the test data of the analyzer stalecheck.
package stalecheck

import (
	"errors"
	"sync"
	"sync/atomic"
)

type Account struct {
	mu      sync.RWMutex
	other   sync.Mutex
	balance int
	limit   int
	names   map[string]int
	queue   []int
	closed  bool
	done    chan struct{}
	started atomic.Bool
}

var errEmpty = errors.New("empty")

func (a *Account) Balance() int {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.balance
}

func (a *Account) Withdraw(n int) bool {
	if a.Balance() < n {
		return false
	}
	a.mu.Lock()
	a.balance -= n // want `stale check of a.balance: the test is of its value in line 27, but mu is released in between`
	a.mu.Unlock()
	return true
}

func (a *Account) Register(name string) {
	a.mu.RLock()
	_, known := a.names[name]
	a.mu.RUnlock()
	if !known {
		a.mu.Lock()
		a.names[name] = 1 // want `stale check of a.names`
		a.mu.Unlock()
	}
}

func (a *Account) Close() {
	a.mu.Lock()
	if a.closed {
		a.mu.Unlock()
		return
	}
	a.mu.Unlock()
	a.mu.Lock()
	a.closed = true // want `stale check of a.closed`
	close(a.done)
	a.mu.Unlock()
}

func (a *Account) check() error {
	a.mu.RLock()
	defer a.mu.RUnlock()
	if len(a.queue) == 0 {
		return errEmpty
	}
	return nil
}

func (a *Account) Pop() (int, error) {
	if err := a.check(); err != nil {
		return 0, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	x := a.queue[0]
	a.queue = a.queue[1:] // want `stale check of a.queue: .* in line 67`
	return x, nil
}

// The test is made again.
func (a *Account) Twice(name string) {
	a.mu.RLock()
	_, known := a.names[name]
	a.mu.RUnlock()
	if known {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, known := a.names[name]; known {
		return
	}
	a.names[name] = 1
}

// The test is made again by a caller that holds the lock.
func (a *Account) Waits(wait chan bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.balance < a.limit {
		a.add()
		return
	}
	for {
		a.mu.Unlock()
		<-wait
		a.mu.Lock()
		if a.balance >= a.limit {
			continue
		}
		a.add()
		return
	}
}

func (a *Account) add() { a.balance += 4 }

// The second critical section decides by something else.
func (a *Account) Other(n int) {
	if a.Balance() < n {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return
	}
	a.balance -= n
}

// Both outcomes lead to the write.
func (a *Account) Both() (low bool) {
	if a.Balance() < a.limit {
		low = true
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.balance = 7
	return low
}

// One lock is held from the test to the write.
func (a *Account) Held(n int) {
	a.other.Lock()
	defer a.other.Unlock()
	if a.Balance() >= n {
		a.mu.Lock()
		a.balance -= n
		a.mu.Unlock()
	}
}

// The test is of what the variable leads to.
func (a *Account) Contents(name string) {
	a.mu.RLock()
	n := a.names[name]
	a.mu.RUnlock()
	if n > 3 {
		a.mu.Lock()
		a.names = map[string]int{}
		a.mu.Unlock()
	}
}

// A removed element may be gone already.
func (a *Account) Remove(name string) {
	a.mu.RLock()
	_, known := a.names[name]
	a.mu.RUnlock()
	if known {
		a.mu.Lock()
		delete(a.names, name)
		a.mu.Unlock()
	}
}

// The next iteration tests again.
func (a *Account) Loop(n int) {
	for {
		a.mu.Lock()
		a.balance++
		stop := a.balance == n
		a.mu.Unlock()
		if stop {
			return
		}
	}
}

// The test is without the lock, which is a data race, and no stale check.
func (a *Account) Race(n int) {
	if a.balance >= n {
		a.mu.Lock()
		a.balance -= n
		a.mu.Unlock()
	}
}

// Atomic operations are reported with a flag only.
func (a *Account) Start() {
	if !a.started.Load() {
		a.started.Store(true)
	}
}
