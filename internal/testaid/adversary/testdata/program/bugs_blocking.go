package adversary

import (
	"context"
	"sync"
	"time"
)

// bugLockOrder takes two locks in both orders.
//
//adversary:bug deadlock
func bugLockOrder(r *run) {
	var a, b sync.Mutex
	before := r.n(0, 3)
	var all sync.WaitGroup
	all.Go(func() {
		a.Lock()
		defer a.Unlock()
		b.Lock() // want deadlock, leak
		b.Unlock()
	})
	all.Go(func() {
		pad(r, before)
		b.Lock()
		a.Lock() // want deadlock, leak
		a.Unlock()
		b.Unlock()
	})
	all.Wait()
}

// bugThreeLocks takes three locks in a ring.
//
//adversary:bug deadlock
func bugThreeLocks(r *run) {
	var locks [3]sync.Mutex
	var all sync.WaitGroup
	for i := range locks {
		all.Go(func() {
			locks[i].Lock()
			defer locks[i].Unlock()
			next := &locks[(i+1)%3]
			next.Lock() // want deadlock, leak
			next.Unlock()
		})
	}
	all.Wait()
}

// bugReadTwice takes a read lock again while a writer may wait.
//
//adversary:bug deadlock
func bugReadTwice(r *run) {
	var mu sync.RWMutex
	n := 0
	read := func() int {
		mu.RLock() // want deadlock, leak
		defer mu.RUnlock()
		return n
	}
	var all sync.WaitGroup
	all.Go(func() {
		mu.RLock()
		defer mu.RUnlock()
		sink(n + read())
	})
	for range r.n(1, 2) {
		all.Go(func() {
			mu.Lock() // want deadlock, leak
			n++
			mu.Unlock()
		})
	}
	all.Wait()
}

type teller struct {
	mu    sync.Mutex
	saved int
}

// pay locks the receiver and then the other one.
func (a *teller) pay(b *teller, n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	b.mu.Lock() // want deadlock, leak
	defer b.mu.Unlock()
	a.saved -= n
	b.saved += n
}

// bugTransfer pays to and fro.
//
//adversary:bug deadlock
func bugTransfer(r *run) {
	x, y := &teller{}, &teller{}
	n := r.n(1, 9)
	var all sync.WaitGroup
	all.Go(func() { x.pay(y, n) })
	all.Go(func() { y.pay(x, n) })
	all.Wait()
}

// bugOnceAndLock waits for a once function that needs the lock which is held.
//
//adversary:bug deadlock
func bugOnceAndLock(r *run) {
	var mu sync.Mutex
	var once sync.Once
	load := func() {
		mu.Lock() // want deadlock, leak
		mu.Unlock()
	}
	before := r.n(0, 3)
	var all sync.WaitGroup
	all.Go(func() {
		pad(r, before)
		once.Do(load)
	})
	all.Go(func() {
		mu.Lock()
		defer mu.Unlock()
		once.Do(func() {}) // want deadlock, leak
	})
	all.Wait()
}

// bugSendUnderLock sends under a lock that the receiver may need first.
//
//adversary:bug channel
func bugSendUnderLock(r *run) {
	var mu sync.Mutex
	c := make(chan int)
	n := 0
	var all sync.WaitGroup
	all.Go(func() {
		mu.Lock()
		c <- 1 // want deadlock, leak
		mu.Unlock()
	})
	all.Go(func() {
		mu.Lock() // want deadlock, leak
		n++
		mu.Unlock()
		<-c
	})
	all.Wait()
}

// bugCrossing sends to each other before either receives, which needs a free place in a buffer.
//
//adversary:bug channel
func bugCrossing(r *run) {
	a, b := make(chan int, 1), make(chan int, 1)
	before := r.n(0, 3)
	var all sync.WaitGroup
	all.Go(func() {
		pad(r, before)
		b <- 0 // want deadlock, leak
		a <- 0 // want deadlock, leak
		<-b
		<-a
	})
	all.Go(func() {
		a <- 1 // want deadlock, leak
		b <- 1 // want deadlock, leak
		<-a
		<-b
	})
	all.Wait()
}

// bugTokens takes two tokens of a bucket that has two, in two goroutines.
//
//adversary:bug channel
func bugTokens(r *run) {
	tokens := make(chan bool, 2)
	tokens <- true
	tokens <- true
	before := r.n(0, 3)
	var all sync.WaitGroup
	for i := range 2 {
		all.Go(func() {
			pad(r, before*i)
			<-tokens
			<-tokens // want deadlock, leak
			tokens <- true
			tokens <- true
		})
	}
	all.Wait()
}

// bugWaitUnderLock waits for goroutines that need the lock which it holds.
//
//adversary:bug channel
func bugWaitUnderLock(r *run) {
	var mu sync.Mutex
	done := make(chan bool)
	n := 0
	go func() {
		mu.Lock() // want deadlock, leak
		n++
		mu.Unlock()
		close(done)
	}()
	pad(r, r.n(0, 3))
	mu.Lock()
	if n == 0 {
		<-done // want deadlock, leak
	}
	mu.Unlock()
	<-done
}

// bugStopAndWork stops a worker that may wait for work to be taken.
//
//adversary:bug channel
func bugStopAndWork(r *run) {
	work, stop, stopped := make(chan int, 1), make(chan bool), make(chan bool)
	n := r.n(3, 4)
	go func() {
		defer close(stopped)
		for i := 0; i < n; i++ {
			select {
			case <-stop:
				return
			default:
			}
			work <- i // want deadlock, leak
		}
		<-stop // want deadlock, leak
	}()
	<-work
	stop <- true // want deadlock, leak
	<-stopped
}

// bugLateResult leaves a goroutine behind that sends what nobody takes any more.
//
//adversary:bug leak
func bugLateResult(r *run) {
	ctx, cancel := context.WithCancel(context.Background())
	result := make(chan int)
	before := r.n(0, 4)
	go func() {
		pad(r, before)
		result <- 1 // want leak
	}()
	go cancel()
	select {
	case <-result:
	case <-ctx.Done():
	}
}

// bugFirstAnswer takes the first of several answers.
//
//adversary:bug leak
func bugFirstAnswer(r *run) {
	answers := make(chan int)
	n := r.n(2, 3)
	for i := range n {
		go func() {
			pad(r, i)
			answers <- i // want leak
		}()
	}
	<-answers
}

// bugNotClosed ranges over a channel that its sender forgets to close when it is canceled.
//
//adversary:bug leak
func bugNotClosed(r *run) {
	ctx, cancel := context.WithCancel(context.Background())
	items := make(chan int)
	consumed := make(chan bool, 1)
	go func() {
		for range items { // want leak
		}
		consumed <- true
	}()
	produced := make(chan bool)
	n := r.n(1, 3)
	go func() {
		defer close(produced)
		for i := range n {
			select {
			case items <- i:
			case <-ctx.Done():
				return
			}
		}
		close(items)
	}()
	go cancel()
	<-produced
	cancel()
}

// bugMissedSignal signals a condition perhaps before anyone waits.
//
//adversary:bug leak
func bugMissedSignal(r *run) {
	var mu sync.Mutex
	c := sync.NewCond(&mu)
	before := r.n(0, 3)
	go func() {
		pad(r, before)
		mu.Lock()
		defer mu.Unlock()
		c.Wait() // want leak
	}()
	mu.Lock()
	c.Signal()
	mu.Unlock()
}

// bugTimedOut gives up after a timeout, and the worker can never send.
//
//adversary:bug leak
func bugTimedOut(r *run) {
	answer := make(chan string)
	go func() {
		time.Sleep(5 * time.Microsecond)
		answer <- "x" // want leak
	}()
	select {
	case <-answer:
	case <-time.After(time.Duration(r.n(4, 9)) * time.Microsecond):
	}
}

// bugForgottenLock returns early without unlocking, if another goroutine was first.
//
//adversary:bug leak
func bugForgottenLock(r *run) {
	var mu sync.Mutex
	owner := 0
	claim := func(me int) {
		mu.Lock() // want leak
		if owner != 0 {
			return
		}
		owner = me
		mu.Unlock()
	}
	for i := range r.n(3, 4) {
		go claim(i + 1)
	}
}
