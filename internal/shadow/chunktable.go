package shadow

import "math/bits"

// chunkTable finds chunks by number. It is a hash table with open addressing and linear probing, at
// most half full.
type chunkTable[T any] struct {
	places []place[T]
	shift  uint // 64 - log2(len(places))
	count  int
}

type place[T any] struct {
	number uint64
	chunk  *chunk[T] // nil if the place is free
}

// home returns the first place to look for a number, by Fibonacci hashing.
func (t *chunkTable[T]) home(number uint64) int {
	return int(number * 0x9e3779b97f4a7c15 >> t.shift)
}

func (t *chunkTable[T]) find(number uint64) *chunk[T] {
	if t.count == 0 {
		return nil
	}
	mask := len(t.places) - 1
	for i := t.home(number); ; i = (i + 1) & mask {
		p := &t.places[i]
		if p.chunk == nil || p.number == number {
			return p.chunk
		}
	}
}

// insert adds a chunk whose number is not in the table.
func (t *chunkTable[T]) insert(c *chunk[T]) {
	if 2*(t.count+1) > len(t.places) {
		t.grow()
	}
	t.count++
	t.put(c)
}

func (t *chunkTable[T]) put(c *chunk[T]) {
	mask := len(t.places) - 1
	i := t.home(c.number)
	for t.places[i].chunk != nil {
		i = (i + 1) & mask
	}
	t.places[i] = place[T]{c.number, c}
}

func (t *chunkTable[T]) grow() {
	old := t.places
	t.places = make([]place[T], max(16, 2*len(old)))
	t.shift = uint(64 - bits.TrailingZeros(uint(len(t.places))))
	for _, p := range old {
		if p.chunk != nil {
			t.put(p.chunk)
		}
	}
}

// remove removes the chunk with the given number, which must be there. It moves entries into the
// gap, so that a probe never ends at the gap before it reaches its entry.
func (t *chunkTable[T]) remove(number uint64) {
	mask := len(t.places) - 1
	gap := t.home(number)
	for t.places[gap].number != number || t.places[gap].chunk == nil {
		gap = (gap + 1) & mask
	}
	for i := (gap + 1) & mask; t.places[i].chunk != nil; i = (i + 1) & mask {
		// An entry may move into the gap if its home is not between the two.
		if (i-t.home(t.places[i].number))&mask >= (i-gap)&mask {
			t.places[gap] = t.places[i]
			gap = i
		}
	}
	t.places[gap] = place[T]{}
	t.count--
}
