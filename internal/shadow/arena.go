package shadow

// node is a further class of a word.
type node[T any] struct {
	mask  uint8
	next  uint32 // next class of the word, or next free node
	state T
}

const arenaBlock = 256

// arena holds nodes by number, so that pages need no pointers to them. Numbers
// start at 1; nodes never move.
type arena[T any] struct {
	blocks []*[arenaBlock]node[T]
	free   uint32 // list of free nodes
	used   int
}

func (a *arena[T]) at(i uint32) *node[T] {
	return &a.blocks[i/arenaBlock][i%arenaBlock]
}

// alloc returns a node with arbitrary content.
func (a *arena[T]) alloc() (uint32, *node[T]) {
	if a.free == 0 {
		a.grow()
	}
	i := a.free
	n := a.at(i)
	a.free = n.next
	a.used++
	return i, n
}

// grow adds a block of free nodes, lowest number first in the list.
func (a *arena[T]) grow() {
	start := len(a.blocks) * arenaBlock
	a.blocks = append(a.blocks, new([arenaBlock]node[T]))
	for i := start + arenaBlock - 1; i >= max(start, 1); i-- {
		a.at(uint32(i)).next = a.free
		a.free = uint32(i)
	}
}

func (a *arena[T]) release(i uint32) {
	*a.at(i) = node[T]{next: a.free}
	a.free = i
	a.used--
}
