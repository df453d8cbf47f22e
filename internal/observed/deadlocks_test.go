package observed

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/recorder"
)

const (
	waitsToRead  = "sync.RWMutex.RLock"
	waitsToWrite = "sync.RWMutex.Lock"
)

// lockState says what goroutines hold, and for which locks they wait.
type lockState struct {
	symbols *heisen.Symbols
	held    *HeldLocks
	blocked []recorder.Blocked
	holds   []map[heisen.Object]heisen.Op
}

func newLockState(goroutines int) *lockState {
	symbols := heisen.NewSymbols()
	s := &lockState{symbols: symbols, held: newHeldLocks(symbols)}
	for i := range goroutines {
		s.blocked = append(s.blocked, recorder.Blocked{Thread: heisen.Thread(i + 1), Reason: "chan receive"})
		s.holds = append(s.holds, map[heisen.Object]heisen.Op{})
	}
	return s
}

func (s *lockState) hold(i int, lock heisen.Object, op heisen.Op) {
	s.held.handle(&heisen.Record{Op: op, Thread: heisen.Thread(i + 1), Object: lock})
	s.holds[i][lock] = op
}

func (s *lockState) wait(i int, lock heisen.Object, reason string) {
	s.blocked[i].Object, s.blocked[i].Reason = lock, reason
}

// mayHold reports whether i can get a lock while others hold what they hold.
func (s *lockState) mayHold(i int, lock heisen.Object, op heisen.Op) bool {
	for k, holds := range s.holds {
		if has := holds[lock]; has != 0 && (k == i || has == heisen.Acquire || op == heisen.Acquire) {
			return false
		}
	}
	return true
}

// waitsFor reports whether goroutine i can go on only after goroutine k.
func (s *lockState) waitsFor(i, k int) bool {
	lock, reads := s.blocked[i].Object, s.blocked[i].Reason == waitsToRead
	if lock == 0 || i == k || !reads && s.holds[i][lock] != 0 {
		return false
	}
	keepsOut := func(k int) bool { return s.holds[k][lock] != 0 && !(reads && s.holds[k][lock] == heisen.AcquireShared) }
	for other := range s.blocked {
		if other != i && keepsOut(other) {
			return keepsOut(k)
		}
	}
	return reads && s.blocked[k].Object == lock && s.blocked[k].Reason == waitsToWrite
}

// TestCircles compares with the definition: those in a circle wait for each other, and those that wait for one in a circle are behind one.
func TestCircles(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	inCircles := 0
	for range 20_000 {
		n, locks := 2+rng.IntN(7), 1+rng.IntN(6)
		s := newLockState(n)
		for i := range n {
			for range rng.IntN(3) {
				op := heisen.Acquire
				if rng.IntN(2) == 0 {
					op = heisen.AcquireShared
				}
				if lock := heisen.Object(1 + rng.IntN(locks)); s.mayHold(i, lock, op) {
					s.hold(i, lock, op)
				}
			}
			if reason := rng.IntN(5); reason < 4 {
				s.wait(i, heisen.Object(1+rng.IntN(locks)), []string{waitsToRead, waitsToWrite}[reason%2])
			}
		}
		inCircles += s.checkCircles(t)
		if t.Failed() {
			return
		}
	}
	if inCircles < 5_000 {
		t.Errorf("only %d goroutines are in circles", inCircles)
	}
}

// checkCircles returns how many goroutines are in circles.
func (s *lockState) checkCircles(t *testing.T) (inCircles int) {
	t.Helper()
	n := len(s.blocked)
	leads := make([][]bool, n) // by one step, then by any number
	for i := range n {
		leads[i] = make([]bool, n)
		for k := range n {
			leads[i][k] = s.waitsFor(i, k)
		}
	}
	for via := range n {
		for i := range n {
			for k := range n {
				leads[i][k] = leads[i][k] || leads[i][via] && leads[via][k]
			}
		}
	}
	told := make([]int, n)
	for _, c := range s.held.newLockWaits(s.blocked).circles() {
		for at, i := range c.members {
			if next := c.members[(at+1)%len(c.members)]; len(c.members) < 2 || !s.waitsFor(i, next) {
				t.Errorf("%v: %d does not wait for %d: %v", c.members, i, next, s)
			}
			told[i]++
		}
		inCircles += len(c.members)
		for _, i := range c.behind {
			if !slices.ContainsFunc(c.members, func(k int) bool { return leads[i][k] }) {
				t.Errorf("%d is not behind %v: %v", i, c.members, s)
			}
			told[i]++
		}
	}
	for i := range n {
		want := 0
		for k := range n {
			if (k == i || leads[i][k]) && leads[k][k] {
				want = 1
			}
		}
		if told[i] != want {
			t.Errorf("goroutine %d is in %d circles or behind them, want %d: %v", i, told[i], want, s)
		}
	}
	return inCircles
}

func (s *lockState) String() (text string) {
	for i, g := range s.blocked {
		text += fmt.Sprintf("\n%d holds %v, waits for %d (%s)", i, s.holds[i], g.Object, g.Reason)
	}
	return text
}

// TestManyCircles: each of many deadlocks is told, and what waits for the same is not told again.
func TestManyCircles(t *testing.T) {
	const n = 2000
	separate := newLockState(n)
	for i := range n {
		separate.hold(i, heisen.Object(i+1), heisen.Acquire)
		separate.wait(i, heisen.Object(i^1+1), waitsToWrite)
	}
	circles := separate.held.newLockWaits(separate.blocked).circles()
	if len(circles) != n/2 {
		t.Errorf("%d circles of two, want %d", len(circles), n/2)
	}
	circles = oneLock(n).circles()
	all := 0
	for _, c := range circles {
		all += len(c.members) + len(c.behind)
	}
	if len(circles) == 0 || len(circles) > maxCircles || all != n {
		t.Errorf("%d circles, with %d goroutines, want all %d", len(circles), all, n)
	}
}

// oneLock returns goroutines half of which hold an RWMutex and want it again, for which the other half waits.
func oneLock(n int) *lockWaits {
	s := newLockState(n)
	for i := range n {
		if i%2 == 0 {
			s.hold(i, 1, heisen.AcquireShared)
			s.wait(i, 1, waitsToRead)
		} else {
			s.wait(i, 1, waitsToWrite)
		}
	}
	return s.held.newLockWaits(s.blocked)
}

// BenchmarkCircles looks for circles of 20,000 goroutines that all wait for each other.
func BenchmarkCircles(b *testing.B) {
	w := oneLock(20_000)
	for b.Loop() {
		if len(w.circles()) == 0 {
			b.Fatal("no circle")
		}
	}
}
