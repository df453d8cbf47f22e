package replay_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/mcm/internal/replay"
	"github.com/heisen-go/heisen/mcm/internal/window"
	"github.com/heisen-go/heisen/mcm/internal/windowtest"
)

// Objects of the windows below.
const (
	x       = heisen.Object(16)
	y       = heisen.Object(24)
	mu      = heisen.Object(1 << 12)
	channel = heisen.Object(1 << 13)
)

// on returns a record.
func on(t heisen.Thread, op heisen.Op, o heisen.Object) heisen.Record {
	return heisen.Record{Thread: t, Op: op, Object: o}
}

// of gives a record a value.
func of(r heisen.Record, value uint64) heisen.Record {
	r.Flags, r.Value = r.Flags|heisen.HasValue, value
	return r
}

// TestRules: for each rule there are a schedule that keeps it and one that breaks it. The message names the rule.
func TestRules(t *testing.T) {
	all := heisen.NewObjects(heisen.Span{Start: 0, Len: 1 << 62})
	everything := window.Rules{Reach: func(*heisen.Record) heisen.Objects { return all }}
	decisions := everything
	decisions.ControlFlow = true
	race := []heisen.Record{on(0, heisen.Write, x), on(1, heisen.Write, x)}
	forked := []heisen.Record{on(0, heisen.Write, x), on(0, heisen.Fork, 1), on(1, heisen.Write, x), on(0, heisen.Join, 1), on(0, heisen.Write, x)}
	sections := []heisen.Record{on(0, heisen.Acquire, mu), on(0, heisen.Release, mu), on(1, heisen.Acquire, mu), on(1, heisen.Release, mu)}
	readers := []heisen.Record{on(0, heisen.AcquireShared, mu), on(0, heisen.ReleaseShared, mu), on(1, heisen.AcquireShared, mu), on(1, heisen.ReleaseShared, mu)}
	message := []heisen.Record{on(0, heisen.Send, channel), on(1, heisen.Receive, channel)}
	twice := []heisen.Record{on(0, heisen.Send, channel), on(1, heisen.Receive, channel), on(0, heisen.Send, channel)}
	changes := []heisen.Record{on(0, heisen.Change, channel), on(1, heisen.Send, channel)}
	read := []heisen.Record{on(0, heisen.Write, x), on(1, heisen.Read, x), on(0, heisen.Write, x)}
	equal := []heisen.Record{of(on(0, heisen.Write, x), 1), of(on(1, heisen.Read, x), 1), of(on(0, heisen.Write, x), 1)}
	other := []heisen.Record{of(on(0, heisen.Write, x), 1), of(on(1, heisen.Read, x), 1), of(on(0, heisen.Write, x), 2)}
	ignored := []heisen.Record{on(0, heisen.Write, x), on(1, heisen.Read, x), on(1, heisen.Read, y)}
	branch := []heisen.Record{on(0, heisen.Write, x), on(1, heisen.Read, x), on(1, heisen.Branch, 0)}
	written := []heisen.Record{on(0, heisen.Write, x), on(1, heisen.Read, x), on(1, heisen.AtomicUpdate, y)}
	allocated := []heisen.Record{on(0, heisen.Alloc, x), on(1, heisen.Write, x)}
	hidden := []heisen.Record{on(0, heisen.Hide, 1<<14), on(0, heisen.Reveal, 1<<14), on(1, heisen.Hide, 1<<15), on(1, heisen.Reveal, 1<<15)}
	held := []window.HeldLock{{Lock: mu, Thread: 0}}
	afterHeld := []heisen.Record{on(0, heisen.Release, mu), on(1, heisen.Acquire, mu)}
	again := []heisen.Record{on(0, heisen.Acquire, mu), on(0, heisen.Acquire, mu), on(0, heisen.Release, mu), on(0, heisen.Release, mu), on(1, heisen.Acquire, mu)}
	foreign := []heisen.Record{on(0, heisen.Acquire, mu), on(1, heisen.Release, mu), on(2, heisen.Acquire, mu)}
	for name, test := range map[string]struct {
		rules   window.Rules
		records []heisen.Record
		held    []window.HeldLock
		good    []int
		goodAt  int // the last so many are pending
		bad     []int
		badAt   int
		rule    string
	}{
		"program order":             {everything, read, nil, []int{0, 1, 2}, 0, []int{2}, 0, "not the next"},
		"twice":                     {everything, race, nil, []int{0, 1}, 0, []int{0, 0}, 0, "not the next"},
		"no such record":            {everything, race, nil, []int{1, 0}, 0, []int{2}, 0, "no record 2"},
		"negative":                  {everything, race, nil, nil, 0, []int{-1}, 0, "no record -1"},
		"fork":                      {everything, forked, nil, []int{0, 1, 2}, 0, []int{0, 2}, 0, "before the fork"},
		"join":                      {everything, forked, nil, []int{0, 1, 2, 3, 4}, 0, []int{0, 1, 3}, 0, "which has not ended"},
		"lock":                      {everything, sections, nil, []int{2, 3, 0, 1}, 0, []int{0, 2}, 0, "which is held"},
		"readers":                   {everything, readers, nil, []int{0, 2, 3, 1}, 0, []int{1}, 0, "not the next"},
		"held before":               {everything, afterHeld, held, []int{0, 1}, 0, []int{1}, 0, "which is held"},
		"acquired twice":            {everything, again, nil, []int{0, 1, 2, 3, 4}, 0, []int{0, 1, 2, 4}, 0, "which is held"},
		"released by another":       {everything, foreign, nil, []int{0, 1, 2}, 0, []int{0, 2}, 0, "which is held"},
		"nothing to release":        {everything, foreign, nil, []int{2}, 0, []int{1}, 0, "not held"},
		"message":                   {everything, message, nil, []int{0, 1}, 0, []int{1}, 0, "other messages"},
		"another message":           {everything, twice, nil, []int{0, 1, 2}, 0, []int{0, 2, 1}, 0, "other messages"},
		"changes":                   {everything, changes, nil, []int{0, 1}, 0, []int{1}, 0, "before the change"},
		"value":                     {everything, read, nil, []int{0, 1}, 0, []int{0, 2, 1}, 0, "another value"},
		"value before":              {everything, read, nil, []int{0, 1}, 0, []int{1}, 0, "another value"},
		"equal values":              {everything, equal, nil, []int{0, 2, 1}, 0, []int{1}, 0, "another value"},
		"other values":              {everything, other, nil, []int{0, 1, 2}, 0, []int{0, 2, 1}, 0, "another value"},
		"nothing decided":           {decisions, ignored, nil, []int{1, 2, 0}, 0, []int{2}, 0, "not the next"},
		"decided by a branch":       {decisions, branch, nil, []int{1, 0}, 0, []int{1, 2}, 0, "decides"},
		"decided by an update":      {decisions, written, nil, []int{0, 1, 2}, 0, []int{1, 2}, 0, "decides"},
		"allocation":                {everything, allocated, nil, []int{0, 1}, 0, []int{1}, 0, "before record 0"},
		"BarrierPair":               {everything, hidden, nil, []int{0, 1, 2, 3}, 0, []int{2}, 0, "before record"},
		"pending together":          {everything, race, nil, []int{0, 1}, 2, []int{1, 1}, 2, "by one thread"},
		"pending with its own":      {everything, read, nil, []int{0, 1, 2}, 2, []int{0, 2}, 2, "not the next"},
		"pending before its fork":   {everything, forked, nil, []int{0, 1, 2}, 1, []int{0, 2}, 1, "before the fork"},
		"pending at a held lock":    {everything, sections, nil, []int{0, 2, 1}, 2, []int{0, 2, 3}, 2, "not the next"},
		"pending where none is":     {everything, race, nil, []int{0}, 1, []int{0}, 2, "2 last events of 1"},
		"pending, a negative count": {everything, race, nil, []int{0}, 1, []int{0}, -1, "-1 last events"},
	} {
		p := replay.New(&window.Window{Records: test.records, Held: test.held}, test.rules)
		if err := p.Replay(&window.Witness{Order: test.good, Last: test.goodAt}); err != nil {
			t.Errorf("%s: %v is refused: %v", name, test.good, err)
		}
		err := p.Replay(&window.Witness{Order: test.bad, Last: test.badAt})
		if err == nil || !strings.Contains(err.Error(), test.rule) {
			t.Errorf("%s: %v gives the error %v, want one with %q", name, test.bad, err, test.rule)
		}
	}
}

// TestObserved: every prefix of the observed order is feasible, whatever happens in it.
func TestObserved(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	for range windowtest.Count(t, 2000) {
		w, symbols := windowtest.RandomWindow(rng, windowtest.RandomShape(rng, 30))
		rules := window.DefaultRules()
		rules.Reach = func(r *heisen.Record) heisen.Objects { return symbols.Reach(heisen.Reach(r.Value)) }
		rules.ControlFlow = rng.IntN(2) == 0
		order := make([]int, 1+rng.IntN(len(w.Records)))
		for i := range order {
			order[i] = i
		}
		if err := replay.New(w, rules).Replay(&window.Witness{Order: order}); err != nil {
			t.Fatalf("%v\n%v", err, w.Records)
		}
	}
}

// TestAgainstDefinition compares with a check that looks at the whole schedule instead of executing it, for windows with
// accesses, locks, forks and joins.
func TestAgainstDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	feasible, broken := 0, 0
	for range windowtest.Count(t, 2000) {
		w, _ := windowtest.RandomWindow(rng, windowtest.Shape{Threads: 3, Events: 4 + rng.IntN(12), Vars: 2, Locks: 2, Values: rng.IntN(2) == 0})
		if p := replay.New(w, window.DefaultRules()); len(p.Mixed) > 0 || releasesForOthers(p) {
			continue
		}
		for range 20 {
			order := interleaving(w, rng)
			want := isFeasible(w, order)
			err := replay.New(w, window.DefaultRules()).Replay(&window.Witness{Order: order})
			if (err == nil) != want {
				t.Fatalf("%v is feasible: %v, but replaying it gives %v\n%v", order, want, err, w.Records)
			}
			if want {
				feasible++
			} else {
				broken++
			}
		}
	}
	if feasible < 1000 || broken < 1000 {
		t.Errorf("%d feasible schedules and %d others", feasible, broken)
	}
}

// releasesForOthers reports whether a release ends the hold of another thread.
func releasesForOthers(p *replay.Replayer) bool {
	for i := range p.Window.Records {
		if r := &p.Window.Records[i]; r.Op == heisen.Release && p.Owner[i] != r.Thread {
			return true
		}
	}
	return false
}

// interleaving returns a random prefix of the records of each thread in a random order. It often goes on with the records that were observed
// next.
func interleaving(w *window.Window, rng *rand.Rand) (order []int) {
	next, of := map[heisen.Thread]int{}, map[heisen.Thread][]int{}
	var threads []heisen.Thread
	for i := range w.Records {
		t := w.Records[i].Thread
		if of[t] == nil {
			threads = append(threads, t)
		}
		of[t] = append(of[t], i)
	}
	for range rng.IntN(len(w.Records) + 1) {
		t := threads[rng.IntN(len(threads))]
		if rng.IntN(4) > 0 { // the first in the observed order
			for _, o := range threads {
				if next[o] < len(of[o]) && (next[t] == len(of[t]) || of[o][next[o]] < of[t][next[t]]) {
					t = o
				}
			}
		}
		if next[t] < len(of[t]) {
			order = append(order, of[t][next[t]])
			next[t]++
		}
	}
	return order
}

// isFeasible reports whether a schedule, which keeps the order of each thread, keeps the rules, by their definition.
func isFeasible(w *window.Window, order []int) bool {
	at := map[int]int{} // by record: when
	for k, i := range order {
		at[i] = k
	}
	for k, i := range order {
		r := &w.Records[i]
		for j := range i { // forks and joins
			f := &w.Records[j]
			when, done := at[j]
			before := done && when < k
			if f.Op == heisen.Fork && f.Object.Thread() == r.Thread && !before || r.Op == heisen.Join && r.Object.Thread() == f.Thread && !before {
				return false
			}
		}
		switch {
		case r.Op == heisen.Acquire && holder(w, order[:k], r.Object, r.Thread):
			return false
		case r.Op == heisen.Read && !sameValue(w, lastWrite(w, order[:k], r.Object), lastWriteBefore(w, i), i):
			return false
		}
	}
	return true
}

// holder reports whether a thread other than t holds a lock after a schedule.
func holder(w *window.Window, order []int, lock heisen.Object, t heisen.Thread) bool {
	held := 0
	for _, i := range order {
		switch r := &w.Records[i]; {
		case r.Object != lock || r.Thread == t:
		case r.Op == heisen.Acquire:
			held++
		case r.Op == heisen.Release:
			held--
		}
	}
	return held > 0
}

func lastWrite(w *window.Window, order []int, variable heisen.Object) int {
	last := -1
	for _, i := range order {
		if r := &w.Records[i]; r.Op == heisen.Write && r.Object == variable {
			last = i
		}
	}
	return last
}

// lastWriteBefore returns the write that a read saw, or -1.
func lastWriteBefore(w *window.Window, read int) int {
	order := make([]int, read)
	for i := range order {
		order[i] = i
	}
	return lastWrite(w, order, w.Records[read].Object)
}

// sameValue reports whether a read can see a write in place of the one that it saw: the same one, or one of the value that was read.
func sameValue(w *window.Window, now, then, read int) bool {
	if now == then {
		return true
	}
	if w.Records[read].Flags&heisen.HasValue == 0 {
		return false
	}
	shows := now
	if now < 0 { // the value before the window: another read may show it
		shows = slices.IndexFunc(w.Records, func(r heisen.Record) bool {
			return r.Object == w.Records[read].Object && r.Op == heisen.Read && r.Flags&heisen.HasValue != 0
		})
		if shows < 0 || lastWriteBefore(w, shows) >= 0 {
			return false
		}
	}
	return w.Records[shows].Flags&heisen.HasValue != 0 && w.Records[shows].Value == w.Records[read].Value
}
