//go:build heisen_inject

package runtime

import (
	"internal/goarch"
	"internal/runtime/atomic"
	"internal/runtime/sys"
	"unsafe"
)

// The recorder that heisen injects into package runtime.
//
// The hooks (heisen_hooks.go) take the place of the race detector's. Each
// appends a few 64-bit words, laid out in heisen_wire.go, to the buffer of the
// P it runs on. Hooks are nosplit and belong to package runtime, so a goroutine
// is never preempted inside one: the buffer needs no lock, and a stopped world
// means that no hook is half done. Nothing here allocates from the Go heap, and
// the types are not in the heap, so pointers between them have no write
// barriers.
//
// Accesses carry no global stamp, synchronisation does: a dense sequence number
// that the receiving side merges by.
//
// Processors such as arm64 keep little order between plain loads and stores. So what
// threads tell each other without a lock is atomic, or ordered by heisenStoreBarrier
// for who reads it through what was stored last.

// heisenG is the recorder's state of a goroutine; g.racectx points to it.
type heisenG struct {
	_       sys.NotInHeap
	order   heisenFastTrackThread // what it knows of others; see happens.go
	id      uint32                // dense number in order of creation
	started bool                  // it has done something; as a rule its begin record was written
	orphan  bool                  // it was started by nobody that is recorded
	hidden  bool                  // it is in hidden code
	mute    bool                  // what it does is not recorded
	under   uint32                // the set of locks that it holds; see held.go
	holds   uint32                // how many

	// The shadow stack: the frames above bottom, up to top, are the calls of
	// instrumented functions, and the tasks, that the goroutine is in. bottom is none:
	// its base is 0, so that nobody takes it off. There is memory below it, too.
	top    *heisenFrame
	limit  *heisenFrame // there is room for no more
	bottom *heisenFrame

	words uint64     // words written on its behalf so far
	buf   *heisenBuf // where the latest of them stands
	pairs uint32     // hidden calls that it is in; see hide.go

	held [heisenMaxHeld]heisenHeld // the first locks that it holds

	watch heisenAtomRaceThread // what is pending; see watch.go

	span     uint64 // of its accesses; see filter.go
	released uint32
	locks    [heisenMaxReleased]heisenReleased // the first so many are released locks

	// The latest try of channels that failed; see states.go.
	tried               uintptr
	triedAt, triedWords uint64

	wrote uintptr // what it was about to write, not noted yet; see trees.go

	noise uint64 // state of the generator of random numbers
	wait  bool   // it is to wait

	task heisenWay // in a deterministic run; see sched.go

	next *heisenG // in the list of free ones
}

// heisenFrame is a call of an instrumented function. base is the distance from
// the top of the goroutine's stack to the function's frame, which does not
// change when the stack moves: frames that a panic has unwound are recognised by
// it.
type heisenFrame struct {
	_     sys.NotInHeap
	pc    uintptr // return address in the caller; or a task's number and heisenIsTask
	base  uint32
	place uint32 // of the call, once it has been needed; see paths.go
	call  uint32 // entry of the function, if opened

	hidden bool // it is hidden code
	opened bool // it is hidden and its caller is not
}

const (
	heisenBufWords  = 8 << 10 // 64 KiB per P
	heisenIsTask    = 1 << 63
	heisenMaxFrames = 64 << 10 // deeper calls are not kept
	heisenMinFrames = 32       // what a new goroutine starts with
	heisenMaxTask   = 4 << 10  // bytes of a task's name
	heisenHeader    = 2        // words of a switch to another goroutine
	heisenBegin     = 1        // words of a begin record
	heisenSlab      = 256      // goroutine states made at a time
	heisenStripes   = 256      // locks for atomic operations
	heisenSpins     = 64       // before a waiting M sleeps
)

// heisenBuf is the event buffer of a P. Only the P's M appends; anyone may send
// what is complete, under lock.
type heisenBuf struct {
	_     sys.NotInHeap
	lock  uint32
	id    uint32
	cur   *heisenG // whose words come now
	pos   uintptr  // words complete
	sent  uintptr  // words sent
	moved bool     // earlier words of goroutines may wait in other buffers
	next  *heisenBuf
	words [heisenBufWords]uint64

	places [heisenCachePlaces]heisenCached
	unders [1 << heisenUnderBits]heisenUnder
	filter heisenFilter
	told   uint64 // of filter.skipped, what was sent
	synced uint64 // synchronisation events written, in all

	access heisenAtomRaceAccess // what a hook hands to package internal/core/atomrace, for stack is short
	hits   heisenAtomRaceHits

	compared  heisenCompared // what a hook hands to package internal/core/fasttrack
	races     heisenFastTrackRaces
	freeCache heisenFastTrackFreeCache
}

// heisenRecorder is the state of the recorder that all threads share.
type heisenRecorder struct {
	on       bool   // hooks record
	open     bool   // what they record is sent
	ending   uint32 // 1 when a thread ends the recording
	filter   bool   // all but repeated accesses
	races    bool   // races by happens-before are looked for
	watch    bool   // overlaps are looked for
	light    bool   // overlaps of two accesses are, and nothing else is done
	detour   bool   // accesses have to be looked at in another way first: in a deterministic run, or if packages are hidden
	calls    bool   // and calls: if packages are hidden, or for sections
	noisy    bool   // accesses may have to wait
	hides    bool   // some packages are hidden
	once     bool   // what an object reaches is looked at once, as far as possible
	shows    bool   // what they do is recorded all the same, marked
	quiet    bool   // nothing is recorded but what is found
	marks    bool   // those too, marked
	fd       int32  // the connection
	sendLock uint32 // serialises messages
	era      uint64 // what was seen in another one may have been forgotten since

	lock  mutex // guards the rest of this block
	ids   uint32
	freeG *heisenG
	bufID uint32
	freeB *heisenBuf

	_     [64]byte
	stamp uint64 // next sequence number
	_     [56]byte
	lost  uint64 // events that happened where nothing can be recorded
}

var heisen heisenRecorder

// heisenStripe is a lock that makes an atomic operation and its stamp one step.
type heisenStripe struct {
	held uint32
	_    [60]byte
}

var heisenAtomicLocks [heisenStripes]heisenStripe

// heisenLock takes a lock that is 0 when free, 1 when held and 2 when held and
// waited for. A holder may wait for the analyser, so waiters sleep.
//
//go:nosplit
func heisenLock(l *uint32) {
	for range heisenSpins {
		if atomic.Cas(l, 0, 1) {
			return
		}
		procyield(10)
	}
	for atomic.Xchg(l, 2) != 0 {
		futexsleep(l, 2, -1)
	}
}

//go:nosplit
func heisenUnlock(l *uint32) {
	if atomic.Xchg(l, 0) == 2 {
		futexwakeup(l, 1)
	}
}

// heisenNewG returns a state for a new goroutine. It must run on the system
// stack.
func heisenNewG() *heisenG {
	lock(&heisen.lock)
	h := heisen.freeG
	if h == nil {
		slab := (*[heisenSlab]heisenG)(persistentalloc(heisenSlab*unsafe.Sizeof(heisenG{}), goarch.PtrSize, &memstats.other_sys))
		for i := range slab {
			slab[i].next = h
			h = &slab[i]
		}
	}
	heisen.freeG = h.next
	id := heisen.ids
	heisen.ids++
	unlock(&heisen.lock)

	bottom, limit := h.bottom, h.limit
	*h = heisenG{id: id, top: bottom, limit: limit, bottom: bottom, span: 1<<63 | uint64(id)}
	if bottom == nil {
		heisenGrow(h)
	}
	return h
}

// heisenFreeG takes back the state of a goroutine that has ended.
//
//go:nosplit
func heisenFreeG(h *heisenG) {
	systemstack(func() {
		lock(&heisen.lock)
		h.next = heisen.freeG
		heisen.freeG = h
		unlock(&heisen.lock)
	})
}

// heisenGrow doubles the shadow stack of h, unless it has all frames that there may
// be. It must run on the system stack. The old frames are not freed: doubling bounds
// the waste, and states are reused with their frames.
func heisenGrow(h *heisenG) {
	const frame = unsafe.Sizeof(heisenFrame{})
	size := (uintptr(unsafe.Pointer(h.limit)) - uintptr(unsafe.Pointer(h.bottom))) / frame
	if size == heisenMaxFrames {
		return
	}
	depth := uintptr(h.depth())
	size = max(2*size, heisenMinFrames)
	bottom := (*heisenFrame)(persistentalloc((size+2)*frame, goarch.PtrSize, &memstats.other_sys)).above(1)
	bottom.place = heisenRoot
	if depth > 0 {
		memmove(unsafe.Pointer(bottom), unsafe.Pointer(h.bottom), (depth+1)*frame)
	}
	h.bottom, h.top, h.limit = bottom, bottom.above(depth), bottom.above(size)
}

// above returns the nth frame above f.
//
//go:nosplit
func (f *heisenFrame) above(n uintptr) *heisenFrame {
	return (*heisenFrame)(add(unsafe.Pointer(f), n*unsafe.Sizeof(heisenFrame{})))
}

// below returns the frame below f.
//
//go:nosplit
func (f *heisenFrame) below() *heisenFrame {
	return (*heisenFrame)(unsafe.Pointer(uintptr(unsafe.Pointer(f)) - unsafe.Sizeof(heisenFrame{})))
}

// from returns what place the call before that of f is, 0 if that is not known.
//
//go:nosplit
func (f *heisenFrame) from() uint32 { return f.below().place }

// depth returns how many calls h is in.
//
//go:nosplit
func (h *heisenG) depth() uint32 {
	return uint32((uintptr(unsafe.Pointer(h.top)) - uintptr(unsafe.Pointer(h.bottom))) / unsafe.Sizeof(heisenFrame{}))
}

// leave takes the frame at base off the shadow stack, and those above it: a panic
// leaves them without racefuncexit.
//
//go:nosplit
func (h *heisenG) leave(base uint32) {
	f := h.top
	for f != h.bottom && f.base >= base {
		f = f.below()
	}
	if h.pairs != 0 && f != h.top {
		systemstack(func() { h.reveal(f) }) // stack is short where some hooks run
	}
	h.top = f
}

// heisenNewBuf returns an empty buffer for a P.
//
//go:nosplit
func heisenNewBuf() (b *heisenBuf) {
	systemstack(func() {
		lock(&heisen.lock)
		if b = heisen.freeB; b != nil {
			heisen.freeB = b.next
			unlock(&heisen.lock)
			return
		}
		unlock(&heisen.lock)
		b = (*heisenBuf)(sysAlloc(alignUp(unsafe.Sizeof(heisenBuf{}), physPageSize), &memstats.other_sys, "heisen event buffer"))
		if b == nil {
			throw("heisen: no memory for an event buffer")
		}
		lock(&heisen.lock)
		b.id = heisen.bufID
		heisen.bufID++
		heisenAllBufs[b.id%uint32(len(heisenAllBufs))] = b
		unlock(&heisen.lock)
	})
	return b
}

// heisenAllBufs lists the buffers for whoever sends them all. There are as many
// as there ever were Ps at a time.
var heisenAllBufs [4096]*heisenBuf

// heisenOpen makes room for n words (and what may have to come before them) in
// the buffer of the current P, and switches it to h. It returns nil where there
// is no P.
//
//go:nosplit
func heisenOpen(h *heisenG, n uintptr) *heisenBuf {
	b := heisenBufOfP()
	if b == nil {
		atomic.Xadd64(&heisen.lost, 1)
		return nil
	}
	if b.pos+heisenHeader+heisenBegin+n > heisenBufWords {
		heisenFlush(b)
	}
	if b.cur != h || h.buf != b {
		if old := h.buf; old != nil && old != b && old.sent != old.pos {
			b.moved = true
		}
		b.cur, h.buf = h, b
		p := b.pos
		heisenWords2(b.word(p), heisenOpSwitch<<heisenOpShift|uint64(h.id), h.words)
		b.commit(p + 2)
		if h.words == 0 {
			h.started = true
			heisenWriteBegin(b, h)
		}
	}
	return b
}

// heisenFirst is what comes before the first that h does. It returns the buffer of the
// current P, nil where there is none.
//
//go:nosplit
func heisenFirst(h *heisenG) *heisenBuf {
	if !heisen.quiet {
		return heisenOpen(h, 0)
	}
	b := heisenBufOfP()
	if b == nil {
		atomic.Xadd64(&heisen.lost, 1)
		return nil
	}
	heisenNoteGoid(h, heisenGoid(h))
	return b
}

// heisenBufOfP returns the buffer of the current P, nil where there is none.
//
//go:nosplit
func heisenBufOfP() *heisenBuf {
	if pp := getg().m.p.ptr(); pp != nil {
		return (*heisenBuf)(unsafe.Pointer(pp.raceprocctx))
	}
	return nil
}

// heisenWords2 writes two words at once.
//
//go:nosplit
func heisenWords2(p unsafe.Pointer, x, y uint64) {
	*(*[2]uint64)(p) = [2]uint64{x, y}
}

// word is &b.words[i], without the check of an index: stack is short here.
//
//go:nosplit
func (b *heisenBuf) word(i uintptr) unsafe.Pointer { return add(unsafe.Pointer(&b.words), i*8) }

// commit makes the words before end visible to whoever sends them.
//
//go:nosplit
func (b *heisenBuf) commit(end uintptr) {
	heisenStoreBarrier()
	b.pos = end
}

// heisenStoreBarrier orders the stores before it with those after it. On amd64 they are in order.
//
//go:nosplit
func heisenStoreBarrier() {
	if GOARCH != "amd64" {
		publicationBarrier()
	}
}

// wrote counts a record with a stamp, which is complete.
//
//go:nosplit
func (b *heisenBuf) wrote() {
	heisenStoreBarrier()
	b.synced++
}

//go:nosplit
func heisenWriteBegin(b *heisenBuf, h *heisenG) {
	w := heisenOpBegin<<heisenOpShift | heisenGoid(h)&(heisenOrphan-1)
	if h.orphan || heisen.quiet { // where it comes from was told already
		w |= heisenOrphan
	}
	*(*uint64)(b.word(b.pos)) = w
	h.words++
	b.commit(b.pos + 1)
}

// heisenGoid returns the runtime's number of the current goroutine, if that is h: a state can
// speak for something that is no goroutine (timers). Otherwise it is 0.
//
//go:nosplit
func heisenGoid(h *heisenG) uint64 {
	if gp := getg().m.curg; gp != nil && gp.racectx == uintptr(unsafe.Pointer(h)) {
		return gp.goid
	}
	return 0
}

// heisenAccess records that the current goroutine is about to touch size bytes
// at addr. Stacks are private to their goroutine, and memory outside of the
// heap and the data segments cannot be told from memory that C reuses: both are
// passed over.
//
//go:nosplit
func heisenAccess(op uint64, addr, size, pc uintptr) {
	gp := getg()
	h := (*heisenG)(unsafe.Pointer(gp.racectx))
	if !heisen.on || h == nil || h.mute {
		return
	}
	if addr-gp.stack.lo < gp.stack.hi-gp.stack.lo || !heisenShared(addr) {
		return
	}
	if heisen.watch {
		heisenWatch(h, op == heisenOpWrite, addr, size, heisenPC(pc))
	}
	if heisen.races {
		kind := uint32(heisenFastTrackRead)
		if op == heisenOpWrite {
			kind = heisenFastTrackWrite
		}
		heisenCompare(h, kind, addr, size, pc)
	}
	if heisen.quiet {
		return
	}
	if b := heisenBufOfP(); b == nil {
		atomic.Xadd64(&heisen.lost, 1)
	} else if !heisen.filter {
		heisenPutAccess(h, op, addr, size, heisenPlace(b, h, heisenPC(pc)))
	} else {
		heisenFiltered(b, h, op, addr, size, heisenPC(pc))
	}
}

// heisenFiltered records an access that is not redundant in its span.
//
//go:nosplit
func heisenFiltered(b *heisenBuf, h *heisenG, op uint64, addr, size uintptr, pc uint64) {
	access := op<<heisenOpShift | uint64(addr)
	where := pc<<32 | uint64(min(size, 1<<32-1))
	seen, repeated := b.filter.repeated(h, access, where)
	switch {
	case !repeated:
		heisenPutAccess(h, op, addr, size, heisenPlace(b, h, pc))
		*seen = heisenSeen{access, where, h.span, heisen.era}
	case heisen.marks:
		heisenPutAccess(h, op+heisenOpReadAgain-heisenOpRead, addr, size, heisenPlace(b, h, pc))
	}
}

//go:nosplit
func heisenPutAccess(h *heisenG, op uint64, addr, size uintptr, place uint64) {
	b := heisenOpen(h, 2)
	if b == nil {
		return
	}
	p := b.pos
	heisenWords2(b.word(p), op<<heisenOpShift|uint64(addr), place<<32|uint64(min(size, 1<<32-1)))
	h.words += 2
	b.commit(p + 2)
}

// heisenShared reports whether addr lies in the heap or in the data segments.
//
//go:nosplit
func heisenShared(addr uintptr) bool {
	return addr-racearenastart < racearenaend-racearenastart ||
		addr-racedatastart < racedataend-racedatastart
}

// heisenPC returns pc as an offset into the program's text, 0 if it is not in
// it.
//
//go:nosplit
func heisenPC(pc uintptr) uint64 {
	off := pc - firstmoduledata.text
	if off >= firstmoduledata.etext-firstmoduledata.text {
		return 0
	}
	return uint64(off)
}

// heisenSync records a synchronisation event of h with the next stamp.
//
//go:nosplit
func heisenSync(h *heisenG, op uint64, obj uintptr, fp uintptr) {
	if heisen.races {
		heisenOrder(h, op, obj, fp)
	}
	if heisen.quiet {
		return
	}
	pc := heisenPC(heisenCaller(fp))
	b := heisenOpen(h, 3)
	if b == nil {
		return
	}
	heisenPut(b, h, op, obj, heisenStamp(), pc)
}

//go:nosplit
func heisenPut(b *heisenBuf, h *heisenG, op uint64, obj uintptr, stamp, pc uint64) {
	p := b.pos
	heisenWords2(b.word(p), op<<heisenOpShift|uint64(obj), stamp)
	*(*uint64)(b.word(p + 2)) = heisenPlace(b, h, pc)
	h.words += 3
	b.commit(p + 3)
	b.wrote()
	if heisen.filter {
		heisenPublish(b, h, op, obj)
	}
}

// heisenSyncG is heisenSync for goroutine gp, which is the current one or
// parked, if synchronisation is not ignored just now. Objects on the current
// goroutine's stack are its own and order nothing.
//
//go:nosplit
func heisenSyncG(gp *g, op uint64, obj uintptr, fp uintptr) {
	self := getg()
	if gp != self {
		fp = 0 // this is not where gp stands
	}
	h := (*heisenG)(unsafe.Pointer(gp.racectx))
	if heisenCells.only {
		if heisen.on && h != nil && !h.mute && self.raceignore == 0 && !heisenOnStack(obj) {
			heisenOrder(h, op, obj, fp)
		}
		return
	}
	if heisen.once {
		(*heisenG)(unsafe.Pointer(self.racectx)).settle()
		if op == heisenOpSend { // an element of a channel may be written
			heisenWrites(obj, heisenWroteWide)
		}
	}
	if heisenAcquiring>>op&1 == 0 || heisenWatched.sections || heisenWatched.brief {
		heisenUnwatch(h)
	}
	if !heisen.on || h == nil || h.mute || self.raceignore != 0 || !heisenShared(obj) ||
		obj-self.stack.lo < self.stack.hi-self.stack.lo {
		return
	}
	heisenSync(h, op, obj, fp)
}

// heisenCaller walks up from the frame pointer fp to the first return address
// outside of the standard library: the place in the program that asked for a
// synchronisation. Where the program is not on the stack it settles for the
// first that is not in the packages that do the synchronising; 0 if there is
// none.
//
//go:nosplit
func heisenCaller(fp uintptr) uintptr {
	gp := getg()
	if gp != gp.m.curg {
		return 0 // frame pointers of system stacks do not lead to the program
	}
	return heisenCallerOn(gp, fp)
}

// heisenCallerOn is heisenCaller for a frame pointer into the stack of gp.
//
//go:nosplit
func heisenCallerOn(gp *g, fp uintptr) (best uintptr) {
	for i := 0; i < 24 && fp-gp.stack.lo < gp.stack.hi-gp.stack.lo-16; i++ {
		pc := *(*uintptr)(unsafe.Pointer(fp + goarch.PtrSize))
		if pc == 0 {
			break
		}
		switch heisenLayer(pc) {
		case heisenProgram:
			return pc
		case heisenLibrary:
			if best == 0 {
				best = pc
			}
		}
		fp = *(*uintptr)(unsafe.Pointer(fp))
	}
	return best
}

// The layers of code that heisenCaller tells apart.
const (
	heisenProgram = iota // packages that are not of the standard library
	heisenLibrary        // those that are
	heisenCore           // of those, the ones that synchronise
)

// heisenLayers remembers the layer of return addresses: the address, shifted
// left by two, and the layer. Threads may overwrite each other's entries, each of
// which is one word.
var heisenLayers [4096]uintptr

//go:nosplit
func heisenLayer(pc uintptr) uintptr {
	if v := atomic.Loaduintptr(heisenLayerOf(pc)); v>>2 == pc {
		return v & 3
	}
	return heisenNewLayer(pc)
}

//go:nosplit
func heisenLayerOf(pc uintptr) *uintptr { return &heisenLayers[pc>>2%uintptr(len(heisenLayers))] }

//go:nosplit
func heisenNewLayer(pc uintptr) (layer uintptr) {
	systemstack(func() {
		layer = heisenFindLayer(pc)
	})
	atomic.Storeuintptr(heisenLayerOf(pc), pc<<2|layer)
	return layer
}

// heisenFindLayer tells the layer of the function at pc, the outermost if others
// were inlined into it, by the first element of its package path.
func heisenFindLayer(pc uintptr) uintptr {
	f := findfunc(pc)
	if !f.valid() {
		return heisenCore
	}
	return heisenNameLayer(funcname(f))
}

// heisenNameLayer tells the layer of a function by its name.
func heisenNameLayer(name string) uintptr {
	end := 0
	for end < len(name) && name[end] != '/' && name[end] != '.' && name[end] != '[' {
		end++
	}
	switch root := name[:end]; root {
	case "", "runtime", "sync", "internal":
		return heisenCore
	default:
		for _, std := range heisenStdRoots {
			if root == std {
				return heisenLibrary
			}
		}
	}
	return heisenProgram
}
