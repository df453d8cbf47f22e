//go:build heisen_inject

package runtime

import "unsafe"

// heisenValues are the values of accesses in a deterministic run. A hook runs before its access. What an
// access reads is there already. What it writes is there before anything else is recorded: one goroutine
// runs at a time, and another one continues only at a point, which is recorded.
type heisenValues struct {
	wanted bool
	of     *heisenG // it has recorded a write whose value is not recorded yet, or nil
	at     uintptr  // the address of that write
}

// note records the value of an access by h, the current goroutine, that was just recorded, or will when it is written.
//
//go:nosplit
func (v *heisenValues) note(h *heisenG, write bool, addr uintptr) {
	switch gp := getg(); {
	case !heisen.on || h.mute || addr-gp.stack.lo < gp.stack.hi-gp.stack.lo || !heisenShared(addr) || !heisenShared(addr+7):
	case write:
		v.of, v.at = h, addr
	default:
		heisenPutValue(h, addr)
	}
}

// heisenPutWritten records the value of the write that waits for it. It runs on the system stack.
func heisenPutWritten() {
	v := &heisenSched.values
	h := v.of
	v.of = nil
	heisenPutValue(h, v.at)
}

// heisenPutValue writes the record of a value.
//
//go:nosplit
func heisenPutValue(h *heisenG, addr uintptr) {
	b := heisenOpen(h, 2)
	if b == nil {
		return
	}
	heisenWords2(b.word(b.pos), heisenOpValue<<heisenOpShift|uint64(addr), readUnaligned64(unsafe.Pointer(addr)))
	h.words += 2
	b.commit(b.pos + 2)
}

// heisenIsToken reports whether operations on a channel are recorded as those on a token: it holds at most one element, and
// timers do not send to it.
//
//go:nosplit
func heisenIsToken(c *hchan) bool {
	return heisenSched.values.wanted && heisenKeeping() && c.dataqsiz == 1 && c.timer == nil
}

// heisenRecordToken records that the next events of gp, the current goroutine or a parked one, are one operation on a token.
//
//go:nosplit
func heisenRecordToken(gp *g, c *hchan, sends, reads bool) {
	h := (*heisenG)(unsafe.Pointer(gp.racectx))
	if h == nil || h.mute || getg().raceignore != 0 || heisenOnStack(uintptr(unsafe.Pointer(c))) {
		return
	}
	b := heisenOpen(h, 2)
	if b == nil {
		return
	}
	kind := uint64(heisenTokenTaken)
	switch {
	case sends:
		kind = heisenTokenPut
	case reads && c.elemsize != 0:
		kind = heisenTokenRead
	}
	if heisenSlotted(c) {
		kind |= heisenTokenSlot
	}
	heisenWords2(b.word(b.pos), heisenOpToken<<heisenOpShift|uint64(uintptr(c.raceaddr())), kind)
	h.words += 2
	b.commit(b.pos + 2)
}
