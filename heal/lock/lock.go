package lock

import (
	"sync"
	"sync/atomic"
)

// Lock is a lock with the modes Shared, Update and Exclusive. It is acquired through a Held. The zero value is a
// lock that nobody holds. A Lock must not be copied once it has been used, and takes 40 bytes on 64-bit machines.
//
// In the terms of the Go memory model, the release of a mode is synchronized before every later acquisition of a mode
// that it excludes.
type Lock struct {
	// state says how the lock is held: a count of those who hold it Shared, a bit for Update, and one for
	// Exclusive. One more bit is set if there are waiters.
	state atomic.Uint32

	// paused has those of the holders who are between Pause and Resume, in the form of state; mu protects it
	// and what follows.
	paused uint32

	mu    sync.Mutex
	taken uint32 // how often the lock was taken away from those who paused
	first *waiter
	last  *waiter
}

const (
	oneShared  uint32 = 1
	allShared  uint32 = 1<<28 - 1
	updates    uint32 = 1 << 28
	exclusives uint32 = 1 << 29
	waiting    uint32 = 1 << 30
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
		l.mu.Lock()
		l.wake()
		l.mu.Unlock()
	}
}

// pause says that a holder in the given mode waits for something else: others may take the lock away. It returns
// what resume needs.
func (l *Lock) pause(mode Mode) (taken uint32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.paused += units[mode]
	if l.state.Load()&waiting != 0 {
		l.wake()
	}
	return l.taken
}

// resume ends a pause. It reports whether the lock is still held. If it is not, the lock has been taken away.
func (l *Lock) resume(mode Mode, taken uint32) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.taken != taken {
		return false
	}
	l.paused -= units[mode]
	return true
}
