// Command typed has functions all of whose accesses are safe, and others.
package main

import "sync"

type account struct {
	mu      sync.Mutex
	balance int // guarded by mu
	hits    int // not guarded
}

func (a *account) Deposit(n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.locked(n)
	a.balance += n
}

func (a *account) locked(n int) { a.balance += n }

func (a *account) Peek() int { return a.hits }

func (a *account) both() {
	a.mu.Lock()
	a.balance++
	a.mu.Unlock()
	a.hits++
}

// later accesses nothing unsafe itself.
func (a *account) later() {
	a.mu.Lock()
	a.balance++
	a.mu.Unlock()
	go func() { a.hits++ }()
}

// nothing accesses nothing.
func nothing() {}

func main() {
	a := &account{}
	for range 2 {
		go func() {
			a.Deposit(1)
			a.both()
			a.later()
			nothing()
			println(a.Peek())
		}()
	}
	a.hits++
}
