package repro

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/build"
	"github.com/heisen-go/heisen/internal/confirm/controlled"
	"github.com/heisen-go/heisen/internal/confirm/suspects"
	"github.com/heisen-go/heisen/internal/recorder"
)

// TestAwaitedLocks: the steps of an execution at whose end goroutines wait for a lock have the acquisitions by those who hold it, however
// long ago they were, and none of what was released.
func TestAwaitedLocks(t *testing.T) {
	const lock, other, readers heisen.Object = 8, 16, 24
	symbols := heisen.NewSymbols()
	line := 0
	at := func(file string) heisen.Site {
		line++
		return symbols.AddSite(heisen.SiteInfo{Frames: []heisen.Frame{{Func: "main.f", File: file, Line: line}}})
	}
	program, standard := "/src/main.go", "/go/src/net/net.go"
	s := newExplanation(symbols, &build.Toolchain{Root: "/go"}, &suspects.Suspect{}, nil)
	var acquired []heisen.Site
	do := func(thread heisen.Thread, op heisen.Op, object heisen.Object, file string) heisen.Site {
		site := at(file)
		s.handle(&heisen.Record{Op: op, Thread: thread, Object: object, Site: site})
		return site
	}
	do(1, heisen.Write, 100, program)
	do(1, heisen.Acquire, lock, program) // released
	do(1, heisen.Release, lock, program)
	acquired = append(acquired, do(1, heisen.Acquire, lock, program))
	do(1, heisen.Acquire, other, program)
	do(1, heisen.Write, 101, program)
	do(2, heisen.AcquireShared, readers, program) // released by another goroutine
	do(3, heisen.ReleaseShared, readers, program)
	acquired = append(acquired, do(2, heisen.AcquireShared, readers, program))
	do(2, heisen.Acquire, readers, standard)
	for range 10 * (maxBefore + maxAfter) {
		do(1, heisen.Write, 100, program)
		do(2, heisen.Write, 100, program)
	}
	of := func(awaited ...heisen.Object) (sites []heisen.Site) {
		for _, r := range s.selected(awaited) {
			if r.Op.IsLock() {
				sites = append(sites, r.Site)
			}
		}
		return sites
	}
	if got := of(lock, readers); !slices.Equal(got, acquired) {
		t.Errorf("acquisitions at %v, want %v", got, acquired)
	}
	if got := of(); len(got) > 0 {
		t.Errorf("acquisitions at %v, although nobody waits for a lock", got)
	}
	numbers := map[heisen.Site]int{}
	for _, r := range s.selected([]heisen.Object{lock, lock}) {
		numbers[r.Site]++
	}
	if numbers[acquired[0]] != 1 {
		t.Errorf("the acquisition is told %d times", numbers[acquired[0]])
	}

	e := &controlled.Execution{}
	e.Leaked = []recorder.Blocked{
		{Reason: "sync.Mutex.Lock", Object: lock}, {Reason: "chan send", Object: 32}, {Reason: "sync.RWMutex.RLock", Object: readers}, {Reason: "sync.Mutex.Lock", Object: lock},
	}
	if got, want := e.AwaitedLocks(), []heisen.Object{lock, readers}; !slices.Equal(got, want) {
		t.Errorf("locks %v, want %v", got, want)
	}
}

// TestBalance: in the steps of an execution, an acquisition that is told has its release, unless the lock is still held, and a release has
// its acquisition, wherever switches, meetings and the bounds on the steps fall.
func TestBalance(t *testing.T) {
	const locks = 4 // the last one is held by readers
	pairs, open := 0, 0
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		symbols := heisen.NewSymbols()
		s := newExplanation(symbols, &build.Toolchain{Root: "/go"}, &suspects.Suspect{}, nil)
		sites := map[[2]int]heisen.Site{}
		do := func(thread heisen.Thread, op heisen.Op, object heisen.Object) {
			at := [2]int{int(op), int(object)}
			if sites[at] == 0 {
				sites[at] = symbols.AddSite(heisen.SiteInfo{Frames: []heisen.Frame{{Func: "main.f", File: "/src/main.go", Line: len(sites) + 1}}})
			}
			s.handle(&heisen.Record{Op: op, Thread: thread, Object: object, Site: sites[at]})
		}
		var held [3][locks]bool
		free := func(lock int) bool { return !held[0][lock] && !held[1][lock] && !held[2][lock] }
		thread := 0
		for range 100 + random.IntN(1000) {
			if random.IntN(4) == 0 {
				thread = random.IntN(len(held))
			}
			if random.IntN(100) == 0 {
				s.meeting()
			}
			lock := random.IntN(locks)
			object := heisen.Object(8 * (lock + 1))
			switch {
			case random.IntN(3) == 0:
				do(heisen.Thread(thread), heisen.Write, 800)
			case held[thread][lock] && lock == locks-1:
				do(heisen.Thread(thread), heisen.ReleaseShared, object)
				held[thread][lock] = false
			case held[thread][lock]:
				do(heisen.Thread(thread), heisen.Release, object)
				held[thread][lock] = false
			case lock == locks-1:
				do(heisen.Thread(thread), heisen.AcquireShared, object)
				held[thread][lock] = true
			case free(lock):
				do(heisen.Thread(thread), heisen.Acquire, object)
				held[thread][lock] = true
			}
		}
		type holder struct {
			thread heisen.Thread
			object heisen.Object
		}
		holds := map[holder]bool{}
		for _, r := range s.selected([]heisen.Object{8, 32}) {
			at := holder{r.Thread, r.Object}
			switch r.Op {
			case heisen.Acquire, heisen.AcquireShared:
				if holds[at] {
					t.Fatalf("seed %d: thread %d acquires %d again", seed, at.thread, at.object)
				}
				holds[at] = true
			case heisen.Release, heisen.ReleaseShared:
				if !holds[at] {
					t.Fatalf("seed %d: thread %d releases %d without an acquisition", seed, at.thread, at.object)
				}
				pairs++
				delete(holds, at)
			}
		}
		for at := range holds {
			open++
			if !held[at.thread][at.object/8-1] {
				t.Fatalf("seed %d: thread %d has released %d, which is not told", seed, at.thread, at.object)
			}
		}
	}
	if pairs < 1000 || open < 100 {
		t.Errorf("%d pairs, %d locks that stay held: too few", pairs, open)
	}
}
