//go:build heisen_inject

package runtime

import (
	"internal/goarch"
	"internal/runtime/sys"
	"unsafe"
)

// Hidden packages. The accesses of their functions are not recorded; their synchronization is. A call
// of a hidden function by another one becomes a Hide, its return a Reveal. Functions that hidden code
// calls back are recorded as usual. Hidden packages are compiled with the same hooks as others; the
// hook at a function's entry finds out which it is. Functions of the standard library that are not
// hidden belong to their caller.

// The kinds of functions. The kinds table has an entry for each 16 bytes of text.
const (
	heisenKindShift   = 4
	heisenKindStd     = 0
	heisenKindVisible = 1
	heisenKindHidden  = 2
)

const heisenMaxHidden = 64 << 20

// heisenHiddenState is what is hidden.
type heisenHiddenState struct {
	_        sys.NotInHeap
	kinds    uintptr
	prefixes uintptr
	count    uint64 // of prefixes
}

var heisenHidden heisenHiddenState

// heisenInitHidden reads what is hidden, and reports whether it could.
func heisenInitHidden() bool {
	var size uint32
	if !heisenReadAll(heisen.from, noescape(unsafe.Pointer(&size)), 4) || size > heisenMaxHidden {
		return false
	}
	w := &heisenHidden
	at := uintptr(sysAlloc(alignUp(uintptr(size), physPageSize), &memstats.other_sys, "heisen hidden packages"))
	if at == 0 || !heisenReadAll(heisen.from, unsafe.Pointer(at), uintptr(size)) {
		return false
	}
	w.count = *(*uint64)(unsafe.Pointer(at))
	heisen.shows = *(*uint64)(unsafe.Pointer(at + 8))&heisenHiddenShow != 0
	w.prefixes = at + 16
	m := &firstmoduledata
	if w.kinds = uintptr(heisenReserve((m.etext-m.text)>>heisenKindShift + 1)); w.kinds == 0 {
		return false
	}
	for i := range m.ftab[:len(m.ftab)-1] {
		entry, end := m.textAddr(m.ftab[i].entryoff), m.textAddr(m.ftab[i+1].entryoff)
		f := findfunc(entry)
		if !f.valid() || entry-m.text >= m.etext-m.text || end > m.etext {
			continue
		}
		kind := w.kindOf(funcname(f))
		if kind == heisenKindStd {
			continue
		}
		for pc := entry; pc < end; pc += 1 << heisenKindShift {
			*(*uint8)(unsafe.Pointer(w.kinds + (pc-m.text)>>heisenKindShift)) = kind
		}
	}
	return true
}

// kindOf returns the kind of a function by its name.
func (w *heisenHiddenState) kindOf(name string) uint8 {
	at := w.prefixes
	for range w.count {
		n := *(*uint64)(unsafe.Pointer(at))
		prefix := unsafe.String((*byte)(unsafe.Pointer(at+8)), int(n))
		if len(name) >= len(prefix) && name[:len(prefix)] == prefix {
			return heisenKindHidden
		}
		at += 8 + alignUp(uintptr(n), 8)
	}
	if heisenNameLayer(name) == heisenProgram {
		return heisenKindVisible
	}
	return heisenKindStd
}

// heisenKind returns the kind of the function at pc.
//
//go:nosplit
func heisenKind(pc uintptr) uint8 {
	off := pc - firstmoduledata.text
	if off >= firstmoduledata.etext-firstmoduledata.text {
		return heisenKindStd
	}
	return *(*uint8)(unsafe.Pointer(heisenHidden.kinds + off>>heisenKindShift))
}

// heisenEntered is called when h has entered the function with pc and its frame is on the shadow
// stack. pc is the same for all calls.
//
//go:nosplit
func heisenEntered(h *heisenG, pc uintptr) {
	f := h.top
	f.hidden, f.opened = h.hidden, false
	kind := heisenKind(pc)
	if kind == heisenKindStd || h.hidden == (kind == heisenKindHidden) {
		return
	}
	f.hidden = kind == heisenKindHidden
	if f.hidden {
		f.opened, f.call = true, uint32(pc-firstmoduledata.text)
		h.pairs++
		if heisenNames.wanted {
			systemstack(func() { heisenTellName(f.call) })
		}
		h.tellCall(heisenOpHide, f)
	}
	h.shade(f.hidden)
}

// tellCall records a hidden call, or its return.
//
//go:nosplit
func (h *heisenG) tellCall(op uint64, f *heisenFrame) {
	if b := heisenBufOfP(); heisen.on && b != nil {
		heisenPutAccess(h, op, firstmoduledata.text+uintptr(f.call), 0, uint64(f.path(b)))
	}
}

// muted reports whether accesses of h, the current goroutine, in a frame with stack pointer sp are
// certainly not recorded: heisenIsHidden in short, for the many accesses of hidden code.
//
//go:nosplit
func (h *heisenG) muted(sp uintptr) bool {
	return h.mute && uint32(getg().stack.hi-sp)+goarch.PtrSize > h.top.base
}

// heisenIsHidden reports whether accesses of h, the current goroutine, in a frame with stack pointer
// sp are not recorded. It pops frames that a panic has left.
//
//go:nosplit
func heisenIsHidden(h *heisenG, sp uintptr) bool {
	gp := getg()
	if !h.hidden || gp != gp.m.curg {
		return h.mute
	}
	h.leave(uint32(gp.stack.hi-sp) + goarch.PtrSize)
	return h.mute
}

// called returns the place of the innermost call of hidden code that h is in, 0 if it is not known.
//
//go:nosplit
func (h *heisenG) called(b *heisenBuf) uint32 {
	for f := h.top; f != h.bottom; f = f.below() {
		if f.opened {
			return f.path(b)
		}
	}
	return 0
}

// reveal records the returns of hidden calls among the frames above last, which are left.
//
//go:nosplit
func (h *heisenG) reveal(last *heisenFrame) {
	for h.top != last {
		f := h.top
		h.top = f.below()
		if f.opened {
			h.pairs--
			h.tellCall(heisenOpReveal, f)
		}
	}
	h.shade(last != h.bottom && last.hidden)
}

// shade records whether h is in hidden code.
//
//go:nosplit
func (h *heisenG) shade(hidden bool) {
	if h.hidden == hidden {
		return
	}
	h.hidden, h.mute = hidden, hidden && !heisen.shows
	if !heisen.shows || !heisen.on {
		return
	}
	if b := heisenOpen(h, 1); b != nil {
		w := uint64(heisenOpShade) << heisenOpShift
		if hidden {
			w |= 1
		}
		b.words[b.pos] = w
		h.words++
		b.commit(b.pos + 1)
	}
}
