package lock

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Lock is a lock with the modes Shared, Update and Exclusive. It is acquired through a Held. The zero value is a
// lock that nobody holds. A Lock must not be copied once it has been used. It takes 16 bytes on 64-bit machines, and
// 32 more from when a goroutine has first waited or paused.
//
// In the terms of the Go memory model, the release of a mode is synchronized before every later acquisition of a mode
// that it excludes.
type Lock struct {
	// state says how the lock is held: a count of those who hold it Shared, a bit for Update, and one for
	// Exclusive. Another bit is set if there are waiters, and two say whether there is a queue.
	state atomic.Uint32

	// queue does not change once it is there. It is neither in the Lock nor an atomic.Pointer, because a Held
	// could then not stay on the stack once it has an inner one: methods of mutexes and of atomic pointers
	// let their receivers escape.
	queue *queue
}

// queue has what goroutines need that do not get a lock at once.
type queue struct {
	mu sync.Mutex // protects the rest

	// paused has those of the holders who are between Pause and Resume, in the form of Lock.state.
	paused uint32
	taken  uint32 // how often the lock was taken away from those who paused

	first, last *waiter
	woken       int // waiters who have been woken and have not tried yet
}

const (
	oneShared  uint32 = 1
	allShared  uint32 = 1<<27 - 1
	updates    uint32 = 1 << 27
	exclusives uint32 = 1 << 28
	waiting    uint32 = 1 << 29
	opening    uint32 = 1 << 30 // a goroutine makes the queue
	opened     uint32 = 1 << 31 // the queue is there
)

// units has what a holder adds to the state, by mode.
var units = [...]uint32{Shared: oneShared, Update: updates, Exclusive: exclusives}

// admits reports whether one more may hold a lock that is held as state says.
func admits(state uint32, mode Mode) bool {
	switch mode {
	case Shared:
		return state&exclusives == 0
	case Update:
		return state&(exclusives|updates) == 0
	}
	return state&(exclusives|updates|allShared) == 0
}

// try acquires the lock for somebody who does not hold it, if that is possible at once. It may also fail because others
// acquire or release the lock at the same time.
func (l *Lock) try(mode Mode) bool {
	state := l.state.Load()
	return admits(state, mode) && l.state.CompareAndSwap(state, state+units[mode])
}

// strengthen makes of a holder in mode from, which may be Free, one in the stronger mode to. It waits for others. It
// reports whether the lock was held at least in mode from all the time.
func (l *Lock) strengthen(from, to Mode) bool {
	for {
		state := l.state.Load()
		rest := state - units[from]
		if !admits(rest, to) {
			return l.wait(from, to)
		}
		if l.state.CompareAndSwap(state, rest+units[to]) {
			return true
		}
	}
}

// weaken makes of a holder in mode from one in the weaker mode to, which may be Free.
func (l *Lock) weaken(from, to Mode) {
	if l.state.Add(units[to]-units[from])&waiting != 0 {
		q := l.open()
		l.wake(q)
		q.mu.Unlock()
	}
}

// open returns the queue, locked.
func (l *Lock) open() *queue {
	for state := l.state.Load(); state&opened == 0; state = l.state.Load() {
		switch {
		case state&opening != 0:
			runtime.Gosched()
		case l.state.CompareAndSwap(state, state|opening):
			l.queue = new(queue)
			l.state.Add(opened - opening)
		}
	}
	q := l.queue
	q.mu.Lock()
	return q
}

// pause says that a holder in the given mode waits for something else: others may take the lock away. It returns
// what resume needs.
func (l *Lock) pause(mode Mode) (taken uint32) {
	q := l.open()
	defer q.mu.Unlock()
	q.paused += units[mode]
	if l.state.Load()&waiting != 0 {
		l.wake(q)
	}
	return q.taken
}

// resume ends a pause. It reports whether the lock is still held. If it is not, the lock has been taken away.
func (l *Lock) resume(mode Mode, taken uint32) bool {
	q := l.open()
	defer q.mu.Unlock()
	if q.taken != taken {
		return false
	}
	q.paused -= units[mode]
	return true
}
