package broken

import (
	"errors"
	"sync"
)

// Account: Transfer looks at the balance before it withdraws.
type Account struct {
	mu      sync.Mutex
	balance int
}

func (a *Account) reset() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.balance = 10
}

func (a *Account) Balance() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.balance
}

func (a *Account) Withdraw(n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.balance -= n
}

var errPoor = errors.New("not enough money")

func (a *Account) Pay(n int) error {
	if a.Balance() < n {
		return errPoor
	}
	a.Withdraw(n)
	return nil
}

// IDs: Next reads the last ID and sets the next.
type IDs struct {
	mu   sync.Mutex
	last int
}

func (i *IDs) reset() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.last = 100
}

func (i *IDs) current() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.last
}

func (i *IDs) set(n int) {
	i.mu.Lock()
	i.last = n
	i.mu.Unlock()
}

func (i *IDs) Next() int {
	n := i.current() + 1
	i.set(n)
	return n
}

// Buffer: Release counts users down, and frees the buffer when nobody is left.
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

func (b *Buffer) users() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.refs
}

func (b *Buffer) setUsers(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.refs = n; n == 0 {
		b.data = nil
	}
}

func (b *Buffer) Release() {
	b.setUsers(b.users() - 1)
}

// Peak keeps the largest number.
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
	p.max = n
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
	quotaMu.Lock()
	defer quotaMu.Unlock()
	left = quota
	return left, left > 0
}

func takeQuota() {
	quotaMu.Lock()
	defer quotaMu.Unlock()
	quota--
}

// Use takes from the quota if there is some.
func Use() bool {
	if _, ok := quotaLeft(); !ok {
		return false
	}
	takeQuota()
	return true
}
