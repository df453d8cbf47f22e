//go:build heisen_inject

package runtime

import (
	"internal/runtime/atomic"
	"unsafe"
)

// Descent: who has started which goroutine, and where. A quiet program looks by itself for
// what there is to find, and who was there is of interest only then, and only of the
// goroutines concerned and their ancestors. So it keeps that here, in 16 bytes for each
// goroutine that there ever was, and tells it with what it finds. Those concerned may have
// ended long ago: a number is not used again.

// heisenDescent is what is kept of a goroutine.
type heisenDescent struct {
	parent uint32 // who has started it, if heisenDescentForked
	place  uint32 // of the go statement, and flags above it
	goid   uint64 // its number to the runtime, once it has done something
}

// heisenDescentTold is the flag of those that the receiver knows, with all ancestors.
// It is set under heisen.sendLock.
const heisenDescentTold = 1 << 31

const (
	heisenMaxDescents = 1 << 32 // as many as there are numbers
	heisenMinDescents = 1 << 20
)

// heisenDescents is the table, by number of goroutine. Of those beyond it, which there are
// only where address space is scarce, nothing is known.
var heisenDescents struct {
	entries uintptr
	count   uintptr
	out     [256][heisenDescentWords]uint64 // to be sent; guarded by heisen.sendLock
}

// heisenInitDescents reserves address space, and reports whether there was some.
func heisenInitDescents() bool {
	t := &heisenDescents
	for t.count = heisenMaxDescents; t.count >= heisenMinDescents; t.count /= 2 {
		if t.entries = uintptr(heisenReserve(t.count * unsafe.Sizeof(heisenDescent{}))); t.entries != 0 {
			return true
		}
	}
	return false
}

// heisenDescentOf returns the entry of a goroutine, or nil.
//
//go:nosplit
func heisenDescentOf(id uint32) *heisenDescent {
	t := &heisenDescents
	if uintptr(id) >= t.count {
		return nil
	}
	return (*heisenDescent)(unsafe.Pointer(t.entries + uintptr(id)*unsafe.Sizeof(heisenDescent{})))
}

// heisenNoteGoid notes the runtime's number of h, once it is known.
//
//go:nosplit
func heisenNoteGoid(h *heisenG, goid uint64) {
	if h.started {
		return
	}
	h.started = true
	if d := heisenDescentOf(h.id); d != nil {
		d.goid = goid
	}
}

// heisenNoteFork notes that parent starts a goroutine at pc.
//
//go:nosplit
func heisenNoteFork(parent *heisenG, child uint32, pc uintptr) {
	b, d := heisenBufOfG(parent), heisenDescentOf(child)
	if b != nil && d != nil {
		d.parent = parent.id
		d.place = heisenDescentForked | uint32(heisenPlace(b, parent, heisenPC(pc)))
	}
}

// heisenTellDescent makes a goroutine and its ancestors known to the receiver, in a quiet
// program. It comes before whatever names the goroutine is written, and must run on the
// system stack.
func heisenTellDescent(id uint32) {
	if !heisen.quiet || !heisen.open || id == heisenUnknownG {
		return
	}
	d := heisenDescentOf(id)
	if d == nil || atomic.Load(&d.place)&heisenDescentTold != 0 {
		return
	}
	t := &heisenDescents
	heisenLock(&heisen.sendLock)
	ok, n, at := heisenSendPlaces(), uintptr(0), id
	for ok {
		d := heisenDescentOf(at)
		if d.place&heisenDescentTold != 0 {
			break
		}
		t.out[n%uintptr(len(t.out))] = [...]uint64{uint64(at)<<32 | uint64(d.parent), d.goid, uint64(d.place)}
		if n++; n == uintptr(len(t.out)) {
			ok, n = heisenSendDescents(n), 0
		}
		if d.place&heisenDescentForked == 0 {
			break
		}
		at = d.parent
	}
	ok = ok && heisenSendDescents(n)
	// Not before: whoever finds the flag does not wait for what is being sent.
	for at = id; ok; {
		d := heisenDescentOf(at)
		if d.place&heisenDescentTold != 0 {
			break
		}
		atomic.Store(&d.place, d.place|heisenDescentTold)
		if d.place&heisenDescentForked == 0 {
			break
		}
		at = d.parent
	}
	heisenUnlock(&heisen.sendLock)
	heisenSent(ok)
}

// heisenSendDescents sends the first n of what is to be sent. The caller holds
// heisen.sendLock.
func heisenSendDescents(n uintptr) bool {
	size := n * heisenDescentWords * 8
	header := [4]uint32{heisenMsgDescents, 0, uint32(size), 0}
	return n == 0 || heisenSendAll(unsafe.Pointer(&header), unsafe.Sizeof(header)) &&
		heisenSendAll(unsafe.Pointer(&heisenDescents.out), size)
}
