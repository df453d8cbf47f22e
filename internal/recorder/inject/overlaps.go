//go:build heisen_inject

package runtime

import (
	"internal/runtime/atomic"
	"internal/runtime/sys"
	"unsafe"
)

// Overlapping accesses and violated sections (AtomRace) found by the program. An access is pending
// from just before it, usually until its goroutine releases anything. Meanwhile it is in the table
// of package internal/core/atomrace, in which accesses to the same bytes find it. Each release is
// reported before it takes effect, and ends the pending accesses of its goroutine, so two accesses
// that are pending at the same time are not ordered. See package atomrace.
//
// Assembly of the program may release something without a report (unseen.go). Where it is linked in, an
// access is pending only while its goroutine is in its hook, and the ends of sections are over with it.
//
// The functions run in hooks, on the goroutine's stack, nosplit, and hold no locks but those of the
// table. When the garbage collector is about to free memory, pending accesses are forgotten, since
// the addresses may be reused.

var heisenOverlaps heisenOverlapState

type heisenOverlapState struct {
	table heisenAtomRaceTable

	locations heisenLocations

	strength   uint32 // of noise, in thousandths of the accesses
	everywhere bool   // noise is at any access
	sections   bool
	brief      bool // an access ends with the goroutine's next hook
	held       bool // an access ends with its own hook
	ends       uint32
	wait       int64 // ns; 0 only yields
	seed       uint64
	budget     int64 // ns left

	reported [1 << heisenReportedBits]uint64 // pairs of places that were reported
}

const heisenReportedBits = 10

// The ops in records of overlaps are those of package heisen.
const (
	heisenRead        = 1
	heisenWrite       = 2
	heisenAtomicRead  = 4
	heisenAtomicWrite = 5

	heisenAtomicUpdate = 6
)

// heisenOnlyLearns has the ops that acquire and release nothing.
const heisenOnlyLearns = 1<<heisenOpAcquire | 1<<heisenOpTryAcquire | 1<<heisenOpAcquireShared |
	1<<heisenOpTryAcquireShared | 1<<heisenOpReceive | 1<<heisenOpChanceReceive

// heisenNoHits receives findings where nothing can be reported.
var heisenNoHits heisenAtomRaceHits

// What package internal/core/atomrace needs from its host.

// A release store of package atomic is an exchange on amd64, which costs as much as a
// compare-and-swap. There every store is a release store, and the compiler keeps stores in order
// with each other and with atomic operations.

//go:nosplit
func heisenAtomRaceStoreRelease(x *atomic.Uint64, v uint64) {
	if GOARCH == "amd64" {
		*(*uint64)(unsafe.Pointer(x)) = v
	} else {
		x.StoreRelease(v)
	}
}

//go:nosplit
func heisenAtomRaceStoreRelease32(x *atomic.Uint32, v uint32) {
	if GOARCH == "amd64" {
		*(*uint32)(unsafe.Pointer(x)) = v
	} else {
		x.StoreRelease(v)
	}
}

//go:nosplit
func heisenAtomRaceLowestBit(x uint32) uint32 { return uint32(sys.TrailingZeros32(x)) }

//go:nosplit
func heisenAtomRacePauseSpinning() { procyield(20) }

// heisenInitOverlaps reads what to look for from a message. It reports whether there was room.
func heisenInitOverlaps(m heisenMessage) bool {
	w := &heisenOverlaps
	w.strength = m.next()
	w.everywhere = m.next() != 0 && w.strength > 0
	w.wait, w.seed, w.budget = int64(m.next64()), m.next64(), int64(m.next64())
	w.brief = m.next() != 0
	heals := m.next()
	heisenHealing.on, heisenHealing.learns = heals != 0, heals&heisenHealFindings != 0
	if heisenHealing.on {
		heisenInitHooks()
	}
	if w.held = heisenUnseen.count != 0; w.held {
		heisenInitHooks()
	}
	w.table.Keep = !w.brief && !w.held
	sections := m.next()
	for range sections {
		entry, kind, above, ends := m.next(), m.next(), m.next(), m.next()
		section := w.table.AddSection(entry, above, kind&1 != 0, kind&2 != 0)
		w.ends += ends
		for ; ends > 0; ends-- {
			at, allow := m.next(), m.next()
			if !w.table.AddEnd(section, at, allow&1 != 0, allow&2 != 0) {
				return false
			}
		}
	}
	w.sections = sections > 0
	w.locations.read(&m)
	return true
}

// heisenTrackByte is heisenAccess for the byte at addr if overlaps are all that is looked for.
//
//go:nosplit
func heisenTrackByte(h *heisenG, write bool, addr, pc uintptr) {
	if heisenOverlaps.table.Pending(&h.pending, uint64(addr), write) {
		return
	}
	gp := getg()
	if addr-gp.stack.lo < gp.stack.hi-gp.stack.lo || !heisenShared(addr) {
		return
	}
	b := heisenBufOfP()
	if b == nil || !h.started {
		heisenTrackAccess(h, write, addr, 1, heisenPC(pc))
		return
	}
	op := uint64(heisenRead)
	if write {
		op = heisenWrite
	}
	accessID := uint64(h.id)<<32 | op<<heisenPlaceBits | heisenPlaceWithLocks(b, h, pc)
	pending, alone := heisenOverlaps.table.Touch(&h.pending, uint64(addr), accessID, write)
	if alone {
		return
	}
	a := &b.access
	a.Addr, a.Size, a.ID, a.Write, a.Atomic = uint64(addr), 1, accessID, write, false
	if pending {
		heisenOverlaps.table.Search(a, &b.hits)
	} else {
		heisenOverlaps.table.Before(&h.pending, a, &b.hits)
	}
	b.report(h)
}

// heisenEndPending ends the pending accesses of h. It comes first in hooks of operations by which h
// may publish something, and in more hooks if there are sections, whose ends should be noticed
// soon.
//
//go:nosplit
func heisenEndPending(h *heisenG) {
	if heisen.overlaps && h != nil && h.pending.holding|h.pending.wide|h.pending.loc != 0 {
		heisenOverlaps.end(h)
	}
}

// end ends the pending accesses of h.
//
//go:nosplit
func (w *heisenOverlapState) end(h *heisenG) {
	b := heisenBufOfP()
	if b == nil {
		w.table.After(&h.pending, &heisenNoHits)
		return
	}
	w.table.After(&h.pending, &b.hits)
	b.report(h)
}

// report sends what the current hook of h has found, if anything.
//
//go:nosplit
func (b *heisenBuf) report(h *heisenG) {
	if b.hits.NumOverlaps|b.hits.NumViolations != 0 && !heisenHealing.only {
		if heisenHealing.learns { // others who know of the finding wait until its section is over
			line := b.access.Addr >> heisenHealLine
			h.healNow(heisenHealed{lock: heisenHealNumber(line), line: line})
		}
		systemstack(func() { heisenReportOverlaps(b, h) })
	}
}

// heisenTrackAccess makes an access of h, the current goroutine, pending, and decides whether it
// gets noise.
//
//go:nosplit
func heisenTrackAccess(h *heisenG, write bool, addr, size uintptr, pc uint64) {
	b := heisenBufOfG(h)
	if b == nil {
		heisenOverlaps.table.After(&h.pending, &heisenNoHits)
		return
	}
	w := &heisenOverlaps
	number, inlined := uint32(0), uint32(0)
	if w.locations.count > 0 {
		number, inlined = w.locations.locate(pc, heisenMode(write))
	}
	if heisenHealing.on {
		heisenHealAccess(h, addr, size, heisenHealing.concerns(number, addr, size, pc), false)
		if heisenHealing.only {
			heisenFollowHealed(h, write, addr, size, number, inlined)
			return
		}
		b = heisenBufOfG(h) // it may have waited
		if b == nil {
			return
		}
	}
	op := uint64(heisenRead)
	if write {
		op = heisenWrite
	}
	a := &b.access
	a.Addr, a.Size, a.ID = uint64(addr), uint64(size), uint64(h.id)<<32|op<<heisenPlaceBits|heisenPlaceWithLocks(b, h, heisenTextPC(pc))
	a.Loc, a.Depth, a.Key, a.Write, a.Atomic = number, h.depth()+inlined, h.takeKey(addr), write, false
	w.table.Before(&h.pending, a, &b.hits)
	b.report(h)
	if w.strength > 0 && (w.everywhere && !heisenIsFresh(h, addr) || number > 0 && w.locations.at(number).flags&heisenLocationNoise != 0) {
		w.drawNoise(h, pc)
		switch {
		case !h.noiseDue:
		case w.held:
			heisenHoldAccess(h)
		default:
			heisenNoise(h)
		}
	}
	if w.held {
		w.end(h)
	}
}

// takeKey returns the key that an access to addr concerns, 0 if it is not one of those to a map.
//
//go:nosplit
func (h *heisenG) takeKey(addr uintptr) (key uint64) {
	if h.keyed == addr {
		key = h.key
	}
	h.keyed = 0
	return key
}

// heisenTrackAtomic makes an atomic operation that has just been done take part in sections. No
// other one on the address can happen at the same time, so it ends when heisenTrackAtomic returns.
//
//go:nosplit
func heisenTrackAtomic(h *heisenG, write bool, addr uintptr, pc uint64) {
	w := &heisenOverlaps
	b := heisenBufOfG(h)
	if b == nil {
		return
	}
	number, inlined := w.locations.locate(pc, heisenMode(write))
	op := uint64(heisenAtomicRead)
	if write {
		op = heisenAtomicWrite
	}
	a := &b.access
	a.Addr, a.Size, a.ID = uint64(addr), 1, uint64(h.id)<<32|op<<heisenPlaceBits|heisenPlaceWithLocks(b, h, heisenTextPC(pc))
	depth := h.depthAt(pc)
	a.Loc, a.Depth, a.Key, a.Write, a.Atomic = number, depth+inlined, 0, write, true
	w.table.Before(&h.pending, a, &b.hits)
	b.report(h)
	w.table.After(&h.pending, &b.hits)
	b.report(h)
}

// depthAt returns the number of calls that h is in where it asks for an atomic operation: the call
// at pc may be that of a method of sync/atomic, which soon returns.
//
//go:nosplit
func (h *heisenG) depthAt(pc uint64) uint32 {
	depth, f := h.depth(), h.top
	for i := depth; i > 0 && i+heisenAtomicFrames > depth; i-- {
		if uint64(f.at()) == pc {
			return i - 1
		}
		f = f.below()
	}
	return depth
}

// heisenAtomicFrames is the largest number of calls within sync/atomic for an operation.
const heisenAtomicFrames = 4

// heisenLeaveCalls ends the sections of calls that h has left by returning to pc, which may be in functions that are
// inlined into the one whose frame is the top; 0 stands for none. It runs on the system stack: functions such as
// reflect.callMethod leave little of the goroutine's.
//
//go:nosplit
func heisenLeaveCalls(h *heisenG, pc uintptr) {
	systemstack(func() {
		depth := h.depth()
		if pc&heisenIsTask == 0 {
			_, inlined := heisenOverlaps.locations.locate(heisenPC(pc), heisenLocationReads)
			depth += inlined
		}
		b := heisenBufOfP()
		if b == nil {
			heisenOverlaps.table.Exit(&h.pending, depth, &heisenNoHits)
			return
		}
		heisenOverlaps.table.Exit(&h.pending, depth, &b.hits)
		b.report(h)
	})
}

// drawNoise decides at random whether h must wait.
//
//go:nosplit
func (w *heisenOverlapState) drawNoise(h *heisenG, pc uint64) {
	x := h.noise
	if x == 0 {
		x = (w.seed ^ uint64(h.id)<<32) + 0x9E3779B97F4A7C15 | 1
	}
	x ^= x << 13
	x ^= x >> 7
	x ^= x << 17
	h.noise = x
	h.noiseDue = uint32((x>>32)*1000>>32) < w.strength && heisenLayer(heisenTextPC(pc)) == heisenProgram
}

// heisenNoise makes the current goroutine wait while its access is pending. The compiler has put
// this call between instructions that belong together. A goroutine must not be stopped there, since
// its stack may be in the middle of a change. So its thread sleeps and keeps the processor. Then
// the goroutine is preempted as soon as that is safe, usually with its access still pending.
//
//go:nosplit
func heisenNoise(h *heisenG) {
	gp := getg()
	h.noiseDue = false
	w := &heisenOverlaps
	if gp != gp.m.curg || gp.m.locks != 0 || atomic.Loadint64(&w.budget) <= 0 {
		return
	}
	if w.wait > 0 {
		start, us := nanotime(), min(w.wait/1000, heisenMaxWait)
		for left := us; left > 0; left = us - (nanotime()-start)/1000 { // signals end a sleep
			usleep(uint32(left))
		}
		atomic.Xaddint64(&w.budget, start-nanotime())
	}
	gp.preempt = true
	gp.stackguard0 = stackPreempt
}

// heisenHoldAccess is heisenNoise where an access is over with its hook: the goroutine is stopped in the
// hook, as at a point of a deterministic run (see heisenPointAccess), so that others can run meanwhile.
//
//go:nosplit
func heisenHoldAccess(h *heisenG) {
	gp := getg()
	h.noiseDue = false
	w := &heisenOverlaps
	if !heisenStoppable(gp) || atomic.Loadint64(&w.budget) <= 0 {
		return
	}
	start, us := nanotime(), min(w.wait/1000, heisenMaxWait)
	for spins := 1; ; spins++ {
		gp.asyncSafePoint = true
		mcall(gosched_m)
		gp.asyncSafePoint = false
		if (nanotime()-start)/1000 >= us {
			break
		}
		if spins%16 == 0 {
			usleep(20) // others may be waiting for the processor
		}
	}
	atomic.Xaddint64(&w.budget, start-nanotime())
}

// heisenMaxWait bounds a wait that keeps the processor, in microseconds.
const heisenMaxWait = 100 * 1000

// heisenNoiseAt may make the current goroutine wait before it synchronizes in a section, so that
// other goroutines run between two steps of the section. The program has called it, so the
// goroutine may be stopped as in any call.
func heisenNoiseAt(fp uintptr) {
	gp := getg()
	h := (*heisenG)(unsafe.Pointer(gp.racectx))
	if h == nil || h.pending.numActive == 0 || gp != gp.m.curg || gp.raceignore != 0 || gp.m.locks != 0 || gp.m.mallocing != 0 ||
		gp.m.preemptoff != "" || gp.bubble != nil { // in a bubble of package synctest, time must not pass
		return
	}
	w := &heisenOverlaps
	w.drawNoise(h, heisenPC(heisenCaller(fp)))
	if !h.noiseDue || atomic.Loadint64(&w.budget) <= 0 {
		return
	}
	h.noiseDue = false
	start := nanotime()
	if w.wait > 0 {
		timeSleep(w.wait)
	}
	heisenYield()
	atomic.Xaddint64(&w.budget, start-nanotime())
}

// heisenReportOverlaps sends what the current hook of h has found, about b.access if it is a race.
func heisenReportOverlaps(b *heisenBuf, h *heisenG) {
	if heisenHealing.learns {
		heisenHealing.learn(b)
	}
	a := &b.access
	for i := uint32(0); i < b.hits.NumOverlaps; i++ {
		o := &b.hits.Overlaps[i]
		heisenPutOverlap(b, h, a.Addr, a.ID, o.ID, min(a.Size, 1<<16-1)<<48|o.Addr, 0)
	}
	for i := uint32(0); i < b.hits.NumViolations; i++ {
		v := &b.hits.Violations[i]
		section := v.Entry<<32 | uint64(v.Rule)<<16 | uint64(v.Section)
		if v.Wrote {
			heisenPutOverlap(b, h, v.Addr, v.End, v.Writer, 1<<48|v.Addr, section)
		} else if v.Read {
			heisenPutOverlap(b, h, v.Addr, v.End, v.Reader, 1<<48|v.Addr, section)
		}
	}
}

// heisenPutOverlap writes a record of an overlap, whose words are the arguments.
func heisenPutOverlap(b *heisenBuf, h *heisenG, addr, accessID, other, where, section uint64) {
	if section != heisenByOrder { // else they have names already
		accessID = heisenNameLatestLabels(b, heisenNameHeld(b, accessID))
		other = heisenNameLatestLabels(b, heisenNameHeld(b, other))
		if section != 0 {
			entry := heisenNameHeld(b, uint64(h.id)<<32|section>>32)
			section = entry<<32 | section&(1<<32-1)
		}
	}
	heisenSendAncestry(h.id)
	heisenSendAncestry(uint32(accessID >> 32))
	heisenSendAncestry(uint32(other >> 32))
	pair := accessID<<32 | other&(1<<32-1)
	last := &heisenOverlaps.reported[(pair^section)*0x9E3779B97F4A7C15>>(64-heisenReportedBits)]
	if !heisen.quiet && *last != pair {
		*last = pair
		// The receiver must know both goroutines before the record.
		heisenFlushAll(0)
	}
	if heisenOpen(h, 6) == nil {
		return
	}
	stamp := heisenStamp()
	p := b.pos
	b.words[p] = heisenOpOverlap<<heisenOpShift | addr
	b.words[p+1] = stamp
	b.words[p+2] = accessID
	b.words[p+3] = other
	b.words[p+4] = where
	b.words[p+5] = section
	h.words += 6
	b.commit(p + 6)
	b.wrote()
	atomic.Xadd64(&heisen.found, 1)
}

// heisenOverlapStats is what heisenSendOverlapStats sends, which may not allocate.
var heisenOverlapStats [heisenOverlapWords + 1<<16/64]uint64

// heisenSendOverlapStats sends what was lost and which ends of sections were seen.
func heisenSendOverlapStats() {
	t := &heisenOverlaps.table
	lost := t.Missed()
	words := &heisenOverlapStats
	words[0], words[1], words[2], words[3], words[4] = lost.Unseen, lost.Partial, lost.Unnamed, lost.Excess, lost.Sections
	words[5] = uint64(heisenOverlaps.locations.met)
	words[6], words[7] = heisenHealing.seized.Load(), heisenHealing.skipped.Load()
	n := heisenOverlaps.ends
	for i := range n {
		if t.Seen(i + 1) {
			words[heisenOverlapWords+i/64] |= 1 << (i % 64)
		}
	}
	heisenSend(heisenMsgOverlapStats, n, 0, unsafe.Pointer(words), (heisenOverlapWords+uintptr(n+63)/64)*8)
}
