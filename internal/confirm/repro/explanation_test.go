package repro

import (
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
