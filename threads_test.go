package heisen_test

import (
	"strconv"
	"testing"

	"github.com/heisen-go/heisen"
)

// TestThreadNames checks that names come back as they were given, whatever
// numbers are in them.
func TestThreadNames(t *testing.T) {
	names := []string{
		"", "0", "7", "T", "T0", "T00", "T007", "goroutine 1", "goroutine 18446744073709551615",
		"goroutine 18446744073709551616", "99999999999999999999999", "1a", "a1b22", "Fäden 12",
	}
	s := heisen.NewSymbols()
	for round := range 2 { // the second changes what is known already
		for i, name := range names {
			id := heisen.Thread(i * 37)
			info := heisen.ThreadInfo{Name: name, Forked: i%2 == round, Parent: heisen.Thread(i), Site: heisen.Site(i), Context: heisen.Context(round)}
			s.SetThread(id, info)
			s.SetThread(id, info)
			if got := s.Thread(id); got != info {
				t.Errorf("thread %d is %+v, want %+v", id, got, info)
			}
		}
	}
	if changes, _ := s.Changes(heisen.Revision{}); len(changes.Threads) != 2*len(names) {
		t.Errorf("%d changes, want %d", len(changes.Threads), 2*len(names))
	}
	if got := s.Thread(38); got != (heisen.ThreadInfo{}) {
		t.Errorf("a thread that nobody described is %+v", got)
	}
}

// TestEndedThreads checks that the threads that ended first are forgotten, that others are not, and that the
// memory that this takes is bounded.
func TestEndedThreads(t *testing.T) {
	const limit, last = 100, 10_000
	s := heisen.NewSymbols()
	s.SetLimits(heisen.Limits{EndedThreads: limit, OtherThread: "another"})
	describe := func(id heisen.Thread) heisen.ThreadInfo {
		info := heisen.ThreadInfo{Name: "goroutine " + strconv.Itoa(int(id)), Forked: true, Parent: id / 2}
		s.SetThread(id, info)
		return info
	}
	running := map[heisen.Thread]heisen.ThreadInfo{}
	_, revision := s.Changes(heisen.Revision{})
	for id := range heisen.Thread(last) {
		info := describe(id)
		if id%1000 == 7 {
			running[id] = info
		} else {
			s.EndThread(id)
		}
		if id%37 == 0 {
			var changes heisen.Changes
			if changes, revision = s.Changes(revision); len(changes.Threads) == 0 || changes.Threads[len(changes.Threads)-1].Thread != id {
				t.Fatalf("thread %d is not the last change in %+v", id, changes.Threads)
			}
		}
	}
	for id, want := range running {
		if got := s.Thread(id); got != want {
			t.Errorf("running thread %d is %+v, want %+v", id, got, want)
		}
	}
	for id := heisen.Thread(0); id < last; id++ {
		_, runs := running[id]
		name := "another"
		if runs || id >= last-limit {
			name = "goroutine " + strconv.Itoa(int(id))
		}
		if got := s.Thread(id).Name; got != name {
			t.Fatalf("thread %d is called %q, want %q", id, got, name)
		}
	}
	if got := s.Thread(last + 1); got != (heisen.ThreadInfo{}) {
		t.Errorf("a thread that nobody described is %+v", got)
	}
	changes, _ := s.Changes(heisen.Revision{})
	known := map[heisen.Thread]bool{}
	for _, c := range changes.Threads {
		known[c.Thread] = true
	}
	if want := limit + len(running); len(known) != want || len(changes.Threads) > 6*want+1024 {
		t.Errorf("%d changes of %d threads, want %d threads", len(changes.Threads), len(known), want)
	}
}

// TestChangesOfManyThreads: a table that forgets threads lists no changes of them until somebody asks, and
// all that is known then.
func TestChangesOfManyThreads(t *testing.T) {
	s := heisen.NewSymbols()
	s.SetLimits(heisen.Limits{EndedThreads: 1 << 10})
	for id := range heisen.Thread(100) {
		s.SetThread(id*50, heisen.ThreadInfo{Name: "T" + strconv.Itoa(int(id))})
	}
	first, revision := s.Changes(heisen.Revision{})
	s.SetThread(50, heisen.ThreadInfo{Name: "again"})
	second, _ := s.Changes(revision)
	if len(first.Threads) != 100 || first.Threads[3] != (heisen.ThreadChange{Thread: 150, Info: heisen.ThreadInfo{Name: "T3"}}) {
		t.Errorf("first changes: %+v", first.Threads)
	}
	if len(second.Threads) != 1 || second.Threads[0].Thread != 50 || second.Threads[0].Info.Name != "again" {
		t.Errorf("second changes: %+v", second.Threads)
	}
}
