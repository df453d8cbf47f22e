package model

import (
	"maps"
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/mcm/internal/window"
	"github.com/heisen-go/heisen/mcm/order"
)

// constrain collects the constraints of all nodes, in the observed order.
func (b *builder) constrain() {
	nodes, width := int(b.Goal)+1, len(b.Base)-1
	b.Rows = make([]int32, nodes*width)
	b.Begins, b.Ends = Unset(nodes), Unset(nodes)
	b.Message, b.Rank = Unset(nodes), make([]int32, nodes)
	b.AccessAt = make([]int32, nodes+1)
	for _, h := range b.Window.Held {
		b.holdAtStart(h)
	}
	latest := make([]order.Node, len(b.present)) // by thread: its latest node, plus one
	forked := make([]order.Node, len(b.present)) // by thread: its fork, plus one
	accesses := make([][]CellAccess, nodes)
	if b.synchronized != nil {
		b.before = &happensBefore{make([]past, len(b.present)), map[int32]past{}, map[heisen.Object]*syncPast{}}
	}
	for k := range b.openAtStart {
		b.openRelay(int32(k))
	}
	for i := range b.Records {
		if i > 0 && b.closes != nil {
			for _, k := range b.closes[i-1] {
				b.closeRelay(k)
			}
		}
		if b.opens != nil && b.opens[i] >= 0 {
			b.openRelay(b.opens[i])
		}
		n := b.Node[i]
		if n == None {
			continue
		}
		r := &b.Records[i]
		t := b.thread[i]
		own := b.Row(n)
		if p := b.Prev(n); p != None {
			copy(own, b.Row(p))
		}
		own[b.Chain[n]] = b.Pos(n) + 1
		if f := forked[t]; f != 0 {
			b.edge(f-1, n)
			forked[t] = 0
		}
		switch r.Op {
		case heisen.Fork:
			if child, ok := b.threadOf[r.Object.Thread()]; ok {
				forked[child] = n + 1
			}
		case heisen.Join:
			if child, ok := b.threadOf[r.Object.Thread()]; ok && latest[child] != 0 {
				b.edge(latest[child]-1, n)
			}
		}
		b.orderOnObjects(i, n)
		accesses[n] = append(b.access(r, n), b.accessUnowned(r, n)...)
		b.synchronize(r, n, t)
		latest[t] = n + 1
	}
	for n := range accesses {
		b.AccessAt[n] = int32(len(b.Accesses))
		b.Accesses = append(b.Accesses, accesses[n]...)
	}
	b.AccessAt[nodes] = int32(len(b.Accesses))
}

// Unset returns a slice of n entries that are -1.
func Unset(n int) []int32 {
	s := make([]int32, n)
	for i := range s {
		s[i] = -1
	}
	return s
}

// edge adds the constraint that from comes before to. It must be called in the observed order of
// to, when no edge leaves to yet, so that only the row of to changes.
func (b *builder) edge(from, to order.Node) {
	if from == to || b.Before(from, to) {
		return
	}
	if b.Chain[from] != b.Chain[to] {
		b.Edges = append(b.Edges, Edge{from, to})
	}
	b.raise(from, to)
}

// readsFrom adds the constraint that from comes before to, where to sees what from wrote or
// releases what from acquired. Unlike after edge, to can be pending before from has happened.
func (b *builder) readsFrom(from, to order.Node) {
	if from == to || b.Before(from, to) {
		return
	}
	b.ReadsFrom = append(b.ReadsFrom, Edge{from, to})
	b.raise(from, to)
}

// raise adds the row of from to the row of to.
func (b *builder) raise(from, to order.Node) {
	row := b.Row(to)
	for c, v := range b.Row(from) {
		row[c] = max(row[c], v)
	}
}

// orderOnObjects orders n on the objects that it touches, as far as these have barriers.
func (b *builder) orderOnObjects(i int, n order.Node) {
	r := &b.Records[i]
	if s := b.syncs[r.Object]; s != nil && s.use.ordered && (window.IsLockOp(r.Op) || window.IsMessage(r.Op) || r.Op.IsAtomic()) {
		b.orderOn(&s.use, n, true)
	}
	b.orderHidden(i, n)
	if !b.hasSpans {
		return
	}
	if b.orderingPairs != nil {
		b.orderByRelays(i, n)
		for _, k := range b.orderingPairs[i] {
			for _, c := range b.barriers[k].cells {
				b.orderOn(&b.uses[c], n, true)
			}
		}
	}
	if window.IsAllocation(r.Op) {
		from, to := b.reached(window.AllocationSpan(r))
		for c := from; c < to; c++ {
			// An allocation keeps its order with later events only. Earlier ones touch another
			// allocation, and may move past it.
			o := &b.uses[c].order
			if o.barrier != 0 {
				b.edge(o.barrier-1, n)
			}
			o.barrier = n + 1
		}
		return
	}
	from, to := b.accessed(r)
	for c := from; c < to; c++ {
		b.orderOn(&b.uses[c], n, false)
	}
	if at, ok := b.otherCell(r); ok {
		b.orderOn(&b.uses[at], n, false)
	}
}

// orderOn adds n to the order of an object, see objectOrder.
func (b *builder) orderOn(u *use, n order.Node, barrier bool) {
	o := &u.order
	if o.barrier != 0 {
		b.edge(o.barrier-1, n)
	}
	switch {
	case barrier:
		for _, e := range slices.Sorted(maps.Values(o.since)) { // sorted: the edges must not depend on chance
			b.edge(e, n)
		}
		clear(o.since)
		o.barrier = n + 1
	case u.ordered:
		if o.since == nil {
			o.since = map[int32]order.Node{}
		}
		o.since[b.Chain[n]] = n
	}
}

// access returns the accesses of a node to cells that several threads access and one writes. An
// allocation overwrites its cells.
func (b *builder) access(r *heisen.Record, n order.Node) (list []CellAccess) {
	from, to := b.accessed(r)
	if window.IsAllocation(r.Op) {
		from, to = b.reached(window.AllocationSpan(r))
	}
	for c := from; c < to; c++ {
		u := &b.uses[c]
		if !u.shared || !u.written {
			continue
		}
		if u.cell == 0 {
			b.Cells = append(b.Cells, cell{})
			u.cell = int32(len(b.Cells))
		}
		t := CellAccess{Cell: u.cell - 1, Read: -1, Write: window.Writes(r)}
		if window.IsRead(r.Op) {
			t.Read = int32(len(b.Reads))
			b.Reads = append(b.Reads, b.readOf(r, n, c))
		}
		if t.Write {
			u.last = n + 1
			b.Cells[t.Cell].Writes = append(b.Cells[t.Cell].Writes, n)
			if u.lockWord {
				b.orderLockWord(u, n, window.IsLockOp(r.Op))
			}
		}
		list = append(list, t)
	}
	return list
}

// orderLockWord keeps operations on a lock in memory in order with other writes to that memory, such
// as its initialization.
func (b *builder) orderLockWord(u *use, n order.Node, operation bool) {
	same, others := &u.writes, u.operations
	if operation {
		same, others = &u.operations, u.writes
	}
	for _, e := range slices.Sorted(maps.Values(others)) { // as in orderOn
		b.readsFrom(e, n)
	}
	if *same == nil {
		*same = map[int32]order.Node{}
	}
	(*same)[b.Chain[n]] = n
}

// readOf returns the read of cell c by a node.
func (b *builder) readOf(r *heisen.Record, n order.Node, c int) Read {
	u := &b.uses[c]
	rd := Read{Node: n, Cell: u.cell - 1, Saw: u.last - 1, Fixed: true}
	if rd.Saw == None {
		rd.Initial = true
	}
	if key, ok := b.valueOf(r, c); ok && b.values != nil {
		rd.Same = b.values[key]
		init, known := b.initialValues[int32(c)]
		rd.Initial = rd.Initial || known && init == key
		switch _, own := slices.BinarySearch(rd.Same, rd.Saw); {
		case len(rd.Same) == 0 && rd.Initial == (rd.Saw == None), len(rd.Same) == 1 && own && !rd.Initial:
			rd.Same = nil
		default:
			rd.Fixed = false
		}
	}
	if b.ControlFlow {
		rd.Fixed, rd.Decides = false, r.Flags&heisen.Decides != 0
	}
	if rd.Fixed && rd.Saw != None {
		b.readsFrom(rd.Saw, n)
	}
	return rd
}

// synchronize adds the constraints of a lock operation or message.
func (b *builder) synchronize(r *heisen.Record, n order.Node, t int32) {
	s := b.syncs[r.Object]
	if s == nil || s.use.ordered {
		return
	}
	shared := r.Op == heisen.AcquireShared || r.Op == heisen.ReleaseShared
	switch r.Op {
	case heisen.Acquire, heisen.AcquireShared:
		b.acquire(s, r.Object, t, shared, n)
		if s.unowned != nil && !shared {
			b.release(s, t, shared, n) // see unownedLock
		}
	case heisen.Release, heisen.ReleaseShared:
		if s.unowned == nil || shared {
			b.release(s, t, shared, n)
		}
	case heisen.Send, heisen.Change:
		q := b.queue(s)
		if r.Op == heisen.Change {
			s.changes = append(s.changes, n)
		} else {
			for i := len(s.changes) - 1; i >= 0; i-- {
				b.edge(s.changes[i], n)
			}
		}
		b.Message[n], b.Rank[n] = q, int32(len(b.Messages[q].Sends))
		b.Messages[q].Sends = append(b.Messages[q].Sends, n)
	case heisen.Receive, heisen.Observe:
		q := b.queue(s)
		sends := b.Messages[q].Sends
		b.Message[n], b.Rank[n] = q, int32(len(sends))
		b.Messages[q].Receives = append(b.Messages[q].Receives, n)
		// All sends so far come before it. From last to first, so that one edge for each chain
		// suffices.
		for i := len(sends) - 1; i >= 0; i-- {
			b.edge(sends[i], n)
		}
	}
}

// queue returns the index of a message in Model.Messages.
func (b *builder) queue(s *syncUse) int32 {
	if s.queue == 0 {
		b.Messages = append(b.Messages, message{})
		s.queue = int32(len(b.Messages))
	}
	return s.queue - 1
}
