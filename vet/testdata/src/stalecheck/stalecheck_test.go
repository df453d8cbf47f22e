package stalecheck

import "testing"

// Tests assert what nobody else changes.
func TestWithdraw(t *testing.T) {
	a := &Account{balance: 7}
	if a.Balance() != 7 {
		t.Fatal("no balance")
	}
	a.set(3)
}

func (a *Account) set(n int) {
	a.mu.Lock()
	a.balance = n
	a.mu.Unlock()
}
