package lock_test

import (
	"fmt"
	"sync"

	"github.com/heisen-go/heisen/heal/lock"
)

// account has a lock that package heal has placed: a withdrawal looks at the balance and then changes it.
type account struct {
	balance int
	lock    lock.Lock
}

func (a *account) withdraw(n int) bool {
	var h lock.Held
	defer h.Release()
	h.Acquire(&a.lock, lock.Update, 1)
	if a.balance < n {
		return false
	}
	h.Acquire(&a.lock, lock.Exclusive, 2)
	a.balance -= n
	return true
}

func Example() {
	a := account{balance: 10}
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() { a.withdraw(1) })
	}
	wg.Wait()
	fmt.Println(a.balance)
	// Output: 0
}
