//go:build heisen_inject

package runtime

import (
	"internal/goarch"
	"unsafe"
)

// Programs that heal wherever they run. The linker has built into them what an analyzer would otherwise send: where
// goroutines are to be kept apart (heal.go), and up to where. They look for nothing and report nothing.

// heisenBuiltIn is the message that heisenInitOverlaps reads, in base64 without padding. Without it the program looks
// for races (alone.go).
var heisenBuiltIn string

// heisenStartHealing begins to heal in a program that has no analyzer. It is called during initialization.
func heisenStartHealing() {
	m, ok := heisenDecodeBuiltIn()
	if !ok {
		print("heisen: what to keep apart cannot be read; nothing is healed in this run\n")
		return
	}
	if !heisenInitPlaces() {
		print("heisen: no address space for call paths; nothing is healed in this run\n")
		return
	}
	if !heisenInitOverlaps(m) {
		print("heisen: no memory for what to keep apart; nothing is healed in this run\n")
		return
	}
	heisenOptions.exitSleep = 0 // what goroutines do at the end needs no report
	heisenHealing.only = true
	heisen.quiet, heisen.overlaps = true, true
	heisen.calls = heisenOverlaps.sections
	heisen.on = true
}

// heisenDecodeBuiltIn returns the message that was built in.
func heisenDecodeBuiltIn() (m heisenMessage, ok bool) {
	size := uintptr(len(heisenBuiltIn)) * 3 / 4
	m.at = uintptr(persistentalloc(size+1, goarch.PtrSize, &memstats.other_sys))
	bits, at := uint32(1), m.at // a group of digits, behind a 1
	for i := range len(heisenBuiltIn) {
		digit, ok := heisenBase64Digit(heisenBuiltIn[i])
		if !ok {
			return m, false
		}
		bits = bits<<6 | digit
		if bits>>24 == 1 {
			at, bits = heisenPutBytes(at, bits, 3), 1
		}
	}
	switch {
	case bits>>18 == 1:
		at = heisenPutBytes(at, bits<<6, 2)
	case bits>>12 == 1:
		at = heisenPutBytes(at, bits<<12, 1)
	}
	return m, at == m.at+size && size > 0
}

// heisenPutBytes stores the first n of the three low bytes of a group.
func heisenPutBytes(at uintptr, group uint32, n uintptr) uintptr {
	for i := range n {
		*(*byte)(unsafe.Pointer(at + i)) = byte(group >> (16 - 8*i))
	}
	return at + n
}

// heisenBase64Digit returns the value of a digit of the alphabet for names of files.
func heisenBase64Digit(c byte) (value uint32, ok bool) {
	switch {
	case 'A' <= c && c <= 'Z':
		return uint32(c - 'A'), true
	case 'a' <= c && c <= 'z':
		return uint32(c-'a') + 26, true
	case '0' <= c && c <= '9':
		return uint32(c-'0') + 52, true
	case c == '-':
		return 62, true
	case c == '_':
		return 63, true
	}
	return 0, false
}

// heisenFollowHealed follows the sections of h in a program that only heals, at an access that is about to be made.
//
//go:nosplit
func heisenFollowHealed(h *heisenG, write bool, addr, size uintptr, number, inlined uint32) {
	if number == 0 && h.pending.loc|h.pending.numActive == 0 {
		return
	}
	b := heisenBufOfP()
	if b == nil {
		return
	}
	a := &b.access
	a.Addr, a.Size, a.ID = uint64(addr), uint64(size), uint64(h.id)<<32
	a.Loc, a.Depth, a.Write, a.Atomic = number, h.depth()+inlined, write, false
	heisenOverlaps.table.Before(&h.pending, a, &b.hits)
}

// heisenSayUnhealed says, at the end of a program that heals alone, what was not kept apart.
func heisenSayUnhealed() {
	if n := heisenHealing.seized.Load() + heisenHealing.skipped.Load(); n > 0 {
		print("heisen: at ", n, " accesses no goroutine could be held up any longer; others may have interfered\n")
	}
}
