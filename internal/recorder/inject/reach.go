//go:build heisen_inject

package runtime

import (
	"internal/goarch"
	"unsafe"
)

// The set of objects that a hidden call can reach: found from its roots, word by word, and
// numbered. Each set is sent once. Everything runs on the system stack with heisenHidden.lock held;
// the program may change the scanned objects at the same time.

// heisenReach returns the number of the set of objects that the function at pc, which gp has just
// entered, may touch; 0 is all objects. It must run on the system stack.
func heisenReach(gp *g, h *heisenG, pc, sp uintptr) uint32 {
	w := &heisenHidden
	heisenLock(&w.lock)
	w.begin()
	w.framed = 0
	w.gp, w.pc, w.sp = gp, pc, sp
	if !heisen.once { // the receiver knows the variables
		w.variables()
	}
	var u unwinder
	u.initAt(pc, sp, 0, gp, unwindSilentErrors)
	if u.valid() {
		locals, args, _ := u.frame.getStackMap(false)
		w.live(u.frame.varp-uintptr(locals.n)*goarch.PtrSize, locals)
		w.live(u.frame.argp, args)
	} else {
		w.full = true
	}
	var id uint32
	switch {
	case w.full:
	case heisen.once:
		if id = w.graph(); id == heisenFollow {
			w.putRoots(h)
		}
	default:
		id = w.closure()
	}
	heisenUnlock(&w.lock)
	return id
}

// variables adds the variables of hidden packages.
func (w *heisenHiddenState) variables() {
	switch {
	case w.vars == 0:
		w.data(racedatastart) // all of it: it is not known which variable belongs to which package
	case w.rooted > uintptr(len(w.roots)):
		w.full = true
	default:
		for _, i := range w.roots[:w.rooted] {
			w.data(w.global(uintptr(i)).start)
		}
	}
}

// putRoots records the roots of the next hidden call of h.
func (w *heisenHiddenState) putRoots(h *heisenG) {
	for i := range w.n {
		if b := heisenOpen(h, 1); b != nil {
			b.words[b.pos] = heisenOpRoot<<heisenOpShift | uint64(w.spans[i].start)
			h.words++
			b.commit(b.pos + 1)
		}
	}
}

// begin starts an empty set.
func (w *heisenHiddenState) begin() {
	w.n, w.words, w.walked, w.full = 0, 0, 0, false
	if w.turn++; w.turn == 0 { // old entries would seem to be of this search
		clear(w.seen[:])
		w.turn = 1
	}
}

// heisenClosure is what some roots have led to: the objects that may have pointers, and a sum of
// these pointers, which shows whether they are unchanged.
//
// As long as no cycle of the garbage collector begins, no object that was reached is freed and
// nothing else takes its place.
type heisenClosure struct {
	roots, other uint64 // hashes
	sum          uint64
	cycle        uint32 // of the garbage collector
	id           uint32
	n            uintptr
	spans        [heisenMaxClosure]heisenSpan
}

const (
	heisenMaxClosure  = 1024
	heisenClosureBits = 8
)

// closure returns the number of the set that the objects in spans lead to. It is cached as long as
// none of their pointers changes.
func (w *heisenHiddenState) closure() uint32 {
	var roots, other uint64
	for i := range w.n {
		x := heisenHash(uint64(w.spans[i].start) ^ uint64(w.spans[i].size)<<48)
		roots += x // in any order
		other += heisenHash(x ^ 0xD6E8FEB86659FD93)
	}
	c := (*heisenClosure)(unsafe.Pointer(w.closures + uintptr(roots>>(64-heisenClosureBits))*unsafe.Sizeof(heisenClosure{})))
	again := c.roots == roots && c.other == other
	cycle := work.cycles.Load()
	if again && c.id != 0 && c.cycle == cycle && c.sum == c.now() {
		return c.id
	}
	c.roots, c.other, c.id = roots, other, 0
	if w.follow(); w.full {
		return 0
	}
	id := w.number()
	if again && w.n <= heisenMaxClosure { // many roots occur only once
		c.n = 0
		for i := range w.n {
			if s := w.spans[i]; w.hasPointers(s) {
				c.spans[c.n] = s
				c.n++
			}
		}
		// A change since the scan would never be noticed.
		if c.sum = c.now(); c.sum == w.walked {
			c.id, c.cycle = id, cycle
		}
	}
	return id
}

// now returns the sum of the present pointers of the objects.
func (c *heisenClosure) now() (sum uint64) {
	s := &c.spans[0]
	for n := c.n; n > 0; n-- {
		sum += heisenSum(*s)
		s = (*heisenSpan)(add(unsafe.Pointer(s), unsafe.Sizeof(heisenSpan{})))
	}
	return sum
}

// heisenSum returns the sum of the words of an object that may be pointers. Their order does not
// matter: they lead to the same objects.
func heisenSum(s heisenSpan) (sum uint64) {
	arena, arenaSize := racearenastart, racearenaend-racearenastart
	data, dataSize := racedatastart, racedataend-racedatastart
	for at, end := s.start, s.start+s.size&^7; at < end; {
		stop := min(at+heisenBlock, end)
		if heisenEmpty(at, stop) {
			at = stop
		}
		for ; at < stop; at += goarch.PtrSize {
			if word := *(*uintptr)(unsafe.Pointer(at)); word-arena < arenaSize || word-data < dataSize {
				sum += heisenMix(word)
			}
		}
	}
	return sum
}

// heisenMix hashes a pointer for a sum. Pointers have much in common, and their sums should not.
func heisenMix(word uintptr) uint64 {
	x := uint64(word) * 0x9E3779B97F4A7C15
	return (x ^ x>>32) * 0xD6E8FEB86659FD93
}

// follow adds the objects that those in the set point to, transitively.
func (w *heisenHiddenState) follow() {
	for i := uintptr(0); i < w.n && !w.full; i++ {
		w.scan(w.spans[i])
	}
}

// global returns variable i.
func (w *heisenHiddenState) global(i uintptr) *heisenSpan {
	return (*heisenSpan)(unsafe.Pointer(w.globals + i*unsafe.Sizeof(heisenSpan{})))
}

// live scans the live pointers of a frame.
func (w *heisenHiddenState) live(base uintptr, bits bitvector) {
	for i := range uintptr(bits.n) {
		if bits.ptrbit(i) != 0 {
			w.word(*(*uintptr)(unsafe.Pointer(base + i*goarch.PtrSize)))
		}
	}
}

// scan scans the words of a span that may have pointers.
func (w *heisenHiddenState) scan(s heisenSpan) {
	if !w.hasPointers(s) {
		return
	}
	n := s.size / goarch.PtrSize
	if w.words += n; w.words > heisenMaxWords && !w.tracing {
		w.full = true
		return
	}
	arena, arenaSize := racearenastart, racearenaend-racearenastart
	data, dataSize := racedatastart, racedataend-racedatastart
	for at, end := s.start, s.start+n*goarch.PtrSize; at < end; {
		stop := min(at+heisenBlock, end)
		if heisenEmpty(at, stop) {
			at = stop
		}
		for ; at < stop; at += goarch.PtrSize {
			word := *(*uintptr)(unsafe.Pointer(at))
			if word-arena >= arenaSize && word-data >= dataSize {
				continue
			}
			w.walked += heisenMix(word)
			if w.word(word); w.full {
				return
			}
		}
	}
}

// heisenBlock is the amount of memory that is tested for zeros at once: much of it is empty.
const heisenBlock = 8 * goarch.PtrSize

// heisenEmpty reports whether a block is all zeros.
func heisenEmpty(at, stop uintptr) bool {
	if stop-at < heisenBlock {
		return false
	}
	p := (*[8]uintptr)(unsafe.Pointer(at))
	return p[0]|p[1]|p[2]|p[3]|p[4]|p[5]|p[6]|p[7] == 0
}

// hasPointers reports whether an object or variable may have pointers.
func (w *heisenHiddenState) hasPointers(s heisenSpan) bool {
	if heisenInHeap(s.start) {
		span := spanOf(s.start)
		return span != nil && !span.spanclass.noscan()
	}
	m := &firstmoduledata
	return s.start+s.size > m.data && s.start < m.edata || s.start+s.size > m.bss && s.start < m.ebss
}

// heisenInHeap reports whether p is in the heap.
//
//go:nosplit
func heisenInHeap(p uintptr) bool { return p-racearenastart < racearenaend-racearenastart }

// word adds the object that p points into, if any.
func (w *heisenHiddenState) word(p uintptr) {
	if !heisenShared(p) {
		return
	}
	if p-w.gp.stack.lo < w.gp.stack.hi-w.gp.stack.lo {
		if !w.tracing {
			w.stack(p)
		}
		return
	}
	if o := heisenObjectAt(p); o.size != 0 {
		w.add(o)
	}
}

// heisenRuntimeOwns reports whether an object is a goroutine, thread or processor of the scheduler,
// which wait queues lead to: the program cannot touch it.
func heisenRuntimeOwns(base, size uintptr) bool {
	if size >= unsafe.Sizeof(g{}) && size < unsafe.Sizeof(g{})+unsafe.Sizeof(g{})/4 {
		gp := (*g)(unsafe.Pointer(base))
		if lo, hi := gp.stack.lo, gp.stack.hi; gp.goid != 0 && hi > lo && (hi-lo)&(hi-lo-1) == 0 && heisenInHeap(lo) {
			if s := spanOf(lo); s != nil && s.state.get() == mSpanManual {
				return true
			}
		}
	}
	if size >= unsafe.Sizeof(g{}) {
		for _, pp := range allp {
			if uintptr(unsafe.Pointer(pp))-base < size {
				return true
			}
		}
		for mp := allm; mp != nil; mp = mp.alllink {
			if uintptr(unsafe.Pointer(mp))-base < size ||
				uintptr(unsafe.Pointer(mp.g0)) == base || uintptr(unsafe.Pointer(mp.gsignal)) == base {
				return true
			}
		}
	}
	return false
}

// add adds an object unless it is in the set.
func (w *heisenHiddenState) add(s heisenSpan) {
	if w.tracing {
		w.target(s)
		return
	}
	start := s.start
	for i := uintptr(heisenHash(uint64(start))) >> (64 - heisenReachBits); ; i++ {
		e := &w.seen[i&w.mask&(1<<heisenReachBits-1)]
		if e.turn != w.turn {
			if w.n == w.limit {
				w.full = true
				return
			}
			e.start, e.turn = start, w.turn
			w.spans[w.n] = s
			w.n++
			return
		}
		if e.start == start {
			return
		}
	}
}

// data adds the variable at p, or the memory between known variables.
func (w *heisenHiddenState) data(p uintptr) {
	if v := w.variable(p); v.size != 0 {
		w.add(v)
	}
}

// variable returns the variable at p, or the memory between known variables, in whole words; an
// empty span if it is the runtime's.
func (w *heisenHiddenState) variable(p uintptr) heisenSpan {
	i := w.search(p)
	start, end := racedatastart, racedataend
	if i < w.vars {
		end = min(end, w.global(i).start)
	}
	if i > 0 {
		v := w.global(i - 1)
		if v.size&heisenIsOpaque != 0 {
			return heisenSpan{}
		}
		start = v.start
		if after := start + v.size&^heisenIsRoot; p < after {
			end = after
		} else {
			start = after
		}
	}
	return heisenSpan{start &^ 7, alignUp(end, 8) - start&^7}
}

// search returns the first variable that starts after p.
func (w *heisenHiddenState) search(p uintptr) uintptr {
	lo, hi := uintptr(0), w.vars
	for lo < hi {
		mid := (lo + hi) / 2
		if w.global(mid).start <= p {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// isRoot reports whether the variable at p is one of a hidden package.
func (w *heisenHiddenState) isRoot(p uintptr) bool {
	i := w.search(p)
	return i > 0 && w.global(i-1).size&heisenIsRoot != 0
}

// stack scans a variable on the goroutine's own stack. Other goroutines don't have it, but it may
// point to shared objects. If no variable is known at p, the whole frame is scanned.
func (w *heisenHiddenState) stack(p uintptr) {
	if p < w.sp {
		return // below the live stack
	}
	for i := range w.framed {
		if f := w.frames[i]; p-f.start < f.size {
			return
		}
	}
	if w.framed == heisenMaxFramed {
		w.full = true
		return
	}
	var u unwinder
	for u.initAt(w.pc, w.sp, 0, w.gp, unwindSilentErrors); u.valid(); u.next() {
		if f := &u.frame; p-f.sp < f.fp-f.sp {
			s := heisenSpan{f.sp, f.fp - f.sp}
			_, _, objects := f.getStackMap(false)
			for i := range objects {
				o := &objects[i]
				at := f.varp
				if o.off >= 0 {
					at = f.argp
				}
				if at += uintptr(o.off); p-at < uintptr(o.size) {
					s = heisenSpan{at, uintptr(o.size)}
					break
				}
			}
			w.frames[w.framed] = s
			w.framed++
			if w.words += s.size / goarch.PtrSize; w.words > heisenMaxWords {
				w.full = true
			}
			for at := s.start; at < s.start+s.size && !w.full; at += goarch.PtrSize {
				w.word(*(*uintptr)(unsafe.Pointer(at)))
			}
			return
		}
	}
	w.full = true
}

// number returns the number of the set, which is sent if it is new.
func (w *heisenHiddenState) number() uint32 {
	set := heisenSet{sum: uint64(w.n)}
	for i := range w.n {
		s := w.spans[i]
		x := heisenHash(uint64(s.start)) ^ uint64(s.size)
		set.sum += heisenHash(x)
		set.other += heisenHash(x*0xD6E8FEB86659FD93 + 1)
	}
	id, isNew := w.find(set)
	if isNew {
		w.sent += w.n
		heisenSend(heisenMsgReach, id, 0, unsafe.Pointer(&w.spans), w.n*unsafe.Sizeof(heisenSpan{}))
	}
	return id
}

// find returns the number of a set, 0 if there are too many, and whether it is new.
func (w *heisenHiddenState) find(set heisenSet) (id uint32, isNew bool) {
	const mask = 1<<heisenSetBits - 1
	i := (set.sum ^ set.other>>17) & mask
	for ; ; i = (i + 1) & mask {
		e := (*heisenSet)(unsafe.Pointer(w.sets + uintptr(i)*unsafe.Sizeof(heisenSet{})))
		if e.id == 0 {
			if w.sent > heisenMaxSpans || w.ids > mask/2 {
				return 0, false
			}
			w.ids++
			set.id = w.ids
			*e = set
			return set.id, true
		}
		if e.sum == set.sum && e.other == set.other {
			return e.id, false
		}
	}
}
