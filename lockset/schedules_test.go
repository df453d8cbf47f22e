package lockset_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/bench/workload"
)

// schedules tries all schedules of the steps of a trace, whatever they would
// read, in which locks exclude, a receive comes after the sends that it came
// after, a join after all steps of the thread, and a thread after its fork.
type schedules struct {
	steps   map[heisen.Thread][]int // events of each thread
	threads []heisen.Thread
	trace   []heisen.Record
	needs   [][]int // by event: others that come before it in every schedule
	seen    map[string]bool
	races   map[spots]bool
}

func allSchedules(trace []heisen.Record) map[spots]bool {
	s := &schedules{
		trace: trace, steps: map[heisen.Thread][]int{},
		needs: make([][]int, len(trace)), seen: map[string]bool{}, races: map[spots]bool{},
	}
	sent := map[heisen.Object][]int{}
	forked := map[heisen.Thread]int{}
	for i, r := range trace {
		if _, ok := s.steps[r.Thread]; !ok {
			s.threads = append(s.threads, r.Thread)
			if f, ok := forked[r.Thread]; ok {
				s.needs[i] = append(s.needs[i], f)
			}
		}
		switch r.Op {
		case heisen.Send:
			sent[r.Object] = append(sent[r.Object], i)
		case heisen.AtomicWrite:
			delete(sent, r.Object) // what was sent to it cannot be received any more
		case heisen.Receive:
			s.needs[i] = append(s.needs[i], sent[r.Object]...)
		case heisen.Fork:
			forked[r.Object.Thread()] = i
		case heisen.Join:
			s.needs[i] = append(s.needs[i], s.steps[r.Object.Thread()]...)
			if f, ok := forked[r.Object.Thread()]; ok {
				s.needs[i] = append(s.needs[i], f)
			}
		}
		s.steps[r.Thread] = append(s.steps[r.Thread], i)
	}
	s.explore(make([]int, len(s.threads)))
	return s.races
}

// explore visits the state in which each thread has taken so many steps.
func (s *schedules) explore(at []int) {
	key := fmt.Sprint(at)
	if s.seen[key] {
		return
	}
	s.seen[key] = true
	done := map[int]bool{}
	locks := map[heisen.Object][]naiveHold{}
	for i, t := range s.threads {
		for _, e := range s.steps[t][:at[i]] {
			done[e] = true
			nestedHold(locks, &s.trace[e])
		}
	}
	var next []int
	for i, t := range s.threads {
		if at[i] == len(s.steps[t]) {
			continue
		}
		e := s.steps[t][at[i]]
		if !s.enabled(e, done, locks) {
			continue
		}
		for _, other := range next {
			a, b := &s.trace[other], &s.trace[e]
			p, q := siteOp{a.Site, accessOf(a, 0).Op}, siteOp{b.Site, accessOf(b, 0).Op}
			if p.op.Conflicts(q.op) && overlap(a, b) {
				s.races[spotsOf(p, q)] = true
			}
		}
		next = append(next, e)
		at[i]++
		s.explore(at)
		at[i]--
	}
}

func nestedHold(locks map[heisen.Object][]naiveHold, r *heisen.Record) {
	switch r.Op {
	case heisen.Acquire, heisen.AcquireShared:
		locks[r.Object] = append(locks[r.Object], naiveHold{r.Thread, r.Op == heisen.AcquireShared})
	case heisen.Release, heisen.ReleaseShared:
		for i, h := range locks[r.Object] {
			if h == (naiveHold{r.Thread, r.Op == heisen.ReleaseShared}) {
				locks[r.Object] = append(locks[r.Object][:i:i], locks[r.Object][i+1:]...)
				return
			}
		}
	}
}

func (s *schedules) enabled(e int, done map[int]bool, locks map[heisen.Object][]naiveHold) bool {
	for _, n := range s.needs[e] {
		if !done[n] {
			return false
		}
	}
	r := &s.trace[e]
	if r.Op == heisen.Acquire || r.Op == heisen.AcquireShared {
		for _, h := range locks[r.Object] {
			if h.thread != r.Thread && (r.Op == heisen.Acquire || !h.shared) {
				return false
			}
		}
	}
	return true
}

func overlap(a, b *heisen.Record) bool {
	return a.Object < b.Object+heisen.Object(b.Size()) && b.Object < a.Object+heisen.Object(a.Size())
}

// TestHybridFindsRacesOfAllSchedules checks the promise: the places of every
// race of every other schedule are a reported pair.
func TestHybridFindsRacesOfAllSchedules(t *testing.T) {
	all, hidden := 0, 0
	for seed := range uint64(1500) {
		small := workload.Small{Threads: 3, Events: 16, Vars: 2, Syncs: 2, Ranges: seed%3 == 0, Nested: seed%2 == 0, LockWords: seed%5 == 0}
		trace := workload.Random(rand.New(rand.NewPCG(seed, 5)), small)
		found, err := findingsOf(trace, hybrid())
		if err != nil {
			t.Fatal(err)
		}
		got := map[spots]bool{}
		for _, f := range found {
			got[spotsOfFinding(f)] = true
		}
		ordered := allPairs(trace, true)
		for p := range allSchedules(trace) {
			all++
			if ordered[p] == nil {
				hidden++
			}
			if !got[p] {
				t.Fatalf("seed %d: a schedule has the race %v, which is no pair\n%s", seed, p, workload.Show(trace))
			}
		}
	}
	if all < 1000 {
		t.Errorf("only %d races in all schedules", all)
	}
	t.Logf("%d races in all schedules, of which an order of atomic operations would hide %d", all, hidden)
}
