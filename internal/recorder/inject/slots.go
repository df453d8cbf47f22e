//go:build heisen_inject

package runtime

import (
	"internal/runtime/atomic"
	"unsafe"
)

// Slots of vector clocks (package internal/core/fasttrack) that goroutines leave behind when they
// end are reclaimed at the end of the garbage collector's mark phase: the world is stopped, and what
// is in objects that are not marked need not be kept. When few slots are left, or clocks have become
// long, the goroutine that starts another one makes the collector begin. When slots are scarce it
// waits for the end of the mark phase. Programs that turn the collector off are collected for this
// reason all the same.

const (
	// heisenReclaimAfter is the number of goroutines that have got new slots after which any
	// collection reclaims slots.
	heisenReclaimAfter = 1024
	// heisenReclaimShare bounds the time that is spent to keep clocks short: one part of so many.
	heisenReclaimShare = 32
)

// heisenReclaimed is when the last reclamation has ended, and how long the world was stopped for it.
var heisenReclaimed struct{ end, pause int64 }

// heisenMakeRoom is called on the stack of a goroutine that has started another one.
func heisenMakeRoom() {
	if !heisen.races || !heisen.on {
		return
	}
	low, gp := heisenFastTrack.SlotsLow(), getg()
	// Whoever begins a collection starts goroutines and must not begin another one. Deterministic
	// runs are too short to use up all slots.
	if low == heisenFastTrackSlotsPlenty || heisenSched.on || gp != gp.m.curg || gp.m.locks != 0 || gp.m.preemptoff != "" || atomic.Load(&worldsema) == 0 {
		return
	}
	if r := &heisenReclaimed; low == heisenFastTrackClocksLong && nanotime() < r.end+heisenReclaimShare*r.pause {
		return
	}
	gcStart(gcTrigger{kind: gcTriggerCycle, n: work.cycles.Load() + 1})
	if low == heisenFastTrackSlotsScarce {
		gcWaitOnMark(work.cycles.Load())
	}
}

// heisenReclaim reclaims slots if that is due. The world is stopped, and the collector knows what
// is dead.
func heisenReclaim() {
	t := &heisenFastTrack
	if t.Exhausted() || !t.ReclaimDue(heisenReclaimAfter) {
		return
	}
	start := nanotime()
	heisenReclaimSlots(t)
	heisenReclaimed.end = nanotime()
	heisenReclaimed.pause = heisenReclaimed.end - start
}

func heisenReclaimSlots(t *heisenFastTrackTable) {
	heisenClearDead()
	t.BeginReclaim()
	for h := heisen.allG; h != nil; h = h.link {
		t.ReclaimFrom(&h.order)
	}
	if !t.FindCoverage() {
		return
	}
	r := &heisenShadow.heap
	for at := heisenNextUsed(0); at < r.span; at = heisenNextUsed(at + 1<<heisenBlockShift) {
		heisenReclaimCells(r.cell(r.lo+at), 1<<heisenBlockShift/8)
	}
	r = &heisenShadow.data
	heisenReclaimCells(r.cell(r.lo), r.span/8)
	t.FinishReclaim()
	for h := heisen.allG; h != nil; h = h.link {
		t.ForgetReclaimed(&h.order)
	}
}

func heisenReclaimCells(c *heisenFastTrackCell, n uintptr) {
	for range n {
		if !c.Empty() {
			heisenFastTrack.ReclaimCell(c)
		}
		c = heisenFastTrackNextCell(c)
	}
}

// heisenNextUsed returns the offset in the heap of the first block from offset at on with a cell
// that may not be empty, the size of the heap if there is none.
func heisenNextUsed(at uintptr) uintptr {
	r := &heisenShadow.heap
	end := min(r.span, alignUp(racearenaend-r.lo, 1<<heisenBlockShift))
	for at < end {
		p := unsafe.Pointer(heisenShadow.used + at>>heisenBlockShift)
		if uintptr(p)&7 == 0 && *(*uint64)(p)&heisenUsedBlocks == 0 {
			at += 8 << heisenBlockShift
			continue
		}
		if *(*uint8)(p)&heisenBlockUsed != 0 {
			return at
		}
		at += 1 << heisenBlockShift
	}
	return r.span
}

// heisenClearDead clears the cells of objects that the collector has not marked.
func heisenClearDead() {
	r := &heisenShadow.heap
	for at := heisenNextUsed(0); at < r.span; at = heisenNextUsed(at + 1<<heisenBlockShift) {
		addr := r.lo + at
		s := spanOfHeap(addr)
		if s == nil || s.isUserArenaChunk {
			continue
		}
		for end := addr + 1<<heisenBlockShift; addr < end; {
			i := s.objIndex(addr)
			if i >= uintptr(s.nelems) {
				break
			}
			next := min(s.base()+(i+1)*s.elemsize, end)
			if !s.markBitsForIndex(i).isMarked() && !heisenHasFinalizer(s, i) {
				heisenClearCells(r, addr, next-addr)
			}
			addr = next
		}
	}
}

// heisenHasFinalizer reports whether an object has a finalizer, which will be called with it.
func heisenHasFinalizer(s *mspan, i uintptr) bool {
	for sp := s.specials; sp != nil; sp = sp.next {
		if sp.kind == _KindSpecialFinalizer && sp.offset/s.elemsize == i {
			return true
		}
	}
	return false
}
