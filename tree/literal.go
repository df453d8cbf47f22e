package tree

import (
	"slices"
	"unsafe"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/shadow"
)

// literal is TREE as in the thesis: a concurrency context Γ for each thread, which is a path of held
// locks and of messages sent and received, in program order, and a concurrency history Θ, which has the first two threads for each
// program location, type of access, address (the conditions of section 3.3) and context.
type literal struct {
	contexts *contexts
	threads  *shadow.Memory[*gamma]
	live     []*gamma
	locks    *shadow.Memory[uint64] // number of the lock
	sent     *shadow.Memory[uint64] // latest message sent to an object
	numbers  uint64                 // of locks and messages
	theta    theta
	oldTheta theta // the previous generation, under a memory budget
	pairs    uint64
	changes  uint64
}

// budgetChecks is after how many events the size is compared with a budget.
const budgetChecks = 1 << 8

// forget begins anew, also with the numbers of locks and messages.
func (l *literal) forget() {
	pairs, numbers := l.pairs, l.numbers
	*l = *newLiteral()
	l.pairs, l.numbers = pairs, numbers
}

// A step of a path is the number of a lock or message, and in the low bits its kind.
const (
	stepLock uint64 = iota
	stepRead        // a lock held for reading
	stepMessage
	stepHistory // all messages up to a time
	stepBits    = 2
)

// gamma is Γ of a thread: the node of the messages before the earliest held lock, and the later steps,
// with their nodes.
type gamma struct {
	thread heisen.Thread
	root   uint32
	steps  []uint64
	path   []uint32
}

func (g *gamma) node() uint32 {
	if n := len(g.path); n > 0 {
		return g.path[n-1]
	}
	return g.root
}

func newLiteral() *literal {
	return &literal{
		contexts: newContexts(defaultContexts),
		threads:  shadow.New[*gamma](nil, nil),
		locks:    shadow.New[uint64](nil, nil),
		sent:     shadow.New[uint64](nil, nil),
	}
}

// forwardLiteral is Algorithm 1.
func (f *Filter) forwardLiteral(r *heisen.Record) bool {
	l := f.literal
	if l.changes++; f.budget != 0 && l.changes%budgetChecks == 0 && l.bytes() > f.budget*3/4 {
		l.forget()
	}
	g := l.of(r.Thread)
	switch r.Op {
	case heisen.Read, heisen.Write:
		f.accesses++
		if l.redundant(g, thetaKey{object: r.Object, loc: r.Site, write: r.Op == heisen.Write}, f.budget) {
			f.dropped++
			return false
		}
	case heisen.Acquire:
		l.add(g, l.lock(r.Object)+stepLock)
	case heisen.Release:
		l.remove(g, l.lock(r.Object)+stepLock)
	case heisen.AcquireShared:
		l.add(g, l.lock(r.Object)+stepRead)
	case heisen.ReleaseShared:
		l.remove(g, l.lock(r.Object)+stepRead)
	case heisen.Send, heisen.AtomicWrite:
		l.send(g, r.Object)
	case heisen.Receive, heisen.AtomicRead:
		l.receive(g, r.Object)
	case heisen.AtomicUpdate:
		l.receive(g, r.Object)
		l.send(g, r.Object)
	case heisen.Fork, heisen.Join: // a message of which the other side is in no context
		l.add(g, l.number()|stepMessage)
	case heisen.End:
		l.threads.Clear(entryOf(r.Thread), 8)
		l.live = slices.DeleteFunc(l.live, func(other *gamma) bool { return other == g })
	case heisen.Alloc, heisen.Free:
		l.locks.Clear(r.Object, r.Value)
		l.sent.Clear(r.Object, r.Value)
	}
	return true
}

func (l *literal) of(id heisen.Thread) *gamma {
	p := l.threads.At(entryOf(id))
	if *p == nil {
		*p = &gamma{thread: id}
		l.live = append(l.live, *p)
	}
	return *p
}

func (l *literal) number() uint64 {
	l.numbers++
	return l.numbers << stepBits
}

func (l *literal) lock(o heisen.Object) uint64 {
	p := l.locks.At(o)
	if *p == 0 {
		*p = l.number()
	}
	return *p
}

func (l *literal) send(g *gamma, o heisen.Object) {
	n := l.number()
	*l.sent.At(o) = n
	l.add(g, n|stepMessage)
}

func (l *literal) receive(g *gamma, o heisen.Object) {
	if n := l.sent.Peek(o); n != nil && *n != 0 {
		l.add(g, *n|stepMessage)
	}
}

// add is Γ.add. A lock that is already held is not added again.
func (l *literal) add(g *gamma, step uint64) {
	if step&stepMessage == 0 && slices.Contains(g.steps, step) {
		return
	}
	if l.contexts.full(1) {
		l.compact()
	}
	next := l.contexts.child(g.node(), step, 0)
	if len(g.steps) == 0 && step&stepMessage != 0 {
		g.root = next
		return
	}
	g.steps = append(g.steps, step)
	g.path = append(g.path, next)
}

// remove is Γ.remove. It adds the steps after the lock again.
func (l *literal) remove(g *gamma, step uint64) {
	i := len(g.steps) - 1
	for i >= 0 && g.steps[i] != step {
		i--
	}
	if i < 0 {
		return
	}
	after := g.steps[i+1:]
	g.steps, g.path = g.steps[:i], g.path[:i]
	for _, step := range after { // add writes at most one element before the one that is read
		l.add(g, step)
	}
}

// compact drops the contexts that no thread has, and that none can return to by releasing locks.
func (l *literal) compact() {
	c := l.contexts
	for _, g := range l.live {
		// Messages are never removed from a context, so no thread returns to an earlier node.
		if n := &c.nodes[g.root]; g.root != 0 && n.step&stepHistory != stepHistory {
			*n = node{step: l.number() | stepHistory}
		}
	}
	renumbered := c.keep(func(yield func(uint32) bool) {
		for _, g := range l.live {
			if !yield(g.node()) {
				return
			}
		}
	})
	for _, g := range l.live {
		g.root = renumbered[g.root]
		for i, at := range g.path {
			g.path[i] = renumbered[at]
		}
	}
	l.theta.renumber(renumbered)
	l.oldTheta.renumber(renumbered)
	c.limit = max(c.limit, 2*len(c.nodes))
}

func (l *literal) bytes() uint64 {
	return l.contexts.bytes() + l.theta.bytes() + l.oldTheta.bytes() +
		l.threads.Stats().Bytes + l.locks.Stats().Bytes + l.sent.Stats().Bytes
}

// redundant is Algorithm 2.
func (l *literal) redundant(g *gamma, key thetaKey, budget uint64) bool {
	key.context = g.node()
	n := l.theta.find(key)
	if n == nil {
		if budget != 0 && l.theta.grows() && l.bytes()+l.theta.bytes() > budget/2 {
			l.oldTheta, l.theta = l.theta, theta{}
		}
		n = l.theta.insert(key)
		if old := l.oldTheta.find(key); old != nil {
			n.threads, n.count = old.threads, old.count
		} else {
			l.pairs++
		}
	}
	switch {
	case n.count > 0 && n.threads[0] == g.thread, n.count > 1:
		return true
	}
	n.threads[n.count] = g.thread
	n.count++
	return false
}

// theta is Θ of all locations: for each location, type and address the contexts of the accesses, as nodes of the trie, with
// at most two threads each.
type theta struct {
	table []thetaNode // with open addressing; the length is a power of two
	count int
}

type thetaKey struct {
	object  heisen.Object
	loc     heisen.Site
	context uint32
	write   bool
}

type thetaNode struct {
	thetaKey
	threads [2]heisen.Thread
	count   uint8
	used    bool
}

func (th *theta) bytes() uint64 {
	return uint64(len(th.table)) * uint64(unsafe.Sizeof(thetaNode{}))
}

func (th *theta) place(key thetaKey) *thetaNode {
	mask := uint32(len(th.table) - 1)
	h := (uint64(key.loc)<<32|uint64(key.context))*0xbf58476d1ce4e5b9 ^ uint64(key.object)
	h *= 0x9e3779b97f4a7c15
	for i := uint32(h>>32) & mask; ; i = (i + 1) & mask {
		n := &th.table[i]
		if !n.used || n.thetaKey == key {
			return n
		}
	}
}

func (th *theta) find(key thetaKey) *thetaNode {
	if th.count == 0 {
		return nil
	}
	if n := th.place(key); n.used {
		return n
	}
	return nil
}

// grows reports whether the next insert allocates.
func (th *theta) grows() bool { return 2*(th.count+1) > len(th.table) }

// insert adds a node, which must not be in the table.
func (th *theta) insert(key thetaKey) *thetaNode {
	if th.grows() {
		old := th.table
		th.table = make([]thetaNode, max(64, 2*len(old)))
		for _, n := range old {
			if n.used {
				*th.place(n.thetaKey) = n
			}
		}
	}
	th.count++
	n := th.place(key)
	*n = thetaNode{thetaKey: key, used: true}
	return n
}

// renumber applies new numbers of contexts, and drops those that have none.
func (th *theta) renumber(numbers []uint32) {
	old := th.table
	*th = theta{}
	for _, n := range old {
		if n.used && (n.context == 0 || numbers[n.context] != 0) {
			key := n.thetaKey
			key.context = numbers[key.context]
			to := th.insert(key)
			to.threads, to.count = n.threads, n.count
		}
	}
}

// entryOf returns the index of a thread in a table: a word of its own.
func entryOf(id heisen.Thread) heisen.Object { return 8 * heisen.Object(id) }
