package fasttrack

import (
	"runtime"
	"sync/atomic"
	"syscall"
	"unsafe"
)

// What the injected files need of their host: memory that is zero, takes room where it
// is touched, and is never moved nor given back. Here there is one for the whole process,
// as in package runtime, for one table at a time.

type arenas struct {
	vectors    [maxVectors]vector
	tails      [maxVectors]vectorTail
	nodes      [maxNodes]node
	blocks     [maxBlocks]block
	blockRefs  [maxBlocks]blockRefs
	extensions [maxExtensions]extension
	overflow   [maxOverflowEntries]overflowEntry
}

var memory *arenas

// ReserveMemory gives the next table its memory.
func ReserveMemory() error {
	ReleaseMemory()
	testFreeCache = nil
	m, err := syscall.Mmap(-1, 0, int(unsafe.Sizeof(arenas{})), syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_ANON|syscall.MAP_PRIVATE|syscall.MAP_NORESERVE)
	if err == nil {
		memory = (*arenas)(unsafe.Pointer(unsafe.SliceData(m)))
	}
	return err
}

// ReleaseMemory gives the memory back that Reserve got.
func ReleaseMemory() {
	if memory != nil {
		syscall.Munmap(unsafe.Slice((*byte)(unsafe.Pointer(memory)), unsafe.Sizeof(arenas{})))
		memory = nil
	}
}

// Word is a cell and what belongs to it elsewhere.
type Word struct {
	Cell
	side [cellEntries - 1]atomic.Uint64
}

// sideEntry returns the note on a side of a cell, 0 or 1. Here it is behind the cell.
//
//go:nosplit
func sideEntry(c *Cell, side uint32) *atomic.Uint64 {
	return &(*Word)(unsafe.Pointer(c)).side[side&1]
}

// nextCell returns the cell of the word behind that of c.
//
//go:nosplit
func nextCell(c *Cell) *Cell {
	return (*Cell)(unsafe.Add(unsafe.Pointer(c), unsafe.Sizeof(Word{})))
}

//go:nosplit
func vectorAt(i uint32) *vector { return &memory.vectors[i%maxVectors] }

//go:nosplit
func tailAt(i uint32) *vectorTail { return &memory.tails[i%maxVectors] }

//go:nosplit
func nodeAt(i uint32) *node { return &memory.nodes[i%maxNodes] }

//go:nosplit
func blockAt(i uint32) *block { return &memory.blocks[i%maxBlocks] }

//go:nosplit
func blockRefsAt(i uint32) *blockRefs { return &memory.blockRefs[i%maxBlocks] }

//go:nosplit
func extensionAt(i uint32) *extension { return &memory.extensions[i%maxExtensions] }

//go:nosplit
func overflowAt(i uint64) *overflowEntry { return &memory.overflow[i%maxOverflowEntries] }

// testFreeCache is what sparesHere returns. Tests in which one thread is at work at a time may set it, after Reserve.
var testFreeCache *freeCache

// localFreeCache returns the spares that only whoever asks has to do with until it returns to its caller, if
// there are some. In a program each processor has its own.
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

// Access takes an access to the bytes of the word at addr that are set in mask, in the shortest way
// that is enough, as a program does.
func (t *Table) Access(th *Thread, c *Cell, addr, place uint64, mask, kind uint32, races *Races) {
	write, entry := kind == Write, th.Epoch|place
	if kind <= Write && (mask&(mask-1) == 0 && t.accessByte(th, c, entry, uint64(mask), write) ||
		t.AccessPlain(th, c, entry, uint64(mask), write)) ||
		t.AccessInCell(th, c, addr, place, mask, kind, races) {
		return
	}
	c.Unlock(t.AccessLocked(th, c, c.Lock(), addr, place, mask, kind, races))
}

// accessByte is what a program does first where an access is to one byte, or said to be.
func (t *Table) accessByte(th *Thread, c *Cell, entry, mask uint64, write bool) bool {
	head, first := c.Load()
	what := mask
	if write {
		what |= Write << kindShift
	}
	if th.CanRefreshFirst(head, first, what) && c.Refresh(th, &c.first, head, first, entry) {
		return true
	}
	return hasSideEntries(head) && t.refresh(th, c, entry, mask, write)
}

// LockWord takes the access that an operation on the lock at addr is, likewise.
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

// Load makes an atomic load of the word at addr, and what order and races come of it, one step,
// as a program does.
func (t *Table) Load(th *Thread, c *Cell, addr, place uint64, load func(), races *Races) {
	if head, turns, recorded := t.BeginLoad(th, c, addr); head != 0 && (recorded || t.RefreshLoad(th, c, place, 1<<(addr&7))) {
		if load(); c.LoadUnchanged(head, turns) {
			return
		}
	}
	t.Atomic(th, c, addr, place, AtomicRead, load, races)
}

// Atomic makes an atomic operation of any kind on the byte at addr, likewise.
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
