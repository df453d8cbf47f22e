package main

// node is an element of a treeSet.
type node struct {
	value               int
	weight              uint32 // not more than that of the parent
	left, right, parent *node
}

// treeSet is a treap: a search tree that is balanced by weights, which are hashes of the values. It
// counts how often it was changed.
type treeSet struct {
	root     *node
	length   int
	modified int
}

func (s *treeSet) size() int { return s.length }

func (s *treeSet) find(x int) *node {
	for n := s.root; n != nil; {
		switch {
		case x < n.value:
			n = n.left
		case x > n.value:
			n = n.right
		default:
			return n
		}
	}
	return nil
}

func (s *treeSet) contains(x int) bool { return s.find(x) != nil }

func (s *treeSet) add(x int) bool {
	var parent *node
	for n := s.root; n != nil; {
		parent = n
		switch {
		case x < n.value:
			n = n.left
		case x > n.value:
			n = n.right
		default:
			return false
		}
	}
	s.modified++ // race:tree.add.modified
	s.length++   // race:tree.add.length
	n := new(node)
	n.value = x       // race:tree.value
	n.parent = parent // race:tree.new
	n.weight = uint32(x) * 2654435769
	switch {
	case parent == nil:
		s.root = n
	case x < parent.value:
		parent.left = n
	default:
		parent.right = n // race:tree.add.right
	}
	for n.parent != nil && n.parent.weight < n.weight {
		s.lift(n)
	}
	return true
}

// lift rotates a node and its parent: the parent is below the node then.
func (s *treeSet) lift(n *node) {
	p := n.parent
	if n == p.left {
		p.left = n.right
		if p.left != nil {
			p.left.parent = p
		}
		n.right = p
	} else {
		p.right = n.left // race:tree.turn.right
		if p.right != nil {
			p.right.parent = p // race:tree.turn.right.parent
		}
		n.left = p // race:tree.lift.left
	}
	s.replace(p, n)
	p.parent = n // race:tree.lift.parent
}

// replace puts n, which may be nil, in the place of old.
func (s *treeSet) replace(old, n *node) {
	parent := old.parent
	switch {
	case parent == nil:
		s.root = n
	case parent.left == old:
		parent.left = n // race:tree.replace.left
	default:
		parent.right = n // race:tree.replace.right
	}
	if n != nil {
		n.parent = parent // race:tree.replace.parent
	}
}

func (s *treeSet) remove(x int) bool {
	n := s.find(x)
	if n == nil {
		return false
	}
	s.modified++ // race:tree.remove.modified
	s.length--   // race:tree.remove.length
	for n.left != nil && n.right != nil {
		if n.left.weight > n.right.weight {
			s.lift(n.left)
		} else {
			s.lift(n.right)
		}
	}
	child := n.left
	if child == nil {
		child = n.right
	}
	s.replace(n, child)
	return true
}

func (s *treeSet) clear() {
	s.modified++ // race:tree.clear.modified
	s.length = 0 // race:tree.clear.length
	s.root = nil
}

func (s *treeSet) iterator() iterator {
	return &treeIterator{s: s, at: first(s.root), modified: s.modified}
}

// first returns the node with the least value.
func first(n *node) *node {
	for n != nil && n.left != nil { // race:tree.first
		n = n.left // race:tree.down
	}
	return n
}

// successor returns the node with the next larger value.
func successor(n *node) *node {
	if right := n.right; right != nil { // race:tree.right
		return first(right)
	}
	for n.parent != nil && n == n.parent.right { // race:tree.up
		n = n.parent // race:tree.climb
	}
	return n.parent // race:tree.parent
}

type treeIterator struct {
	s           *treeSet
	at          *node // the next one
	i, modified int
}

func (it *treeIterator) hasNext() bool {
	return it.i != it.s.length // race:tree.hasnext
}

func (it *treeIterator) next() int {
	if it.modified != it.s.modified { // race:tree.check
		panic(errModified)
	}
	if it.at == nil {
		panic(errNoMore)
	}
	x := it.at.value // race:tree.get
	it.at = successor(it.at)
	it.i++
	return x
}
