package mcm

import "math/bits"

// slot returns where in a table a packed state is or has to go, see states.table.
func slot(table []int32, words, key []uint64) int {
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

// packing says where in a few words the parts of a state are.
type packing struct {
	size  int // words of a state
	parts []part
}

type part struct {
	word  int32
	shift uint8
	mask  uint64
}

// newPacking has room for states of which no part is greater than that of most.
func newPacking(most []int32) (p packing) {
	used := 64
	for _, v := range most {
		n := bits.Len32(uint32(v))
		if used+n > 64 {
			p.size++
			used = 0
		}
		p.parts = append(p.parts, part{int32(p.size - 1), uint8(used), 1<<n - 1})
		used += n
	}
	return p
}

func (p *packing) pack(now []int32, key []uint64) {
	clear(key)
	for i, v := range now {
		at := &p.parts[i]
		key[at.word] |= uint64(uint32(v)) << at.shift
	}
}

// unpack gets the first parts of a state.
func (p *packing) unpack(key []uint64, now []int32) {
	for i := range now {
		now[i] = p.part(key, i)
	}
}

// part returns one part of a state.
func (p *packing) part(key []uint64, i int) int32 {
	at := &p.parts[i]
	return int32(key[at.word] >> at.shift & at.mask)
}

// content is that a cell holds a class.
type content struct{ cell, class int32 }

// bit stands for a content among others.
func (w content) bit() uint64 { return 1 << ((w.cell*8 + w.class) % 64) }

// waiting is a state that is to be looked at.
type waiting struct {
	state int32
	cost  int32
}

// above says which of two states is looked at first.
func (a waiting) above(b waiting) bool {
	if a.cost != b.cost {
		return a.cost < b.cost
	}
	return a.state > b.state
}
