package syncp

import (
	"errors"
	"fmt"
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/mcm"
)

// witness returns a finding without a kind: an order of events after which the events that follow the prefixes are
// next at the same time. The closure says that there is one, and the replayer of package mcm must take it.
// Otherwise witness returns false.
//
// A witness starts as late as it can, because most of a long stream does not matter to it: after all events up to
// some place, as observed, comes the rest of the closure.
func (d *Detector) witness(pending []prefix) (f heisen.Finding, ok bool) {
	numbers := make([]uint64, len(pending))
	for i, p := range pending {
		n, err := d.numberOf(p)
		if err != nil {
			d.fail(err)
			return f, false
		}
		numbers[i] = n
	}
	first, end := slices.Min(numbers), slices.Max(numbers)+1
	tried := 0
	for back := uint64(0); ; back = max(firstStep, 8*back) {
		start := d.floor
		if first > start+back {
			start = first - back
		}
		counts, err := d.countsAt(start)
		if err != nil {
			d.fail(err)
			return f, false
		}
		if d.extends(counts, pending) {
			f, err = d.replayed(start, end, counts, pending, numbers)
			if err == nil {
				return f, true
			}
			if !errors.Is(err, mcm.ErrReplay) {
				d.fail(err)
				return f, false
			}
			tried++
		}
		if start == d.floor || tried == maxReplays {
			d.stats.Refused++
			return f, false
		}
	}
}

const (
	// firstStep is the number of events before the first pending one with which a witness starts, if it cannot
	// start there.
	firstStep = 64
	// maxReplays bounds the replays for one witness.
	maxReplays = 3
)

// extends reports whether the closure of prefixes, and of what comes before the pending events, leaves these pending.
func (d *Detector) extends(counts []uint32, pending []prefix) bool {
	c := &d.closure
	c.reset()
	for t, n := range counts {
		c.include(prefix{number(t), n})
	}
	for _, p := range pending {
		c.await(p)
	}
	return c.close() && !slices.ContainsFunc(pending, c.has)
}

// replayed returns the witness of the closure, from the start on, and replays it.
func (d *Detector) replayed(start, end uint64, counts []uint32, pending []prefix, numbers []uint64) (f heisen.Finding, err error) {
	records, positions, err := d.log.read(start, end, make([]heisen.Record, 0, end-start), make([]uint64, 0, end-start))
	if err != nil {
		return f, err
	}
	d.stats.Replays++
	d.stats.Replayed += uint64(len(records))
	w := mcm.Window{Records: records, Index: positions}
	for u, n := range counts {
		t := d.threads.all[u]
		t.eachOpen(n, func(s *section) bool {
			w.Held = append(w.Held, mcm.HeldLock{Lock: d.objects.all[s.lock].address, Thread: t.id, Shared: s.shared})
			return true
		})
	}
	x := mcm.Witness{Last: len(pending)}
	next := slices.Clone(counts)
	for i := range records {
		u := d.threads.of(records[i].Thread).number
		if next[u] < d.closure.upTo[u] {
			x.Order = append(x.Order, i)
		}
		next[u]++
	}
	for _, n := range numbers {
		x.Order = append(x.Order, int(n-start))
	}
	if err := w.Replay(&x); err != nil {
		return f, err
	}
	f = heisen.Finding{Detector: "syncp", Last: x.Last, Before: positions[0] - 1}
	for _, i := range brief(records, x.Order) {
		f.Witness, f.Positions = append(f.Witness, records[i]), append(f.Positions, positions[i])
	}
	for _, n := range numbers {
		f.Accesses = append(f.Accesses, heisen.AccessOf(&records[n-start], positions[n-start]))
	}
	f.Object = f.Accesses[len(f.Accesses)-1].Object
	return f, nil
}

// maxWitness is the number of records up to which a witness is complete.
const maxWitness = 1 << 14

// brief leaves out of a long witness what orders nothing: accesses that the same thread follows with another
// event. Each thread still comes as far as it did, one after the other in the same order.
func brief(records []heisen.Record, order []int) (short []int) {
	if len(order) <= maxWitness {
		return order
	}
	for k, i := range order {
		if k >= len(order)-maxWitness/2 || records[i].Thread != records[order[k+1]].Thread || records[i].Op == heisen.Fork {
			short = append(short, i)
		}
	}
	return short
}

// reportRace reports a race of an access by t, which is next, with an earlier one, which comes after a prefix, if
// there is a witness.
func (d *Detector) reportRace(t *thread, op, earlier heisen.Op, first prefix, p pair, at heisen.Object) bool {
	f, ok := d.witness([]prefix{first, {t.number, t.events}})
	if !ok {
		return false
	}
	d.races[p] = true
	d.stats.Races++
	f.Kind, f.Object = heisen.Race, at
	f.Accesses[0].Op, f.Accesses[1].Op = earlier, op
	f.Message = fmt.Sprintf("%v can race with %v (predicted, with a schedule)", op.Words(), earlier.Words())
	d.config.sink(f)
	return true
}

// reportDeadlock reports a deadlock, if there is a witness.
func (d *Detector) reportDeadlock(y *cycle, t *thread) {
	// As in other findings of deadlocks, each thread acquires the lock that the next one holds, and the acquisition
	// that was observed last comes last.
	latest := slices.IndexFunc(y.of, func(a *acquirer) bool { return a.thread == t.number })
	var pending []prefix
	for i := range y.of {
		k := (latest + 1 + i) % len(y.of)
		pending = append(pending, prefix{y.of[k].thread, y.of[k].before[y.next[k]]})
	}
	f, ok := d.witness(pending)
	if !ok {
		return
	}
	d.cycles[placesOf(y.of)] = -1
	d.stats.Deadlocks++
	f.Kind = heisen.Deadlock
	f.Message = fmt.Sprintf("deadlock of %d threads that acquire locks in a cycle (predicted, with a schedule)", len(y.of))
	d.config.sink(f)
}
