//go:build heisen_inject

package runtime

import (
	"internal/abi"
	"internal/goarch"
	"unsafe"
)

// Goroutines that wait for ever: those that wait for what nothing can reach that may still run. They
// are searched for while no goroutine runs: at the end of a deterministic run (toend.go), or with the
// world stopped (leaktests.go). What may run is assumed generously: all goroutines that wait for
// something else than a channel, lock, WaitGroup or Cond, such as a timer or the network; finalizers
// and cleanups; timers; and whatever can come to global variables or to the objects of weak pointers.
// The goroutine that ends the program counts only if it has called os.Exit.
//
// The search marks objects of the heap from these roots on. A goroutine that waits for something
// that is marked, or that is not in the heap, may be woken, so its stack is a root as well. The rest
// is leaked. Objects, and stacks of goroutines that do not wait (leakstacks.go), are scanned
// conservatively: each word that may be a pointer is one. So a goroutine may be missed, but what is
// reported has no pointer to it left.
//
// It is the search of the garbage collector of Go 1.26 (runtime/mgc.go, findGoroutineLeaks), for
// all releases and without a collection. The runtime's own ways to a waiting goroutine do not
// count: goroutines, and the queue entries (sudogs) through which channels and semaphores know
// them. A goroutine that another one has taken out of a queue, and is about to wake, may have lost
// the only other pointer, so a goroutine counts as waiting only if it is in all its queues.
// Everything runs on the system stack, while no goroutine runs.

// heisenLeakSearch is the state of a search.
type heisenLeakSearch struct {
	self    *g      // the goroutine that ends the program or test
	marks   uintptr // a bit for each word of the heap, set if an object begins there that was reached
	lo      uintptr // start and size of the heap
	size    uintptr
	pending uintptr // objects that are to be scanned: the first n of room
	n       uintptr
	room    uintptr
	listing bool // they stay there, also those that have no pointers
	failed  bool // no memory, or no time
	until   int64
}

const (
	heisenLongestSearch = 4 * 1000 * 1000 * 1000 // ns while no goroutine runs
	heisenLookAtClock   = 1 << 14                // objects
)

// heisenFindLeaks marks the goroutines that wait for ever as stranded, and reports whether it could
// search and there may be some. self ends the program or a test, and if returned is set, nothing
// follows its end.
func heisenFindLeaks(self *g, returned bool) (found bool) {
	waiting := false
	forEachGRace(func(gp *g) {
		h := (*heisenG)(unsafe.Pointer(gp.racectx))
		if gp != self && h != nil {
			h.task.stranded, h.task.queued = heisenMayBeStranded(gp, h), 0
			waiting = waiting || h.task.stranded
		}
	})
	if !waiting {
		return false
	}
	w := heisenBeginSearch(self)
	if w.marks == 0 {
		heisenLookFailed = true
		return false
	}
	w.reach(returned, heisenIsStranded, nil, w.canBeWoken)
	w.end()
	heisenLookFailed = heisenLookFailed || w.failed
	return !w.failed
}

// heisenBeginSearch returns a search that has reached nothing. Without memory for it, marks is 0.
func heisenBeginSearch(self *g) heisenLeakSearch {
	size := racearenaend - racearenastart
	return heisenLeakSearch{
		self: self, lo: racearenastart, size: size, until: nanotime1() + heisenLongestSearch,
		marks: uintptr(heisenReserve(size / goarch.PtrSize / 8)),
	}
}

func (w *heisenLeakSearch) end() {
	heisenUnmap(unsafe.Pointer(w.marks), w.size/goarch.PtrSize/8)
	if w.pending != 0 {
		heisenUnmap(unsafe.Pointer(w.pending), w.room*goarch.PtrSize)
	}
}

// reach marks what may still be used. Goroutines for which stays returns true use nothing, until goesOn finds that
// they may go on. Then stays must return false for them. If idle is not nil, those for which it returns true use nothing
// at all. returned says that nothing follows on the goroutine that looks.
func (w *heisenLeakSearch) reach(returned bool, stays, idle, goesOn func(*g) bool) {
	w.excludeRuntime()
	w.countQueued(stays)
	w.globals()
	w.special()
	w.timers()
	forEachGRace(func(gp *g) {
		if gp == w.self && !returned || gp != w.self && !stays(gp) && !(idle != nil && idle(gp)) {
			w.goroutine(gp)
		}
	})
	for more := true; more && !w.failed; {
		w.follow()
		more = false
		forEachGRace(func(gp *g) {
			if stays(gp) && goesOn(gp) {
				w.goroutine(gp)
				more = true
			}
		})
	}
}

// heisenMayBeStranded reports whether a goroutine of the program waits for other goroutines.
func heisenMayBeStranded(gp *g, h *heisenG) bool {
	if !heisenWaiting(gp) || gp.bubble != nil || !heisenInProgram(gp, h) || isSystemGoroutine(gp, false) {
		return false
	}
	switch gp.waitreason {
	case waitReasonSelectNoCases, waitReasonChanReceiveNilChan, waitReasonChanSendNilChan:
		return true
	case waitReasonSelect: // without a case if all channels are nil
		return true
	case waitReasonChanReceive, waitReasonChanSend:
		return gp.waiting != nil
	}
	return heisenWaitsForSync(gp.waitreason) && h.task.waitsFor != 0
}

// heisenWaitsForSync reports whether a goroutine waits in package sync.
func heisenWaitsForSync(why waitReason) bool {
	switch why {
	case waitReasonSyncMutexLock, waitReasonSyncRWMutexRLock, waitReasonSyncRWMutexLock, waitReasonSyncCondWait, waitReasonSyncWaitGroupWait:
		return true
	}
	return false
}

func heisenIsStranded(gp *g) bool {
	h := (*heisenG)(unsafe.Pointer(gp.racectx))
	return h != nil && h.task.stranded && heisenWaiting(gp)
}

// heisenLeakedStatus is the status of a goroutine that waits for ever, once Go's own search
// (GOEXPERIMENT goroutineleakprofile) has found that. Releases without that search do not use it.
const heisenLeakedStatus = _Gpreempted + 1

// heisenWaiting reports whether a goroutine waits.
func heisenWaiting(gp *g) bool {
	status := readgstatus(gp) &^ _Gscan
	return status == _Gwaiting || status == heisenLeakedStatus
}

// heisenWaitsFor is called when the current goroutine may have to wait for a semaphore, or for a
// condition variable, at addr.
//
//go:nosplit
func heisenWaitsFor(addr unsafe.Pointer) {
	if h := (*heisenG)(unsafe.Pointer(getg().racectx)); (heisenSched.on || heisen.leaks) && h != nil {
		h.task.waitsFor = uintptr(addr)
	}
}

// canBeWoken reports whether what gp waits for was reached, or another goroutine is about to wake gp. Then gp is
// not stranded.
func (w *heisenLeakSearch) canBeWoken(gp *g) bool {
	h := (*heisenG)(unsafe.Pointer(gp.racectx))
	h.task.stranded = !w.mayWake(gp, h)
	return !h.task.stranded
}

func (w *heisenLeakSearch) mayWake(gp *g, h *heisenG) bool {
	if h.task.queued < heisenNumQueues(gp) {
		return true
	}
	switch gp.waitreason {
	case waitReasonSelectNoCases, waitReasonChanReceiveNilChan, waitReasonChanSendNilChan:
		return false
	case waitReasonChanReceive, waitReasonChanSend, waitReasonSelect:
		for sg := gp.waiting; sg != nil; sg = sg.waitlink {
			if w.reached(heisenChannelOf(sg)) {
				return true
			}
		}
		return false
	}
	return w.reached(h.task.waitsFor)
}

// heisenNumQueues returns in how many queues a goroutine waits.
func heisenNumQueues(gp *g) (n uint32) {
	if heisenWaitsForSync(gp.waitreason) {
		return 1
	}
	for sg := gp.waiting; sg != nil; sg = sg.waitlink {
		n++
	}
	return n
}

// countQueued counts in how many queues of channels and condition variables those goroutines are for which of returns
// true. excludeRuntime has counted the semaphores. The mark of the second word of a channel
// or list, where no object begins, says that its queues were counted.
func (w *heisenLeakSearch) countQueued(of func(*g) bool) {
	forEachGRace(func(gp *g) {
		if !of(gp) {
			return
		}
		if heisenWaitsForSync(gp.waitreason) {
			if gp.waitreason == waitReasonSyncCondWait {
				w.countWaiters((*heisenG)(unsafe.Pointer(gp.racectx)).task.waitsFor)
			}
			return
		}
		for sg := gp.waiting; sg != nil; sg = sg.waitlink {
			if c := (*hchan)(unsafe.Pointer(heisenChannelOf(sg))); c != nil && w.set(uintptr(unsafe.Pointer(c))+goarch.PtrSize) {
				w.countQueue(c.recvq.first)
				w.countQueue(c.sendq.first)
			}
		}
	})
}

// countWaiters counts the goroutines in the list of a condition variable, once, if it is in the heap.
func (w *heisenLeakSearch) countWaiters(list uintptr) {
	if base, _ := w.object(list); base != 0 && w.set(list+goarch.PtrSize) {
		w.countQueue((*notifyList)(unsafe.Pointer(list)).head)
	}
}

// countQueue counts the goroutines of a queue.
func (w *heisenLeakSearch) countQueue(sg *sudog) {
	for ; sg != nil; sg = sg.next {
		heisenCountQueued(sg)
	}
}

func heisenCountQueued(sg *sudog) {
	if h := (*heisenG)(unsafe.Pointer(sg.g.racectx)); h != nil {
		h.task.queued++
	}
}

// heisenChannelOf returns the channel for which sg waits. The field is a pointer, or a pointer with its address
// as a number behind it. While Go's own search for leaks goes on, only the number is there.
func heisenChannelOf(sg *sudog) uintptr {
	words := (*[unsafe.Sizeof(sg.c) / goarch.PtrSize]uintptr)(unsafe.Pointer(&sg.c))
	return words[len(words)-1]
}

// excludeRuntime marks what is not to be scanned, and counts those who wait for semaphores. Threads
// have nothing of the program. But their system stacks end where an object may begin, and those that
// have ended may still be linked to others.
func (w *heisenLeakSearch) excludeRuntime() {
	// The trees of those who wait for semaphores, before other marks hide parts of them.
	for i := range semtable {
		w.push(uintptr(unsafe.Pointer(semtable[i].root.treap)))
	}
	for w.n > 0 && !w.failed {
		sg := (*sudog)(unsafe.Pointer(w.pop()))
		if sg == nil || !w.set(uintptr(unsafe.Pointer(sg))) {
			continue
		}
		heisenCountQueued(sg)
		w.push(uintptr(unsafe.Pointer(sg.prev)))
		w.push(uintptr(unsafe.Pointer(sg.next)))
		w.push(uintptr(unsafe.Pointer(sg.waitlink)))
	}
	for _, pp := range allp {
		w.mark(uintptr(unsafe.Pointer(pp)))
		if len(pp.timers.heap) > 0 {
			w.mark(uintptr(unsafe.Pointer(&pp.timers.heap[0])))
		}
	}
	for mp := allm; mp != nil; mp = mp.alllink {
		w.excludeThread(mp)
	}
	for mp := sched.freem; mp != nil; mp = mp.freelink {
		w.excludeThread(mp)
	}
	forEachGRace(func(gp *g) {
		w.mark(uintptr(unsafe.Pointer(gp)))
		for sg := gp.waiting; sg != nil; sg = sg.waitlink {
			w.mark(uintptr(unsafe.Pointer(sg)))
		}
	})
	w.n = 0
}

func (w *heisenLeakSearch) excludeThread(mp *m) {
	w.mark(uintptr(unsafe.Pointer(mp)))
	w.mark(uintptr(unsafe.Pointer(mp.g0)))
	w.mark(uintptr(unsafe.Pointer(mp.gsignal)))
}

// globals marks what the variables of all packages point to.
func (w *heisenLeakSearch) globals() {
	for _, m := range activeModules() {
		w.masked(m.data, m.edata, m.gcdatamask)
		w.masked(m.bss, m.ebss, m.gcbssmask)
	}
}

// masked marks what the pointers in a data segment point to.
func (w *heisenLeakSearch) masked(start, end uintptr, mask bitvector) {
	for i := range min((end-start)/goarch.PtrSize, uintptr(mask.n)) {
		if mask.ptrbit(i) != 0 {
			w.mark(*(*uintptr)(unsafe.Pointer(start + i*goarch.PtrSize)))
		}
	}
}

// special marks what finalizers and cleanups can reach, those that are set and those that are due, and
// the objects that have weak pointers.
func (w *heisenLeakSearch) special() {
	for _, s := range mheap_.allspans {
		if s.state.get() != mSpanInUse {
			continue
		}
		for sp := s.specials; sp != nil; sp = sp.next {
			switch sp.kind {
			case _KindSpecialFinalizer:
				w.mark(s.base() + sp.offset)
				w.words(uintptr(unsafe.Pointer(sp)), unsafe.Sizeof(specialfinalizer{}))
			case _KindSpecialWeakHandle:
				w.mark(s.base() + sp.offset)
			case _KindSpecialCleanup:
				w.words(uintptr(unsafe.Pointer(sp)), unsafe.Sizeof(specialCleanup{}))
			}
		}
	}
	for fb := allfin; fb != nil; fb = fb.alllink {
		w.words(uintptr(unsafe.Pointer(&fb.fin)), unsafe.Sizeof(fb.fin))
	}
	for cb := (*cleanupBlock)(gcCleanups.all.Load()); cb != nil; cb = cb.alllink {
		w.words(uintptr(unsafe.Pointer(&cb.cleanups)), unsafe.Sizeof(cb.cleanups))
	}
}

// timers marks what the timers that may fire can reach. The mark of the third word of a channel, where no object begins,
// says that a timer sends to it.
func (w *heisenLeakSearch) timers() {
	for _, pp := range allp {
		for _, t := range pp.timers.heap {
			if t.timer.astate.Load()&timerZombie != 0 { // stopped ones stay for a while
				continue
			}
			w.mark(uintptr(unsafe.Pointer(t.timer)))
			if c := heisenChannelOfTimer(t.timer); w.inHeap(c) {
				w.set(c + 2*goarch.PtrSize)
			}
		}
	}
}

func (w *heisenLeakSearch) inHeap(p uintptr) bool {
	base, _ := w.object(p)
	return base != 0
}

// heisenChannelOfTimer returns the channel to which a timer sends, 0 if there is none.
func heisenChannelOfTimer(t *timer) uintptr {
	if e := efaceOf(&t.arg); e._type != nil && e._type.Kind() == abi.Chan {
		return uintptr(e.data)
	}
	return 0
}

// goroutine marks what a goroutine can reach.
func (w *heisenLeakSearch) goroutine(gp *g) {
	switch status := readgstatus(gp) &^ _Gscan; {
	case status == _Gidle || status == _Gdead || gp.stack.hi == 0 || isSystemGoroutine(gp, false):
		return
	}
	// Its defers, among others, but not the end of its stack, where another object may begin.
	w.words(uintptr(unsafe.Pointer(gp))+unsafe.Offsetof(gp._panic), unsafe.Sizeof(*gp)-unsafe.Offsetof(gp._panic))
	w.stack(gp)
}

// words marks what any words point to.
func (w *heisenLeakSearch) words(start, size uintptr) {
	for at, end := start&^(goarch.PtrSize-1), start+size; at+goarch.PtrSize <= end; at += goarch.PtrSize {
		w.mark(*(*uintptr)(unsafe.Pointer(at)))
	}
}

// object returns the object of the heap that p points into, 0 if there is none.
func (w *heisenLeakSearch) object(p uintptr) (base uintptr, s *mspan) {
	if p-w.lo >= w.size {
		return 0, nil
	}
	if s = spanOf(p); s == nil || s.state.get() != mSpanInUse || p < s.base() || p >= s.limit {
		return 0, nil
	}
	return s.base() + s.objIndex(p)*s.elemsize, s
}

// mark marks the object that p points into, and notes it to be scanned if it may have pointers.
func (w *heisenLeakSearch) mark(p uintptr) {
	if base, s := w.object(p); base != 0 && w.set(base) && (w.listing || !s.spanclass.noscan()) {
		w.push(base)
	}
}

// reached reports whether what is at p was reached, or is no object of the heap.
func (w *heisenLeakSearch) reached(p uintptr) bool {
	base, _ := w.object(p)
	if base == 0 {
		return true
	}
	at, bit := w.bit(base)
	return *at&bit != 0
}

// follow scans the objects that are to be scanned, and those that they lead to.
func (w *heisenLeakSearch) follow() {
	for i := 1; w.n > 0 && !w.failed; i++ {
		base := w.pop()
		w.words(base, spanOf(base).elemsize)
		if i%heisenLookAtClock == 0 && nanotime1() > w.until {
			w.failed = true
		}
	}
}

func (w *heisenLeakSearch) bit(base uintptr) (at *uint8, bit uint8) {
	i := (base - w.lo) / goarch.PtrSize
	return (*uint8)(unsafe.Pointer(w.marks + i/8)), 1 << (i % 8)
}

// set marks an object and reports whether it was not marked.
func (w *heisenLeakSearch) set(base uintptr) bool {
	at, bit := w.bit(base)
	if *at&bit != 0 {
		return false
	}
	*at |= bit
	return true
}

func (w *heisenLeakSearch) pop() uintptr {
	w.n--
	return *(*uintptr)(unsafe.Pointer(w.pending + w.n*goarch.PtrSize))
}

func (w *heisenLeakSearch) push(p uintptr) {
	if w.n == w.room {
		room := max(2*w.room, 1<<12)
		pending := uintptr(heisenReserve(room * goarch.PtrSize))
		if pending == 0 {
			w.failed = true
			return
		}
		if w.n > 0 {
			memmove(unsafe.Pointer(pending), unsafe.Pointer(w.pending), w.n*goarch.PtrSize)
		}
		if w.pending != 0 {
			heisenUnmap(unsafe.Pointer(w.pending), w.room*goarch.PtrSize)
		}
		w.pending, w.room = pending, room
	}
	*(*uintptr)(unsafe.Pointer(w.pending + w.n*goarch.PtrSize)) = p
	w.n++
}
