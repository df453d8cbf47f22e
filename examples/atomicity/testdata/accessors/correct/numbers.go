package correct

import (
	"errors"
	"sync"
)

// Account: Pay holds the lock.
type Account struct {
	mu      sync.Mutex
	balance int
}

func (a *Account) reset() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.balance = 10
}

func (a *Account) enough(n int) bool { return a.balance >= n }

func (a *Account) withdraw(n int) { a.balance -= n }

var errPoor = errors.New("not enough money")

func (a *Account) Pay(n int) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.enough(n) {
		return errPoor
	}
	a.withdraw(n)
	return nil
}

// IDs: Next holds the lock.
type IDs struct {
	mu   sync.Mutex
	last int
}

func (i *IDs) reset() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.last = 100
}

func (i *IDs) current() int { return i.last }

func (i *IDs) set(n int) { i.last = n }

func (i *IDs) Next() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	n := i.current() + 1
	i.set(n)
	return n
}

// Buffer: one critical section counts down.
type Buffer struct {
	mu   sync.Mutex
	refs int
	data []byte
}

func (b *Buffer) reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refs = 1
}

func (b *Buffer) add(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.refs += n; b.refs == 0 {
		b.data = nil
	}
}

func (b *Buffer) Release() { b.add(-1) }

// Peak: raise looks again.
type Peak struct {
	mu  sync.Mutex
	max int
}

func (p *Peak) reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.max = 0
}

func (p *Peak) Max() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.max
}

func (p *Peak) raise(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n > p.max {
		p.max = n
	}
}

func (p *Peak) Observe(n int) {
	if n > p.Max() {
		p.raise(n)
	}
}

// A quota in package-level variables, with functions.
var (
	quotaMu sync.Mutex
	quota   int
)

func resetQuota() {
	quotaMu.Lock()
	defer quotaMu.Unlock()
	quota = 1
}

func quotaLeft() (left int, ok bool) {
	left = quota
	return left, left > 0
}

func takeQuota() { quota-- }

// Use takes from the quota if there is some.
func Use() bool {
	quotaMu.Lock()
	defer quotaMu.Unlock()
	if _, ok := quotaLeft(); !ok {
		return false
	}
	takeQuota()
	return true
}
