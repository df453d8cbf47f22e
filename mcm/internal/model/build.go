package model

import (
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/mcm/internal/window"
	"github.com/heisen-go/heisen/mcm/order"
)

// builder makes a Model. This file finds the nodes; uses.go and holds.go find what events have in
// common, and constrain.go the constraints that follow.
type builder struct {
	*Model
	thread   []int32 // by record
	threadOf map[heisen.Thread]int32
	present  []heisen.Thread // threads with records, by first appearance

	bounds        []heisen.Object // where cells start or end, sorted; cell c starts at bounds[c]
	hasRanges     bool            // some events touch several cells
	hasSpans      bool            // there are allocations or BarrierPairs, which touch objects of all kinds
	hasUnowned    bool            // there are unowned locks
	uses          []use           // by cell
	syncs         map[heisen.Object]*syncUse
	values        map[valueKey][]order.Node
	initialValues map[int32]valueKey // by cell

	relevant []bool  // by record: it becomes a node
	bound    []int32 // with ControlFlow, by record: the last one on whose reads it depends as a decision, or -1

	barriers      []barrier
	openAtStart   int            // how many BarrierPairs are open at the start of the window
	opens         []int32        // by record: the BarrierPair that it opens, or -1
	closes        [][]int32      // by record: the BarrierPairs that it closes
	openPairs     [][]int32      // by record: the open BarrierPairs of its thread; nil if there are none in the window
	orderingPairs [][]int32      // by record: those of openPairs that touch a cell of another thread
	relays        []relay        // of the BarrierPairs that are open
	synchronized  []bool         // by record: an open BarrierPair of its thread is heisen.Synchronized; nil if there are none in the window
	before        *happensBefore // nil without synchronized
}

func newBuilder(m *Model) *builder {
	return &builder{
		Model:    m,
		threadOf: map[heisen.Thread]int32{},
		syncs:    map[heisen.Object]*syncUse{},
	}
}

func (b *builder) build() {
	b.findThreads()
	b.findBarriers()
	b.findBounds()
	b.findUses()
	if b.ControlFlow {
		b.findDecisions()
	}
	b.findRelevant()
	b.numberNodes()
	b.findValues()
	b.findUnowned()
	b.constrain()
	b.finish()
}

func (b *builder) findThreads() {
	b.thread = make([]int32, len(b.Records))
	last, known := heisen.Thread(0), int32(-1)
	for i := range b.Records {
		id := b.Records[i].Thread
		if known < 0 || id != last {
			last, known = id, b.threadIndex(id)
		}
		b.thread[i] = known
	}
}

func (b *builder) threadIndex(id heisen.Thread) int32 {
	t, ok := b.threadOf[id]
	if !ok {
		t = int32(len(b.present))
		b.threadOf[id] = t
		b.present = append(b.present, id)
	}
	return t
}

// findRelevant finds the records that become nodes: those that matter by themselves, and those at
// which threads start or are joined. Every feasible reordering keeps program order, so an event that
// no other thread can notice needs no node.
func (b *builder) findRelevant() {
	b.relevant = make([]bool, len(b.Records))
	latest := make([]int32, len(b.present)) // by thread: its latest record, plus one
	started := make([]bool, len(b.present)) // by thread: its next record is the first after its fork
	for i := range b.Records {
		t := b.thread[i]
		b.relevant[i] = b.matters(i) || started[t]
		started[t] = false
		switch r := &b.Records[i]; r.Op {
		case heisen.Fork:
			if child, ok := b.threadOf[r.Object.Thread()]; ok {
				started[child] = true
			}
		case heisen.Join:
			if child, ok := b.threadOf[r.Object.Thread()]; ok && latest[child] > 0 {
				b.relevant[latest[child]-1] = true
			}
		}
		latest[t] = int32(i) + 1
	}
}

// matters reports whether a record constrains other threads or is constrained by them: by a
// BarrierPair, by memory that several threads access and one writes, by a lock, message or atomic
// variable that several threads use, by a fork or join; or, with ControlFlow, because it is a
// decision.
func (b *builder) matters(i int) bool {
	r := &b.Records[i]
	if b.orderingPairs != nil && len(b.orderingPairs[i]) > 0 || b.synchronized != nil && b.synchronized[i] {
		return true
	}
	from, to := b.accessed(r)
	if window.IsAllocation(r.Op) {
		from, to = b.reached(window.AllocationSpan(r))
	}
	for c := from; c < to; c++ {
		if u := &b.uses[c]; u.shared && (u.written || u.ordered) {
			return true
		}
	}
	if at, ok := b.otherCell(r); ok && b.uses[at].shared && b.uses[at].ordered {
		return true
	}
	if s := b.syncs[r.Object]; s != nil && s.shared && (window.IsLockOp(r.Op) || window.IsMessage(r.Op) || r.Op.IsAtomic()) {
		return true
	}
	if r.Op == heisen.Fork || r.Op == heisen.Join {
		t, ok := b.threadOf[r.Object.Thread()]
		return ok && t != b.thread[i]
	}
	return b.ControlFlow && b.bound[i] >= 0
}

// numberNodes numbers the nodes, chain after chain.
func (b *builder) numberNodes() {
	counts := make([]int32, len(b.present))
	b.Node = make([]order.Node, len(b.Records))
	total := 0
	for i, relevant := range b.relevant {
		b.Node[i] = None
		if relevant {
			counts[b.thread[i]]++
			total++
		}
	}
	// Threads without nodes have no chain.
	chainOf := make([]int32, len(b.present))
	at := order.Node(0)
	for t, n := range counts {
		chainOf[t] = int32(len(b.Base))
		if n > 0 {
			b.Base = append(b.Base, at)
			b.threads = append(b.threads, b.present[t])
			at += order.Node(n)
		}
	}
	b.Goal = at
	b.Base = append(b.Base, at, at+1)
	next := slices.Clone(b.Base)
	b.Event = make([]int32, total+1)
	b.Chain = make([]int32, total+1)
	b.Observed = append(make([]order.Node, 0, total+1), b.Goal) // the goal is first, so that an answer has few events before it
	for i, relevant := range b.relevant {
		if relevant {
			c := chainOf[b.thread[i]]
			n := next[c]
			next[c]++
			b.Node[i], b.Event[n], b.Chain[n] = n, int32(i), c
			b.Observed = append(b.Observed, n)
		}
	}
	b.Event[b.Goal], b.Chain[b.Goal] = -1, int32(len(b.Base)-2)
}

// finish sorts the constraints, and computes what depends on all of them.
func (b *builder) finish() {
	width := len(b.Base) - 1
	for i := range b.Cells {
		slices.Sort(b.Cells[i].Writes)
	}
	for i := range b.Locks {
		l := &b.Locks[i]
		slices.SortFunc(l.Sections, func(x, y int32) int { return int(b.Sections[x].Acquire - b.Sections[y].Acquire) })
	}
	slices.SortStableFunc(b.Edges, func(x, y Edge) int { return int(x.To - y.To) })
	b.EnablerAt = make([]int32, int(b.Goal)+2)
	for _, e := range b.Edges {
		b.EnablerAt[e.To+1]++
	}
	for n := range b.Goal + 1 {
		b.EnablerAt[n+1] += b.EnablerAt[n]
	}
	for i := range b.Reads {
		b.HasChoices = b.HasChoices || !b.Reads[i].Fixed
	}
	b.Row(b.Goal)[width-1] = 1
	if b.ControlFlow {
		b.Flow = newFlow(b)
	}
}
