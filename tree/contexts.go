package tree

import "slices"

// contexts is a trie of concurrency contexts. A context is a path from the root, with a step for each
// lock that a thread holds and each message that it has observed. Its number is that of its last
// node. Equal contexts are the same node, and contexts with a common prefix share it. Nodes never
// change: a thread moves to another node.
//
// A step costs a look-up in a hash table. A node takes 16 bytes, and 4 to 8 in the table. Beyond limit
// nodes, all nodes are dropped except those of the threads' present contexts.
type contexts struct {
	nodes []node   // 0 is the root
	table []uint32 // nodes by parent and step, with open addressing; 0 is free
	limit int
}

type node struct {
	step   uint64
	parent uint32
	thread uint32 // number of the thread that created it
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

// reset drops all nodes except the root.
func (c *contexts) reset() {
	c.nodes = append(c.nodes[:0], node{})
	if len(c.table) == 0 {
		c.table = make([]uint32, minContexts)
	} else {
		clear(c.table)
	}
}

// full reports whether another path of n steps would exceed the limit.
func (c *contexts) full(n int) bool { return len(c.nodes)+n > c.limit }

// child returns the node that a step leads to, a new one if there is none.
func (c *contexts) child(parent uint32, step uint64, thread uint32) uint32 {
	// Threads repeat the same paths, and then a node is often next to its parent.
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

// find returns the index of a node in the table, or of the free entry for it.
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

// keep drops all nodes except those on the paths to the given ones. It returns the new numbers of the
// nodes, 0 for those that were dropped.
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

// step is a step of a thread's path, and the node that it leads to.
type step struct {
	lock uint64
	node uint32
}

// queue is the steps of a thread's context, in the order in which they were taken. They are removed at
// either end, and rarely in the middle.
type queue struct {
	steps []uint64
	all   []uint64 // the slice that steps is part of, from its beginning
}

func (q *queue) push(step uint64) {
	if len(q.steps) == cap(q.steps) {
		if 2*len(q.steps) >= cap(q.all) {
			q.all = make([]uint64, 0, max(8, 2*cap(q.all)))
		}
		q.steps = append(q.all, q.steps...)
	}
	q.steps = append(q.steps, step)
}

func (q *queue) clear() { q.steps = q.all[:0] }

// remove removes a step.
func (q *queue) remove(step uint64) {
	last := len(q.steps) - 1
	switch {
	case last < 0:
	case q.steps[last] == step:
		q.steps = q.steps[:last]
	case q.steps[0] == step:
		q.steps = q.steps[1:]
	default:
		for i := last - 1; i > 0; i-- {
			if q.steps[i] == step {
				q.steps = append(q.steps[:i], q.steps[i+1:]...)
				return
			}
		}
	}
}

// pushHeld adds a step to t's held locks, and removeHeld removes one. updateKey computes the path when it
// is needed.
func (f *Filter) pushHeld(t *thread, step uint64) {
	if f.bypass.mode == filtering { // otherwise see rebuildHeld
		t.held.push(step)
		t.keyStale = true
	}
}

func (f *Filter) removeHeld(t *thread, step uint64) {
	if f.bypass.mode == filtering {
		t.held.remove(step)
		t.keyStale = true
	}
}

// updateKey sets t.key to the number of t's context.
func (f *Filter) updateKey(t *thread) {
	c := f.contexts
	held := t.held.steps
	if c.full(len(held) + 2) {
		f.resetContexts()
	}
	if len(t.path) == 0 {
		t.path = append(t.path, step{node: c.child(0, uint64(t.id)<<1, t.number)})
	}
	n := 0 // steps of the path that are up to date
	for n < len(held) && n+1 < len(t.path) && t.path[n+1].lock == held[n] {
		n++
	}
	if n < len(held) {
		t.path = t.path[:n+1]
		for _, lock := range held[n:] {
			t.path = append(t.path, step{lock, c.child(t.path[len(t.path)-1].node, lock, t.number)})
		}
	}
	t.key = uint64(t.path[len(held)].node) << contextShift
	t.keyStale = false
}

// resetContexts drops all contexts. Numbers are reused, and the history's entries with old numbers
// become obsolete.
func (f *Filter) resetContexts() {
	f.contexts.reset()
	f.publishAll()
	for _, t := range f.byNumber {
		if t != nil {
			t.path = t.path[:0]
			t.keyStale = true
		}
	}
}
