package mcm

import (
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/mcm/internal/window"
	"github.com/heisen-go/heisen/mcm/order"
)

// constrain goes through the nodes as they were observed.
func (b *builder) constrain() {
	nodes, width := int(b.goal)+1, len(b.base)-1
	b.rows = make([]int32, nodes*width)
	b.begins, b.ends = fill(nodes), fill(nodes)
	b.message, b.rank = fill(nodes), make([]int32, nodes)
	b.touchAt = make([]int32, nodes+1)
	for _, h := range b.window.Held {
		b.holdAtStart(h)
	}
	latest := make([]order.Node, len(b.present)) // by thread: its latest node, plus one
	forked := make([]order.Node, len(b.present)) // by thread: its fork, plus one
	touches := make([][]touch, nodes)
	for k := range b.wasOpen {
		b.opened(int32(k))
	}
	for i := range b.records {
		if i > 0 && b.closes != nil {
			for _, k := range b.closes[i-1] {
				b.closed(k)
			}
		}
		if b.opens != nil && b.opens[i] >= 0 {
			b.opened(b.opens[i])
		}
		n := b.node[i]
		if n == none {
			continue
		}
		r := &b.records[i]
		t := b.thread[i]
		own := b.row(n)
		if p := b.prev(n); p != none {
			copy(own, b.row(p))
		}
		own[b.chain[n]] = b.pos(n) + 1
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
		touches[n] = append(b.touch(r, n), b.pass(r, n)...)
		b.synchronise(r, n, t)
		latest[t] = n + 1
	}
	for n := range touches {
		b.touchAt[n] = int32(len(b.touches))
		b.touches = append(b.touches, touches[n]...)
	}
	b.touchAt[nodes] = int32(len(b.touches))
}

func fill(n int) []int32 {
	s := make([]int32, n)
	for i := range s {
		s[i] = -1
	}
	return s
}

// edge notes that from comes before to in any case. to is the node that is being
// looked at, so that nothing comes after it yet.
func (b *builder) edge(from, to order.Node) {
	if from == to || b.before(from, to) {
		return
	}
	if b.chain[from] != b.chain[to] {
		b.edges = append(b.edges, edge{from, to})
	}
	b.raise(from, to)
}

// sees notes that to, in any case, sees what from wrote or releases what it took.
// That is no condition for it to be next.
func (b *builder) sees(from, to order.Node) {
	if from == to || b.before(from, to) {
		return
	}
	b.seen = append(b.seen, edge{from, to})
	b.raise(from, to)
}

func (b *builder) raise(from, to order.Node) {
	row := b.row(to)
	for c, v := range b.row(from) {
		row[c] = max(row[c], v)
	}
}

// lines keeps n in order with barriers, and, if n is one, with others.
func (b *builder) lines(i int, n order.Node) {
	r := &b.records[i]
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
		l.since[b.chain[n]] = n
	}
}

// touch notes what a node reads and writes. The start and the end of a life
// overwrite what was there.
func (b *builder) touch(r *heisen.Record, n order.Node) (list []touch) {
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
			b.cells = append(b.cells, cell{})
			u.cell = int32(len(b.cells))
		}
		t := touch{cell: u.cell - 1, read: -1, write: window.Writes(r)}
		if window.IsRead(r.Op) {
			t.read = int32(len(b.reads))
			b.reads = append(b.reads, b.readOf(r, n, c))
		}
		if t.write {
			u.last = n + 1
			b.cells[t.cell].writes = append(b.cells[t.cell].writes, n)
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
		b.sees(e, n)
	}
	if *mine == nil {
		*mine = map[int32]order.Node{}
	}
	(*mine)[b.chain[n]] = n
}

func (b *builder) readOf(r *heisen.Record, n order.Node, c int) read {
	u := &b.uses[c]
	rd := read{node: n, cell: u.cell - 1, saw: u.last - 1, hard: true}
	if rd.saw == none {
		rd.init = true
	}
	if key, ok := b.valueOf(r, c); ok && b.values != nil {
		rd.same = b.values[key]
		init, known := b.inits[int32(c)]
		rd.init = rd.init || known && init == key
		switch _, own := slices.BinarySearch(rd.same, rd.saw); {
		case len(rd.same) == 0 && rd.init == (rd.saw == none), len(rd.same) == 1 && own && !rd.init:
			rd.same = nil
		default:
			rd.hard = false
		}
	}
	if b.ControlFlow {
		rd.hard = false
	}
	if rd.hard && rd.saw != none {
		b.sees(rd.saw, n)
	}
	return rd
}

// holdAtStart begins the section of a lock that is held at the window's start.
func (b *builder) holdAtStart(h window.HeldLock) {
	s := b.syncs[h.Lock]
	if s == nil || !s.shared || s.use.ordered || s.gate != nil && !h.Shared {
		return
	}
	b.acquire(s, h.Lock, b.threadOf[h.Thread], h.Shared, none)
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
		if s.gate != nil && !shared {
			b.release(s, t, shared, n)
		}
	case heisen.Release, heisen.ReleaseShared:
		if s.gate == nil || shared {
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
		b.message[n], b.rank[n] = q, int32(len(b.messages[q].sends))
		b.messages[q].sends = append(b.messages[q].sends, n)
	case heisen.Receive, heisen.Observe:
		q := b.queue(s)
		sends := b.messages[q].sends
		b.message[n], b.rank[n] = q, int32(len(sends))
		b.messages[q].receives = append(b.messages[q].receives, n)
		// All sends so far come before it; of each chain the last is enough.
		for i := len(sends) - 1; i >= 0; i-- {
			b.edge(sends[i], n)
		}
	}
}

func (b *builder) queue(s *syncUse) int32 {
	if s.queue == 0 {
		b.messages = append(b.messages, message{})
		s.queue = int32(len(b.messages))
	}
	return s.queue - 1
}

func (b *builder) acquire(s *syncUse, object heisen.Object, t int32, shared bool, n order.Node) {
	for _, f := range s.freed {
		if f.thread == t && n != none {
			b.sees(f.release, n)
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
		b.locks = append(b.locks, lock{object: object})
		s.index = int32(len(b.locks))
	}
	id := int32(len(b.sections))
	chain := int32(-1)
	if n != none {
		chain = b.chain[n]
		b.begins[n] = id
	} else if at := slices.Index(b.threads, b.present[t]); at >= 0 {
		chain = int32(at)
	}
	b.sections = append(b.sections, criticalSection{lock: s.index - 1, chain: chain, shared: shared, acquire: n, release: none})
	l := &b.locks[s.index-1]
	l.sections = append(l.sections, id)
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
		held.inner, held.ended = b.sections[id], true
		held.inner.acquire, held.inner.release = held.again[last], n
		held.again = held.again[:last]
		return
	}
	x := &b.sections[id]
	x.release = n
	b.ends[n] = id
	if g.ended && !b.before(g.inner.release, n) {
		// Another thread ends it, which may now come before the holder has given back what
		// it had acquired again: then the lock is held until that is done.
		inner := int32(len(b.sections))
		b.sections = append(b.sections, g.inner)
		b.locks[g.inner.lock].sections = append(b.locks[g.inner.lock].sections, inner)
		b.ends[g.inner.release] = inner
		if a := g.inner.acquire; a != none {
			b.begins[a] = inner
		}
		x = &b.sections[id]
	}
	if x.chain != b.chain[n] { // another thread releases
		if x.acquire != none {
			b.sees(x.acquire, n)
		}
		s.freed = append(s.freed, freed{holder, n})
	}
}

// finish sorts what is to be searched.
func (b *builder) finish() {
	width := len(b.base) - 1
	for i := range b.cells {
		slices.Sort(b.cells[i].writes)
	}
	for i := range b.locks {
		l := &b.locks[i]
		slices.SortFunc(l.sections, func(x, y int32) int { return int(b.sections[x].acquire - b.sections[y].acquire) })
	}
	slices.SortStableFunc(b.edges, func(x, y edge) int { return int(x.to - y.to) })
	b.intoAt = make([]int32, int(b.goal)+2)
	for _, e := range b.edges {
		b.intoAt[e.to+1]++
	}
	for n := range b.goal + 1 {
		b.intoAt[n+1] += b.intoAt[n]
	}
	for i := range b.reads {
		b.soft = b.soft || !b.reads[i].hard
	}
	b.row(b.goal)[width-1] = 1
	if b.ControlFlow {
		b.flow = newFlow(b)
	}
}
