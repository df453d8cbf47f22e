package adversary

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// bugDoubleClose closes a channel twice, because the check and the close are apart.
//
//adversary:bug misuse
func bugDoubleClose(r *run) {
	c := make(chan bool)
	var closed atomic.Bool
	var all sync.WaitGroup
	for i := range r.n(2, 3) {
		all.Go(func() {
			pad(r, i)
			if !closed.Load() {
				closed.Store(true)
				close(c) // want race, failure "close of closed channel"
			}
		})
	}
	all.Wait()
}

// bugSendClosed sends to a channel that may be closed since it looked.
//
//adversary:bug misuse
func bugSendClosed(r *run) {
	c := make(chan int, 4)
	var closed atomic.Bool
	before := r.n(0, 3)
	var all sync.WaitGroup
	all.Go(func() {
		if !closed.Load() {
			c <- 1 // want race, failure "send on closed channel"
		}
	})
	all.Go(func() {
		pad(r, before)
		closed.Store(true)
		close(c)
	})
	all.Wait()
}

// bugUnlocked unlocks a mutex twice, because the check and the unlock are apart.
//
//adversary:bug misuse
func bugUnlocked(r *run) {
	var mu sync.Mutex
	var held atomic.Bool
	mu.Lock()
	held.Store(true)
	var all sync.WaitGroup
	for i := range 2 {
		all.Go(func() {
			pad(r, i)
			if held.Load() {
				held.Store(false)
				mu.Unlock() // want failure "unlock of unlocked mutex"
			}
		})
	}
	all.Wait()
}

// bugNegative takes one too many from a WaitGroup, if two goroutines see the same state.
//
//adversary:bug misuse
func bugNegative(r *run) {
	var group, all sync.WaitGroup
	var open atomic.Int32
	group.Add(1)
	open.Store(1)
	for i := range r.n(2, 3) {
		all.Go(func() {
			pad(r, i)
			if open.Load() > 0 {
				open.Add(-1)
				group.Done() // want failure "negative WaitGroup counter"
			}
		})
	}
	all.Wait()
	group.Wait()
}

// bugLateAdd adds to a WaitGroup in the goroutine that it is about.
//
//adversary:bug misuse
func bugLateAdd(r *run) {
	var group sync.WaitGroup
	var done atomic.Bool
	finished := make(chan bool)
	go func() {
		pad(r, 2)
		group.Add(1) // want race
		done.Store(true)
		group.Done()
		close(finished)
	}()
	runtime.Gosched()
	group.Wait()                  // want race
	if was := done.Load(); !was { // nobody has waited
		defer r.Errorf("nobody has waited") // want failure "test failed"
	}
	<-finished
}

// bugNilMap writes to a map that another goroutine may have made nil since it looked.
//
//adversary:bug misuse
func bugNilMap(r *run) {
	var mu sync.Mutex
	m := map[string]int{}
	before := r.n(0, 3)
	var all sync.WaitGroup
	all.Go(func() {
		mu.Lock()
		there := m != nil
		mu.Unlock()
		if there {
			mu.Lock()
			defer mu.Unlock()
			m["a"] = 1 // want failure "assignment to entry in nil map"
		}
	})
	all.Go(func() {
		pad(r, before)
		mu.Lock()
		defer mu.Unlock()
		m = nil
	})
	all.Wait()
}

// bugReadUnlocked releases a read lock that it may not hold.
//
//adversary:bug misuse
func bugReadUnlocked(r *run) {
	var mu sync.RWMutex
	n := r.n(0, 3)
	var all sync.WaitGroup
	all.Go(func() {
		mu.RLock()
		defer mu.RUnlock()
		sink(n)
	})
	all.Go(func() {
		pad(r, n)
		if mu.TryLock() {
			mu.Unlock()
			return
		}
		mu.RUnlock() // want failure "RUnlock of unlocked RWMutex"
	})
	all.Wait()
}
