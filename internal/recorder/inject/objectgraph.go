//go:build heisen_inject

package runtime

import (
	"internal/goarch"
	"internal/runtime/atomic"
	"internal/runtime/sys"
	"unsafe"
)

// The object graph for hidden calls (TREE and RDIT, section 4.4.3). An object that a hidden call
// reaches is scanned once, and what it points to is sent. From then on it is known. It is scanned
// again only after a pointer was written to it. The receiver has the graph and makes the sets; a
// Hide carries only its roots. Hooks record writes on the goroutine's stack, nosplit; scanning runs
// on the system stack with heisenHidden.lock held.
//
// Every instrumented write is recorded, including those of hidden packages and those that the
// runtime makes into slices, channels and maps. A hook precedes its write. So a write counts at the
// goroutine's next hook that writes, synchronizes or calls hidden code: everything that is ordered
// after the write is ordered after that hook. Writes of pointers by packages that are not
// instrumented, into objects that are known already, are missed.

const (
	heisenGraphSpan     = 1 << 38 // of the heap, if there is enough address space
	heisenMinGraphSpan  = 1 << 32
	heisenMaxDirty      = 1 << 20
	heisenMaxQueue      = 1 << 16
	heisenMaxPolledVars = 1 << 10
	heisenGraphWords    = heisenBufWords // in a message

	// The state of a word of the heap or of a variable.
	heisenObjectKnown = 1
	heisenObjectDirty = 2 // known, and listed to be scanned again
	heisenObjectDeep  = 3 // so are the objects that it points to, as deep as the parts of a map

	// What a goroutine is about to write, in the low bits of the address.
	heisenWroteWord = 1
	heisenWroteWide = 2
	heisenWroteMap  = 3

	heisenMapDepth = 4 // a map, its directory, tables and groups
)

// heisenScanTask is an object to be scanned. deep is how deep its targets are to be scanned again.
type heisenScanTask struct {
	span heisenSpan
	deep uintptr
}

// heisenPolledVar is a variable of a package that may not be instrumented: changes are found by
// comparison.
type heisenPolledVar struct {
	span heisenSpan
	sum  uint64
}

var heisenGraph heisenGraphState

type heisenGraphState struct {
	_              sys.NotInHeap
	heap, lo, span uintptr // the states of words of the heap, and which part of it has them
	data, dataLo   uintptr // of the data segments

	lock  uint32  // guards the list of dirty objects and changes of state
	dirty uintptr // addresses
	n     uintptr
	gone  bool // no room was left: every call reaches everything

	// The rest is guarded by heisenHidden.lock.
	opened     bool    // the variables of hidden packages were scanned
	queue      uintptr // heisenScanTasks, a ring
	head, tail uintptr
	loose      [heisenMaxPolledVars]heisenPolledVar
	loosed     uintptr
	todo       heisenScanTask // being scanned
	changed    bool           // something was sent since the last stamp
	last       uintptr        // the last target
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

// heisenObjectState returns the state of the word at an address, nil if it has none.
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
		kind = heisenWroteWide // it is a pointer now and may not be one afterwards
	}
	if h := (*heisenG)(unsafe.Pointer(gp.racectx)); h != nil {
		heisenAfterWrite(atomic.Xchguintptr(&h.wrote, addr&^7|kind))
	} else {
		heisenAfterWrite(addr&^7 | heisenWroteWide)
	}
}

// commitWrite records what h has written.
//
//go:nosplit
func (h *heisenG) commitWrite() {
	if h != nil && h.wrote != 0 {
		heisenAfterWrite(atomic.Xchguintptr(&h.wrote, 0))
	}
}

// heisenAfterWrite records a write that was made. An atomic operation precedes it, so that a thread
// that has made the object known without seeing the write is seen here (see heisenFence).
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
		return // it is no pointer, as before
	}
	systemstack(func() { heisenMarkDirty(addr, kind) })
}

// heisenFence orders all that precedes it before all that follows. On some processors an exchange
// alone lets later plain loads pass its store, but not later atomic ones.
func heisenFence() {
	atomic.Xchg(&heisenGraph.fence, 0)
	atomic.Load(&heisenGraph.fence)
}

// heisenMarkDirty lists the object at an address to be scanned again, if it is known.
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

// heisenObjectAt returns the object or variable at an address, an empty span if the program can
// touch none there.
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

// heisenForgetObjects forgets the objects that were at newly allocated addresses.
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
	heisenStoreBarrier() // a thread that sees the new object must not take it for the old ones
}

// graph scans what the roots in spans lead to and is not known, or is no longer known. It returns
// heisenFollow, or 0 if everything is reachable.
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
			w.data(racedatastart) // all of it, because it is not known which part belongs to which package
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
			continue // the object no longer exists
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
			continue // for the receiver it leads to everything
		}
		t.begin(todo)
		heisenFence() // from now on it is known, and writes to it are recorded
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

// visit lists an object to be scanned if it is not known.
func (w *heisenHiddenState) visit(s heisenSpan, deep uintptr) {
	t := &heisenGraph
	e := heisenObjectState(s.start)
	if e == nil { // writes there are not recorded
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

// begin starts the record of an object.
func (t *heisenGraphState) begin(todo heisenScanTask) {
	t.todo, t.last = todo, 0
	t.cur[0], t.cur[1], t.cur[2] = uint64(todo.span.start), uint64(todo.span.size), 0
	t.curN = 3
}

// target adds a target of the object.
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

// end ends the record of the object.
func (t *heisenGraphState) end() {
	t.cur[2] |= uint64(t.curN - 3)
	t.changed = true
	t.send()
}

// send puts the record of an object into what is sent before any words.
func (t *heisenGraphState) send() {
	if t.outN+t.curN > heisenGraphWords {
		heisenSend(heisenMsgObjects, 0, 0, nil, 0)
	}
	heisenLock(&t.outLock)
	memmove(unsafe.Pointer(&t.out[t.outN]), unsafe.Pointer(&t.cur), t.curN*8)
	t.outN += t.curN
	heisenUnlock(&t.outLock)
}

// heisenSendObjects sends the records of objects that were not sent yet. The caller holds
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
