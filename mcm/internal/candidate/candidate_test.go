package candidate_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/mcm/internal/candidate"
	"github.com/heisen-go/heisen/mcm/internal/model"
	"github.com/heisen-go/heisen/mcm/internal/modeltest"
	"github.com/heisen-go/heisen/mcm/internal/window"
	"github.com/heisen-go/heisen/mcm/internal/windowtest"
	"github.com/heisen-go/heisen/mcm/order"
	"github.com/heisen-go/heisen/section"
)

// always wants all candidates, also with equal places.
func always(candidate.Places) bool { return true }

// listed returns the records of all candidates.
func listed(m *model.Model, list func(*model.Model, func(candidate.Places) bool, func(candidate.Candidate))) (all [][]int32) {
	list(m, always, func(c candidate.Candidate) { all = append(all, c.Records) })
	return all
}

func has(all [][]int32, records ...int) bool {
	return slices.ContainsFunc(all, func(of []int32) bool {
		return slices.EqualFunc(of, records, func(a int32, b int) bool { return int(a) == b })
	})
}

// TestNothingIsLost: pairs, cycles and interleavings that are not listed are in no state that the window can reach.
func TestNothingIsLost(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	var races, cycles, between, left int
	for n := range windowtest.Count(t, 400) {
		shape := windowtest.RandomShape(rng, 14)
		shape.Barriers, shape.Branches, shape.Ranges = false, false, false
		if n%2 == 0 {
			shape = windowtest.Shape{Threads: 2, Events: 18, Vars: 2, Locks: 2, Nested: true}
		}
		w, _ := windowtest.RandomWindow(rng, shape)
		w.Records = inTransactions(w.Records, rng)
		m, e := modeltest.ModelOf(t, w), windowtest.Enumerate(w, window.DefaultRules())
		pairs := listed(m, candidate.Races)
		for _, p := range windowtest.RacyPairs(w) {
			switch racy := has(pairs, p[0], p[1]); {
			case racy:
				races++
			case e.Together(nil, p[0], p[1]):
				t.Fatalf("%v race and are not listed\n%v", p, w.Records)
			default:
				left++
			}
		}
		deadlocks := listed(m, candidate.Deadlocks)
		for _, p := range crossing(w) {
			stuck := func() bool { return blocks(e, p[0], p[1]) && blocks(e, p[1], p[0]) }
			switch {
			case has(deadlocks, p[0], p[1]):
				cycles++
			case e.Together(stuck, p[0], p[1]):
				t.Fatalf("%v deadlock and are not listed\n%v", p, w.Records)
			}
		}
		violations := listed(m, candidate.Violations)
		for _, p := range interruptions(w) {
			after := func() bool { return e.Replayer.Done[p[0]] }
			switch {
			case has(violations, p[0], p[1], p[2]):
				between++
			case e.Together(after, p[1], p[2]):
				t.Fatalf("%v is not listed\n%v", p, w.Records)
			}
		}
	}
	t.Logf("%d races, %d deadlocks and %d interruptions are listed, %d pairs are not", races, cycles, between, left)
	if races < 200 || cycles < 5 || between < 50 || left < 200 {
		t.Errorf("%d races, %d deadlocks and %d interruptions are listed, %d pairs are not", races, cycles, between, left)
	}
}

// inTransactions puts some of the records of each thread into a transaction, which are a run of its records without an operation on locks.
func inTransactions(records []heisen.Record, rng *rand.Rand) (all []heisen.Record) {
	open := map[heisen.Thread]bool{}
	mark := func(op heisen.Op, t heisen.Thread) {
		all = append(all, heisen.Record{Op: op, Thread: t})
		open[t] = op == heisen.Enter
	}
	for _, r := range records {
		if open[r.Thread] != r.Op.IsAccess() && (open[r.Thread] || rng.IntN(2) == 0) {
			mark(map[bool]heisen.Op{false: heisen.Enter, true: heisen.Exit}[open[r.Thread]], r.Thread)
		}
		all = append(all, r)
	}
	return all
}

// crossing returns pairs of acquisitions by two threads of different locks, in the order of the later one last.
func crossing(w *window.Window) (pairs [][2]int) {
	for j := range w.Records {
		for i := range j {
			a, b := &w.Records[i], &w.Records[j]
			if a.Op == heisen.Acquire && b.Op == heisen.Acquire && a.Thread != b.Thread && a.Object != b.Object {
				pairs = append(pairs, [2]int{i, j})
			}
		}
	}
	return pairs
}

// blocks reports whether the thread of a record holds the lock that another record acquires, exclusively and alone.
func blocks(e *windowtest.Enumeration, holder, waiter int) bool {
	all := e.Replayer.Window.Records
	return slices.Equal(e.Replayer.Held[all[waiter].Object], []window.Holder{{Thread: all[holder].Thread, Times: 1}})
}

// interruptions returns the unserializable triples of two successive accesses of a transaction to a variable, and one of
// another thread, the latter in the middle.
func interruptions(w *window.Window) (all [][3]int) {
	inside, last := map[heisen.Thread]bool{}, map[heisen.Thread]map[heisen.Object]int{}
	for b := range w.Records {
		r := &w.Records[b]
		switch {
		case r.Op == heisen.Enter:
			inside[r.Thread], last[r.Thread] = true, map[heisen.Object]int{}
		case r.Op == heisen.Exit:
			inside[r.Thread] = false
		case inside[r.Thread] && r.Op.IsAccess():
			if a, ok := last[r.Thread][r.Object]; ok && w.SameAllocation(a, b) {
				for k := range w.Records {
					o := &w.Records[k]
					if o.Thread != r.Thread && o.Op.IsAccess() && o.Object == r.Object && w.SameAllocation(min(a, k), max(a, k)) && w.SameAllocation(min(k, b), max(k, b)) &&
						candidate.Unserializable(w.Records[a].Op, o.Op, r.Op) {
						all = append(all, [3]int{a, k, b})
					}
				}
			}
			last[r.Thread][r.Object] = b
		}
	}
	return all
}

// TestUnserializable: an interleaving is unserializable if no serial order of the transaction and the remote access gives all reads the same
// values, and memory the same content.
func TestUnserializable(t *testing.T) {
	ops := []heisen.Op{heisen.Read, heisen.Write, heisen.AtomicRead, heisen.AtomicWrite, heisen.AtomicUpdate}
	run := func(all [3]heisen.Op, order [3]int) (seen [4]int) {
		content := 0
		for _, i := range order {
			if all[i] != heisen.Write && all[i] != heisen.AtomicWrite {
				seen[i] = content
			}
			if all[i].IsWrite() {
				content = i + 1 + 10*seen[i] // what an update writes depends on what it has read
			}
		}
		seen[3] = content
		return seen
	}
	for _, first := range ops {
		for _, remote := range ops {
			for _, second := range ops {
				all := [3]heisen.Op{first, remote, second}
				between := run(all, [3]int{0, 1, 2})
				want := between != run(all, [3]int{0, 2, 1}) && between != run(all, [3]int{1, 0, 2})
				if got := candidate.Unserializable(first, remote, second); got != want {
					t.Errorf("%v, %v, %v: unserializable %v, want %v", first, remote, second, got, want)
				}
			}
		}
	}
}

// TestWanted: a candidate whose places nobody wants any more is not made.
func TestWanted(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 1))
	w, _ := windowtest.RandomWindow(rng, windowtest.Shape{Threads: 3, Events: 60, Vars: 1, Locks: 1})
	for i := range w.Records {
		w.Records[i].Site = heisen.Site(1 + i%3)
	}
	m := modeltest.ModelOf(t, w)
	seen := map[candidate.Places]int{}
	candidate.Races(m, func(p candidate.Places) bool { return seen[p] < 2 }, func(c candidate.Candidate) { seen[c.Places]++ })
	if len(seen) < 3 || len(listed(m, candidate.Races)) < 20 {
		t.Fatalf("only %d places, %d races", len(seen), len(listed(m, candidate.Races)))
	}
	for p, n := range seen {
		if n > 2 {
			t.Errorf("%v: %d candidates", p, n)
		}
	}
}

// TestSectionViolations: the accesses of other threads that a section does not allow are listed, unless they are ordered with it.
func TestSectionViolations(t *testing.T) {
	const variable, other = 16, 24
	on := func(t heisen.Thread, op heisen.Op, o heisen.Object, site heisen.Site) heisen.Record {
		return heisen.Record{Thread: t, Op: op, Object: o, Site: site}
	}
	w := &window.Window{
		Records: []heisen.Record{
			on(0, heisen.Write, variable, 1), // before the other thread is there
			on(0, heisen.Fork, 1, 2),
			on(0, heisen.Read, variable, 3), // the entry
			on(1, heisen.Read, variable, 4),
			on(1, heisen.Write, variable, 5),
			on(1, heisen.Write, other, 6),
			on(0, heisen.Write, variable, 7), // the end
		},
		Executions: []window.Execution{{Section: 2, Entry: 2, End: 6, Allow: section.Reads}},
	}
	m := modeltest.ModelOf(t, w)
	all := listed(m, candidate.SectionViolations)
	if len(all) != 1 || !has(all, 2, 4, 6) {
		t.Errorf("the candidates are %v, want 2, 4, 6", all)
	}
	candidate.SectionViolations(m, always, func(c candidate.Candidate) {
		if c.Places[3] != 3 || !slices.Equal(c.Query.Pending, []order.Node{m.Node[4], m.Node[6]}) || c.Else == nil {
			t.Errorf("%+v", c)
		}
	})
}
