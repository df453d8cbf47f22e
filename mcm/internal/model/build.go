package model

import (
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/mcm/internal/window"
	"github.com/heisen-go/heisen/mcm/order"
)

// builder makes a Model. This file finds the nodes, the events that constrain others or
// are constrained, and what they have in common; constrain.go says what follows.
type builder struct {
	*Model
	thread   []int32 // by record
	threadOf map[heisen.Thread]int32
	present  []heisen.Thread // threads with records, by first appearance

	points     []heisen.Object // where cells start or end, sorted
	ranges     bool            // whether anything touches several cells
	blocks     bool            // whether there are lives and BarrierPairs
	hasUnowned bool            // whether there are any
	uses       []use           // by point: of the cell that starts there
	syncs      map[heisen.Object]*syncUse

	relevant []bool // by record
	barriers []barrier
	wasOpen  int       // how many BarrierPairs were open before the window
	opens    []int32   // by record: the BarrierPair that it opens, or -1
	closes   [][]int32 // by record: those that it closes
	relays   []relay   // that are open
	within   [][]int32 // by record: the open BarrierPairs of its thread
	inside   [][]int32 // by record: the open BarrierPairs of its thread that matter; nil if there are none

	values map[valueKey][]order.Node
	inits  map[int32]valueKey // by point
}

// use says who touches a cell or object.
type use struct {
	thread  int32 // the first, plus one; 0 is nobody
	shared  bool  // another one, too
	plain   bool  // by accesses
	written bool
	ordered bool // some touches keep their order with all others
	line    line // if it is ordered

	locked             bool                 // it is a lock in memory
	writes, operations map[int32]order.Node // of such, by chain: the last
	last               order.Node           // the last write, plus one
	cell               int32                // its number, plus one
}

func (u *use) by(thread int32) {
	switch u.thread {
	case 0:
		u.thread = thread + 1
	case thread + 1:
	default:
		u.shared = true
	}
}

// syncUse is a use of a lock or message.
type syncUse struct {
	use
	lock, message bool
	index         int32 // of the lock, plus one
	queue         int32 // of the message, plus one
	grips         []openGrip
	freed         []freed
	changes       []order.Node

	again   bool // a thread takes it that holds it
	foreign bool // a thread ends another one's exclusive hold
	unowned *unownedLock
}

// freed is that another thread ended a thread's hold of a lock that is no gate, or for
// reading.
type freed struct {
	thread  int32 // whose hold it was
	release order.Node
}

// openGrip is a section that has not ended, and how often its thread holds the
// lock.
type openGrip struct {
	section int32
	thread  int32
	shared  bool
	times   int
	again   []order.Node    // where it was acquired again and is still so held
	inner   CriticalSection // the latest part that the thread has ended so, if ended
	ended   bool
}

// line keeps touches of an object in order: those that are barriers with all, and
// others with barriers.
type line struct {
	barrier order.Node           // the last one, plus one
	since   map[int32]order.Node // by chain: the last touch since then
}

// valueKey is a value of a cell: equal keys are equal bytes.
type valueKey struct {
	point  int32
	offset uint16
	length uint16
	value  uint64
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
	b.findPoints()
	b.findUses()
	b.findRelevant()
	b.number()
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

// findPoints finds where cells start and end.
func (b *builder) findPoints() {
	for i := range b.Records {
		r := &b.Records[i]
		b.ranges = b.ranges || r.Op.IsAccess() && r.Len > 1
		b.blocks = b.blocks || window.IsAllocation(r.Op)
	}
	b.blocks = b.blocks || len(b.barriers) > 0
	b.ranges = b.ranges || b.blocks
	add := func(s heisen.Span) {
		b.points = append(b.points, s.Start)
		if b.ranges {
			b.points = append(b.points, window.End(s))
		}
	}
	for i := range b.Records {
		r := &b.Records[i]
		switch {
		case r.Op.IsAccess():
			add(heisen.Span{Start: r.Object, Len: r.Size()})
		case !b.blocks:
			if b.ranges && r.Access() != heisen.Invalid { // a lock that a range may cover
				add(heisen.Span{Start: r.Object, Len: 1})
			}
		case window.IsAllocation(r.Op):
			add(window.AllocationSpan(r))
		default:
			if o, ok := other(r); ok {
				add(heisen.Span{Start: o, Len: 1})
			}
		}
	}
	for i := range b.barriers {
		for _, s := range b.barriers[i].spans {
			add(s)
		}
	}
	slices.Sort(b.points)
	b.points = slices.Compact(b.points)
	b.uses = make([]use, len(b.points))
}

// other returns the object that an event touches without being an access.
func other(r *heisen.Record) (heisen.Object, bool) {
	switch r.Op {
	case heisen.Fork, heisen.Join:
		return heisen.ThreadObject(r.Object.Thread()), true
	case heisen.Begin, heisen.End:
		return heisen.ThreadObject(r.Thread), true
	}
	return r.Object, window.IsLockOp(r.Op) || window.IsMessage(r.Op)
}

// cellsOf returns the cells from start on, size bytes: a range of indices.
func (b *builder) cellsOf(start heisen.Object, size uint64) (from, to int) {
	from, _ = slices.BinarySearch(b.points, start)
	if !b.ranges {
		return from, from + 1
	}
	after := window.End(heisen.Span{Start: start, Len: size})
	for to = from + 1; to < len(b.points) && b.points[to] < after; to++ {
	}
	return from, to
}

// accessed returns the cells that an access touches, none if r is none. Locks in
// memory count if that memory is accessed otherwise, too.
func (b *builder) accessed(r *heisen.Record) (from, to int) {
	switch {
	case r.Op.IsAccess():
		return b.cellsOf(r.Object, r.Size())
	case r.Access() == heisen.Invalid:
		return 0, 0
	}
	if at, ok := slices.BinarySearch(b.points, r.Object); ok && b.uses[at].plain {
		return at, at + 1
	}
	return 0, 0
}

func (b *builder) sync(o heisen.Object) *syncUse {
	s := b.syncs[o]
	if s == nil {
		s = new(syncUse)
		b.syncs[o] = s
	}
	return s
}

// findUses finds which threads use what.
func (b *builder) findUses() {
	for i := range b.Records {
		r := &b.Records[i]
		if r.Op.IsAccess() {
			from, to := b.cellsOf(r.Object, r.Size())
			for c := from; c < to; c++ {
				u := &b.uses[c]
				u.by(b.thread[i])
				u.plain = true
				u.written = u.written || r.Op.IsWrite()
			}
		}
	}
	for _, h := range b.Window.Held {
		s := b.sync(h.Lock)
		s.lock = true
		s.by(b.threadIndex(h.Thread))
	}
	for i := range b.Records {
		r := &b.Records[i]
		t := b.thread[i]
		if window.IsLockOp(r.Op) || window.IsMessage(r.Op) {
			s := b.sync(r.Object)
			s.by(t)
			s.lock = s.lock || window.IsLockOp(r.Op)
			s.message = s.message || window.IsMessage(r.Op)
			from, to := b.accessed(r)
			for c := from; c < to; c++ {
				b.uses[c].by(t)
				b.uses[c].written, b.uses[c].locked = true, true
			}
		}
		if b.blocks {
			if window.IsAllocation(r.Op) {
				from, to := b.reached(window.AllocationSpan(r))
				for c := from; c < to; c++ {
					b.uses[c].by(t)
					b.uses[c].ordered, b.uses[c].written = true, true
				}
			} else if at, ok := b.otherCell(r); ok {
				b.uses[at].by(t)
			}
		}
	}
	// What is one thing for one thread and another for another keeps its order.
	for i := range b.Records {
		if r := &b.Records[i]; r.Op.IsAtomic() {
			if s := b.syncs[r.Object]; s != nil {
				s.ordered = true
				s.by(b.thread[i])
			}
		}
	}
	for _, s := range b.syncs {
		s.ordered = s.ordered || s.lock && s.message
	}
	b.checkLocks()
	b.useBarriers()
}

// otherCell returns the cell of what an event touches without being an access.
func (b *builder) otherCell(r *heisen.Record) (at int, ok bool) {
	if !b.blocks {
		return 0, false
	}
	o, ok := other(r)
	if !ok {
		return 0, false
	}
	return slices.BinarySearch(b.points, o)
}

// checkLocks marks locks whose events no two threads that keep to the discipline
// of locks can show: such a lock keeps the order of all its events.
func (b *builder) checkLocks() {
	for _, h := range b.Window.Held {
		s := b.sync(h.Lock)
		s.again = s.again || s.holds(b.threadIndex(h.Thread), h.Shared)
		if !s.grab(b.threadIndex(h.Thread), h.Shared) {
			s.ordered = true
		}
	}
	for i := range b.Records {
		r := &b.Records[i]
		if !window.IsLockOp(r.Op) {
			continue
		}
		s, shared := b.sync(r.Object), r.Op == heisen.AcquireShared || r.Op == heisen.ReleaseShared
		switch r.Op {
		case heisen.Acquire, heisen.AcquireShared:
			s.again = s.again || s.holds(b.thread[i], shared)
			if !s.grab(b.thread[i], shared) {
				s.ordered = true
			}
		default:
			g := s.gripOf(b.thread[i], shared)
			s.foreign = s.foreign || g >= 0 && s.grips[g].thread != b.thread[i] && !shared
			if g < 0 || s.grips[g].thread != b.thread[i] && s.grips[g].times > 1 {
				s.ordered = true
			}
			if g >= 0 {
				s.drop(g)
			}
		}
	}
	for _, s := range b.syncs {
		s.grips = s.grips[:0]
		if s.foreign && !s.again && !s.ordered && !b.Literal {
			s.unowned, b.hasUnowned = new(unownedLock), true
		}
	}
}

// grab adds a hold of the lock by a thread and reports whether it can have it.
func (s *syncUse) grab(thread int32, shared bool) bool {
	own := -1
	for i, g := range s.grips {
		if g.thread != thread && !(shared && g.shared) {
			return false
		}
		if g.thread == thread && g.shared == shared {
			own = i
		}
	}
	if own >= 0 {
		s.grips[own].times++
	} else {
		s.grips = append(s.grips, openGrip{section: -1, thread: thread, shared: shared, times: 1})
	}
	return true
}

// gripOf returns the hold that a release by thread ends: its own, else anybody's,
// for locks of Go have no owner; -1 if there is none.
func (s *syncUse) gripOf(thread int32, shared bool) int {
	at := -1
	for i, g := range s.grips {
		if g.shared == shared && (at < 0 || g.thread == thread) {
			at = i
			if g.thread == thread {
				break
			}
		}
	}
	return at
}

// drop ends a hold, and reports whether the lock is then not held so any more.
func (s *syncUse) drop(at int) bool {
	if s.grips[at].times--; s.grips[at].times > 0 {
		return false
	}
	s.grips = slices.Delete(s.grips, at, at+1)
	return true
}

// findRelevant finds the records that are nodes. Where threads start and are joined
// there is one, and what only one thread touches, or
// nobody writes, is in any order that keeps each thread's steps as it was.
func (b *builder) findRelevant() {
	b.relevant = make([]bool, len(b.Records))
	latest := make([]int32, len(b.present)) // by thread: its latest record, plus one
	started := make([]bool, len(b.present)) // by thread: whether its next record is the first after its fork
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

func (b *builder) matters(i int) bool {
	r := &b.Records[i]
	if b.inside != nil && len(b.inside[i]) > 0 {
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
	switch {
	case r.Op == heisen.Fork || r.Op == heisen.Join:
		t, ok := b.threadOf[r.Object.Thread()]
		return ok && t != b.thread[i]
	}
	return b.ControlFlow && b.decides(r)
}

// decides reports whether what a thread does next may depend on what it has read
// before r, or in it.
func (b *builder) decides(r *heisen.Record) bool {
	from, to := b.accessed(r)
	return r.Op == heisen.Branch || from < to && window.IsRead(r.Op) && r.Op != heisen.Read
}

// number numbers the nodes.
func (b *builder) number() {
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
	b.Observed = append(make([]order.Node, 0, total+1), b.Goal) // as few events before it as will do
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

// findValues finds which writes wrote the same value.
func (b *builder) findValues() {
	any := false
	for i := range b.Records {
		if r := &b.Records[i]; r.Flags&heisen.HasValue != 0 && b.relevant[i] && window.IsRead(r.Op) {
			any = true
			break
		}
	}
	if !any {
		return
	}
	b.values = map[valueKey][]order.Node{}
	b.inits = map[int32]valueKey{}
	written := make([]bool, len(b.points))
	for _, n := range b.Observed[1:] {
		r := &b.Records[b.Event[n]]
		if window.IsAllocation(r.Op) {
			for c, to := b.reached(window.AllocationSpan(r)); c < to; c++ {
				written[c] = true
			}
			continue
		}
		from, to := b.accessed(r)
		for c := from; c < to; c++ {
			key, ok := b.valueOf(r, c)
			if ok && window.IsRead(r.Op) && !written[c] {
				if _, known := b.inits[int32(c)]; !known {
					b.inits[int32(c)] = key
				}
			}
			if ok && r.Op.IsWrite() {
				b.values[key] = append(b.values[key], n)
			}
			written[c] = written[c] || window.Writes(r)
		}
	}
	for _, list := range b.values {
		slices.Sort(list)
	}
}

// valueOf returns the value that r reads or writes, as far as it lies in the cell,
// if it is known. What a read-modify-write reads and what it writes are not the
// same, so neither is known.
func (b *builder) valueOf(r *heisen.Record, c int) (valueKey, bool) {
	if r.Flags&heisen.HasValue == 0 || r.Op == heisen.AtomicUpdate || !r.Op.IsAccess() {
		return valueKey{}, false
	}
	return valueKey{int32(c), uint16(b.points[c] - r.Object), uint16(r.Size()), r.Value}, true
}
