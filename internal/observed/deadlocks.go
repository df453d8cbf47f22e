package observed

import (
	"fmt"
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/internal/scc"
	"github.com/heisen-go/heisen/internal/waitreason"
	"github.com/heisen-go/heisen/report"
)

// Goroutines that wait in a circle for each other's locks are one deadlock, not a leak each, and so are those that wait for a lock that one
// of them holds. The accesses of the deadlock are those of detector lockorder, so that the suspicion and what has happened have the same
// fingerprint.

// maxCircle bounds the goroutines of a circle. Of goroutines that all wait for each other, maxCircles bounds the circles that are told, and
// maxTries how many of these goroutines may be in none.
const (
	maxCircle  = 16
	maxCircles = 16
	maxTries   = 64
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

// lockWaits says for whom some blocked goroutines wait because of locks. Goroutines have indexes.
type lockWaits struct {
	blocked []recorder.Blocked
	waiting []bool // for a lock
	// queue[i] is the index in queues of that in which goroutine i waits, -1 if it waits for none of the others. A queue has the goroutines
	// that come before those that wait in it.
	queue  []int
	queues [][]int
}

// lockCircle is goroutines each of which waits for the next one, and the last one for the first, and those that wait for them.
type lockCircle struct{ members, behind []int }

// lockQueues are the queues of a lock.
type lockQueues struct {
	holders   []int // and those that hold it exclusively, and the writers that wait, which keep new readers out
	exclusive []int
	writers   []int

	forWriters, forReaders, forNewReaders int // their indexes, from 1
}

func (h *HeldLocks) newLockWaits(blocked []recorder.Blocked) *lockWaits {
	w := &lockWaits{blocked: blocked, waiting: make([]bool, len(blocked)), queue: make([]int, len(blocked))}
	locks := map[heisen.Object]*lockQueues{}
	of := func(lock heisen.Object) *lockQueues {
		if locks[lock] == nil {
			locks[lock] = new(lockQueues)
		}
		return locks[lock]
	}
	for i := range blocked {
		g := &blocked[i]
		op := waitreason.Op(g.Reason)
		for _, l := range h.symbols.Locks(h.access(g).Context) {
			lock := of(l.Lock)
			lock.holders = append(lock.holders, i)
			if !l.Shared {
				lock.exclusive = append(lock.exclusive, i)
			}
		}
		if g.Object == 0 || !op.IsLock() {
			continue
		}
		w.waiting[i] = true
		if op == heisen.Acquire {
			of(g.Object).writers = append(of(g.Object).writers, i)
		}
	}
	for i := range blocked {
		if w.queue[i] = -1; w.waiting[i] {
			w.queue[i] = w.queueOf(i, of(blocked[i].Object))
		}
	}
	return w
}

// queueOf returns the index of the queue of a lock in which goroutine i waits, -1 if it waits for none of the others. A goroutine that holds
// the lock itself waits for ever whatever others do.
func (w *lockWaits) queueOf(i int, lock *lockQueues) int {
	others := func(all []int) bool { return slices.ContainsFunc(all, func(k int) bool { return k != i }) }
	index, queue := &lock.forWriters, lock.holders
	switch reads := waitreason.Op(w.blocked[i].Reason) == heisen.AcquireShared; {
	case reads && others(lock.exclusive):
		index, queue = &lock.forReaders, lock.exclusive
	case reads:
		index, queue = &lock.forNewReaders, lock.writers
	case slices.Contains(lock.holders, i):
		return -1
	}
	if !others(queue) {
		return -1
	}
	if *index == 0 {
		w.queues = append(w.queues, queue)
		*index = len(w.queues)
	}
	return *index - 1
}

// Root returns the leak that it is where a program got stuck: the goroutines that do not wait for the locks of others wait to do the same with
// one variable, apart from those that run tests. It returns nil if that is not so, or not known.
func (h *HeldLocks) Root(blocked []recorder.Blocked, resolver *Resolver) *report.Finding {
	w := h.newLockWaits(blocked)
	var first []recorder.Blocked
	for i := range blocked {
		if w.queue[i] < 0 {
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

// circles returns the circles. No goroutine is in two.
func (w *lockWaits) circles() (all []lockCircle) {
	n := len(w.blocked)
	of := make([]int, n) // the number of the circle, from 1; 0 if it is in none
	search := circleSearch{lockWaits: w, of: of, reached: make([]int, n), parent: make([]int, n), left: make([]int, len(w.queues)), group: make([]int, n)}
	groups := scc.Components(n+len(w.queues), w.next)
	slices.SortFunc(groups, func(a, b []int) int { return a[0] - b[0] })
	for number, group := range groups {
		for _, i := range group {
			if i < n {
				search.group[i] = number
			}
		}
		before, tries := len(all), 0
		for _, i := range group {
			if i >= n || len(group) < 3 || of[i] != 0 || len(all)-before == maxCircles || tries == maxTries {
				continue
			}
			members := search.from(i)
			if members == nil {
				tries++
				continue
			}
			all = append(all, lockCircle{members: members})
			for _, k := range members {
				of[k] = len(all)
			}
		}
	}
	w.findBehind(all, of)
	return all
}

// next returns the queue of a goroutine, whose index is behind those of goroutines, or the goroutines of a queue.
func (w *lockWaits) next(i int) []int {
	switch n := len(w.blocked); {
	case i >= n:
		return w.queues[i-n]
	case w.queue[i] >= 0:
		return []int{n + w.queue[i]}
	}
	return nil
}

// findBehind sets which goroutines wait for those of circles, each for those of one. of has their circle's number, from 1, and gets it for the others.
func (w *lockWaits) findBehind(all []lockCircle, of []int) {
	before, waiters := make([][]int, len(w.blocked)), make([][]int, len(w.queues)) // the queues that a goroutine is in, and who waits in a queue
	for q, queue := range w.queues {
		for _, k := range queue {
			before[k] = append(before[k], q)
		}
	}
	for i, q := range w.queue {
		if q >= 0 {
			waiters[q] = append(waiters[q], i)
		}
	}
	var reached []int // whose waiters were not looked at
	for _, c := range all {
		reached = append(reached, c.members...)
	}
	for ; len(reached) > 0; reached = reached[1:] {
		for _, q := range before[reached[0]] {
			for _, i := range waiters[q] {
				if of[i] == 0 {
					of[i] = of[reached[0]]
					reached = append(reached, i)
				}
			}
			waiters[q] = nil
		}
	}
	members := map[int]bool{}
	for _, c := range all {
		for _, i := range c.members {
			members[i] = true
		}
	}
	for i := range w.blocked {
		switch {
		case members[i]:
		case of[i] > 0:
			all[of[i]-1].behind = append(all[of[i]-1].behind, i)
		case w.blocked[i].Behind && !w.waiting[i] && len(all) > 0: // it is not known behind which one
			all[0].behind = append(all[0].behind, i)
		}
	}
}

// circleSearch looks for circles of goroutines that are not in one yet. Those of a circle are in the same group.
type circleSearch struct {
	*lockWaits
	of, group []int
	reached   []int // 1 + the goroutine from which one was reached last
	parent    []int // the one that waits for it, on a shortest way
	left      []int // 1 + the goroutine from which a queue was reached last
}

// from returns a shortest way from i back to i, nil if there is none of at least two goroutines and at most maxCircle.
func (s *circleSearch) from(i int) (way []int) {
	level := []int{i}
	for range maxCircle {
		var following []int
		for _, at := range level {
			q := s.queue[at]
			if q < 0 || s.left[q] == i+1 {
				continue
			}
			s.left[q] = i + 1
			for _, k := range s.queues[q] {
				switch {
				case k == i && at != i:
					for ; at != i; at = s.parent[at] {
						way = append(way, at)
					}
					way = append(way, i)
					slices.Reverse(way)
					return way
				case k != i && s.group[k] == s.group[i] && s.reached[k] != i+1 && s.of[k] == 0:
					s.reached[k], s.parent[k] = i+1, at
					following = append(following, k)
				}
			}
		}
		level = following
	}
	return nil
}
