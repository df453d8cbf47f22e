package main

import "sync"

type account struct {
	mu      sync.RWMutex
	balance int
	log     []string
}

func (a *account) deposit(amount int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.balance += amount
}

func (a *account) report() int {
	return a.balance
}

func (a *account) transfer(to *account, amount int) {
	a.mu.Lock()
	to.mu.RLock()
	a.balance -= amount
	to.mu.RUnlock()
	a.mu.Unlock()
}

func serve(acct *account) {
	go func() {
		acct.deposit(10)
	}()
}

func main() {
	acct := &account{}
	go serve(acct)
	println(acct.report())
}
