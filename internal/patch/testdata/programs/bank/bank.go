// Package bank moves money between accounts with the lock of one of them.
package bank

import "sync"

type account struct {
	mu      sync.Mutex // guards balance
	balance int
}

func transfer(from, to *account, amount int) {
	from.mu.Lock()
	defer from.mu.Unlock()
	from.balance -= amount
	to.balance += amount // the bug: to is not locked
}
