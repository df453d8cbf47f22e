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
	l.mu.Lock()
	for !l.take(w) {
		if l.giveWay(w) {
			continue
		}
		w.asleep.Lock()
		l.push(w, front)
		l.mu.Unlock()
		w.asleep.Lock()
		w.asleep.Unlock()
		front = true
		l.mu.Lock()
	}
	kept = w.kept
	l.mu.Unlock()
	waiters.Put(w)
	return kept
}

// take gives a waiter the lock, if it can have it. It may take it away from those who paused, and sets the waiting
// bit if it fails. The caller holds mu.
func (l *Lock) take(w *waiter) bool {
	for {
		state := l.state.Load()
		rest := state - units[w.from]
		switch {
		case admits(rest, w.to):
			if l.state.CompareAndSwap(state, rest+units[w.to]) {
				return true
			}
		case admits(rest-l.paused, w.to):
			if l.state.CompareAndSwap(state, rest-l.paused+units[w.to]) {
				l.paused = 0
				l.taken++
				l.wake()
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
// then try again. Placed locks have no such cycles, thanks to the mode Update. The caller holds mu.
func (l *Lock) giveWay(w *waiter) (gave bool) {
	upgrades := func(w *waiter) bool { return w.from > Free && w.to == Exclusive }
	for other := l.first; other != nil; other = other.next {
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
		l.wake()
	}
	return gave
}

// push adds a waiter, in front of the others or behind them. The caller holds mu.
func (l *Lock) push(w *waiter, front bool) {
	switch {
	case l.first == nil:
		l.first, l.last = w, w
	case front:
		w.next, l.first = l.first, w
	default:
		l.last.next, l.last = w, w
	}
}

// wake wakes the waiters who can have the lock now, in their order, and clears the waiting bit if that was all. Those
// who are awake try again, and may find that others were faster. The caller holds mu.
func (l *Lock) wake() {
	state := l.state.Load() - l.paused
	var before *waiter
	for w := l.first; w != nil; {
		next := w.next
		rest := state - units[w.from]
		if !admits(rest, w.to) {
			before, w = w, next
			continue
		}
		state = rest + units[w.to]
		if before == nil {
			l.first = next
		} else {
			before.next = next
		}
		if l.last == w {
			l.last = before
		}
		w.next = nil
		w.asleep.Unlock()
		w = next
	}
	if l.first == nil {
		l.state.And(^waiting)
	}
}
