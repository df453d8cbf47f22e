package locksets

import "math/bits"

// The sets that are not small are trees, which share all nodes that are equal: a set with one lock more or
// less has a new node for each level, however many locks it has. A leaf has a bit for each of 512 locks with
// neighboring numbers, any other node has 16 children. Node 0 is the empty one. A set has as few levels as
// its largest lock needs, so that equal sets are the same node.

// node is a leaf or has the numbers of its children.
type node [nodeSize]uint32

const (
	nodeSize  = 16
	leafBits  = 9 // of a lock's number, that a leaf tells apart
	childBits = 4
	nodeBytes = 64 + 8 + 2*4 // of a node, its count, and its share of the index
)

// tree is the root of a set, and the number of levels above its leaves.
type tree struct{ root, height uint32 }

// count is how many locks a node has, times two, and one more for a leaf, which may otherwise be equal to a
// node with children.
type count uint64

func countOf(locks uint32, height uint32) count {
	if height == 0 {
		return count(locks)<<1 | 1
	}
	return count(locks) << 1
}

// nodes has the nodes of all trees, each once.
type nodes struct {
	all       []node
	counts    []count
	index     []uint32 // hash table of the nodes with open addressing
	apartness *pairs   // results of apart; nil before the first
}

// pairs is a direct-mapped cache of whether two nodes above the leaves have no lock in common.
type pairs [1 << pairsBits]struct {
	a, b  uint32
	apart bool
}

const pairsBits = 14

func (p *pairs) at(a, b uint32) int {
	return int((a*0x9e3779b1 ^ b*0x85ebca6b) >> (32 - pairsBits))
}

// reset makes s empty, but keeps its memory.
func (s *nodes) reset() {
	s.all, s.counts = append(s.all[:0], node{}), append(s.counts[:0], 0)
	clear(s.index)
	if s.apartness != nil {
		*s.apartness = pairs{}
	}
}

func (s *nodes) bytes() uint64 { return nodeBytes * uint64(len(s.all)) }

// number returns the number of a node, a new one if it has none.
func (s *nodes) number(n *node, c count) uint32 {
	if *n == (node{}) {
		return 0
	}
	if 2*len(s.all) >= len(s.index) {
		s.grow()
	}
	i := s.home(n)
	for ; s.index[i] != 0; i = (i + 1) & (len(s.index) - 1) {
		if s.counts[s.index[i]] == c && s.all[s.index[i]] == *n {
			return s.index[i]
		}
	}
	s.index[i] = uint32(len(s.all))
	s.all, s.counts = append(s.all, *n), append(s.counts, c)
	return s.index[i]
}

func (s *nodes) home(n *node) int {
	hash := uint64(0)
	for i := 0; i < nodeSize; i += 2 {
		hash = (hash ^ (uint64(n[i]) | uint64(n[i+1])<<32)) * 0x9e3779b97f4a7c15
		hash ^= hash >> 29
	}
	return int(hash) & (len(s.index) - 1)
}

func (s *nodes) grow() {
	if len(s.all) == 0 {
		s.reset()
	}
	s.index = make([]uint32, max(64, 2*len(s.index)))
	for k := 1; k < len(s.all); k++ {
		i := s.home(&s.all[k])
		for s.index[i] != 0 {
			i = (i + 1) & (len(s.index) - 1)
		}
		s.index[i] = uint32(k)
	}
}

// place returns where a lock is in a node with a number of levels below it.
func place(l Lock, height uint32) uint32 {
	return uint32(l) >> (leafBits + childBits*(height-1)) & (nodeSize - 1)
}

// fits reports whether a lock is below a root of this height.
func (t tree) fits(l Lock) bool {
	return uint64(l)>>(leafBits+childBits*t.height) == 0
}

func (s *nodes) has(t tree, l Lock) bool {
	if !t.fits(l) {
		return false
	}
	n := t.root
	for h := t.height; h > 0 && n != 0; h-- {
		n = s.all[n][place(l, h)]
	}
	return n != 0 && s.all[n][l>>5&(nodeSize-1)]&(1<<(l%32)) != 0
}

// with returns a tree with one lock more.
func (s *nodes) with(t tree, l Lock) tree {
	for !t.fits(l) {
		t.height++
		if t.root != 0 {
			t.root = s.number(&node{t.root}, countOf(s.locks(t.root), t.height))
		}
	}
	t.root = s.change(t.root, t.height, l, true)
	return t
}

// without returns a tree with one lock less.
func (s *nodes) without(t tree, l Lock) tree {
	t.root = s.change(t.root, t.height, l, false)
	return s.lowered(t)
}

// change returns a node in which a lock is, or is not. It changes it.
func (s *nodes) change(at, height uint32, l Lock, in bool) uint32 {
	n, locks := s.node(at), s.locks(at)
	if height == 0 {
		n[l>>5&(nodeSize-1)] ^= 1 << (l % 32)
		locks--
		if in {
			locks += 2
		}
	} else {
		child := &n[place(l, height)]
		locks -= s.locks(*child)
		*child = s.change(*child, height-1, l, in)
		locks += s.locks(*child)
	}
	return s.number(&n, countOf(locks, height))
}

// build returns the node of sorted locks.
func (s *nodes) build(locks []Lock, height uint32) uint32 {
	var n node
	c := countOf(uint32(len(locks)), height)
	for len(locks) > 0 {
		same := 1
		if l := locks[0]; height == 0 {
			n[l>>5&(nodeSize-1)] |= 1 << (l % 32)
		} else {
			i := place(l, height)
			for same < len(locks) && place(locks[same], height) == i {
				same++
			}
			n[i] = s.build(locks[:same], height-1)
		}
		locks = locks[same:]
	}
	return s.number(&n, c)
}

// treeOf returns the tree of sorted locks.
func (s *nodes) treeOf(locks []Lock) (t tree) {
	for !t.fits(locks[len(locks)-1]) {
		t.height++
	}
	t.root = s.build(locks, t.height)
	return t
}

func (s *nodes) node(at uint32) node {
	if at == 0 {
		return node{}
	}
	return s.all[at]
}

// locks returns how many locks a node has.
func (s *nodes) locks(at uint32) uint32 {
	if at == 0 {
		return 0
	}
	return uint32(s.counts[at] >> 1)
}

// lowered returns a tree without the levels that it does not need.
func (s *nodes) lowered(t tree) tree {
	for t.height > 0 {
		n := s.node(t.root)
		if n[0] = 0; n != (node{}) {
			return t
		}
		t.root = s.node(t.root)[0]
		t.height--
	}
	return t
}

// intersect returns the locks that two trees have in common.
func (s *nodes) intersect(a, b tree) tree {
	a, b = s.level(a, b)
	return s.lowered(tree{s.common(a.root, b.root, a.height), a.height})
}

// level returns the parts of two trees that are below the lower of the two roots.
func (s *nodes) level(a, b tree) (tree, tree) {
	down := func(t tree, height uint32) tree {
		for ; t.height > height; t.height-- {
			t.root = s.node(t.root)[0]
		}
		return t
	}
	return down(a, b.height), down(b, a.height)
}

func (s *nodes) common(a, b, height uint32) uint32 {
	if a == b || a == 0 || b == 0 {
		return min(a, b) // node 0 has no locks
	}
	x, y := s.all[a], s.all[b]
	var n node
	locks := uint32(0)
	for i := range n {
		if height == 0 {
			n[i] = x[i] & y[i]
			locks += uint32(bits.OnesCount32(n[i]))
		} else {
			n[i] = s.common(x[i], y[i], height-1)
			locks += s.locks(n[i])
		}
	}
	return s.number(&n, countOf(locks, height))
}

// disjoint reports whether two trees have no lock in common.
func (s *nodes) disjoint(a, b tree) bool {
	a, b = s.level(a, b)
	return s.apart(a.root, b.root, a.height)
}

func (s *nodes) apart(a, b, height uint32) bool {
	switch {
	case a == 0 || b == 0:
		return true
	case a == b:
		return false
	case height == 0:
		x, y, both := &s.all[a], &s.all[b], uint32(0)
		for i := range x {
			both |= x[i] & y[i]
		}
		return both == 0
	}
	if s.apartness == nil {
		s.apartness = new(pairs)
	}
	a, b = min(a, b), max(a, b)
	known := &s.apartness[s.apartness.at(a, b)]
	if known.a == a && known.b == b {
		return known.apart
	}
	x, y := &s.all[a], &s.all[b]
	apart := true
	for i := 0; apart && i < nodeSize; i++ {
		apart = s.apart(x[i], y[i], height-1)
	}
	known.a, known.b, known.apart = a, b, apart
	return apart
}

// living returns a node without the locks of which alive has no bit. base is the first lock of the node.
func (s *nodes) living(at, height uint32, base Lock, alive []uint32) uint32 {
	if at == 0 {
		return 0
	}
	n, locks := s.all[at], uint32(0)
	for i := range n {
		if height == 0 {
			if n[i] != 0 {
				n[i] &= alive[int(base>>5)+i]
			}
			locks += uint32(bits.OnesCount32(n[i]))
		} else {
			n[i] = s.living(n[i], height-1, base|Lock(i)<<(leafBits+childBits*(height-1)), alive)
			locks += s.locks(n[i])
		}
	}
	if n == s.all[at] {
		return at
	}
	return s.number(&n, countOf(locks, height))
}

// appendLocks appends the locks of a tree, in increasing order.
func (s *nodes) appendLocks(dst []Lock, t tree) []Lock {
	return s.appendBelow(dst, t.root, t.height, 0)
}

func (s *nodes) appendBelow(dst []Lock, at, height uint32, base Lock) []Lock {
	if at == 0 {
		return dst
	}
	for i, c := range s.all[at] {
		if height > 0 {
			dst = s.appendBelow(dst, c, height-1, base|Lock(i)<<(leafBits+childBits*(height-1)))
			continue
		}
		for ; c != 0; c &= c - 1 {
			dst = append(dst, base|Lock(i)<<5|Lock(bits.TrailingZeros32(c)))
		}
	}
	return dst
}

// move copies a node of from, and all below it. moved has the new numbers of those that it has copied.
func (s *nodes) move(from *nodes, moved []uint32, at, height uint32) uint32 {
	if at == 0 || moved[at] != 0 {
		return moved[at]
	}
	n := from.all[at]
	if height > 0 {
		for i := range n {
			n[i] = s.move(from, moved, n[i], height-1)
		}
	}
	moved[at] = s.number(&n, from.counts[at])
	return moved[at]
}
