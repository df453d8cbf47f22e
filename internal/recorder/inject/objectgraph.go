//go:build heisen_inject

package runtime

import (
	"internal/goarch"
	"internal/runtime/atomic"
	"internal/runtime/sys"
	"unsafe"
)

// Object trees, made once (TREE and RDIT, section 4.4.3). An object that a hidden call
// reaches is looked at once, and what it points to is sent; from then on it is known,
// and looked at again after a pointer was written there. The sets of objects are made
// by the receiver, which has the graph: a Hide comes with its roots only.
//
// Every instrumented write is noted, also of hidden packages, and those that the runtime
// makes for the program into slices, channels and maps. A hook comes before its write;
// therefore a write counts at the next hook of its goroutine that writes, synchronises
// or calls hidden code: whoever comes after the write comes after that. What is missed
// is pointers that packages write which are not instrumented, into objects that are
// known already.

const (
	heisenGraphSpan     = 1 << 38 // of the heap, if there is address space for it
	heisenMinGraphSpan  = 1 << 32
	heisenMaxDirty      = 1 << 20
	heisenMaxQueue      = 1 << 16
	heisenMaxPolledVars = 1 << 10
	heisenGraphWords    = heisenBufWords // of a message

	// What is noted of a word of the heap or a variable.
	heisenObjectKnown = 1
	heisenObjectDirty = 2 // it is known, and listed to be looked at again
	heisenObjectDeep  = 3 // so are those that it points to, as far as the parts of a map go

	// What a goroutine is about to write, in the low bits of the address.
	heisenWroteWord = 1
	heisenWroteWide = 2
	heisenWroteMap  = 3

	heisenMapDepth = 4 // a map, its directory, tables and groups

	// In a message of objects.
	heisenGraphMore  = 1 << 63    // in the count: these are more targets of the object before
	heisenGraphUntil = ^uint64(0) // in place of an object: a stamp, before which all this was not so
	heisenFollow     = ^uint32(0) // in place of the number of a set: what the roots before the Hide lead to
)

// heisenScanTask is an object to be looked at; deep is how far what it points to is to be
// looked at again.
type heisenScanTask struct {
	span heisenSpan
	deep uintptr
}

// heisenPolledVar is a variable of a package that may not be instrumented: it is compared
// with what it was.
type heisenPolledVar struct {
	span heisenSpan
	sum  uint64
}

var heisenGraph heisenGraphState

type heisenGraphState struct {
	_              sys.NotInHeap
	heap, lo, span uintptr // what is noted of words of the heap, and which part of it
	data, dataLo   uintptr // of the data segments

	lock  uint32  // guards the list of dirty objects, and what becomes dirty or known again
	dirty uintptr // addresses
	n     uintptr
	gone  bool // there was no room: every call reaches everything

	// The rest belongs to who holds heisenHidden.lock.
	opened     bool    // the variables of hidden packages were looked at
	queue      uintptr // heisenTodos, a ring
	head, tail uintptr
	loose      [heisenMaxPolledVars]heisenPolledVar
	loosed     uintptr
	todo       heisenScanTask // that is looked at
	changed    bool           // something was sent since the last stamp
	last       uintptr        // the latest target
	fence      uint32
	curN       uintptr
	cur        [heisenGraphWords]uint64 // what is known of it

	outLock uint32 // guards what is to be sent
	outN    uintptr
	out     [heisenGraphWords]uint64
}

// heisenInitGraph makes empty tables, and reports whether it could.
func heisenInitGraph() bool {
	t := &heisenGraph
	t.lo = racearenastart &^ 63
	for t.span = heisenGraphSpan; ; t.span /= 2 {
		if t.heap = uintptr(heisenReserve(t.span / 8)); t.heap != 0 {
			break
		}
		if t.span == heisenMinGraphSpan {
			return false
		}
	}
	t.dataLo = racedatastart &^ 63
	t.data = uintptr(heisenReserve((racedataend-t.dataLo)/8 + 1))
	t.dirty = uintptr(heisenReserve(heisenMaxDirty * 8))
	t.queue = uintptr(heisenReserve(heisenMaxQueue * unsafe.Sizeof(heisenScanTask{})))
	return t.data != 0 && t.dirty != 0 && t.queue != 0
}

// heisenObjectState returns what is noted of the word at an address, nil if nothing can be.
//
//go:nosplit
func heisenObjectState(addr uintptr) *uint8 {
	t := &heisenGraph
	switch {
	case addr-t.lo < t.span:
		return (*uint8)(unsafe.Pointer(t.heap + (addr-t.lo)/8))
	case addr-racedatastart < racedataend-racedatastart:
		return (*uint8)(unsafe.Pointer(t.data + (addr-t.dataLo)/8))
	}
	return nil
}

// heisenBeforeWrite is called before the current goroutine writes at addr.
//
//go:nosplit
func heisenBeforeWrite(addr, kind uintptr) {
	gp := getg()
	if addr-gp.stack.lo < gp.stack.hi-gp.stack.lo {
		return
	}
	if kind == heisenWroteWord && heisenObjectState(addr) != nil && heisenShared(*(*uintptr)(unsafe.Pointer(addr &^ 7))) {
		kind = heisenWroteWide // it points to something now, and may not any more
	}
	if h := (*heisenG)(unsafe.Pointer(gp.racectx)); h != nil {
		heisenAfterWrite(atomic.Xchguintptr(&h.wrote, addr&^7|kind))
	} else {
		heisenAfterWrite(addr&^7 | heisenWroteWide)
	}
}

// settle notes what h has written.
//
//go:nosplit
func (h *heisenG) commitWrite() {
	if h != nil && h.wrote != 0 {
		heisenAfterWrite(atomic.Xchguintptr(&h.wrote, 0))
	}
}

// heisenAfterWrite notes a write that was made. It comes after an atomic operation, so
// that whoever has made the object known without seeing the write is seen here (see heisenFence).
//
//go:nosplit
func heisenAfterWrite(wrote uintptr) {
	addr, kind := wrote&^7, wrote&7
	if addr == 0 {
		return
	}
	if e := heisenObjectState(addr); e == nil || atomic.Load8(e) == 0 {
		return
	}
	if kind == heisenWroteWord && !heisenShared(*(*uintptr)(unsafe.Pointer(addr))) {
		return // it points to nothing, as before
	}
	systemstack(func() { heisenMarkDirty(addr, kind) })
}

// heisenFence orders all that comes before it with all that comes after it: on some processors an
// exchange alone lets loads that follow it go before what it stores, but not atomic ones.
func heisenFence() {
	atomic.Xchg(&heisenGraph.fence, 0)
	atomic.Load(&heisenGraph.fence)
}

// heisenMarkDirty lists the object of an address to be looked at again, if it is known.
func heisenMarkDirty(addr, kind uintptr) {
	base := heisenObjectAt(addr).start
	e := heisenObjectState(base)
	if base == 0 || e == nil {
		return
	}
	t := &heisenGraph
	now := uint8(heisenObjectDirty)
	if kind == heisenWroteMap {
		now = heisenObjectDeep
	}
	heisenLock(&t.lock)
	switch *e {
	case heisenObjectKnown:
		if t.n == heisenMaxDirty {
			t.gone = true
			break
		}
		*(*uintptr)(unsafe.Pointer(t.dirty + t.n*8)) = base
		t.n++
		*e = now
	case heisenObjectDirty:
		*e = now
	}
	heisenUnlock(&t.lock)
}

// heisenObjectAt returns the object or variable that has an address, an empty one if
// there is none that the program can touch.
func heisenObjectAt(p uintptr) (o heisenSpan) {
	switch {
	case heisenInHeap(p):
		s := spanOf(p)
		if s == nil || s.state.get() != mSpanInUse || p < s.base() || p >= s.limit {
			return o
		}
		base := s.base() + s.objIndex(p)*s.elemsize
		if !heisenRuntimeOwns(base, s.elemsize) {
			return heisenSpan{base, s.elemsize}
		}
	case p-racedatastart < racedataend-racedatastart:
		return heisenHidden.variable(p)
	}
	return o
}

// heisenForgetObjects forgets the objects that were where one is allocated.
//
//go:nosplit
func heisenForgetObjects(addr, size uintptr) {
	for end := addr + size; addr < end; {
		e := heisenObjectState(addr)
		if e == nil {
			break
		}
		if addr&63 == 0 && end-addr >= 64 {
			if p := (*uint64)(unsafe.Pointer(e)); *p != 0 {
				*p = 0
			}
			addr += 64
			continue
		}
		if *e != 0 {
			*e = 0
		}
		addr += 8
	}
	heisenStoreBarrier() // who comes upon the new one is not to take it for them
}

// graph looks at what the roots in spans lead to and is not known, and at what is not
// known any more. It returns heisenFollow, or 0 if everything is reached.
func (w *heisenHiddenState) graph() uint32 {
	t := &heisenGraph
	if t.gone {
		return 0
	}
	w.tracing, w.words = true, 0
	if !t.opened {
		t.opened = true
		t.begin(heisenScanTask{})
		if w.vars == 0 {
			w.data(racedatastart) // all of it, for nobody knows whose is what
		}
		for i := range w.vars {
			if v := w.global(i); v.size&heisenIsRoot != 0 {
				w.data(v.start)
			}
		}
		t.end()
	}
	for i := range t.loosed {
		l := &t.loose[i]
		if sum := heisenSum(l.span); sum != l.sum && t.enqueue(heisenScanTask{span: l.span}) {
			l.sum = sum
		}
	}
	heisenLock(&t.lock)
	for ; t.n > 0 && t.tail-t.head < heisenMaxQueue; t.n-- {
		base := *(*uintptr)(unsafe.Pointer(t.dirty + (t.n-1)*8))
		e := heisenObjectState(base)
		if *e < heisenObjectDirty {
			continue // it is not there any more
		}
		todo := heisenScanTask{span: heisenObjectAt(base)}
		if *e == heisenObjectDeep {
			todo.deep = heisenMapDepth
		}
		*e = heisenObjectKnown
		if todo.span.start == base {
			t.enqueue(todo)
		}
	}
	left := t.n
	heisenUnlock(&t.lock)
	for i := range w.n {
		w.visit(w.spans[i], 0)
	}
	for t.head != t.tail && w.words < heisenMaxWords {
		todo := *t.at(t.head)
		t.head++
		if *heisenObjectState(todo.span.start) == 0 {
			continue // it is not there any more
		}
		if todo.span.size > heisenMaxWords*goarch.PtrSize && w.hasPointers(todo.span) {
			continue // to the receiver it leads to everything
		}
		t.begin(todo)
		heisenFence() // it is known: who writes there from now on notes it
		w.scan(todo.span)
		t.end()
	}
	w.tracing = false
	if t.changed {
		t.changed = false
		t.cur[0], t.cur[1], t.cur[2] = heisenGraphUntil, atomic.Load64(&heisen.stamp), 0
		t.curN = 3
		t.send()
	}
	if left > 0 || t.gone || t.head != t.tail {
		return 0 // the rest comes with later calls
	}
	return heisenFollow
}

func (t *heisenGraphState) at(i uintptr) *heisenScanTask {
	return (*heisenScanTask)(unsafe.Pointer(t.queue + i%heisenMaxQueue*unsafe.Sizeof(heisenScanTask{})))
}

func (t *heisenGraphState) enqueue(todo heisenScanTask) bool {
	if t.tail-t.head == heisenMaxQueue {
		return false
	}
	*t.at(t.tail) = todo
	t.tail++
	return true
}

// visit has an object looked at that is not known.
func (w *heisenHiddenState) visit(s heisenSpan, deep uintptr) {
	t := &heisenGraph
	e := heisenObjectState(s.start)
	if e == nil { // writes there are not seen
		t.gone = true
		return
	}
	if *e != 0 {
		if deep > 0 {
			t.gone = !t.enqueue(heisenScanTask{s, deep}) || t.gone
		}
		return
	}
	if !t.enqueue(heisenScanTask{s, deep}) {
		return // to the receiver it leads to everything
	}
	n := uintptr(1)
	if w.hasPointers(s) {
		n = s.size / goarch.PtrSize
	}
	for i := range n {
		if e := heisenObjectState(s.start + i*goarch.PtrSize); e != nil {
			*e = heisenObjectKnown
		}
	}
	if !heisenInHeap(s.start) && !w.isRoot(s.start) && w.hasPointers(s) {
		if t.loosed == heisenMaxPolledVars {
			t.gone = true
			return
		}
		t.loose[t.loosed] = heisenPolledVar{s, heisenSum(s)}
		t.loosed++
	}
}

// begin starts to say what an object points to.
func (t *heisenGraphState) begin(todo heisenScanTask) {
	t.todo, t.last = todo, 0
	t.cur[0], t.cur[1], t.cur[2] = uint64(todo.span.start), uint64(todo.span.size), 0
	t.curN = 3
}

// target adds what the object points to.
func (w *heisenHiddenState) target(s heisenSpan) {
	t := &heisenGraph
	if s.start == t.last || s.start == t.todo.span.start {
		return
	}
	t.last = s.start
	if t.curN == heisenGraphWords {
		t.end()
		t.cur[2] = heisenGraphMore
		t.curN = 3
	}
	t.cur[t.curN] = uint64(s.start)
	t.curN++
	w.visit(s, max(t.todo.deep, 1)-1)
}

func (t *heisenGraphState) end() {
	t.cur[2] |= uint64(t.curN - 3)
	t.changed = true
	t.send()
}

// send has what is known of an object sent before any words are.
func (t *heisenGraphState) send() {
	if t.outN+t.curN > heisenGraphWords {
		heisenSend(heisenMsgObjects, 0, 0, nil, 0)
	}
	heisenLock(&t.outLock)
	memmove(unsafe.Pointer(&t.out[t.outN]), unsafe.Pointer(&t.cur), t.curN*8)
	t.outN += t.curN
	heisenUnlock(&t.outLock)
}

// heisenSendObjects sends what the receiver does not know of objects. The caller holds
// heisen.sendLock.
func heisenSendObjects() (ok bool) {
	t := &heisenGraph
	if t.outN == 0 || !heisenTryLock(&t.outLock, heisenForever) {
		return true
	}
	header := [4]uint32{heisenMsgObjects, 0, uint32(t.outN * 8), 0}
	ok = t.outN == 0 || heisenSendAll(unsafe.Pointer(&header), unsafe.Sizeof(header)) &&
		heisenSendAll(unsafe.Pointer(&t.out), t.outN*8)
	t.outN = 0
	heisenUnlock(&t.outLock)
	return ok
}
