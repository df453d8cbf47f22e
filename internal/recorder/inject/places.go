//go:build heisen_inject

package runtime

import (
	"internal/runtime/atomic"
	"internal/runtime/sys"
	"unsafe"
)

// Places. A place is a program counter and the calls that led to it: a node of the tree of all call
// paths that were needed so far. Its parent is the place of the innermost call. Equal places have
// equal numbers, so one number in a record or an entry suffices. A task is a call of its own. Hooks
// look places up on the goroutine's stack, nosplit; adding one takes the system stack and
// heisenPlaces.lock.
//
// The numbers are dense. New nodes are sent before the words that may use them.

const (
	heisenMaxPlaces = 1 << heisenPlaceBits
	heisenRoot      = 1 << 31 // stands for the place of a goroutine without a caller
	heisenMinPlaces = 1 << 17 // where address space is scarce
	// heisenPlacesShare is the part of scarce address space that places may take, of so many.
	heisenPlacesShare = 16
	// heisenSparePlaces is the part that is reserved for places without a path, of which there are
	// few, of so many.
	heisenSparePlaces = 16
	// heisenLocksetPlaces is the part from which on sets of locks are no longer distinguished, of so
	// many.
	heisenLocksetPlaces   = 2
	heisenCachePlaces     = 1 << heisenCacheBits // of a P
	heisenCacheBits       = 12
	heisenLockedPlaceBits = 13 // of the cache of places with locks
)

// heisenPlaces is the tree and the hash table of its nodes.
var heisenPlaces struct {
	nodes uintptr // 64 bits each, by number: parent<<32 | pc; the first is not used
	most  uint32  // number of nodes for which there is memory
	count uint32  // number of nodes, including the first; all of them are complete
	table *heisenTable
	lock  uint32 // for additions
	full  bool   // for call paths

	locksFull bool   // for sets of locks
	sent      uint32 // nodes that were sent; guarded by heisen.sendLock
}

// heisenTable is a hash table of node numbers with open addressing. A table that is too small is
// replaced and not freed, since others may still use it.
//
// Sets of locks, and accesses with the same place, are in groups: what a critical section needs is
// searched in one cache line first. The nodes, which were mostly added together, are together, too.
type heisenTable struct {
	_       sys.NotInHeap
	shift   uint8   // of the hash
	entries uintptr // of 32 bits each: a number, and above it some bits of the node's hash
}

// heisenTableLine is the number of entries in a cache line.
const heisenTableLine = 16

// heisenCachedPlace is an entry of a P's cache of places.
type heisenCachedPlace struct {
	node uint64
	id   uint32
}

// heisenInitPlaces makes an empty tree.
func heisenInitPlaces() bool {
	p := &heisenPlaces
	p.count, p.sent = 1, 1
	p.table = heisenNewTable(12)
	p.most = heisenMaxPlaces
	if left, limited := heisenLimitedSpace(); limited {
		p.most >>= heisenPowerFor(heisenMaxPlaces*8, left/heisenPlacesShare, heisenPlaceBits)
		p.most = max(p.most, heisenMinPlaces)
	}
	p.nodes = uintptr(heisenReserve(uintptr(p.most) * 8))
	return p.nodes != 0
}

func heisenNewTable(bits uint8) *heisenTable {
	t := (*heisenTable)(persistentalloc(unsafe.Sizeof(heisenTable{}), 8, &memstats.other_sys))
	t.shift = 64 - bits
	t.entries = uintptr(sysAlloc(uintptr(4)<<bits, &memstats.other_sys, "heisen call paths"))
	if t.entries == 0 {
		throw("heisen: no memory for call paths")
	}
	return t
}

//go:nosplit
func (t *heisenTable) entry(i uint64) *uint32 {
	return (*uint32)(unsafe.Pointer(t.entries + uintptr(i)*4))
}

//go:nosplit
func heisenNode(id uint32) *uint64 {
	return (*uint64)(unsafe.Pointer(heisenPlaces.nodes + uintptr(id)*8))
}

//go:nosplit
func heisenHash(node uint64) uint64 { return (node ^ node>>29) * 0x9E3779B97F4A7C15 }

// heisenGroupKey returns the number that groups a node with others, if it belongs to a set of locks
// or to an access with one.
//
//go:nosplit
func heisenGroupKey(node uint64) (id uint32, ok bool) {
	switch node >> 32 &^ (heisenMaxPlaces - 1) {
	case heisenNodeHigh, heisenNodeTaken, heisenNodeSite:
		return uint32(node>>32) % heisenMaxPlaces, true
	case heisenNodeAccess:
		return uint32(node), true
	}
	return 0, false
}

// heisenEntryIs reports whether an entry is that of the node with the given hash, and returns the
// node's number.
//
//go:nosplit
func heisenEntryIs(entry uint32, node, hash uint64) (id uint32, ok bool) {
	id = entry % heisenMaxPlaces
	return id, (entry^uint32(hash))>>heisenPlaceBits == 0 && *heisenNode(id) == node
}

// find returns the number of a node, or 0 and the entry where it belongs.
//
//go:nosplit
func (t *heisenTable) find(node uint64) (id uint32, at *uint32) {
	hash := heisenHash(node)
	near, ok := heisenGroupKey(node)
	line := heisenHash(uint64(near/8)) >> t.shift &^ (heisenTableLine - 1)
	mask := uint64(1)<<(64-t.shift) - 1
	for n := uint64(0); ; n++ {
		i := (hash>>t.shift + n) & mask
		if ok && n < heisenTableLine {
			i = line + i%heisenTableLine
		}
		at = t.entry(i)
		entry := atomic.Load(at)
		if entry == 0 {
			return 0, at
		}
		if id, ok := heisenEntryIs(entry, node, hash); ok {
			return id, at
		}
	}
}

// heisenEntryOf returns the entry of a node.
func heisenEntryOf(id uint32) uint32 {
	return uint32(heisenHash(*heisenNode(id)))&^(heisenMaxPlaces-1) | id
}

// place returns the number of a node, 0 if there is no room.
//
//go:nosplit
func (b *heisenBuf) place(parent, pc uint32) uint32 {
	node := uint64(parent)<<32 | uint64(pc)
	c := &b.places[heisenHash(node)>>(64-heisenCacheBits)]
	if c.node == node && c.id != 0 {
		return c.id
	}
	id := heisenFindPlace(node)
	if id == 0 {
		systemstack(func() { id = heisenAddPlace(node) })
	}
	c.node, c.id = node, id
	return id
}

// heisenFindPlace returns the number of a node, 0 if it is not in the tree.
//
//go:nosplit
func heisenFindPlace(node uint64) (id uint32) {
	t := (*heisenTable)(atomic.Loadp(unsafe.Pointer(&heisenPlaces.table)))
	id, _ = t.find(node)
	return id
}

// heisenAddPlace adds a node unless another thread has added it. It must run on the system stack.
func heisenAddPlace(node uint64) uint32 {
	p := &heisenPlaces
	heisenLock(&p.lock)
	id, at := p.table.find(node)
	switch {
	case id != 0:
	case node>>(32+heisenPlaceBits) != 0 && p.count >= p.most/heisenLocksetPlaces && uint32(node>>32) != heisenNodeLow:
		// Sets of locks are not distinguished any more; there is a set of many locks.
		if !p.locksFull {
			p.locksFull = true
			print("heisen: too many sets of locks; reports do not name all locks from here on\n")
		}
	case p.count >= p.most-p.most/heisenSparePlaces && (node>>32 != 0 || p.count == p.most):
		if !p.full {
			p.full = true
			print("heisen: too many call paths; stacks are incomplete from here on\n")
		}
	default:
		id = p.count
		*heisenNode(id) = node
		atomic.Store(&p.count, id+1)
		atomic.Store(at, heisenEntryOf(id))
		if size := uint32(1) << (64 - p.table.shift); id > size/2 {
			t := heisenNewTable(64 - p.table.shift + 1)
			for i := uint32(1); i <= id; i++ {
				_, at := t.find(*heisenNode(i))
				*at = heisenEntryOf(i)
			}
			atomic.StorepNoWB(unsafe.Pointer(&p.table), unsafe.Pointer(t))
		}
	}
	heisenUnlock(&p.lock)
	return id
}

// path returns the place of the innermost call that h is in, 0 if there is none.
//
//go:nosplit
func (h *heisenG) path(b *heisenBuf) uint32 {
	if heisen.entries {
		h.noteEntries()
	}
	return h.top.path(b)
}

// noteEntries notes which calls that h is in are new since its last record: those without a place.
//
//go:nosplit
func (h *heisenG) noteEntries() {
	f := h.top
	for f.place == 0 {
		f = f.below()
	}
	if f == h.top {
		return
	}
	kept := uint32((uintptr(unsafe.Pointer(f))-uintptr(unsafe.Pointer(h.bottom)))/unsafe.Sizeof(heisenFrame{})) + 1
	if h.kept == 0 || kept < h.kept {
		h.kept = kept
	}
}

// path returns the place of a call, 0 if it is none. If there is no room for the path, it lacks its
// innermost calls.
//
//go:nosplit
func (f *heisenFrame) path(b *heisenBuf) (id uint32) {
	last := f
	for f.place == 0 {
		f = f.below()
	}
	id = f.place &^ heisenRoot
	for f != last {
		f = f.above(1)
		if next := b.place(id, f.at()); next != 0 {
			id = next
		}
		f.place = id
	}
	return id
}

// at returns the text offset of the call, or the task.
//
//go:nosplit
func (f *heisenFrame) at() uint32 {
	if f.pc&heisenIsTask != 0 {
		return heisenTaskPlace | uint32(f.pc)
	}
	return uint32(heisenPC(f.pc))
}

// heisenPlace returns the place of h at pc, a text offset, as far as there is room.
//
//go:nosplit
func heisenPlace(b *heisenBuf, h *heisenG, pc uint64) uint64 {
	return uint64(b.placeAt(h.path(b), uint32(pc)))
}

// placeAt is place, or without the call if there is no room.
//
//go:nosplit
func (b *heisenBuf) placeAt(call, pc uint32) uint32 {
	id := b.place(call, pc)
	if id == 0 {
		id = b.place(0, pc)
	}
	return id
}

// heisenSendPlaces sends the nodes that were not sent yet. The caller holds heisen.sendLock.
func heisenSendPlaces() bool {
	count := atomic.Load(&heisenPlaces.count)
	for heisenPlaces.sent < count {
		n := min(count-heisenPlaces.sent, heisenBufWords)
		if !heisenSendNodeNames(heisenPlaces.sent, n) {
			return false
		}
		header := [4]uint32{heisenMsgPlaces, 0, n * 8, 0}
		if !heisenSendAll(unsafe.Pointer(&header), unsafe.Sizeof(header)) ||
			!heisenSendAll(unsafe.Pointer(heisenNode(heisenPlaces.sent)), uintptr(n)*8) {
			return false
		}
		heisenPlaces.sent += n
	}
	return true
}

// heisenTasks numbers tasks. name is the name of the latest, as it is sent.
var heisenTasks struct {
	lock  uint32
	count uint32
	some  bool // there were some: this is a test binary
	name  [heisenMaxTask]byte
}

// heisenBeginTask pushes a task on the shadow stack of h, as a call that its caller has made: it
// ends with the caller, if not before. Its base is a little more than the caller's, so that
// racefuncexit does not take it for the caller's frame.
//
//go:nosplit
func heisenBeginTask(h *heisenG, name string) {
	var task uint32
	systemstack(func() {
		if h.top == h.limit {
			heisenGrow(h)
		}
		if h.top == h.limit {
			return
		}
		t := &heisenTasks
		t.some = true
		heisenLock(&t.lock)
		known := false
		if heisen.mode == heisenModeFollow {
			task, known = heisenNumberTask(name)
		}
		if task == 0 {
			t.count = (t.count + 1) % (heisenTaskPlace - heisenMaxTaskNames)
			task = t.count + heisenMaxTaskNames
		}
		if known || heisenAlone.on {
			heisenUnlock(&t.lock)
			return
		}
		clear(t.name[:])
		n := uintptr(copy(t.name[:], name))
		heisenSend(heisenMsgTask, task, 0, unsafe.Pointer(&t.name), alignUp(n, 8))
		heisenUnlock(&t.lock)
	})
	if h.top == h.limit {
		return
	}
	f := h.top.above(1)
	*f = heisenFrame{pc: heisenIsTask | uintptr(task), base: h.top.base | 1, hidden: h.hidden}
	h.top = f
}

// heisenEndTask pops the innermost task. Calls above it are those that a panic is about to leave.
//
//go:nosplit
func heisenEndTask(h *heisenG) {
	for f := h.top; f != h.bottom; f = f.below() {
		if f.pc&heisenIsTask == 0 {
			continue
		}
		h.ended = uint32(f.pc &^ heisenIsTask)
		for ; f != h.top; f = f.above(1) {
			*f = *f.above(1)
			f.place = 0
		}
		h.top = h.top.below()
		return
	}
}

// latestTask returns the number of the innermost task, or that of the latest one to end, or 0. Package testing ends the task of
// a test that has panicked before the panic ends the program.
func (h *heisenG) latestTask() uint32 {
	for f := h.top; f != h.bottom; f = f.below() {
		if f.pc&heisenIsTask != 0 {
			return uint32(f.pc &^ heisenIsTask)
		}
	}
	return h.ended
}
