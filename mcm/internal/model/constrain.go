package model

import (
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/mcm/internal/window"
	"github.com/heisen-go/heisen/mcm/order"
)

// constrain goes through the nodes as they were observed.
func (b *builder) constrain() {
	nodes, width := int(b.Goal)+1, len(b.Base)-1
	b.Rows = make([]int32, nodes*width)
	b.Begins, b.Ends = Fill(nodes), Fill(nodes)
	b.Message, b.Rank = Fill(nodes), make([]int32, nodes)
	b.AccessAt = make([]int32, nodes+1)
	for _, h := range b.Window.Held {
		b.holdAtStart(h)
	}
	latest := make([]order.Node, len(b.present)) // by thread: its latest node, plus one
	forked := make([]order.Node, len(b.present)) // by thread: its fork, plus one
	touches := make([][]CellAccess, nodes)
	for k := range b.wasOpen {
		b.opened(int32(k))
	}
	for i := range b.Records {
		if i > 0 && b.closes != nil {
			for _, k := range b.closes[i-1] {
				b.closed(k)
			}
		}
		if b.opens != nil && b.opens[i] >= 0 {
			b.opened(b.opens[i])
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
		b.lines(i, n)
		touches[n] = append(b.touch(r, n), b.passUnowned(r, n)...)
		b.synchronise(r, n, t)
		latest[t] = n + 1
	}
	for n := range touches {
		b.AccessAt[n] = int32(len(b.Accesses))
		b.Accesses = append(b.Accesses, touches[n]...)
	}
	b.AccessAt[nodes] = int32(len(b.Accesses))
}

func Fill(n int) []int32 {
	s := make([]int32, n)
	for i := range s {
		s[i] = -1
	}
	return s
}

// edge notes that from comes before to in any case. to is the node that is being
// looked at, so that nothing comes after it yet.
func (b *builder) edge(from, to order.Node) {
	if from == to || b.Before(from, to) {
		return
	}
	if b.Chain[from] != b.Chain[to] {
		b.Edges = append(b.Edges, Edge{from, to})
	}
	b.raise(from, to)
}

// readsFrom notes that to, in any case, sees what from wrote or releases what it took.
// That is no condition for it to be next.
func (b *builder) readsFrom(from, to order.Node) {
	if from == to || b.Before(from, to) {
		return
	}
	b.ReadsFrom = append(b.ReadsFrom, Edge{from, to})
	b.raise(from, to)
}

func (b *builder) raise(from, to order.Node) {
	row := b.Row(to)
	for c, v := range b.Row(from) {
		row[c] = max(row[c], v)
	}
}

// lines keeps n in order with barriers, and, if n is one, with others.
func (b *builder) lines(i int, n order.Node) {
	r := &b.Records[i]
	if s := b.syncs[r.Object]; s != nil && s.use.ordered && (window.IsLockOp(r.Op) || window.IsMessage(r.Op) || r.Op.IsAtomic()) {
		b.line(&s.use, n, true)
	}
	if !b.blocks {
		return
	}
	if b.inside != nil {
		b.relay(i, n)
		for _, k := range b.inside[i] {
			for _, c := range b.barriers[k].uses {
				b.line(&b.uses[c], n, true)
			}
		}
	}
	if window.IsAllocation(r.Op) {
		from, to := b.reached(window.AllocationSpan(r))
		for c := from; c < to; c++ { // only what comes later needs it
			l := &b.uses[c].line
			if l.barrier != 0 {
				b.edge(l.barrier-1, n)
			}
			l.barrier = n + 1
		}
		return
	}
	from, to := b.accessed(r)
	for c := from; c < to; c++ {
		b.line(&b.uses[c], n, false)
	}
	if at, ok := b.otherCell(r); ok {
		b.line(&b.uses[at], n, false)
	}
}

// line puts n on the line of what it touches.
func (b *builder) line(u *use, n order.Node, barrier bool) {
	l := &u.line
	if l.barrier != 0 {
		b.edge(l.barrier-1, n)
	}
	switch {
	case barrier:
		for _, e := range l.since {
			b.edge(e, n)
		}
		clear(l.since)
		l.barrier = n + 1
	case u.ordered:
		if l.since == nil {
			l.since = map[int32]order.Node{}
		}
		l.since[b.Chain[n]] = n
	}
}

// touch notes what a node reads and writes. The start and the end of a life
// overwrite what was there.
func (b *builder) touch(r *heisen.Record, n order.Node) (list []CellAccess) {
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
			if u.locked {
				b.word(u, n, window.IsLockOp(r.Op))
			}
		}
		list = append(list, t)
	}
	return list
}

// word keeps operations on a lock in order with what else overwrites its memory, as
// its initialisation does.
func (b *builder) word(u *use, n order.Node, operation bool) {
	mine, others := &u.writes, u.operations
	if operation {
		mine, others = &u.operations, u.writes
	}
	for _, e := range others {
		b.readsFrom(e, n)
	}
	if *mine == nil {
		*mine = map[int32]order.Node{}
	}
	(*mine)[b.Chain[n]] = n
}

func (b *builder) readOf(r *heisen.Record, n order.Node, c int) Read {
	u := &b.uses[c]
	rd := Read{Node: n, Cell: u.cell - 1, Saw: u.last - 1, Fixed: true}
	if rd.Saw == None {
		rd.Initial = true
	}
	if key, ok := b.valueOf(r, c); ok && b.values != nil {
		rd.Same = b.values[key]
		init, known := b.inits[int32(c)]
		rd.Initial = rd.Initial || known && init == key
		switch _, own := slices.BinarySearch(rd.Same, rd.Saw); {
		case len(rd.Same) == 0 && rd.Initial == (rd.Saw == None), len(rd.Same) == 1 && own && !rd.Initial:
			rd.Same = nil
		default:
			rd.Fixed = false
		}
	}
	if b.ControlFlow {
		rd.Fixed = false
	}
	if rd.Fixed && rd.Saw != None {
		b.readsFrom(rd.Saw, n)
	}
	return rd
}

// holdAtStart begins the section of a lock that is held at the window's start.
func (b *builder) holdAtStart(h window.HeldLock) {
	s := b.syncs[h.Lock]
	if s == nil || !s.shared || s.use.ordered || s.unowned != nil && !h.Shared {
		return
	}
	b.acquire(s, h.Lock, b.threadOf[h.Thread], h.Shared, None)
}

// synchronise notes what a lock operation or message means for n.
func (b *builder) synchronise(r *heisen.Record, n order.Node, t int32) {
	s := b.syncs[r.Object]
	if s == nil || s.use.ordered {
		return
	}
	shared := r.Op == heisen.AcquireShared || r.Op == heisen.ReleaseShared
	switch r.Op {
	case heisen.Acquire, heisen.AcquireShared:
		b.acquire(s, r.Object, t, shared, n)
		if s.unowned != nil && !shared {
			b.release(s, t, shared, n)
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
		// All sends so far come before it; of each chain the last is enough.
		for i := len(sends) - 1; i >= 0; i-- {
			b.edge(sends[i], n)
		}
	}
}

func (b *builder) queue(s *syncUse) int32 {
	if s.queue == 0 {
		b.Messages = append(b.Messages, message{})
		s.queue = int32(len(b.Messages))
	}
	return s.queue - 1
}

func (b *builder) acquire(s *syncUse, object heisen.Object, t int32, shared bool, n order.Node) {
	for _, f := range s.freed {
		if f.thread == t && n != None {
			b.readsFrom(f.release, n)
		}
	}
	for i := range s.grips {
		if g := &s.grips[i]; g.thread == t && g.shared == shared {
			g.times++ // it holds it already
			g.again = append(g.again, n)
			return
		}
	}
	if s.index == 0 {
		b.Locks = append(b.Locks, lock{object: object})
		s.index = int32(len(b.Locks))
	}
	id := int32(len(b.Sections))
	chain := int32(-1)
	if n != None {
		chain = b.Chain[n]
		b.Begins[n] = id
	} else if at := slices.Index(b.threads, b.present[t]); at >= 0 {
		chain = int32(at)
	}
	b.Sections = append(b.Sections, CriticalSection{Lock: s.index - 1, Chain: chain, Shared: shared, Acquire: n, Release: None})
	l := &b.Locks[s.index-1]
	l.Sections = append(l.Sections, id)
	s.grips = append(s.grips, openGrip{section: id, thread: t, shared: shared, times: 1})
}

func (b *builder) release(s *syncUse, t int32, shared bool, n order.Node) {
	at := s.gripOf(t, shared)
	if at < 0 {
		return // checkLocks has excluded it
	}
	g := s.grips[at] // it may go
	id, holder := g.section, g.thread
	if !s.drop(at) {
		held := &s.grips[at]
		last := len(held.again) - 1
		held.inner, held.ended = b.Sections[id], true
		held.inner.Acquire, held.inner.Release = held.again[last], n
		held.again = held.again[:last]
		return
	}
	x := &b.Sections[id]
	x.Release = n
	b.Ends[n] = id
	if g.ended && !b.Before(g.inner.Release, n) {
		// Another thread ends it, which may now come before the holder has given back what
		// it had acquired again: then the lock is held until that is done.
		inner := int32(len(b.Sections))
		b.Sections = append(b.Sections, g.inner)
		b.Locks[g.inner.Lock].Sections = append(b.Locks[g.inner.Lock].Sections, inner)
		b.Ends[g.inner.Release] = inner
		if a := g.inner.Acquire; a != None {
			b.Begins[a] = inner
		}
		x = &b.Sections[id]
	}
	if x.Chain != b.Chain[n] { // another thread releases
		if x.Acquire != None {
			b.readsFrom(x.Acquire, n)
		}
		s.freed = append(s.freed, freed{holder, n})
	}
}

// finish sorts what is to be searched.
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
