package moves

import "math/bits"

// FindSlot returns the index in a hash table of a packed state, or of the empty slot where it
// belongs. The table stores state numbers plus one, with linear probing; words stores the states
// one after the other.
func FindSlot(table []int32, words, key []uint64) int {
	h := uint64(14695981039346656037)
	for _, v := range key {
		h = (h ^ v) * 0x9e3779b97f4a7c15
		h ^= h >> 29
	}
	mask := len(table) - 1
next:
	for i := int(h) & mask; ; i = (i + 1) & mask {
		at := int(table[i]) - 1
		if at < 0 {
			return i
		}
		for j, v := range key {
			if words[at*len(key)+j] != v {
				continue next
			}
		}
		return i
	}
}

// Packing is a layout of states as bit fields in a few words.
type Packing struct {
	Words  int // words of a state
	Fields []field
}

// field is the place of one component of a state.
type field struct {
	word  int32
	shift uint8
	mask  uint64
}

// NewPacking returns a layout for states whose components are at most those of most.
func NewPacking(most []int32) (p Packing) {
	used := 64
	for _, v := range most {
		n := bits.Len32(uint32(v))
		if used+n > 64 {
			p.Words++
			used = 0
		}
		p.Fields = append(p.Fields, field{int32(p.Words - 1), uint8(used), 1<<n - 1})
		used += n
	}
	return p
}

// Pack stores the state now in key.
func (p *Packing) Pack(now []int32, key []uint64) {
	clear(key)
	for i, v := range now {
		at := &p.Fields[i]
		key[at.word] |= uint64(uint32(v)) << at.shift
	}
}

// Unpack restores the first len(now) components of a state.
func (p *Packing) Unpack(key []uint64, now []int32) {
	for i := range now {
		now[i] = p.Field(key, i)
	}
}

// Field returns component i of a state.
func (p *Packing) Field(key []uint64, i int) int32 {
	at := &p.Fields[i]
	return int32(key[at.word] >> at.shift & at.mask)
}

// CellValue is a cell and the class that it holds or must hold.
type CellValue struct{ Cell, Class int32 }

// Bit returns the bit of a cell value in a 64-bit signature. Different values may share a bit.
func (w CellValue) Bit() uint64 { return 1 << ((w.Cell*8 + w.Class) % 64) }

// Ranked is a state in a frontier, with its heuristic cost.
type Ranked struct {
	State int32
	Cost  int32
}

// Before reports whether a search expands a before b: states with less cost first, then newer
// ones.
func (a Ranked) Before(b Ranked) bool {
	if a.Cost != b.Cost {
		return a.Cost < b.Cost
	}
	return a.State > b.State
}
