package tree

import "slices"

// contexts is a trie of concurrency contexts: a context is a path from the root,
// a step for each thing that a thread holds or has seen, and its number is the
// node that it ends at. Equal contexts are the same node, contexts with a common
// beginning share it, and a node is never changed, so that a thread moves on by
// taking another one.
//
// A step costs a look-up in a hash table. A node takes 16 bytes, and 4 to 8 in
// the table. There are at most limit nodes; then those that the threads stand at
// are kept and the others are forgotten, with what is known of them.
type contexts struct {
	nodes []node   // 0 is the root
	table []uint32 // nodes by parent and step, with open addressing; 0 is empty
	limit int
}

type node struct {
	step   uint64
	parent uint32
	thread uint32 // number of the thread that made it
}

const (
	defaultContexts = 1 << 20
	minContexts     = 1 << 8
)

func newContexts(limit int) *contexts {
	c := &contexts{limit: limit}
	c.reset()
	return c
}

// reset forgets all nodes but the root.
func (c *contexts) reset() {
	c.nodes = append(c.nodes[:0], node{})
	if len(c.table) == 0 {
		c.table = make([]uint32, minContexts)
	} else {
		clear(c.table)
	}
}

// full reports whether there is no room for another path of n steps.
func (c *contexts) full(n int) bool { return len(c.nodes)+n > c.limit }

// child returns the node that a step leads to, making it if need be.
func (c *contexts) child(parent uint32, step uint64, thread uint32) uint32 {
	// Threads walk the same paths again and again, and then a node stands next
	// to its parent.
	if next := int(parent) + 1; next < len(c.nodes) {
		if n := &c.nodes[next]; n.parent == parent && n.step == step {
			return uint32(next)
		}
	}
	i := c.find(parent, step)
	if c.table[i] != 0 {
		return c.table[i]
	}
	if 2*len(c.nodes) >= len(c.table) {
		c.table = make([]uint32, 2*len(c.table))
		for at := 1; at < len(c.nodes); at++ {
			n := &c.nodes[at]
			c.table[c.find(n.parent, n.step)] = uint32(at)
		}
		i = c.find(parent, step)
	}
	c.nodes = append(c.nodes, node{step, parent, thread})
	c.table[i] = uint32(len(c.nodes) - 1)
	return c.table[i]
}

// find returns the place of a node in the table, or the empty one where it
// belongs.
func (c *contexts) find(parent uint32, step uint64) uint32 {
	mask := uint32(len(c.table) - 1)
	h := (step ^ uint64(parent)<<32) * 0x9e3779b97f4a7c15
	for i := uint32(h>>32) & mask; ; i = (i + 1) & mask {
		at := c.table[i]
		if at == 0 || c.nodes[at].parent == parent && c.nodes[at].step == step {
			return i
		}
	}
}

// steps returns the steps that lead to a node.
func (c *contexts) steps(at uint32) (steps []uint64) {
	for ; at != 0; at = c.nodes[at].parent {
		steps = append(steps, c.nodes[at].step)
	}
	slices.Reverse(steps)
	return steps
}

// keep forgets all nodes but those on the paths to the given ones. It returns
// the new numbers of nodes, 0 for those that are gone.
func (c *contexts) keep(ends func(yield func(uint32) bool)) (renumbered []uint32) {
	renumbered = make([]uint32, len(c.nodes))
	for at := range ends {
		for ; at != 0 && renumbered[at] == 0; at = c.nodes[at].parent {
			renumbered[at] = 1
		}
	}
	n := uint32(1)
	for at := 1; at < len(c.nodes); at++ { // parents come before their children
		if renumbered[at] == 0 {
			continue
		}
		kept := c.nodes[at]
		kept.parent = renumbered[kept.parent]
		renumbered[at] = n
		c.nodes[n] = kept
		n++
	}
	c.nodes = c.nodes[:n]
	clear(c.table)
	for at := 1; at < len(c.nodes); at++ {
		c.table[c.find(c.nodes[at].parent, c.nodes[at].step)] = uint32(at)
	}
	return renumbered
}

func (c *contexts) bytes() uint64 {
	return uint64(cap(c.nodes))*16 + uint64(len(c.table))*4
}

// take adds a step to what t holds, and drop takes the last such step away. The
// path is only made when somebody asks for it.
func (t *thread) take(step uint64) {
	t.held = append(t.held, step)
	t.stale = true
}

func (t *thread) drop(step uint64) {
	last := len(t.held) - 1
	i := last
	if i >= 0 && t.held[i] != step {
		if i = 0; t.held[i] != step { // what was taken first often goes first
			for i = last; i >= 0 && t.held[i] != step; i-- {
			}
		}
	}
	if i < 0 {
		return
	}
	t.held = append(t.held[:i], t.held[i+1:]...)
	if len(t.path) > i+1 {
		t.path = t.path[:i+1]
	}
	t.stale = true
}

// locate makes t.who the number of t's context.
func (f *Filter) locate(t *thread) {
	c := f.contexts
	if c.full(len(t.held) + 2) {
		f.resetContexts()
	}
	if len(t.path) == 0 {
		t.path = append(t.path, c.child(0, uint64(t.id)<<1, t.number))
	}
	for i := len(t.path) - 1; i < len(t.held); i++ {
		t.path = append(t.path, c.child(t.path[i], t.held[i], t.number))
	}
	t.who = uint64(t.path[len(t.held)]) << whoShift
	t.stale = false
}

// resetContexts begins a new generation of contexts: numbers are given anew, and
// what the history has under the old ones stands for nothing.
func (f *Filter) resetContexts() {
	f.contexts.reset()
	f.publishAll()
	for _, t := range f.numbers {
		if t != nil {
			t.path = t.path[:0]
			t.stale = true
		}
	}
}
