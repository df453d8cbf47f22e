package observed

import (
	"fmt"
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/report"
)

// Goroutines that wait in a circle for each other's locks are one deadlock, not a leak each, and so are those that wait for a lock that one
// of them holds. The accesses of the deadlock are those of detector lockorder, so that the suspicion and what has happened have the same
// fingerprint.

// maxCircle bounds the goroutines of a circle, and maxCircles the circles that are told of one program.
const (
	maxCircle  = 16
	maxCircles = 16
)

// Deadlocks returns a finding for each circle of goroutines that wait for locks. Its Blocked are those of the circle, then those behind it,
// which wait for their locks. No goroutine is in two. There are none where it is not known who holds the locks.
func (h *HeldLocks) Deadlocks(blocked []recorder.Blocked, resolver *Resolver) (all []report.Finding) {
	return h.deadlocks(blocked, h.newLockWaits(blocked).circles(), resolver)
}

func (h *HeldLocks) deadlocks(blocked []recorder.Blocked, circles []lockCircle, resolver *Resolver) (all []report.Finding) {
	for _, c := range circles {
		f := heisen.Finding{Detector: LeakDetector, Kind: heisen.Deadlock, Message: "two threads wait for each other's locks"}
		if n := len(c.members); n > 2 {
			f.Message = fmt.Sprintf("%d threads wait in a circle for each other's locks", n)
		}
		for _, i := range c.members {
			f.Accesses = append(f.Accesses, h.access(&blocked[i]))
		}
		f.Object = f.Accesses[0].Object
		resolved := resolver.Resolve(f, h.symbols)
		resolved.Count = 1
		var goroutines []recorder.Blocked
		for _, i := range slices.Concat(c.members, c.behind[:min(len(c.behind), maxBlocked)]) {
			goroutines = append(goroutines, blocked[i])
		}
		resolved.Blocked = h.Blocked(goroutines, resolver)
		all = append(all, resolved)
	}
	return all
}

// lockWaits says which of some blocked goroutines wait for locks, by their indexes, and who holds these.
type lockWaits struct {
	blocked []recorder.Blocked
	waiting []bool
	held    map[heisen.Object][]lockHolder
	writers map[heisen.Object][]int // who waits for a lock, not shared
}

type lockHolder struct {
	goroutine int // that waits, too
	shared    bool
}

// lockCircle is goroutines each of which waits for the next one, and the last one for the first, and those that wait for them.
type lockCircle struct{ members, behind []int }

func (h *HeldLocks) newLockWaits(blocked []recorder.Blocked) *lockWaits {
	w := &lockWaits{blocked, make([]bool, len(blocked)), map[heisen.Object][]lockHolder{}, map[heisen.Object][]int{}}
	for i := range blocked {
		g := &blocked[i]
		op := WaitOp(g.Reason)
		for _, l := range h.symbols.Locks(h.access(g).Context) {
			w.held[l.Lock] = append(w.held[l.Lock], lockHolder{i, l.Shared})
		}
		if g.Object == 0 || !op.IsLock() {
			continue
		}
		w.waiting[i] = true
		if op == heisen.Acquire {
			w.writers[g.Object] = append(w.writers[g.Object], i)
		}
	}
	return w
}

// next returns for which other goroutines one waits: for none if it holds the lock itself, and so waits for ever whatever they do.
func (w *lockWaits) next(i int) (others []int) {
	g := &w.blocked[i]
	if w.waitsForItself(i) {
		return nil
	}
	reads := WaitOp(g.Reason) == heisen.AcquireShared
	for _, holder := range w.held[g.Object] {
		if holder.goroutine != i && !(reads && holder.shared) {
			others = append(others, holder.goroutine)
		}
	}
	if reads && len(others) == 0 { // a writer that waits keeps new readers out
		return w.writers[g.Object]
	}
	return others
}

func (w *lockWaits) waitsForItself(i int) bool {
	g := &w.blocked[i]
	return WaitOp(g.Reason) == heisen.Acquire && slices.ContainsFunc(w.held[g.Object], func(holder lockHolder) bool { return holder.goroutine == i })
}

// Root returns the leak that it is where a program got stuck: the goroutines that do not wait for the locks of others wait to do the same with
// one variable, apart from those that run tests. It returns nil if that is not so, or not known.
func (h *HeldLocks) Root(blocked []recorder.Blocked, resolver *Resolver) *report.Finding {
	w := h.newLockWaits(blocked)
	var first []recorder.Blocked
	for i := range blocked {
		if !w.waiting[i] || len(w.next(i)) == 0 {
			first = append(first, blocked[i])
		}
	}
	leaks := h.Leaks(first, resolver)
	runsTest := func(f report.Finding) bool {
		return slices.ContainsFunc(f.Accesses[0].Stack, func(frame report.Frame) bool { return frame.Func == "testing.tRunner" })
	}
	if slices.ContainsFunc(leaks, func(f report.Finding) bool { return !runsTest(f) }) {
		leaks = slices.DeleteFunc(leaks, runsTest)
	}
	if len(leaks) == 0 || slices.ContainsFunc(leaks, func(f report.Finding) bool { return f.Fingerprint != leaks[0].Fingerprint }) {
		return nil
	}
	return &leaks[0]
}

// without returns the blocked goroutines that no circle has.
func without(blocked []recorder.Blocked, circles []lockCircle) (rest []recorder.Blocked) {
	within := map[int]bool{}
	for _, c := range circles {
		for _, i := range slices.Concat(c.members, c.behind) {
			within[i] = true
		}
	}
	for i := range blocked {
		if !within[i] {
			rest = append(rest, blocked[i])
		}
	}
	return rest
}

// circles returns the circles, at most maxCircles. No goroutine is in two.
func (w *lockWaits) circles() (all []lockCircle) {
	of := make([]int, len(w.blocked)) // the number of the circle, from 1; 0 if it is not known, negative if there is none
	for i := range w.blocked {
		if !w.waiting[i] || of[i] != 0 || len(all) == maxCircles {
			continue
		}
		if members := circleFrom(i, w.next, func(k int) bool { return of[k] != 0 }); members != nil {
			all = append(all, lockCircle{members: members})
			for _, k := range members {
				of[k] = len(all)
			}
		}
	}
	for i := range w.blocked {
		switch {
		case w.waiting[i] && of[i] == 0:
			if n := w.behind(i, of); n > 0 {
				all[n-1].behind = append(all[n-1].behind, i)
			}
		case w.blocked[i].Behind && !w.waiting[i] && len(all) > 0: // it is not known behind which one
			all[0].behind = append(all[0].behind, i)
		}
	}
	return all
}

// behind returns the circle that goroutine i waits for at last, negative if there is none. It notes that of all goroutines on the way.
func (w *lockWaits) behind(i int, of []int) int {
	of[i] = -1
	for _, k := range w.next(i) {
		n := of[k]
		if n == 0 {
			n = w.behind(k, of)
		}
		if n > 0 {
			of[i] = n
			break
		}
	}
	return of[i]
}

// circleFrom returns a shortest way from i back to i, without those that are not to be used; nil if there is none of at least two.
func circleFrom(i int, next func(int) []int, used func(int) bool) []int {
	ways, seen := [][]int{{i}}, map[int]bool{}
	for len(ways) > 0 {
		way := ways[0]
		ways = ways[1:]
		for _, k := range next(way[len(way)-1]) {
			switch {
			case k == i && len(way) > 1:
				return way
			case k != i && !seen[k] && !used(k) && len(way) < maxCircle:
				seen[k] = true
				ways = append(ways, append(slices.Clip(way), k))
			}
		}
	}
	return nil
}
