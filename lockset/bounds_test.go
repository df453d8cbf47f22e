package lockset_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/testaid/must"
	"github.com/heisen-go/heisen/internal/testaid/randomtrials"
	"github.com/heisen-go/heisen/lockset"
)

// boundedKinds are streams that fill what a detector stores: few variables, sites and threads, and locks that end
// again and again.
var boundedKinds = []struct {
	name                         string
	threads, variables, sites    int
	locks                        int  // that live at the same time; each is freed when it is released
	messages, shared, outOfOrder bool // threads send and receive; locks are taken for reading; released in any order
}{
	{"locks that end", 12, 1, 3, 100, false, false, false},
	{"two threads", 2, 1, 2, 4, false, false, false},
	{"messages", 8, 2, 4, 20, true, false, false},
	{"read locks", 6, 2, 3, 5, true, true, false},
	{"out of order", 5, 3, 8, 9, false, true, true},
	{"many sites", 4, 1, 200, 3, true, false, true},
}

// boundedStream returns a random execution of a kind.
func boundedStream(rng *rand.Rand, kind int, events int) (stream []heisen.Record) {
	k := boundedKinds[kind]
	type hold struct {
		lock heisen.Object
		op   heisen.Op
	}
	live, next, lock := []heisen.Thread{0}, heisen.Thread(1), heisen.Object(0x10000)
	held, readers := map[heisen.Thread][]hold{}, map[heisen.Object]int{}
	add := func(r heisen.Record) { stream = append(stream, r) }
	for len(stream) < events {
		t := live[rng.IntN(len(live))]
		site := heisen.Site(1 + rng.IntN(k.sites))
		switch n := rng.IntN(20); {
		case n == 0 && len(live) < k.threads:
			add(heisen.Record{Op: heisen.Fork, Thread: t, Object: heisen.Object(next)})
			live = append(live, next)
			next++
		case n == 1 && t != 0 && len(held[t]) == 0:
			add(heisen.Record{Op: heisen.End, Thread: t})
			live = slices.DeleteFunc(live, func(u heisen.Thread) bool { return u == t })
		case n == 2 && k.messages:
			add(heisen.Record{Op: []heisen.Op{heisen.Send, heisen.Receive}[rng.IntN(2)], Thread: t, Object: 8})
		case n < 7 && len(held[t]) < 4:
			h := hold{lock + heisen.Object(8*rng.IntN(k.locks)), heisen.Acquire}
			if k.shared && rng.IntN(2) == 0 {
				h.op = heisen.AcquireShared
			}
			if m := readers[h.lock]; m < 0 || m > 0 && h.op == heisen.Acquire {
				continue
			}
			readers[h.lock]++
			if h.op == heisen.Acquire {
				readers[h.lock] = -1
			}
			held[t] = append(held[t], h)
			add(heisen.Record{Op: h.op, Thread: t, Object: h.lock, Site: site})
		case n < 11 && len(held[t]) > 0:
			i := len(held[t]) - 1
			if k.outOfOrder {
				i = rng.IntN(len(held[t]))
			}
			h := held[t][i]
			held[t] = slices.Delete(held[t], i, i+1)
			if readers[h.lock]--; h.op == heisen.Acquire {
				readers[h.lock] = 0
			}
			op := heisen.Release
			if h.op == heisen.AcquireShared {
				op = heisen.ReleaseShared
			}
			add(heisen.Record{Op: op, Thread: t, Object: h.lock})
			if readers[h.lock] == 0 && rng.IntN(2) == 0 {
				add(heisen.Record{Op: heisen.Free, Thread: t, Object: h.lock, Value: 8})
			}
		default:
			op := heisen.Read + heisen.Op(rng.IntN(2))
			add(heisen.Record{Op: op, Thread: t, Object: heisen.Object(0x1000 + 8*rng.IntN(k.variables)), Site: 1000 + site, Len: 8})
		}
	}
	return stream
}

// forBoundedStreams calls check with random executions of all kinds.
func forBoundedStreams(t *testing.T, n, events int, check func(stream []heisen.Record, bound int) error) {
	for kind := range boundedKinds {
		t.Run(boundedKinds[kind].name, func(t *testing.T) {
			randomtrials.Each(t, n, func(seed uint64) error {
				rng := rand.New(rand.NewPCG(seed, 5))
				return check(boundedStream(rng, kind, events), 1+rng.IntN(16))
			})
		})
	}
}

// TestHybridBounds: with any bounds on what it stores, a Hybrid reports nothing that it does not report without, and
// says that something may be missing if something is.
func TestHybridBounds(t *testing.T) {
	evicted := false
	forBoundedStreams(t, 150, 1500, func(stream []heisen.Record, bound int) error {
		pairs := func(d *lockset.Hybrid, sink *[]string) (map[string]bool, error) {
			for i := range stream {
				d.Handle(stream[i].Event())
				if i%97 == 0 {
					d.CompactNow()
				}
				if i%211 == 0 {
					d.CompactOrderNow()
				}
			}
			all := map[string]bool{}
			for _, p := range *sink {
				all[p] = true
			}
			return all, d.Flush()
		}
		make := func(groups int, o ...lockset.HybridOption) (map[string]bool, error) {
			var found []string
			d := must.Make(lockset.NewHybrid(append(o, lockset.WithSink(func(f heisen.Finding) { found = append(found, sitePairs([]heisen.Finding{f})) }))...))
			if groups > 0 {
				d.SetMaxGroups(groups)
			}
			return pairs(d, &found)
		}
		all, err := make(0, lockset.WithMaxAccesses(0))
		if err != nil {
			return err
		}
		for _, groups := range []int{0, 1, bound} {
			some, err := make(groups, lockset.WithMaxAccesses(bound))
			for p := range some {
				if !all[p] {
					return fmt.Errorf("bound %d, %d groups: pair %s is none without a bound", bound, groups, p)
				}
			}
			if len(some) < len(all) && !errors.Is(err, lockset.ErrEvicted) {
				return fmt.Errorf("bound %d, %d groups: %d of %d pairs, error %v", bound, groups, len(some), len(all), err)
			}
			evicted = evicted || err != nil
		}
		return nil
	})
	if !evicted {
		t.Error("no bound was passed")
	}
}

// TestLockOrderBounds: the same of a LockOrder, with bounds on dependencies, paths and the work for them.
func TestLockOrderBounds(t *testing.T) {
	limited := false
	forBoundedStreams(t, 150, 400, func(stream []heisen.Record, bound int) error {
		run := func(limit int, tiny bool) (cycles []cycle, err error) {
			d := must.Make(lockset.NewLockOrder(lockset.WithMaxDependencies(limit), lockset.WithSink(func(f heisen.Finding) {
				var c cycle
				for _, a := range f.Accesses {
					c = append(c, a.Site)
				}
				cycles = append(cycles, c)
			})))
			if tiny {
				d.SpendBudgets()
			}
			for i := range stream {
				d.Handle(stream[i].Event())
				if i%101 == 0 {
					d.CompactOrderNow()
				}
			}
			return cycles, d.Flush()
		}
		all, err := run(0, false)
		if err != nil && !errors.Is(err, lockset.ErrLimit) { // long cycles may pass the budget of searches
			return err
		}
		complete := err == nil
		for _, tiny := range []bool{false, true} {
			some, err := run(bound, tiny)
			for _, c := range some {
				if complete && !c.covered(all) {
					return fmt.Errorf("limit %d, %v: cycle %d is none without a limit", bound, tiny, c)
				}
			}
			for _, c := range all {
				if !c.covered(some) && !errors.Is(err, lockset.ErrLimit) {
					return fmt.Errorf("limit %d, %v: cycle %d is missing, error %v", bound, tiny, c, err)
				}
			}
			limited = limited || err != nil
		}
		return nil
	})
	if !limited {
		t.Error("no limit was passed")
	}
}

// TestLockOrderOfManyLocks: threads that hold many locks at the same time. The memory grows with the number of
// acquisitions, not with the sets of held locks, and what is left out is said.
func TestLockOrderOfManyLocks(t *testing.T) {
	const n = 20_000
	inOrder := func(i int) int { return i }
	reversed := func(i int) int { return n - 1 - i }
	for _, test := range []struct {
		name           string
		first, second  func(int) int
		release        func(int) int
		gate, complete bool
		cycles         int
	}{
		{"as a stack", inOrder, inOrder, reversed, false, true, 0},
		{"as a queue", inOrder, inOrder, inOrder, false, true, 0},
		{"every other one", inOrder, func(i int) int { return i / 2 * 2 }, inOrder, false, true, 0},
		{"the other way round", inOrder, reversed, inOrder, false, false, 1},
		{"behind a gate", inOrder, reversed, inOrder, true, false, 0},
		{"in any order", func(i int) int { return i * 7919 % n }, func(i int) int { return i * 7919 % n }, func(i int) int { return i * 31 % n }, false, true, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			before, cycles := heap(), 0
			d := must.Make(lockset.NewLockOrder(lockset.WithSink(func(heisen.Finding) { cycles++ })))
			do := func(op heisen.Op, thread heisen.Thread, lock int, site heisen.Site) {
				r := heisen.Record{Op: op, Thread: thread, Object: heisen.Object(64 * (lock + 1)), Site: site}
				d.Handle(r.Event())
			}
			for thread, order := range []func(int) int{test.first, test.second} {
				if test.gate {
					do(heisen.Acquire, heisen.Thread(thread), n, 3)
				}
				for i := range n {
					do(heisen.Acquire, heisen.Thread(thread), order(i), heisen.Site(1+thread))
				}
				for i := range n {
					do(heisen.Release, heisen.Thread(thread), test.release(i), 4)
				}
				if test.gate {
					do(heisen.Release, heisen.Thread(thread), n, 4)
				}
			}
			err := d.Flush()
			if cycles != test.cycles {
				t.Errorf("%d cycles, want %d", cycles, test.cycles)
			}
			if test.complete && err != nil || err != nil && !errors.Is(err, lockset.ErrLimit) {
				t.Errorf("error %v", err)
			}
			if grown := heap() - before; grown > 60<<20 {
				t.Errorf("%d MiB", grown>>20)
			}
		})
	}
}
