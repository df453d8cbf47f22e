package mutual

import "sync"

type account struct {
	mu      sync.Mutex
	balance int
}

func (a *account) credit(n int) {
	a.mu.Lock()
	a.balance += n
	a.mu.Unlock()
}

func transfer(from, to *account, n int) {
	from.mu.Lock()
	defer from.mu.Unlock()
	from.balance -= n
	to.credit(n)
}
