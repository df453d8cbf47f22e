// Command report has one race, of a goroutine whose parent has ended.
package main

import (
	"sync"
	"time"
)

type account struct {
	mu      sync.Mutex
	history sync.RWMutex
	balance int
}

type box[T any] struct{ content T }

// put is a method of a generic type, which is inlined.
func (b *box[T]) put(value T) {
	b.content = value
}

func (a *account) deposit(b *box[int], amount int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.history.RLock()
	defer a.history.RUnlock()
	b.put(amount)
}

func main() {
	a, b := new(account), new(box[int])
	go func() {
		go a.deposit(b, 7)
	}()
	time.Sleep(100 * time.Millisecond) // orders the accesses in time only
	println(b.content)
}
