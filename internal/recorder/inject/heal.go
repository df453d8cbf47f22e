//go:build heisen_inject

package runtime

import (
	"internal/goarch"
	"internal/runtime/atomic"
	"unsafe"
)

// Live healing (section 5 of the AtomRace paper). A goroutine that is about to make an access at one of the
// places to heal, or to a variable of an earlier finding, takes a healing lock, which belongs to the cache line that is accessed. It holds the lock until its
// next hook, or, if it is then in an atomic section on a variable in this line, until the section is over.
//
// A section may begin in a critical section of the program, and need the same mutex again. Then a goroutine that has the mutex
// and waits for the healing lock would wait for one that has the healing lock and waits for the mutex. So whoever is about
// to acquire a mutex in whose critical sections such sections have begun takes the healing lock first, and holds it until it
// releases the mutex, or until the section that it begins there is over.
//
// Healing locks add no deadlock:
//
//   - A goroutine takes the lock away from its owner if waiting threatens to close a cycle: if the owner waits for a mutex that
//     the goroutine has, or waits for other goroutines longer than heisenHealBlocked.
//   - It does so, too, if the same owner keeps the lock longer than heisenHealPatience, or after heisenHealLongest.
//   - While it holds a healing lock, it waits only for those with higher numbers, and otherwise goes on without.
//
// A goroutine waits in the hook of an access, as in a deterministic run; see heisenPointAccess.

// Bounds of a wait for a healing lock, in nanoseconds.
const (
	heisenHealPatience = 1000 * 1000 * 1000
	heisenHealLongest  = 10 * 1000 * 1000 * 1000
	heisenHealBlocked  = 20 * 1000 * 1000
)

const (
	heisenHealBits = 10
	heisenMaxHeals = 4 // healing locks that a goroutine holds, and that an access takes

	heisenHealLine = 6 // binary logarithm of the size of a line

	heisenHealOwnerBits = 33

	heisenMaxHealMutexes = 4 // locks of the program that a goroutine holds
	heisenHealGuardBits  = 8
)

// heisenHealLock is a healing lock, on a cache line of its own. Lines with the same hash share one.
type heisenHealLock struct {
	// owner is one more than the number of the goroutine that holds the lock, and above it how often the lock
	// was taken. It is 0 if nobody holds it.
	owner   atomic.Uint64
	count   atomic.Uint32 // how often the lock was taken
	waiters atomic.Int32
	holder  atomic.Uintptr // the owner's g, which may have ended
	_       [64 - 16 - goarch.PtrSize]byte
}

// heisenHealGuard is a lock of the program, and the lines with sections that were going on when it was released.
type heisenHealGuard struct {
	lock  atomic.Uintptr
	lines [heisenMaxHeals]atomic.Uint64 // the first of them, up to a 0
}

// heisenHealed is a healing lock that a goroutine has taken.
type heisenHealed struct {
	lock  uint32
	line  uint64 // address, divided by the size
	owner uint64 // the lock's, unless it was taken away
	// ahead is the lock of the program ahead of which it was taken, until a section begins that needs it; 0 if there is none.
	ahead uintptr
}

type heisenHealState struct {
	on     bool
	only   bool // the program heals and reports nothing; see healalone.go
	learns bool // what the program finds is healed from then on; see healfound.go
	found  heisenHealFound
	locks  [1 << heisenHealBits]heisenHealLock
	guards [1 << heisenHealGuardBits]heisenHealGuard // by a hash of the lock

	// For the receiver: locks that were taken away from their owners, and accesses without a lock because the
	// goroutine could not wait.
	seized, skipped atomic.Uint64
}

var heisenHealing heisenHealState

// heisenHealAccess is called before h, the current goroutine, makes an access. heals says that the place is one to
// heal. If call is set, the goroutine may be stopped as in any call.
//
//go:nosplit
func heisenHealAccess(h *heisenG, addr, size uintptr, heals, call bool) {
	if h.numHealed != 0 {
		h.endHealing(false)
	}
	if !heals {
		return
	}
	if heisenHealing.learns && h.numHealed == 0 {
		heisenOverlaps.end(h) // a section that is over is none that began before healing was switched on
	}
	first, last := uint64(addr)>>heisenHealLine, uint64(addr+max(size, 1)-1)>>heisenHealLine
	if last-first >= heisenMaxHeals {
		heisenHealing.skipped.Add(1)
		last = first + heisenMaxHeals - 1
	}
	for from := uint32(0); ; { // by number
		n, line := uint32(1<<heisenHealBits), uint64(0)
		for at := first; at <= last; at++ {
			if other := heisenHealNumber(at); from <= other && other < n {
				n, line = other, at
			}
		}
		if n == 1<<heisenHealBits {
			return
		}
		h.heal(n, line, call)
		from = n + 1
	}
}

// concerns reports whether an access is to be healed. number is that of its location, 0 if it has none.
//
//go:nosplit
func (s *heisenHealState) concerns(number uint32, addr, size uintptr, pc uint64) bool {
	if number > 0 {
		switch flags := atomic.Load(&heisenOverlaps.locations.at(number).flags); {
		case flags&heisenLocationHeal != 0:
			return true
		case flags&heisenLocationUnfit != 0:
			return false
		}
	}
	return s.found.at(addr, size, pc)
}

// heisenHealNumber returns the number of the lock of a line.
//
//go:nosplit
func heisenHealNumber(line uint64) uint32 {
	return uint32(line * 0x9E3779B97F4A7C15 >> (64 - heisenHealBits))
}

// endHealing releases the healing locks of h: all, or those of lines on which h is in no section.
//
//go:nosplit
func (h *heisenG) endHealing(all bool) {
	heisenOverlaps.end(h) // of the latest access, which is over, so that nobody sees it beside one that waited
	kept := uint32(0)
	for i := uint32(0); i < h.numHealed && i < heisenMaxHeals; i++ {
		healed := h.healed[i]
		l := &heisenHealing.locks[healed.lock%(1<<heisenHealBits)]
		if !all && (healed.ahead != 0 || h.pending.In(healed.line<<heisenHealLine, (healed.line+1)<<heisenHealLine-1)) && l.owner.Load() == healed.owner {
			h.healed[kept] = healed
			kept++
			continue
		}
		l.owner.CompareAndSwap(healed.owner, 0) // it may have been taken away
	}
	h.numHealed = kept
}

// heal takes the healing lock with number n, of a line.
//
//go:nosplit
func (h *heisenG) heal(n uint32, line uint64, call bool) {
	s := &heisenHealing
	waits := true
	for i := uint32(0); i < h.numHealed && i < heisenMaxHeals; i++ {
		if h.healed[i].lock == n {
			if h.healed[i].ahead != 0 {
				h.healed[i].ahead, h.healed[i].line = 0, line
			}
			return
		}
		waits = waits && h.healed[i].lock < n
	}
	// In a section that began before healing was switched on, waiting would only let more accesses come between.
	late := s.learns && h.pending.In(line<<heisenHealLine, (line+1)<<heisenHealLine-1)
	waits = waits && !late
	l := &s.locks[n%(1<<heisenHealBits)]
	owner := uint64(l.count.Add(1))<<heisenHealOwnerBits | (uint64(h.id) + 1)
	// If others wait, this goroutine lets them go first: it may have held the lock a moment ago.
	if h.numHealed >= heisenMaxHeals || (l.waiters.Load() != 0 || !l.owner.CompareAndSwap(0, owner)) && !h.waitHealing(l, owner, waits, call) {
		if !late {
			s.skipped.Add(1)
		}
		return
	}
	h.own(l, heisenHealed{n, line, owner, 0})
}

// own notes that h has a healing lock.
//
//go:nosplit
func (h *heisenG) own(l *heisenHealLock, healed heisenHealed) {
	l.holder.Store(uintptr(unsafe.Pointer(getg().m.curg)))
	h.healed[h.numHealed%heisenMaxHeals] = healed
	h.numHealed++
}

// healNow takes the healing lock of a line if it is free.
//
//go:nosplit
func (h *heisenG) healNow(line uint64) {
	n := heisenHealNumber(line)
	for i := uint32(0); i < h.numHealed && i < heisenMaxHeals; i++ {
		if h.healed[i].lock == n {
			return
		}
	}
	l := &heisenHealing.locks[n%(1<<heisenHealBits)]
	owner := uint64(l.count.Add(1))<<heisenHealOwnerBits | (uint64(h.id) + 1)
	if h.numHealed < heisenMaxHeals && l.owner.CompareAndSwap(0, owner) {
		h.own(l, heisenHealed{n, line, owner, 0})
	}
}

//go:nosplit
func heisenHealGuardOf(lock uintptr) uint32 {
	return uint32(uint64(lock) * 0x9E3779B97F4A7C15 >> (64 - heisenHealGuardBits))
}

// heisenHealAhead is called before the current goroutine acquires a lock of the program.
func heisenHealAhead(lock unsafe.Pointer) {
	gp := getg()
	h := (*heisenG)(unsafe.Pointer(gp.racectx))
	g := &heisenHealing.guards[heisenHealGuardOf(uintptr(lock))]
	if h == nil || g.lock.Load() != uintptr(lock) || gp.raceignore != 0 || !heisenStoppable(gp) {
		return
	}
	for from := uint32(0); ; { // by number
		n, line := uint32(1<<heisenHealBits), uint64(0)
		for i := range g.lines {
			at := g.lines[i].Load()
			if at == 0 {
				break
			}
			if other := heisenHealNumber(at); from <= other && other < n {
				n, line = other, at
			}
		}
		if n == 1<<heisenHealBits {
			return
		}
		before := h.numHealed
		h.heal(n, line, true)
		if h.numHealed > before {
			h.healed[before%heisenMaxHeals].ahead = uintptr(lock)
		}
		from = n + 1
	}
}

// heisenHealStandsBack reports whether the current goroutine, which has just acquired a lock of the program, is to release it and
// to begin anew with heisenHealAhead: while it waited for the lock, another goroutine has begun a section there.
//
//go:nosplit
func heisenHealStandsBack(lock uintptr) bool {
	gp := getg()
	h := (*heisenG)(unsafe.Pointer(gp.racectx))
	g := &heisenHealing.guards[heisenHealGuardOf(lock)]
	if h == nil || g.lock.Load() != lock || h.numHealed != 0 || gp.raceignore != 0 || !heisenStoppable(gp) {
		return false
	}
	for i := range g.lines {
		line := g.lines[i].Load()
		if line == 0 || heisenHealing.learns && h.pending.In(line<<heisenHealLine, (line+1)<<heisenHealLine-1) {
			return false
		}
		if heisenHealing.locks[heisenHealNumber(line)].owner.Load() != 0 {
			return true
		}
	}
	return false
}

// healSync follows the locks of the program that h holds, and ends the healing that is over, at a synchronization.
//
//go:nosplit
func (h *heisenG) healSync(op uint64, obj uintptr) {
	switch {
	case heisenAcquireOps>>op&1 != 0:
		if h.numMutex < heisenMaxHealMutexes {
			h.mutexes[h.numMutex] = obj
			h.numMutex++
		}
	case heisenLockOps>>op&1 != 0:
		for i := uint32(0); i < h.numMutex && i < heisenMaxHealMutexes; i++ {
			if h.mutexes[i] == obj {
				for h.numMutex--; i < h.numMutex && i+1 < heisenMaxHealMutexes; i++ {
					h.mutexes[i] = h.mutexes[i+1]
				}
			}
		}
		g, lines := &heisenHealing.guards[heisenHealGuardOf(obj)], 0
		for i := uint32(0); i < h.numHealed && i < heisenMaxHeals; i++ {
			healed := &h.healed[i]
			if healed.ahead == obj {
				healed.ahead = 0
			}
			if h.pending.In(healed.line<<heisenHealLine, (healed.line+1)<<heisenHealLine-1) {
				g.lines[lines].Store(healed.line)
				g.lock.Store(obj)
				lines++
			}
		}
		if lines > 0 && lines < heisenMaxHeals {
			g.lines[lines].Store(0)
		}
	}
	if h.numHealed != 0 {
		h.endHealing(false)
	}
}

// threatens reports whether waiting for a healing lock threatens to close a cycle of goroutines that wait. since is the time
// from which on its owner has waited for others; 0 if it does not.
//
//go:nosplit
func (l *heisenHealLock) threatens(h *heisenG, since *int64, now int64) bool {
	gp := (*g)(unsafe.Pointer(l.holder.Load()))
	if gp == nil || readgstatus(gp)&^_Gscan != _Gwaiting || !heisenHealWaitsForOthers(gp.waitreason) {
		*since = 0
		return false
	}
	if owner := (*heisenG)(unsafe.Pointer(gp.racectx)); owner != nil {
		for i := uint32(0); i < h.numMutex && i < heisenMaxHealMutexes; i++ {
			if owner.task.on == uint64(h.mutexes[i]) {
				return true
			}
		}
	}
	if *since == 0 {
		*since = now
	}
	return now-*since >= heisenHealBlocked
}

// heisenHealWaitsForOthers reports whether a goroutine that waits for the given reason may wait for another one.
//
//go:nosplit
func heisenHealWaitsForOthers(reason waitReason) bool {
	switch reason {
	case waitReasonChanReceive, waitReasonChanSend, waitReasonSelect, waitReasonSelectNoCases, waitReasonChanReceiveNilChan,
		waitReasonChanSendNilChan, waitReasonSemacquire, waitReasonSyncCondWait, waitReasonSyncMutexLock,
		waitReasonSyncRWMutexRLock, waitReasonSyncRWMutexLock, waitReasonSyncWaitGroupWait:
		return true
	}
	return false
}

// waitHealing waits for a healing lock, if waits is set and the current goroutine, that of h, may be stopped, and reports
// whether it has got the lock.
//
//go:nosplit
func (h *heisenG) waitHealing(l *heisenHealLock, owner uint64, waits, call bool) bool {
	gp := getg()
	if !waits || !heisenStoppable(gp) {
		return l.owner.CompareAndSwap(0, owner)
	}
	l.waiters.Add(1)
	start := nanotime()
	since, old, blocked := start, l.owner.Load(), int64(0)
	for spins := 1; ; spins++ {
		if spins%16 == 0 {
			usleep(20) // the owner's thread may be waiting for a processor
		}
		if call {
			heisenYield()
		} else {
			gp.asyncSafePoint = true
			mcall(gosched_m)
			gp.asyncSafePoint = false
		}
		if l.owner.CompareAndSwap(0, owner) {
			break
		}
		now := nanotime()
		if current := l.owner.Load(); current != old {
			since, old, blocked = now, current, 0
		}
		if (l.threatens(h, &blocked, now) || now-since >= heisenHealPatience || now-start >= heisenHealLongest) && l.owner.CompareAndSwap(old, owner) {
			heisenHealing.seized.Add(1)
			break
		}
	}
	l.waiters.Add(-1)
	return true
}

// heisenHealAtomic is heisenHealAccess for an atomic operation that h is about to make. It reports whether the
// operation matters to sections.
//
//go:nosplit
func heisenHealAtomic(h *heisenG, addr unsafe.Pointer, write bool, pc uint64) bool {
	if h == nil || heisenOnStack(uintptr(addr)) || !heisenShared(uintptr(addr)) {
		return false
	}
	w := &heisenOverlaps
	number, _ := w.locations.locate(pc, heisenMode(write))
	heisenHealAccess(h, uintptr(addr), 1, heisenHealing.concerns(number, uintptr(addr), 1, pc), true)
	KeepAlive(addr)
	return number > 0 || h.pending.loc|h.pending.numActive != 0
}
