package mutex

import (
	"sync"
	"testing"
)

// An account belongs to a bank in which transfers lock both accounts.
type account struct {
	mu      sync.Mutex
	number  int
	balance int
}

// transferAsGiven locks the payer first.
func transferAsGiven(from, to *account, amount int) {
	from.mu.Lock()
	defer from.mu.Unlock()
	to.mu.Lock() // want deadlock, leak
	defer to.mu.Unlock()
	from.balance -= amount
	to.balance += amount
}

// transferByNumber locks the account with the lower number first.
func transferByNumber(from, to *account, amount int) {
	first, second := from, to
	if first.number > second.number {
		first, second = second, first
	}
	first.mu.Lock()
	defer first.mu.Unlock()
	second.mu.Lock()
	defer second.mu.Unlock()
	from.balance -= amount
	to.balance += amount
}

func settle(t *testing.T, transfer func(from, to *account, amount int)) {
	rent, wages := &account{number: 1, balance: 50}, &account{number: 2, balance: 50}
	var wg sync.WaitGroup
	wg.Go(func() { transfer(rent, wages, 10) })
	wg.Go(func() { transfer(wages, rent, 20) })
	wg.Wait()
	if sum := rent.balance + wages.balance; sum != 100 {
		t.Errorf("%d in all accounts", sum)
	}
}

// TestTransfer makes two transfers in opposite directions.
func TestTransfer(t *testing.T) { settle(t, transferAsGiven) }

func TestTransferFixed(t *testing.T) { settle(t, transferByNumber) }
