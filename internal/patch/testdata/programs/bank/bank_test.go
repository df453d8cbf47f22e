package bank

import (
	"sync"
	"testing"
)

func Test(t *testing.T) {
	a, b := &account{}, &account{}
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			if i%2 == 0 {
				transfer(a, b, 1)
			} else {
				transfer(b, a, 1)
			}
		}()
	}
	wg.Wait()
	if a.balance != 0 || b.balance != 0 {
		t.Error(a.balance, b.balance)
	}
}
