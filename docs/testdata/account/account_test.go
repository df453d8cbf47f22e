package account

import (
	"sync"
	"testing"
	"time"
)

// TestWithdraw has two tellers. The second one comes when the first has gone.
func TestWithdraw(t *testing.T) {
	a := &Account{balance: 100}
	var tellers sync.WaitGroup
	for i := range 2 {
		tellers.Go(func() {
			time.Sleep(time.Duration(i) * 100 * time.Millisecond)
			for range 60 {
				a.Withdraw(1)
			}
		})
	}
	tellers.Wait()
	if a.balance != 0 {
		t.Errorf("the balance is %d, want 0", a.balance)
	}
}
