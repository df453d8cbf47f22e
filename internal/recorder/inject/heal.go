//go:build heisen_inject

package runtime

import (
	"internal/runtime/atomic"
	"unsafe"
)

// Live healing (section 5 of the AtomRace paper). A goroutine that is about to make an access at one of the
// places to heal, or to a variable of an earlier finding, takes a healing lock, which belongs to the cache line that is accessed. It holds the lock until its
// next hook, or, if it is then in an atomic section on a variable in this line, until the section is over.
//
// Healing locks add no deadlock:
//
//   - A goroutine waits for one at most heisenHealPatience while the same owner keeps it, and heisenHealLongest
//     altogether. Then it takes the lock away from its owner.
//   - It gives up its healing locks before it releases or acquires anything of the program, starts a goroutine,
//     or ends.
//   - While it holds one, it waits only for those with higher numbers, and otherwise goes on without.
//
// A goroutine waits in the hook of an access, as in a deterministic run; see heisenPointAccess.

// Bounds of a wait for a healing lock, in nanoseconds.
const (
	heisenHealPatience = 1000 * 1000 * 1000
	heisenHealLongest  = 10 * 1000 * 1000 * 1000
)

const (
	heisenHealBits = 10
	heisenMaxHeals = 4 // healing locks that a goroutine holds, and that an access takes

	heisenHealLine = 6 // binary logarithm of the size of a line

	heisenHealOwnerBits = 33
)

// heisenHealLock is a healing lock, on a cache line of its own. Lines with the same hash share one.
type heisenHealLock struct {
	// owner is one more than the number of the goroutine that holds the lock, and above it how often the lock
	// was taken. It is 0 if nobody holds it.
	owner   atomic.Uint64
	count   atomic.Uint32 // how often the lock was taken
	waiters atomic.Int32
	_       [48]byte
}

// heisenHealed is a healing lock that a goroutine has taken.
type heisenHealed struct {
	lock  uint32
	line  uint64 // address, divided by the size
	owner uint64 // the lock's, unless it was taken away
}

type heisenHealState struct {
	on     bool
	only   bool // the program heals and reports nothing; see healalone.go
	learns bool // what the program finds is healed from then on; see healfound.go
	found  heisenHealFound
	locks  [1 << heisenHealBits]heisenHealLock

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
		if !all && h.pending.In(healed.line<<heisenHealLine, (healed.line+1)<<heisenHealLine-1) && l.owner.Load() == healed.owner {
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
	if h.numHealed >= heisenMaxHeals || (l.waiters.Load() != 0 || !l.owner.CompareAndSwap(0, owner)) && !heisenWaitHealing(l, owner, waits, call) {
		if !late {
			s.skipped.Add(1)
		}
		return
	}
	h.healed[h.numHealed%heisenMaxHeals] = heisenHealed{n, line, owner}
	h.numHealed++
}

// heisenWaitHealing waits for a healing lock, if waits is set and the current goroutine may be stopped, and reports whether
// it has got the lock.
//
//go:nosplit
func heisenWaitHealing(l *heisenHealLock, owner uint64, waits, call bool) bool {
	gp := getg()
	if !waits || !heisenStoppable(gp) {
		return l.owner.CompareAndSwap(0, owner)
	}
	l.waiters.Add(1)
	start := nanotime()
	since, old := start, l.owner.Load()
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
			since, old = now, current
		}
		if (now-since >= heisenHealPatience || now-start >= heisenHealLongest) && l.owner.CompareAndSwap(old, owner) {
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
