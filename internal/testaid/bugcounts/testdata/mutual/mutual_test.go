package mutual

import (
	"sync"
	"testing"
	"time"
)

// The test does not wait for the transfers to end.
func TestTransfers(t *testing.T) {
	a, b := &account{}, &account{}
	go transfer(a, b, 1)
	go transfer(b, a, 2)
	time.Sleep(50 * time.Millisecond)
}

// Both transfers have the first lock before one of them wants the second.
func TestAtRest(t *testing.T) {
	a, b := &account{}, &account{}
	var both sync.WaitGroup
	both.Add(2)
	meet := func(x, y *account) {
		x.mu.Lock()
		defer x.mu.Unlock()
		both.Done()
		both.Wait()
		y.credit(1)
	}
	go meet(a, b)
	go meet(b, a)
	time.Sleep(50 * time.Millisecond)
}

// A third goroutine waits for one of the two.
func TestPileUp(t *testing.T) {
	a, b := &account{}, &account{}
	var both sync.WaitGroup
	both.Add(2)
	meet := func(x, y *account) {
		x.mu.Lock()
		defer x.mu.Unlock()
		both.Done()
		both.Wait()
		y.credit(1)
	}
	go meet(a, b)
	go meet(b, a)
	go func() {
		both.Wait()
		transfer(a, b, 3)
	}()
	time.Sleep(50 * time.Millisecond)
}

func TestReaders(t *testing.T) {
	var a, b sync.RWMutex
	var both sync.WaitGroup
	both.Add(2)
	meet := func(x, y *sync.RWMutex) {
		x.RLock()
		defer x.RUnlock()
		both.Done()
		both.Wait()
		y.Lock()
		y.Unlock()
	}
	go meet(&a, &b)
	go meet(&b, &a)
	time.Sleep(50 * time.Millisecond)
}
