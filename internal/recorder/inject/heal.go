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
// and waits for the healing lock would wait for one that has the healing lock and waits for the mutex. So a mutex in whose
// critical sections such sections have begun has a healing lock, too, its guard. Whoever is about to acquire the mutex takes
// the guard first, and holds it until it releases the mutex, or until the sections that it begins there are over.
//
// Healing locks add no deadlock, because a goroutine takes the lock away from its owner
//
//   - if waiting closes a cycle of goroutines that wait for healing locks, and for locks of the program,
//   - if the owner waits for another reason, or for somebody who does, longer than heisenHealBlocked,
//   - if the same owner keeps the lock longer than heisenHealPatience, and after heisenHealLongest.
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
	heisenMaxHeals = 8 // healing locks that a goroutine holds, and that an access takes

	heisenHealLine = 6 // binary logarithm of the size of a line

	heisenHealOwnerBits = 33

	heisenMaxHealMutexes = 8  // locks of the program that a goroutine holds
	heisenMaxHealChain   = 64 // goroutines, each of which waits for the next one
	heisenHealGuardBits  = 10

	heisenNumHeals = 1<<heisenHealBits + 1<<heisenHealGuardBits
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

// heisenHealGuard is a lock of the program in whose critical sections other sections have begun.
type heisenHealGuard struct {
	lock  atomic.Uintptr
	lines [heisenMaxHeals]atomic.Uint64 // of the latest of these sections, up to a 0
}

// heisenHealed is a healing lock that a goroutine has taken.
type heisenHealed struct {
	lock uint32
	// line is the address, divided by the size, of the line to which it belongs. A guard has that of a section that began in
	// its critical sections.
	line  uint64
	owner uint64 // the lock's, unless it was taken away
	// acquired is the number of locks of the program that the goroutine had acquired by its latest access to be healed in the line.
	acquired uint32
	ahead    uintptr // of a guard: its lock, until that is released; else 0
}

// heisenHealMutex is a lock of the program that a goroutine holds.
type heisenHealMutex struct {
	lock uintptr
	nth  uint32 // of those that it has acquired
}

type heisenHealState struct {
	on     bool
	only   bool // the program heals and reports nothing; see healalone.go
	learns bool // what the program finds is healed from then on; see healfound.go
	found  heisenHealFound
	locks  [heisenNumHeals]heisenHealLock            // of lines, then of guards
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
		n, line := uint32(heisenNumHeals), uint64(0)
		for at := first; at <= last; at++ {
			if other := heisenHealNumber(at); from <= other && other < n {
				n, line = other, at
			}
		}
		if n == heisenNumHeals {
			return
		}
		if healed := h.healing(n); healed != nil {
			healed.acquired = h.acquisitions
		} else {
			h.heal(n, heisenHealed{lock: n, line: line, acquired: h.acquisitions}, heisenHealing.learns && h.inSection(line), call)
		}
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

// healing returns the entry of h for the healing lock with number n, or nil.
//
//go:nosplit
func (h *heisenG) healing(n uint32) *heisenHealed {
	for i := uint32(0); i < h.numHealed && i < heisenMaxHeals; i++ {
		if h.healed[i].lock == n {
			return &h.healed[i]
		}
	}
	return nil
}

// inSection reports whether h is in an atomic section on a variable in a line.
//
//go:nosplit
func (h *heisenG) inSection(line uint64) bool {
	return h.pending.In(line<<heisenHealLine, (line+1)<<heisenHealLine-1)
}

// endHealing releases the healing locks of h: all, or those that no section and no lock of the program needs.
//
//go:nosplit
func (h *heisenG) endHealing(all bool) {
	heisenOverlaps.end(h) // of the latest access, which is over, so that nobody sees it beside one that waited
	needed := uint64(0)   // a line with a section, if there is one
	for i := uint32(0); i < h.numHealed && i < heisenMaxHeals; i++ {
		if line := h.healed[i].line; h.healed[i].lock < 1<<heisenHealBits && h.inSection(line) {
			needed = line
		}
	}
	kept := uint32(0)
	for i := uint32(0); i < h.numHealed && i < heisenMaxHeals; i++ {
		healed := h.healed[i]
		l := &heisenHealing.locks[healed.lock%heisenNumHeals]
		if healed.lock >= 1<<heisenHealBits && !h.inSection(healed.line) {
			healed.line = needed
		}
		if !all && (healed.ahead != 0 || h.inSection(healed.line)) && l.owner.Load() == healed.owner {
			h.healed[kept] = healed
			kept++
			continue
		}
		l.owner.CompareAndSwap(healed.owner, 0) // it may have been taken away
	}
	h.numHealed = kept
}

// heal takes the healing lock with number n, which h does not have, for healed. If late is set, it does not wait: in a section
// that began before healing was switched on, waiting would only let more accesses come between.
//
//go:nosplit
func (h *heisenG) heal(n uint32, healed heisenHealed, late, call bool) {
	l := &heisenHealing.locks[n%heisenNumHeals]
	healed.owner = l.newOwner(h)
	// If others wait, this goroutine lets them go first: it may have held the lock a moment ago.
	if h.numHealed >= heisenMaxHeals || (l.waiters.Load() != 0 || !l.owner.CompareAndSwap(0, healed.owner)) && !h.waitHealing(n, healed.owner, !late, call) {
		if !late {
			heisenHealing.skipped.Add(1)
		}
		return
	}
	h.own(l, healed)
}

// healNow takes the healing lock of healed if it is free.
//
//go:nosplit
func (h *heisenG) healNow(healed heisenHealed) {
	l := &heisenHealing.locks[healed.lock%heisenNumHeals]
	healed.owner = l.newOwner(h)
	if h.numHealed < heisenMaxHeals && h.healing(healed.lock) == nil && l.owner.CompareAndSwap(0, healed.owner) {
		h.own(l, healed)
	}
}

// newOwner returns a value for the owner of l that says that h has the lock and that no other has.
//
//go:nosplit
func (l *heisenHealLock) newOwner(h *heisenG) uint64 {
	return uint64(l.count.Add(1))<<heisenHealOwnerBits | (uint64(h.id) + 1)
}

// own notes that h has a healing lock.
//
//go:nosplit
func (h *heisenG) own(l *heisenHealLock, healed heisenHealed) {
	l.holder.Store(uintptr(unsafe.Pointer(getg().m.curg)))
	h.healed[h.numHealed%heisenMaxHeals] = healed
	h.numHealed++
}

// heisenHealGuardOf returns the place of a lock of the program among the guards, and the number of its guard among the
// healing locks.
//
//go:nosplit
func heisenHealGuardOf(lock uintptr) (g *heisenHealGuard, n uint32) {
	i := uint32(uint64(lock) * 0x9E3779B97F4A7C15 >> (64 - heisenHealGuardBits))
	return &heisenHealing.guards[i], 1<<heisenHealBits + i
}

// heisenHealAhead is called before the current goroutine acquires a lock of the program.
func heisenHealAhead(lock unsafe.Pointer) {
	gp := getg()
	h := (*heisenG)(unsafe.Pointer(gp.racectx))
	g, n := heisenHealGuardOf(uintptr(lock))
	if h == nil || g.lock.Load() != uintptr(lock) || gp.raceignore != 0 || !heisenStoppable(gp) {
		return
	}
	if h.numHealed != 0 {
		h.endHealing(false)
	}
	if healed := h.healing(n); healed != nil {
		healed.ahead = uintptr(lock)
		return
	}
	h.heal(n, heisenHealed{lock: n, ahead: uintptr(lock)}, heisenHealing.learns && g.late(h), true)
}

// late reports whether h is in a section that began before healing was switched on, in critical sections of g's lock.
//
//go:nosplit
func (g *heisenHealGuard) late(h *heisenG) bool {
	for i := range g.lines {
		switch line := g.lines[i].Load(); {
		case line == 0:
			return false
		case h.inSection(line):
			return true
		}
	}
	return false
}

// heisenHealStandsBack reports whether the current goroutine, which has just acquired a lock of the program, is to release it and
// to begin anew with heisenHealAhead: while it waited for the lock, another goroutine has begun a section there.
//
//go:nosplit
func heisenHealStandsBack(lock uintptr) bool {
	gp := getg()
	h := (*heisenG)(unsafe.Pointer(gp.racectx))
	g, n := heisenHealGuardOf(lock)
	if h == nil || g.lock.Load() != lock || gp.raceignore != 0 || h.numHealed >= heisenMaxHeals || h.healing(n) != nil ||
		heisenHealing.learns && g.late(h) {
		return false
	}
	h.healNow(heisenHealed{lock: n, ahead: lock})
	return h.healing(n) == nil && heisenStoppable(gp)
}

// healSync follows the locks of the program that h holds, and ends the healing that is over, at a synchronization.
//
//go:nosplit
func (h *heisenG) healSync(op uint64, obj uintptr) {
	switch {
	case heisenAcquireOps>>op&1 != 0:
		h.acquisitions++
		if h.numMutex < heisenMaxHealMutexes {
			h.mutexes[h.numMutex] = heisenHealMutex{obj, h.acquisitions}
			h.numMutex++
		}
	case heisenLockOps>>op&1 != 0:
		for i := uint32(0); i < h.numMutex && i < heisenMaxHealMutexes; i++ {
			if h.mutexes[i].lock == obj {
				if h.numHealed != 0 {
					h.releasing(h.mutexes[i])
				}
				h.numMutex--
				h.mutexes[i] = h.mutexes[h.numMutex%heisenMaxHealMutexes]
				break
			}
		}
	}
	if h.numHealed != 0 {
		h.endHealing(false)
	}
}

// releasing notes in which lines h has begun sections in critical sections of a lock of the program, which it is about to
// release. If there are any, it takes the lock's guard, unless somebody else has it.
//
//go:nosplit
func (h *heisenG) releasing(m heisenHealMutex) {
	heisenOverlaps.end(h) // the latest access may end a section
	g, n := heisenHealGuardOf(m.lock)
	lines, latest := 0, uint64(0)
	for i := uint32(0); i < h.numHealed && i < heisenMaxHeals; i++ {
		healed := &h.healed[i]
		if healed.ahead == m.lock {
			healed.ahead = 0
		}
		if healed.lock < 1<<heisenHealBits && healed.acquired >= m.nth && h.inSection(healed.line) {
			latest = healed.line
			g.lines[lines].Store(latest)
			lines++
		}
	}
	if lines == 0 {
		return
	}
	if lines < heisenMaxHeals {
		g.lines[lines].Store(0)
	}
	h.healNow(heisenHealed{lock: n, line: latest}) // before others know that there is one
	g.lock.Store(m.lock)
}

// heisenHealChain says where it leads to wait for a healing lock: from its owner to whom the owner waits for, and so on.
type heisenHealChain struct {
	cycle   bool // to the goroutine that asks
	first   bool // then: of those that wait for healing locks, it is the one that is to go on
	blocked bool // to one that waits for others, of whom it is not known who they are
}

// chain follows those who wait from the owner of the healing lock with number n, for h, which wants the lock. With search, it
// looks for those who hold locks of the program; otherwise it knows the locks of h only. It takes time in proportion to the
// length of the chain, with search times the number of goroutines.
//
//go:nosplit
func (h *heisenG) chain(n uint32, search bool) (c heisenHealChain) {
	c.first = true
	l := &heisenHealing.locks[n%heisenNumHeals]
	gp := l.ownerG()
	for range heisenMaxHealChain {
		if gp == nil {
			return heisenHealChain{}
		}
		owner := (*heisenG)(unsafe.Pointer(gp.racectx))
		if owner == nil {
			return heisenHealChain{}
		}
		if owner == h {
			c.cycle = true
			return c
		}
		if awaited := owner.awaited.Load(); awaited != 0 {
			c.first = c.first && h.id > owner.id
			gp = heisenHealing.locks[(awaited-1)%heisenNumHeals].ownerG()
			continue
		}
		if readgstatus(gp)&^_Gscan != _Gwaiting || !heisenHealWaitsForOthers(gp.waitreason) {
			return heisenHealChain{}
		}
		on := uintptr(owner.task.on)
		if h.holds(on) {
			c.cycle = true
			return c
		}
		if gp = nil; search {
			gp = heisenHealHolder(on)
		}
		if gp == nil {
			c.blocked = true
			return c
		}
	}
	c.blocked = true
	return c
}

// ownerG returns the goroutine that has the healing lock, nil if there is none, or if it has only just taken the lock.
//
//go:nosplit
func (l *heisenHealLock) ownerG() *g {
	gp := (*g)(unsafe.Pointer(l.holder.Load()))
	if gp == nil {
		return nil
	}
	if h := (*heisenG)(unsafe.Pointer(gp.racectx)); h == nil || l.owner.Load()&(1<<heisenHealOwnerBits-1) != uint64(h.id)+1 {
		return nil
	}
	return gp
}

// holds reports whether h has a lock of the program.
//
//go:nosplit
func (h *heisenG) holds(lock uintptr) bool {
	for i := uint32(0); i < h.numMutex && i < heisenMaxHealMutexes; i++ {
		if h.mutexes[i].lock == lock {
			return true
		}
	}
	return false
}

// heisenHealHolder returns the goroutine that has a lock of the program; nil if none is found or if others share the lock.
//
//go:nosplit
func heisenHealHolder(lock uintptr) (holder *g) {
	systemstack(func() {
		all, n := atomicAllG()
		for i := range n {
			gp := atomicAllGIndex(all, i)
			h := (*heisenG)(unsafe.Pointer(gp.racectx))
			if h == nil || !h.holds(lock) {
				continue
			}
			if holder != nil {
				holder = nil
				return
			}
			holder = gp
		}
	})
	return holder
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

// waitHealing waits for the healing lock with number n, if waits is set and the current goroutine, that of h, may be stopped,
// and reports whether it has got the lock.
//
//go:nosplit
func (h *heisenG) waitHealing(n uint32, owner uint64, waits, call bool) bool {
	gp := getg()
	l := &heisenHealing.locks[n%heisenNumHeals]
	if !waits || !heisenStoppable(gp) {
		return l.owner.CompareAndSwap(0, owner)
	}
	l.waiters.Add(1)
	h.awaited.Store(n + 1)
	start := nanotime()
	since, old, blocked := start, l.owner.Load(), start
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
			since, old, blocked = now, current, now
		}
		c := h.chain(n, now-blocked >= heisenHealBlocked)
		if !c.cycle && !c.blocked {
			blocked = now
		}
		takes := c.cycle && c.first || now-blocked >= heisenHealBlocked || now-since >= heisenHealPatience || now-start >= heisenHealLongest
		if takes && l.owner.CompareAndSwap(old, owner) {
			heisenHealing.seized.Add(1)
			break
		}
	}
	h.awaited.Store(0)
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
