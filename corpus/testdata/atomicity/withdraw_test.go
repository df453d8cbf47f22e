package atomicity

import (
	"sync"
	"testing"
)

// A wallet locks each operation, but a payment is two of them.
type wallet struct {
	mu      sync.Mutex
	balance int
}

func (w *wallet) get() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.balance
}

func (w *wallet) add(amount int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.balance += amount
}

// pay checks and pays in two critical sections.
func (w *wallet) pay(amount int) {
	if w.get() >= amount {
		w.add(-amount)
	}
}

func (w *wallet) payAtOnce(amount int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.balance >= amount {
		w.balance -= amount
	}
}

func payTwice(t *testing.T, pay func(*wallet, int)) {
	w := &wallet{balance: 100}
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() { pay(w, 70) })
	}
	wg.Wait()
	if left := w.get(); left < 0 {
		t.Errorf("balance %d", left) // want failure "test failed: TestWithdraw"
	}
}

// TestWithdraw pays twice from a wallet with enough for once.
func TestWithdraw(t *testing.T) { payTwice(t, (*wallet).pay) }

func TestWithdrawFixed(t *testing.T) { payTwice(t, (*wallet).payAtOnce) }
