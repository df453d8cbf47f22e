package shadow

import (
	"math/bits"
	"unsafe"
)

// The further entries of a cell are in a group. An arena has all groups of a size, by number, so
// that pages need no pointers to them. A cell has at most 8 entries, 7 besides the first. Groups
// have three sizes.

// ref names a group: its size in the high 2 bits, then its number in the arena of that size plus 1.
// The zero ref is no group.
type ref uint32

const (
	sizes    = 3
	refShift = 30
)

func (r ref) size() uint32  { return uint32(r >> refShift) }
func (r ref) index() uint32 { return uint32(r&(1<<refShift-1)) - 1 }

// capacity is how many entries fit into a group of a size.
func capacity(size uint32) int { return 2<<size - 1 }

// masks has the bytes of each entry of a group: one mask of 8 bits for each, in the order of their
// states, and 0 for no entry.
type masks uint64

const lowBits = 0x0101010101010101

// find returns the index of the entry that has byte b of the word, and whether there is one.
func (m masks) find(b int) (int, bool) {
	has := uint64(m) >> b & lowBits
	return bits.TrailingZeros64(has) / 8, has != 0
}

func (m masks) at(i int) uint8 { return uint8(m >> (8 * i)) }

func (m *masks) set(i int, mask uint8) { *m = *m&^(0xff<<(8*i)) | masks(mask)<<(8*i) }

// len returns the number of entries.
func (m masks) len() int { return (bits.Len64(uint64(m)) + 7) / 8 }

// all returns the bytes of all entries.
func (m masks) all() uint8 {
	m |= m >> 32
	m |= m >> 16
	return uint8(m | m>>8)
}

const arenaBlock = 256

// arena holds the groups of one size.
type arena[T any] struct {
	masks  [][arenaBlock]masks
	states [][]T  // arenaBlock groups
	free   uint32 // first of the list of free groups, by number plus 1; their masks are the links
}

// groups holds all groups.
type groups[T any] struct {
	arenas  [sizes]arena[T]
	entries int // in all groups
}

// masks returns the masks of a group.
func (g *groups[T]) masks(r ref) *masks {
	i := r.index()
	return &g.arenas[r.size()].masks[i/arenaBlock][i%arenaBlock]
}

// states returns the states of a group.
func (g *groups[T]) states(r ref) []T {
	i, n := int(r.index()), capacity(r.size())
	return g.arenas[r.size()].states[i/arenaBlock][i%arenaBlock*n:][:n]
}

// alloc returns an empty group.
func (g *groups[T]) alloc(size uint32) ref {
	a := &g.arenas[size]
	if a.free == 0 {
		a.grow(capacity(size))
	}
	i := a.free - 1
	m := &a.masks[i/arenaBlock][i%arenaBlock]
	a.free, *m = uint32(*m), 0
	return ref(size<<refShift | (i + 1))
}

// grow adds a block of free groups to the list, the lowest number first.
func (a *arena[T]) grow(capacity int) {
	start := len(a.masks) * arenaBlock
	a.masks = append(a.masks, [arenaBlock]masks{})
	a.states = append(a.states, make([]T, arenaBlock*capacity))
	block := &a.masks[len(a.masks)-1]
	for i := arenaBlock - 1; i >= 0; i-- {
		block[i] = masks(a.free)
		a.free = uint32(start + i + 1)
	}
}

// release adds a group to the list of free ones. Its states must be zero.
func (g *groups[T]) release(r ref) {
	a := &g.arenas[r.size()]
	*g.masks(r) = masks(a.free)
	a.free = r.index() + 1
}

// add adds an entry to the group r, which may be none. It returns the group that the entries are in
// then, and the state of the new entry, which is zero.
func (g *groups[T]) add(r ref, mask uint8) (ref, *T) {
	g.entries++
	if r == 0 {
		r = g.alloc(0)
	}
	n := g.masks(r).len()
	if n == capacity(r.size()) {
		old := r
		r = g.alloc(old.size() + 1)
		*g.masks(r) = *g.masks(old)
		copy(g.states(r), g.states(old))
		clear(g.states(old))
		g.release(old)
	}
	g.masks(r).set(n, mask)
	return r, &g.states(r)[n]
}

// remove removes entry i from the group r. It returns r, or 0 if the group is empty then.
func (g *groups[T]) remove(r ref, i int) ref {
	g.entries--
	m, states := g.masks(r), g.states(r)
	last := m.len() - 1
	m.set(i, m.at(last))
	m.set(last, 0)
	states[i] = states[last]
	clear(states[last : last+1])
	if last == 0 {
		g.release(r)
		return 0
	}
	return r
}

// bytes returns the size of all groups, free ones included.
func (g *groups[T]) bytes() (n uint64) {
	var state T
	for size := range g.arenas {
		group := 8 + uint64(capacity(uint32(size)))*uint64(unsafe.Sizeof(state))
		n += uint64(len(g.arenas[size].masks)) * arenaBlock * group
	}
	return n
}
