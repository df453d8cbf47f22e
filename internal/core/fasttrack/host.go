package fasttrack

import (
	"iter"
	"math/bits"
	"runtime"
	"sync/atomic"
	"unsafe"
)

// The host provides memory that is zero, is allocated when it is touched, and is never moved or
// freed. Package runtime has its own host, internal/recorder/inject/shadow.go. This one serves
// tests and benchmarks. It has one set of arenas, for one table at a time.

// arenas has where the arrays of each kind are.
type arenas struct {
	all        []byte
	vectors    unsafe.Pointer // of maxVectors
	tails      unsafe.Pointer // of maxVectors
	nodes      unsafe.Pointer // of maxNodes
	blocks     unsafe.Pointer // of maxBlocks
	blockRefs  unsafe.Pointer // of maxBlocks
	extensions unsafe.Pointer // of maxExtensions
	overflow   unsafe.Pointer // of maxOverflowEntries
	readers    unsafe.Pointer // of 2*maxReaders
	scratch    scratch
}

// scratch is what a reclamation needs.
type scratch struct {
	all     []byte
	weights unsafe.Pointer // of maxWeights
	marks   unsafe.Pointer // of maxMarks
	classes unsafe.Pointer // of maxClasses
	moved   unsafe.Pointer // of maxMovedOwners
}

var memory arenas

// ReserveMemory reserves the memory of the next table, and releases that of the last one. It returns an error
// that wraps errors.ErrUnsupported on systems other than Linux, and with addresses of 32 bits.
func ReserveMemory() error {
	ReleaseMemory()
	testFreeCache = nil
	m := &memory
	kept := layout{&m.vectors: array[vector](maxVectors), &m.tails: array[vectorTail](maxVectors), &m.nodes: array[node](maxNodes),
		&m.blocks: array[block](maxBlocks), &m.blockRefs: array[blockRefs](maxBlocks), &m.extensions: array[extension](maxExtensions),
		&m.overflow: array[overflowEntry](maxOverflowEntries), &m.readers: array[reader](2 * maxReaders)}
	scratch := layout{&m.scratch.weights: array[weight](maxWeights), &m.scratch.marks: array[mark](maxMarks),
		&m.scratch.classes: array[class](maxClasses), &m.scratch.moved: array[movedOwner](maxMovedOwners)}
	all, err := reserve(kept.size() + scratch.size())
	if err != nil {
		return err
	}
	m.all = all
	m.scratch.all = all[kept.size():]
	kept.place(all)
	scratch.place(m.scratch.all)
	return nil
}

// ReleaseMemory releases the memory of the last table.
func ReleaseMemory() {
	if memory.all != nil {
		release(memory.all)
		memory = arenas{}
	}
}

// layout has the sizes of arrays, in bytes, by what points to them.
type layout map[*unsafe.Pointer]uint64

// array returns the size of an array of n elements: full pages of any system.
func array[E any](n uint64) uint64 {
	const page = 64 << 10
	var e E
	return (n*uint64(unsafe.Sizeof(e)) + page - 1) &^ (page - 1)
}

func (l layout) size() (n uint64) {
	for _, size := range l {
		n += size
	}
	return n
}

// place puts the arrays one behind the other into m.
func (l layout) place(m []byte) {
	at := uint64(0)
	for p, size := range l {
		*p = unsafe.Pointer(&m[at])
		at += size
	}
}

// element returns an element of an array.
func element[E any](array unsafe.Pointer, i uint64) *E {
	var e E
	return (*E)(unsafe.Add(array, uintptr(i)*unsafe.Sizeof(e)))
}

// Word is a shadow cell with its side entries.
type Word struct {
	Cell
	side [cellEntries - 1]atomic.Uint64
}

// sideEntry returns the entry at a side of a cell, 0 or 1. Here it is behind the cell.
//
//go:nosplit
func sideEntry(c *Cell, side uint32) *atomic.Uint64 {
	return &(*Word)(unsafe.Pointer(c)).side[side&1]
}

// nextCell returns the cell of the next word.
//
//go:nosplit
func nextCell(c *Cell) *Cell {
	return (*Cell)(unsafe.Add(unsafe.Pointer(c), unsafe.Sizeof(Word{})))
}

//go:nosplit
func vectorAt(i uint32) *vector { return element[vector](memory.vectors, uint64(i%maxVectors)) }

//go:nosplit
func tailAt(i uint32) *vectorTail { return element[vectorTail](memory.tails, uint64(i%maxVectors)) }

//go:nosplit
func nodeAt(i uint32) *node { return element[node](memory.nodes, uint64(i%maxNodes)) }

//go:nosplit
func blockAt(i uint32) *block { return element[block](memory.blocks, uint64(i%maxBlocks)) }

//go:nosplit
func blockRefsAt(i uint32) *blockRefs {
	return element[blockRefs](memory.blockRefs, uint64(i%maxBlocks))
}

//go:nosplit
func extensionAt(i uint32) *extension {
	return element[extension](memory.extensions, uint64(i%maxExtensions))
}

//go:nosplit
func overflowAt(i uint64) *overflowEntry {
	return element[overflowEntry](memory.overflow, uint64(i%maxOverflowEntries))
}

//go:nosplit
func readerAt(i uint32) *reader { return element[reader](memory.readers, uint64(i%(2*maxReaders))) }

// releaseReaders makes the memory of n sets of readers, from first on, zero.
func releaseReaders(first, n uint32) {
	clear(unsafe.Slice(readerAt(first), n))
}

func weightAt(i uint32) *weight { return element[weight](memory.scratch.weights, uint64(i%maxWeights)) }

func markAt(i uint32) *mark { return element[mark](memory.scratch.marks, uint64(i%maxMarks)) }

func classAt(i uint32) *class { return element[class](memory.scratch.classes, uint64(i%maxClasses)) }

func oldMovedOwnerAt(i uint32) *movedOwner {
	return element[movedOwner](memory.scratch.moved, uint64(i%maxMovedOwners))
}

// releaseScratch makes the memory of a reclamation zero.
func releaseScratch() { zero(memory.scratch.all) }

// testFreeCache is the free cache, if there is one. Tests in which one thread runs at a time may
// set it after ReserveMemory.
var testFreeCache *freeCache

// localFreeCache returns a free cache that no other thread uses before the caller returns, or nil.
// In programs each processor has one.
//
//go:nosplit
func localFreeCache() *freeCache { return testFreeCache }

//go:nosplit
func storeRelease(x *atomic.Uint64, v uint64) { x.Store(v) }

//go:nosplit
func storeRelease32(x *atomic.Uint32, v uint32) { x.Store(v) }

//go:nosplit
func decrement(x *atomic.Uint32) uint32 { return x.Add(^uint32(0)) }

// pauseSpinning is called between attempts to get a lock, with their number.
func pauseSpinning(uint32) { runtime.Gosched() }

// Reclaim makes slots of ended threads available to new ones. It is called with all threads and all
// cells, while no thread is inside another method.
func (t *Table) Reclaim(threads iter.Seq[*Thread], cells iter.Seq[*Cell]) {
	t.BeginReclaim()
	for th := range threads {
		t.ReclaimFrom(th)
	}
	if !t.FindCoverage() {
		return
	}
	for c := range cells {
		t.ReclaimCell(c)
	}
	t.FinishReclaim()
	for th := range threads {
		t.ForgetReclaimed(th)
	}
}

// Access is an access of a kind to the bytes in mask of the word at addr. It tries the same
// functions as a program does.
func (t *Table) Access(th *Thread, c *Cell, addr, place uint64, mask, kind uint32, races *Races) {
	write, entry := kind == Write, th.Epoch|place
	if kind <= Write && (mask&(mask-1) == 0 && t.accessByte(th, c, entry, uint64(mask), write) ||
		t.AccessPlain(th, c, entry, uint64(mask), write)) ||
		t.AccessInCell(th, c, addr, place, mask, kind, races) {
		return
	}
	c.Unlock(t.AccessLocked(th, c, c.Lock(), addr, place, mask, kind, races))
}

// accessByte is what a program tries first for an access to one byte.
func (t *Table) accessByte(th *Thread, c *Cell, entry, mask uint64, write bool) bool {
	if !write && c.SameEpochBeside(th, uintptr(bits.TrailingZeros64(mask))) {
		return true
	}
	head, first := c.Load()
	if c.SameEpochInBytes(th, head, first, uint64(bits.TrailingZeros64(mask)), write) {
		return true
	}
	what := mask
	if write {
		what |= Write << kindShift
	}
	if th.CanRefreshFirst(head, first, what) && c.Refresh(th, &c.first, head, first, entry) {
		return true
	}
	return hasSideEntries(head) && t.refresh(th, c, entry, mask, write)
}

// LockWord is the access that an operation on the lock at addr makes.
func (t *Table) LockWord(th *Thread, c *Cell, addr, place uint64, races *Races) {
	head, mask := c.Lock(), uint64(1)<<(addr&7)
	if c.SameEpochAtomic(th, head, mask, AtomicUpdate) {
		c.Unlock(head)
		return
	}
	if next := t.LockNoRace(th, c, head, place, mask); next != 0 {
		c.Unlock(next)
		return
	}
	c.Unlock(t.AccessLocked(th, c, head, addr&^7, place, uint32(mask), AtomicUpdate, races))
}

// Load is an atomic load of the word at addr, with its order and races, as one step.
func (t *Table) Load(th *Thread, c *Cell, addr, place uint64, load func(), races *Races) {
	if head, turns, recorded := t.BeginLoad(th, c, addr); head != 0 && (recorded || t.RefreshLoad(th, c, place, 1<<(addr&7))) {
		if load(); c.LoadUnchanged(head, turns) {
			return
		}
	}
	t.Atomic(th, c, addr, place, AtomicRead, load, races)
}

// Atomic is an atomic operation of a kind on the byte at addr, as one step.
func (t *Table) Atomic(th *Thread, c *Cell, addr, place uint64, kind uint32, do func(), races *Races) {
	head := c.Lock()
	do()
	if head != 0 {
		recorded := c.SameEpochAtomic(th, head, 1<<(addr&7), kind)
		next, done := t.AtomicInPlace(th, c, head, addr, place, kind, recorded)
		if done {
			c.Unlock(next)
			return
		}
		head = next
	}
	if kind != AtomicWrite {
		head = t.Sync(th, head, addr, Receive)
	}
	if !c.SameEpochAtomic(th, head, 1<<(addr&7), kind) {
		head = t.AccessLocked(th, c, head, addr&^7, place, 1<<(addr&7), kind, races)
	}
	switch kind {
	case AtomicWrite:
		head = t.Sync(th, head, addr, Store)
	case AtomicUpdate:
		head = t.Sync(th, head, addr, Send)
	}
	c.Unlock(head)
}
