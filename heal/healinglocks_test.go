package heal_test

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/heal"
)

func newHealingLocks(t *testing.T, patience time.Duration) *heal.HealingLocks {
	t.Helper()
	h, err := heal.NewHealingLocks(heal.WithPatience(patience))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// exclusive is a visit that excludes all others.
func exclusive(t heisen.Thread, v heisen.Object) heal.Visit {
	return heal.Visit{Thread: t, Object: v, Mode: heal.Exclusive}
}

// TestHealingLocksExclude: visits of random threads that exclude each other do not overlap.
func TestHealingLocksExclude(t *testing.T) {
	h := newHealingLocks(t, time.Hour)
	var readers, writers [3]atomic.Int32
	var wg sync.WaitGroup
	for thread := range heisen.Thread(6) {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(thread), 1))
			for range 3000 {
				object := r.IntN(3)
				v := heal.Visit{Thread: thread, Object: balance + heisen.Object(8*object), Mode: heal.Shared}
				inside := &readers[object]
				if r.IntN(2) == 0 {
					v.Mode, inside = heal.Exclusive, &writers[object]
				}
				h.Enter(v)
				inside.Add(1)
				if w, r := writers[object].Load(), readers[object].Load(); w > 1 || w == 1 && r > 0 {
					t.Errorf("%d writers and %d readers", w, r)
				}
				if r.IntN(4) == 0 {
					h.Enter(v) // nested
					runtime.Gosched()
					h.Leave(v)
				}
				inside.Add(-1)
				h.Leave(v)
			}
		})
	}
	wg.Wait()
	if s := h.Stats(); s.Cycles != 0 || s.TimeOuts != 0 || s.Waited == 0 {
		t.Errorf("%+v", s)
	}
}

// The following programs would wait for ever if healing locks were plain locks. The patience is so long that only the
// rule about cycles ends them.

// TestCycleWithLock: a thread wants a lock of the program during a visit, and the owner of the lock makes a visit.
func TestCycleWithLock(t *testing.T) {
	h := newHealingLocks(t, time.Hour)
	const lock heisen.Object = 0x2000
	var mu sync.Mutex
	lockMu := func(t heisen.Thread) {
		h.BeforeAcquire(t, lock)
		mu.Lock()
		h.AfterAcquire(t, lock)
	}
	unlockMu := func(t heisen.Thread) {
		h.Release(t, lock)
		mu.Unlock()
	}
	var wg sync.WaitGroup
	inside, owns := make(chan bool), make(chan bool)
	wg.Go(func() {
		h.Enter(exclusive(1, balance))
		close(inside)
		<-owns
		lockMu(1)
		unlockMu(1)
		h.Leave(exclusive(1, balance))
	})
	wg.Go(func() {
		<-inside
		lockMu(2)
		close(owns)
		h.Enter(exclusive(2, balance))
		h.Leave(exclusive(2, balance))
		unlockMu(2)
	})
	wg.Wait()
	if s := h.Stats(); s.Cycles != 1 || s.TimeOuts != 0 {
		t.Errorf("%+v", s)
	}
}

// TestCycleOfHealingLocks: two threads make visits to two variables, in opposite orders.
func TestCycleOfHealingLocks(t *testing.T) {
	h := newHealingLocks(t, time.Hour)
	var wg, both sync.WaitGroup
	both.Add(2)
	visit := func(thread heisen.Thread, first, second heisen.Object) {
		h.Enter(exclusive(thread, first))
		both.Done()
		both.Wait()
		h.Enter(exclusive(thread, second))
		h.Leave(exclusive(thread, second))
		h.Leave(exclusive(thread, first))
	}
	wg.Go(func() { visit(1, balance, balance+8) })
	wg.Go(func() { visit(2, balance+8, balance) })
	wg.Wait()
	if s := h.Stats(); s.Cycles != 1 || s.TimeOuts != 0 {
		t.Errorf("%+v", s)
	}
}

// TestCycleWithMessage: a thread waits for a message during a visit, and the sender makes a visit before it sends. A
// third thread owns a lock of the program and waits for the message, a fourth wants the lock during a visit.
func TestCycleWithMessage(t *testing.T) {
	h := newHealingLocks(t, time.Hour)
	const lock heisen.Object = 0x2000
	var mu sync.Mutex
	var wg, inside sync.WaitGroup
	message := make(chan bool)
	receive := func(t heisen.Thread) {
		h.BeforeWait(t)
		<-message
		h.AfterWait(t)
	}
	inside.Add(3)
	wg.Go(func() {
		h.Enter(exclusive(1, balance))
		inside.Done()
		receive(1)
		h.Leave(exclusive(1, balance))
	})
	owns := make(chan bool)
	wg.Go(func() {
		mu.Lock()
		h.AfterAcquire(3, lock)
		close(owns)
		inside.Done()
		receive(3)
		h.Release(3, lock)
		mu.Unlock()
	})
	wg.Go(func() {
		<-owns
		h.Enter(exclusive(4, balance+8))
		inside.Done()
		h.BeforeAcquire(4, lock)
		mu.Lock()
		h.AfterAcquire(4, lock)
		h.Release(4, lock)
		mu.Unlock()
		h.Leave(exclusive(4, balance+8))
	})
	wg.Go(func() {
		inside.Wait()
		for _, object := range []heisen.Object{balance, balance + 8} {
			h.Enter(exclusive(2, object))
			h.Leave(exclusive(2, object))
		}
		close(message)
	})
	wg.Wait()
	if s := h.Stats(); s.Cycles != 2 || s.TimeOuts != 0 {
		t.Errorf("%+v", s)
	}
}

// TestNoCycle: a thread that waits for a lock whose owner runs keeps its healing lock.
func TestNoCycle(t *testing.T) {
	h := newHealingLocks(t, time.Hour)
	const lock heisen.Object = 0x2000
	h.AfterAcquire(3, lock)
	h.AfterAcquire(3, lock) // for reading, twice
	h.Enter(exclusive(1, balance))
	h.BeforeAcquire(1, lock)
	entered := make(chan bool)
	go func() {
		h.Enter(exclusive(2, balance))
		close(entered)
	}()
	for h.Stats().Waited == 0 {
		runtime.Gosched()
	}
	h.Release(3, lock)
	h.Release(3, lock)
	h.Release(3, lock) // once too often
	h.AfterAcquire(1, lock)
	select {
	case <-entered:
		t.Error("the lock was taken away")
	default:
	}
	h.Leave(exclusive(1, balance))
	<-entered
	if s := h.Stats(); s.Cycles != 0 || s.TimeOuts != 0 {
		t.Errorf("%+v", s)
	}
}

// TestTimeOut: a visit that nobody ends does not stop others.
func TestTimeOut(t *testing.T) {
	h := newHealingLocks(t, time.Millisecond)
	h.Enter(exclusive(1, balance))
	h.Enter(exclusive(2, balance))
	h.Leave(exclusive(1, balance)) // does nothing any more
	h.Enter(exclusive(3, balance))
	h.Leave(exclusive(3, balance))
	if s := h.Stats(); s.TimeOuts != 2 || s.Cycles != 0 || s.Visits != 3 || s.Waited != 2 {
		t.Errorf("%+v", s)
	}
}

// TestLongVisit: a thread waits for a visit that takes its time, and takes the lock away from nobody.
func TestLongVisit(t *testing.T) {
	h, err := heal.NewHealingLocks()
	if err != nil {
		t.Fatal(err)
	}
	h.Enter(exclusive(1, balance))
	over := false
	var wg sync.WaitGroup
	wg.Go(func() {
		h.Enter(exclusive(2, balance))
		if !over {
			t.Error("the other visit is not over")
		}
		h.Leave(exclusive(2, balance))
	})
	time.Sleep(200 * time.Millisecond)
	over = true
	h.Leave(exclusive(1, balance))
	wg.Wait()
	if s := h.Stats(); s.Cycles != 0 || s.TimeOuts != 0 {
		t.Errorf("%+v", s)
	}
}
