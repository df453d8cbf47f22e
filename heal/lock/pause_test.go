package lock

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// TestFigure9 has the deadlock of figure 9 in the paper: one thread waits for a condition while it holds an inserted
// lock, and the other one signals the condition only once it has had the lock. Pause lets it have the lock.
func TestFigure9(t *testing.T) {
	var l Lock
	var mu sync.Mutex
	c := sync.NewCond(&mu)
	var wg sync.WaitGroup
	waits, signaled, kept := make(chan bool), false, true
	wg.Go(func() {
		var h Held
		defer h.Release()
		h.Acquire(&l, Exclusive, 1)
		mu.Lock()
		close(waits)
		for !signaled {
			h.Pause()
			c.Wait()
			kept = h.Resume()
		}
		mu.Unlock()
	})
	<-waits
	var h Held
	h.Acquire(&l, Exclusive, 1)
	h.Release()
	mu.Lock()
	signaled = true
	c.Signal()
	mu.Unlock()
	wg.Wait()
	if kept {
		t.Error("nobody took the lock away")
	}
}

// TestTransitiveWait: a goroutine that holds an inserted lock waits for a lock of the program, whose holder waits for
// a message, and the sender needs the inserted lock.
func TestTransitiveWait(t *testing.T) {
	var l Lock
	var mu sync.Mutex
	message := make(chan bool)
	holds, wants := make(chan bool), make(chan bool)
	var wg sync.WaitGroup
	wg.Go(func() {
		mu.Lock()
		close(holds)
		<-message
		mu.Unlock()
	})
	wg.Go(func() {
		var h Held
		defer h.Release()
		h.Acquire(&l, Exclusive, 1)
		<-holds
		close(wants)
		if h.LockOther(&mu) {
			t.Error("nobody took the lock away")
		}
		mu.Unlock()
	})
	wg.Go(func() {
		<-wants
		var h Held
		h.Acquire(&l, Exclusive, 1)
		message <- true
		h.Release()
	})
	wg.Wait()
}

// TestPauseUnwanted: what nobody else wants stays held across a wait.
func TestPauseUnwanted(t *testing.T) {
	var l, m Lock
	var outer Held
	outer.Acquire(&l, Shared, 1)
	h := outer.Inner()
	h.Acquire(&m, Exclusive, 1)
	h.Pause()
	var other Held
	other.Acquire(&l, Shared, 1) // excludes nobody
	other.Release()
	if !h.Resume() {
		t.Error("a lock was taken away")
	}
	h.Pause()
	other.Acquire(&l, Exclusive, 1)
	other.Release()
	if h.Resume() {
		t.Error("no lock was taken away")
	}
	h.Release()
	outer.Release()
	for _, l := range []*Lock{&l, &m} {
		if state := l.state.Load() &^ opened; state != 0 {
			t.Errorf("state %x", state)
		}
	}
}

// TestResumeOrder: Resume needs two locks in the order of their Helds, which is not the one in which all goroutines
// acquire them. It must not hold one while it waits for the other.
func TestResumeOrder(t *testing.T) {
	var first, second Lock
	var outer Held
	inner := outer.Inner()
	inner.Acquire(&first, Exclusive, 1)
	outer.Acquire(&second, Exclusive, 1)
	inner.Pause()
	var other Held
	other.Acquire(&first, Exclusive, 1)
	done := make(chan bool)
	go func() { // it holds what was taken away
		for first.state.Load()&waiting == 0 { // until somebody waits for it
			runtime.Gosched()
		}
		h := other.Inner()
		h.Acquire(&second, Exclusive, 1)
		h.Release()
		other.Release()
		close(done)
	}()
	if inner.Resume() {
		t.Error("no lock was taken away")
	}
	<-done
	if inner.Mode() != Exclusive || outer.Mode() != Exclusive || first.state.Load()&exclusives == 0 || second.state.Load()&exclusives == 0 {
		t.Error("the locks are not held")
	}
	inner.Release()
	outer.Release()
}

// TestBubbles: a lock may be shared by several bubbles of testing/synctest, as a mutex may.
func TestBubbles(t *testing.T) {
	var l Lock
	n := 0
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			synctest.Test(t, func(t *testing.T) {
				for range 4 {
					go func() {
						for range 1000 {
							var h Held
							h.Acquire(&l, Exclusive, 1)
							n++
							h.Release()
						}
					}()
				}
			})
		})
	}
	wg.Wait()
	if n != 16000 {
		t.Error(n)
	}
}

// TestYield: a goroutine that waits for another one in a loop lets it have what it holds, itself and in those around it.
func TestYield(t *testing.T) {
	for _, procs := range []int{1, 2} {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
		for _, mode := range []Mode{Shared, Update, Exclusive} {
			for range 200 {
				var first, second Lock
				var ready atomic.Bool
				n, kept := 0, true
				var wg sync.WaitGroup
				wg.Go(func() {
					var outer Held
					defer outer.Release()
					outer.Acquire(&first, mode, 1)
					h := outer.Inner()
					defer h.Release()
					h.Acquire(&second, Exclusive, 1)
					for !ready.Load() {
						kept = h.Yield() && kept
						runtime.Gosched()
					}
					n++
				})
				wg.Go(func() {
					var h Held
					h.Acquire(&first, Exclusive, 1)
					h.Release()
					h.Acquire(&second, Exclusive, 1)
					n++
					h.Release()
					ready.Store(true)
				})
				wg.Wait()
				if n != 2 {
					t.Fatalf("procs %d, mode %v: n = %d", procs, mode, n)
				}
			}
		}
	}
}

// TestYieldAlone: a goroutine for which nobody waits holds what it has.
func TestYieldAlone(t *testing.T) {
	var l Lock
	var h, free Held
	h.Acquire(&l, Exclusive, 1)
	if !h.Yield() || !free.Yield() || !(*Held)(nil).Yield() || h.Mode() != Exclusive {
		t.Error("something was taken away")
	}
	var other Held
	if l.try(Shared) {
		t.Error("the lock is free")
	}
	h.Release()
	if other.Acquire(&l, Exclusive, 1); other.Mode() != Exclusive {
		t.Error("the lock is not free")
	}
}
