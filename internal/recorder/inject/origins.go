//go:build heisen_inject

package runtime

import (
	"internal/runtime/atomic"
	"unsafe"
)

// Origins: which goroutine has started which, and where. A program that finds bugs itself sends no
// events, so a finding must say where its goroutines come from. It is sent with the origins of its
// goroutines and of all their ancestors. An origin is in the state of the goroutine, and in a table
// of the latest goroutines, so that it is known for some time after the end of the goroutine. That of
// goroutines that ended earlier is forgotten. Hooks write entries on the goroutine's stack; sending
// takes the system stack and heisen.sendLock.

// heisenOrigin is the origin of a goroutine.
type heisenOrigin struct {
	id     uint32 // the goroutine's number
	parent uint32 // the goroutine that has started it, if place has heisenOriginForked
	place  uint32 // of the go statement, below the flag
	known  uint32 // 1 if the entry is complete
	goid   uint64 // the runtime's number, once the goroutine has done something or another one has for it
}

const (
	heisenMaxOrigins  = 1 << 19
	heisenSentOrigins = 1 << 12
)

// heisenOrigins has the goroutines that were the latest to begin, by number.
var heisenOrigins struct {
	entries uintptr
	out     [256][heisenOriginWords]uint64 // to be sent; guarded by heisen.sendLock
	// Goroutines that the receiver knows, with all ancestors, plus one. It is changed under
	// heisen.sendLock and may lack some, which are sent again.
	sent [heisenSentOrigins]uint32
}

// heisenInitOrigins reserves address space, and reports whether there was some.
func heisenInitOrigins() bool {
	heisenOrigins.entries = uintptr(heisenReserve(heisenMaxOrigins * unsafe.Sizeof(heisenOrigin{})))
	return heisenOrigins.entries != 0
}

// heisenOriginEntry returns the place of a goroutine in the table.
//
//go:nosplit
func heisenOriginEntry(id uint32) *heisenOrigin {
	return (*heisenOrigin)(unsafe.Pointer(heisenOrigins.entries + uintptr(id%heisenMaxOrigins)*unsafe.Sizeof(heisenOrigin{})))
}

// heisenSetGoid sets the runtime's number of h, once it is known, and puts h in the table.
//
//go:nosplit
func heisenSetGoid(h *heisenG, goid uint64) {
	if h.started {
		return
	}
	h.started = true
	o := &h.origin
	o.goid = goid
	if d := heisenOriginEntry(h.id); heisenOrigins.entries != 0 {
		atomic.Store(&d.known, 0)
		d.id, d.parent, d.place, d.goid = h.id, o.parent, o.place, goid
		atomic.Store(&d.known, 1)
	}
}

// heisenSetOrigin records that parent starts a goroutine at pc.
//
//go:nosplit
func heisenSetOrigin(parent, child *heisenG, pc uintptr) {
	if b := heisenBufOfG(parent); b != nil {
		child.origin.parent = parent.id
		child.origin.place = heisenOriginForked | uint32(heisenPlace(b, parent, heisenPC(pc)))
	}
}

// heisenFindOrigin returns the origin of a goroutine.
func heisenFindOrigin(id uint32) (o heisenOrigin) {
	if d := heisenOriginEntry(id); atomic.Load(&d.known) != 0 {
		o = *d
		if atomic.Load(&d.known) != 0 && o.id == id && d.id == id {
			return o.checked(id)
		}
	}
	for h := heisen.allG; h != nil; h = h.link {
		if h.id != id {
			continue
		}
		if o = h.origin; h.id == id {
			return o.checked(id)
		}
	}
	return heisenOrigin{place: heisenOriginForgotten}
}

// checked returns the origin of a goroutine, unless its entry was changed while it was read.
func (o *heisenOrigin) checked(id uint32) heisenOrigin {
	if o.place&heisenOriginForked != 0 && o.parent >= id { // numbers are in order of creation
		return heisenOrigin{place: heisenOriginForgotten}
	}
	return *o
}

// heisenOriginSent returns where to note that the receiver knows a goroutine.
func heisenOriginSent(id uint32) *uint32 { return &heisenOrigins.sent[id%heisenSentOrigins] }

// heisenSendAncestry makes a goroutine and its ancestors known to the receiver, in a quiet program,
// before a record names the goroutine. It must run on the system stack.
func heisenSendAncestry(id uint32) {
	if !heisen.quiet || !heisen.open || id == heisenUnknownG || atomic.Load(heisenOriginSent(id)) == id+1 {
		return
	}
	t := &heisenOrigins
	heisenLock(&heisen.sendLock)
	ok, n := heisenSendPlaces(), uintptr(0)
	for at, more := id, true; ok && more && *heisenOriginSent(at) != at+1; {
		o := heisenFindOrigin(at)
		t.out[n%uintptr(len(t.out))] = [...]uint64{uint64(at)<<32 | uint64(o.parent), o.goid, uint64(o.place)}
		if n++; n == uintptr(len(t.out)) {
			ok, n = heisenSendOrigins(n), 0
		}
		at, more = o.parent, o.place&heisenOriginForked != 0
	}
	ok = ok && heisenSendOrigins(n)
	// Only now: a thread that sees this does not wait for what is being sent.
	for at, more := id, true; ok && more && *heisenOriginSent(at) != at+1; {
		o := heisenFindOrigin(at)
		atomic.Store(heisenOriginSent(at), at+1)
		at, more = o.parent, o.place&heisenOriginForked != 0
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
