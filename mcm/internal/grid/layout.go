package grid

import "math/bits"

// A row is of points that differ in where the last thread is only. Each has a lane of a word,
// which says what memory can hold there; it is empty as long as the point has not been reached.
// So an operation on a word is one on a few points at once.

// layout is how rows are laid out: one lane for each point, several lanes in a word. A lane holds
// the possible contents of memory and is empty if the point has not been reached.
type layout struct {
	size   int    // bits of a lane: 8, 16, 32 or 64
	each   int    // lanes of a word
	full   uint64 // the contents that fit into a lane
	ones   uint64 // the lowest bit of each lane
	highs  uint64 // the highest bit of each lane
	gather uint64 // multiplier; see flags
	words  int    // of a row
}

// newLayout returns the layout of rows with the given number of points and of contents.
func newLayout(points, contents int) layout {
	l := layout{size: 8}
	for l.size < contents {
		l.size *= 2
	}
	l.each, l.full = 64/l.size, 1<<l.size-1
	for lane := range l.each {
		l.ones |= 1 << (lane * l.size)
		l.gather |= 1 << (64 - l.size - lane*(l.size-1))
	}
	l.highs = l.ones << (l.size - 1)
	l.words = (points + l.each - 1) / l.each
	return l
}

// all returns a word with the given contents in all lanes.
func (l *layout) all(contents uint64) uint64 { return contents * l.ones }

// at returns a word with the given contents in the lane of a point.
func (l *layout) at(point int, contents uint64) uint64 {
	return contents << (point % l.each * l.size)
}

// of returns the contents of a point of a row.
func (l *layout) of(row []uint64, point int) uint64 {
	return row[point/l.each] >> (point % l.each * l.size) & l.full
}

// marks returns a word with the highest bit of each lane that is not empty.
func (l *layout) marks(word uint64) uint64 {
	return (word&^l.highs + (l.highs - l.ones) | word) & l.highs
}

// flags returns, in the low bits, one bit for each lane: whether it is not empty.
func (l *layout) flags(word uint64) uint64 {
	// The multiplication brings each bit to its place, and no two of the others to the same one.
	return l.marks(word) >> (l.size - 1) * l.gather >> (64 - l.size) & (1<<l.each - 1)
}

// rows returns a row for each list of places, in which exactly the lanes of these places are full.
func (l *layout) rows(lists [][]uint64) (rows [][]uint64) {
	all := make([]uint64, len(lists)*l.words)
	for i, points := range lists {
		row := all[i*l.words : (i+1)*l.words]
		for w, v := range points {
			for ; v != 0; v &= v - 1 {
				p := 64*w + bits.TrailingZeros64(v)
				row[p/l.each] |= l.at(p, l.full)
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// hints returns a byte for each lane. Bit i is set if the lane has a content whose number is i
// modulo 8.
func (l *layout) hints(word uint64) uint64 {
	switch l.size {
	case 64:
		word |= word >> 32
		word |= word >> 16
		return (word | word>>8) & 0xff
	case 32:
		word |= word >> 16
		word = (word | word>>8) & 0x000000ff000000ff
		return word&0xff | word>>24
	case 16:
		word = (word | word>>8) & 0x00ff00ff00ff00ff
		word = (word | word>>8) & 0x0000ffff0000ffff
		return (word | word>>16) & 0xffffffff
	}
	return word
}
