//go:build heisen_inject

package runtime

import (
	"internal/goarch"
	"internal/runtime/sys"
	"unsafe"
)

// Hidden packages. What their functions do is not recorded. A call of a hidden function by another
// one becomes a Hide, its return a Reveal. In between, accesses and synchronization of the
// goroutine are dropped, except those of functions that hidden code calls back. Hidden packages are
// compiled with the same hooks as others; the hook at a function's entry finds out which it is.
// Functions of the standard library that are not hidden belong to their caller. The functions run
// in hooks; what is not nosplit runs on the system stack.
//
// A Hide has the set of objects that the call may touch: those reachable from the live pointers at
// the function's entry (arguments, receiver and captured variables, by its stack map) and from the
// variables of hidden packages. Every word of an object that may have pointers counts as a pointer.

// The kinds of functions. The kinds table has an entry for each 16 bytes of text.
const (
	heisenKindShift   = 4
	heisenKindStd     = 0
	heisenKindVisible = 1
	heisenKindHidden  = 2
)

const (
	heisenMaxReach  = 4096    // spans in a set, as many as a message holds
	heisenMaxWords  = 1 << 17 // words scanned for a set
	heisenMaxFramed = 64      // frames scanned for pointers to stack variables
	heisenReachBits = 13
	heisenSetBits   = 16
	heisenMaxSpans  = 1 << 22 // spans in all sets
	heisenIsRoot    = 1 << 63 // in the size of a global: a variable of a hidden package
	heisenIsOpaque  = 1 << 62 // in the size of a global: a variable of the runtime, which the program cannot touch
	heisenMaxHidden = 64 << 20
)

// heisenSpan is a range of addresses.
type heisenSpan struct{ start, size uintptr }

// heisenSet is an entry of the table of sets that were sent, by two hashes.
type heisenSet struct {
	sum, other uint64
	id         uint32
}

// heisenHiddenState is what is hidden, and the set that is being made.
type heisenHiddenState struct {
	_        sys.NotInHeap
	kinds    uintptr
	limit    uintptr // spans in a set; a larger one becomes the set of all objects
	prefixes uintptr
	count    uint32        // of prefixes
	globals  uintptr       // heisenSpans of all variables, by address
	vars     uintptr       // their number
	timers   [2]heisenSpan // the functions that set timers
	timed    uintptr

	lock    uint32 // guards the rest
	spans   [heisenMaxReach]heisenSpan
	n       uintptr // of spans
	full    bool
	words   uintptr
	walked  uint64 // a sum of the words scanned
	frames  [heisenMaxFramed]heisenSpan
	framed  uintptr
	roots   [heisenMaxReach]uint32 // the variables of hidden packages
	rooted  uintptr
	tracing bool // what is found is the target of an object, see objectgraph.go
	turn    uint32
	mask    uintptr // of the part of seen that is used, at least twice the number of spans
	seen    [1 << heisenReachBits]struct {
		start uintptr
		turn  uint32
	}
	gp     *g
	pc, sp uintptr // of the function that is entered

	closures uintptr // a table of heisenClosures

	sets uintptr // a table of heisenSets
	ids  uint32
	sent uintptr // spans
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
	next := func() uint64 {
		v := *(*uint64)(unsafe.Pointer(at))
		at += 8
		return v
	}
	w.limit = min(uintptr(next()), heisenMaxReach)
	for w.mask = 1; w.mask < 2*w.limit; w.mask = 2*w.mask + 1 {
	}
	w.count, w.vars = uint32(next()), uintptr(next())
	flags := next()
	heisen.shows, heisen.once = flags&heisenHiddenShow != 0, flags&heisenHiddenOnce != 0
	if heisen.once && !heisenInitGraph() {
		return false
	}
	w.globals = at
	for i := range w.vars {
		if w.global(i).size&heisenIsRoot != 0 {
			if w.rooted < uintptr(len(w.roots)) {
				w.roots[w.rooted] = uint32(i)
			}
			w.rooted++ // if they don't fit, every call reaches everything
		}
	}
	at += w.vars * unsafe.Sizeof(heisenSpan{})
	w.prefixes = at
	w.sets = uintptr(heisenReserve(unsafe.Sizeof(heisenSet{}) << heisenSetBits))
	m := &firstmoduledata
	w.kinds = uintptr(heisenReserve((m.etext-m.text)>>heisenKindShift + 1))
	w.closures = uintptr(heisenReserve(unsafe.Sizeof(heisenClosure{}) << heisenClosureBits))
	if w.sets == 0 || w.kinds == 0 || w.closures == 0 {
		return false
	}
	for i := range m.ftab[:len(m.ftab)-1] {
		entry, end := m.textAddr(m.ftab[i].entryoff), m.textAddr(m.ftab[i+1].entryoff)
		f := findfunc(entry)
		if !f.valid() || entry-m.text >= m.etext-m.text || end > m.etext {
			continue
		}
		name := funcname(f)
		if name == "time.newTimer" || name == "time.resetTimer" {
			w.timers[w.timed] = heisenSpan{entry, end - entry}
			w.timed = 1
		}
		kind := w.kindOf(name)
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

// heisenEntered is called when h has entered the function at pc and its frame is on the shadow
// stack.
//
//go:nosplit
func heisenEntered(h *heisenG, pc, sp uintptr) {
	f := h.top
	f.hidden, f.opened = h.hidden, false
	kind := heisenKind(pc)
	if kind == heisenKindStd || h.hidden == (kind == heisenKindHidden) {
		return
	}
	f.hidden = kind == heisenKindHidden
	gp := getg()
	systemstack(func() { // little stack is left where some functions are entered
		if f.hidden {
			heisenHide(gp, h, f, pc, sp)
		}
		h.shade(f.hidden)
	})
}

// heisenIsHidden reports whether what h, the current goroutine, does in a frame with stack pointer
// sp is not recorded. It pops frames that a panic has left.
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

// heisenSetsTimer reports whether pc is where a timer is set. What happens before that happens
// before what the timer starts, even in hidden code. Nothing else would show that order, because
// the timer is in no set.
//
//go:nosplit
func heisenSetsTimer(pc uintptr) bool {
	w := &heisenHidden
	return pc-w.timers[0].start < w.timers[0].size || pc-w.timers[1].start < w.timers[1].size
}

// heisenHide records that h calls the hidden function at pc. If there is no recorded function
// below, h is a goroutine of the hidden packages, or was called by one that is not known; then its
// objects are not known either. It must run on the system stack; gp is h's goroutine.
func heisenHide(gp *g, h *heisenG, f *heisenFrame, pc, sp uintptr) {
	h.commitWrite()
	h.pairs++
	f.opened = true
	if !heisen.on {
		return
	}
	h.top = f.below() // the caller
	var reach uint32
	if h.top != h.bottom {
		reach = heisenReach(gp, h, pc, sp)
	}
	heisenTellName(uint32(heisenEntry(pc)-firstmoduledata.text) + 1) // as a return address
	if b := heisenOpen(h, 4); b != nil {
		p := b.pos
		b.words[p] = heisenOpHide<<heisenOpShift | uint64(heisenEntry(pc))
		b.words[p+1] = heisenStamp()
		b.words[p+2] = heisenPlace(b, h, uint64(f.at()))
		b.words[p+3] = uint64(reach)
		h.words += 4
		b.commit(p + 4)
		b.wrote()
	}
	f.call = uint32(heisenEntry(pc) - firstmoduledata.text)
	h.top = f
}

// heisenEntry returns the address of the function at pc, which names the call.
func heisenEntry(pc uintptr) uintptr {
	if f := findfunc(pc); f.valid() {
		return f.entry()
	}
	return 0
}

// reveal records the returns of hidden calls among the frames above last, which are left. It must
// run on the system stack.
func (h *heisenG) reveal(last *heisenFrame) {
	for h.top != last {
		f := h.top
		h.top = f.below()
		if !f.opened {
			continue
		}
		h.pairs--
		h.commitWrite()
		if !heisen.on {
			continue
		}
		if b := heisenOpen(h, 3); b != nil {
			heisenPut(b, h, heisenOpReveal, firstmoduledata.text+uintptr(f.call), heisenStamp(), uint64(f.at()))
		}
	}
	h.shade(last != h.bottom && last.hidden)
}

// shade records whether h is in hidden code. It must run on the system stack.
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
