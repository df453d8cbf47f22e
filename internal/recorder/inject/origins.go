//go:build heisen_inject

package runtime

import (
	"internal/runtime/atomic"
	"unsafe"
)

// Origins: which goroutine has started which, and where. A program that finds bugs itself sends no
// events, so a finding must say where its goroutines come from. Each goroutine that ever existed
// has an entry of 16 bytes here. A finding is sent with the entries of its goroutines and of all
// their ancestors. Numbers are not reused, so goroutines may have ended long ago. Hooks write
// entries on the goroutine's stack; sending takes the system stack and heisen.sendLock.

// heisenOrigin is the origin of a goroutine.
type heisenOrigin struct {
	parent uint32 // the goroutine that has started it, with heisenOriginForked
	place  uint32 // of the go statement, below the flags
	goid   uint64 // the runtime's number, once the goroutine has done something
}

// heisenOriginSent is the flag of goroutines that the receiver knows, with all ancestors. It is set
// under heisen.sendLock.
const heisenOriginSent = 1 << 31

const (
	heisenMaxOrigins = 1 << 32 // all numbers
	heisenMinOrigins = 1 << 18
)

// heisenOrigins is the table, by goroutine. Nothing is known of goroutines beyond it, which exist
// only if address space is scarce.
var heisenOrigins struct {
	entries uintptr
	count   uintptr
	out     [256][heisenOriginWords]uint64 // to be sent; guarded by heisen.sendLock
}

// heisenInitOrigins reserves address space, and reports whether there was some.
func heisenInitOrigins() bool {
	t := &heisenOrigins
	t.count = heisenMaxOrigins
	if t.entries = uintptr(heisenReserve(t.count * unsafe.Sizeof(heisenOrigin{}))); t.entries != 0 {
		return true
	}
	// The program needs the rest.
	if t.count = heisenAddressSpace() / 8 / unsafe.Sizeof(heisenOrigin{}); t.count < heisenMinOrigins {
		return false
	}
	t.entries = uintptr(heisenReserve(t.count * unsafe.Sizeof(heisenOrigin{})))
	return t.entries != 0
}

// heisenOriginOf returns the entry of a goroutine, or nil.
//
//go:nosplit
func heisenOriginOf(id uint32) *heisenOrigin {
	t := &heisenOrigins
	if uintptr(id) >= t.count {
		return nil
	}
	return (*heisenOrigin)(unsafe.Pointer(t.entries + uintptr(id)*unsafe.Sizeof(heisenOrigin{})))
}

// heisenSetGoid sets the runtime's number of h, once it is known.
//
//go:nosplit
func heisenSetGoid(h *heisenG, goid uint64) {
	if h.started {
		return
	}
	h.started = true
	if d := heisenOriginOf(h.id); d != nil {
		d.goid = goid
	}
}

// heisenSetOrigin records that parent starts a goroutine at pc.
//
//go:nosplit
func heisenSetOrigin(parent *heisenG, child uint32, pc uintptr) {
	b, d := heisenBufOfG(parent), heisenOriginOf(child)
	if b != nil && d != nil {
		d.parent = parent.id
		d.place = heisenOriginForked | uint32(heisenPlace(b, parent, heisenPC(pc)))
	}
}

// heisenSendAncestry makes a goroutine and its ancestors known to the receiver, in a quiet program,
// before a record names the goroutine. It must run on the system stack.
func heisenSendAncestry(id uint32) {
	if !heisen.quiet || !heisen.open || id == heisenUnknownG {
		return
	}
	d := heisenOriginOf(id)
	if d == nil || atomic.Load(&d.place)&heisenOriginSent != 0 {
		return
	}
	t := &heisenOrigins
	heisenLock(&heisen.sendLock)
	ok, n, at := heisenSendPlaces(), uintptr(0), id
	for ok {
		d := heisenOriginOf(at)
		if d.place&heisenOriginSent != 0 {
			break
		}
		t.out[n%uintptr(len(t.out))] = [...]uint64{uint64(at)<<32 | uint64(d.parent), d.goid, uint64(d.place)}
		if n++; n == uintptr(len(t.out)) {
			ok, n = heisenSendOrigins(n), 0
		}
		if d.place&heisenOriginForked == 0 {
			break
		}
		at = d.parent
	}
	ok = ok && heisenSendOrigins(n)
	// Only now: a thread that sees the flag does not wait for what is being sent.
	for at = id; ok; {
		d := heisenOriginOf(at)
		if d.place&heisenOriginSent != 0 {
			break
		}
		atomic.Store(&d.place, d.place|heisenOriginSent)
		if d.place&heisenOriginForked == 0 {
			break
		}
		at = d.parent
	}
	heisenUnlock(&heisen.sendLock)
	heisenSent(ok)
}

// heisenSendOrigins sends the first n entries of out. The caller holds heisen.sendLock.
func heisenSendOrigins(n uintptr) bool {
	size := n * heisenOriginWords * 8
	header := [4]uint32{heisenMsgOrigins, 0, uint32(size), 0}
	return n == 0 || heisenSendAll(unsafe.Pointer(&header), unsafe.Sizeof(header)) &&
		heisenSendAll(unsafe.Pointer(&heisenOrigins.out), size)
}
