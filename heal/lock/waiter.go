package lock

import "sync"

// waiter is a goroutine that waits for a lock.
type waiter struct {
	from, to Mode // it holds the lock in mode from, which may be Free
	kept     bool // whether it has not had to give way

	// asleep is locked while the goroutine waits. A mutex, and not a condition or a channel, because these
	// may not be shared by a bubble of testing/synctest and others; a lock of this package may, as a mutex.
	asleep sync.Mutex
	next   *waiter
}

var waiters = sync.Pool{New: func() any { return new(waiter) }}

// wait is strengthen for a goroutine that has to wait.
func (l *Lock) wait(from, to Mode) (kept bool) {
	w := waiters.Get().(*waiter)
	w.from, w.to, w.kept = from, to, true
	front := false // it has waited before
	q := l.open()
	for !l.take(q, w) {
		if l.giveWay(q, w) {
			continue
		}
		w.asleep.Lock()
		q.push(w, front)
		q.mu.Unlock()
		w.asleep.Lock()
		w.asleep.Unlock() //lint:ignore SA2001 wake unlocks it, to wake the goroutine
		front = true
		q.mu.Lock()
		q.woken--
	}
	kept = w.kept
	q.mu.Unlock()
	waiters.Put(w)
	return kept
}

// take gives a waiter the lock, if it can have it. It may take it away from those who paused, and sets the waiting
// bit if it fails. The caller holds q.mu.
func (l *Lock) take(q *queue, w *waiter) bool {
	for {
		state := l.state.Load()
		rest := state - units[w.from]
		switch {
		case admits(rest, w.to):
			if l.state.CompareAndSwap(state, rest+units[w.to]) {
				return true
			}
		case admits(rest-q.paused, w.to):
			if l.state.CompareAndSwap(state, rest-q.paused+units[w.to]) {
				q.paused = 0
				q.taken++
				l.wake(q)
				return true
			}
		default:
			if l.state.CompareAndSwap(state, state|waiting) {
				return false
			}
		}
	}
}

// giveWay breaks cycles of goroutines that hold the lock and all wait for it in a stronger mode. All that hold it
// Shared, but one that wants it Exclusive, must give it up and begin anew. It reports whether somebody did; w can
// then try again. Placed locks have no such cycles, thanks to the mode Update. The caller holds q.mu.
func (l *Lock) giveWay(q *queue, w *waiter) (gave bool) {
	upgrades := func(w *waiter) bool { return w.from > Free && w.to == Exclusive }
	for other := q.first; other != nil; other = other.next {
		loser := other
		switch {
		case w.from == Shared && upgrades(other):
			loser = w
		case other.from == Shared && upgrades(w):
		default:
			continue
		}
		l.state.Add(-units[loser.from])
		loser.from, loser.kept = Free, false
		gave = true
	}
	if gave {
		l.wake(q)
	}
	return gave
}

// push adds a waiter, in front of the others or behind them. The caller holds q.mu.
func (q *queue) push(w *waiter, front bool) {
	switch {
	case q.first == nil:
		q.first, q.last = w, w
	case front:
		w.next, q.first = q.first, w
	default:
		q.last.next, q.last = w, w
	}
}

// wake wakes the waiters who can have the lock now, in their order, and clears the waiting bit if that was all. Those
// who are awake try again, and may find that others were faster. The caller holds q.mu.
func (l *Lock) wake(q *queue) {
	state := l.state.Load() - q.paused
	var before *waiter
	for w := q.first; w != nil; {
		next := w.next
		rest := state - units[w.from]
		if !admits(rest, w.to) {
			before, w = w, next
			continue
		}
		state = rest + units[w.to]
		if before == nil {
			q.first = next
		} else {
			before.next = next
		}
		if q.last == w {
			q.last = before
		}
		w.next = nil
		q.woken++
		w.asleep.Unlock()
		w = next
	}
	if q.first == nil {
		l.state.And(^waiting)
	}
}
