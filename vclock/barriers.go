package vclock

import (
	"fmt"

	"github.com/google/btree"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/shadow"
)

// barriers is the part of the order that barrier pairs add. heisen.Hide defines it: an event of a
// pair is ordered with every other event that may touch an object in the pair's set (TREE and
// RDIT, section 4.2, with its caveats 1 to 4).
//
// The address space is partitioned into regions. Every set of objects so far is a union of
// regions. A region has two release clocks: one for the events of pairs whose set contains the
// region, and one for the other events that touch it. An event of a pair observes both and
// publishes to the first. Another event observes the first and publishes to the second, so that
// plain accesses are not ordered with each other. An event of a pair costs a step per region, and
// any other event a lookup.
//
// Objects that are in no set so far have their release clocks by the byte, in unclaimed, until a
// set contains them. The order can contain too many edges only here: if a later set or a Free
// splits a region, both parts inherit the release clocks of the whole.
type barriers struct {
	symbols       *heisen.Symbols
	open          map[heisen.Thread][]*pair
	all           []*pair         // open pairs of all threads
	unbounded     int             // open pairs whose set is everything; if there is one, all pairs are one group
	intersections map[uint64]bool // whether two sets intersect, by the numbers of both
	visits        uint64          // calls of forEachGroup so far

	regions *btree.BTreeG[*region] // by start; they are disjoint
	cuts    uint64                 // counts the changes of regions
	reached []resolved             // by the number of the set

	// unclaimed has the release clocks of objects that are in no region. Those of threads that were
	// dropped are joined in droppedThreads.
	unclaimed      *shadow.Memory[releaseClock]
	clearInto      *releaseClock // receives what unclaimed loses in a Clear; nil to drop it
	droppedThreads releaseClock

	// unboundedClock is the release clock of events in pairs whose set is everything. Such an
	// event is ordered after all earlier events and before all later ones. Only the threads in
	// active have had events since the latest such event, which began the present round.
	unboundedClock releaseClock
	active         []*thread
	round          uint64
}

// pair is an open barrier pair: its Hide has come, its Reveal has not.
type pair struct {
	call  heisen.Object
	reach heisen.Reach
	group *group
	at    int // index into barriers.all
}

// group is a connected component of open pairs, where two pairs are connected if their sets
// intersect. Hidden code of one pair may pass on what it observes to all pairs of the group.
type group struct {
	seen  releaseClock
	visit uint64 // the latest visit of forEachGroup
}

// region is a range of objects.
type region struct {
	start, end heisen.Object
	pairs      releaseClock // published by events of pairs whose set contains the region
	others     releaseClock // published by other events that touch it
}

// resolved is the regions of a set of objects, valid while barriers.cuts is cuts.
type resolved struct {
	regions []*region
	cuts    uint64
}

const (
	regionDegree = 32

	// maxIntersections bounds the intersections that are remembered. To compute one again costs only time.
	maxIntersections = 1 << 16
)

// enableBarriers makes barrier pairs part of the order. It must be called before the first event.
func (o *Order) enableBarriers(symbols *heisen.Symbols) {
	b := &barriers{
		symbols:       symbols,
		open:          map[heisen.Thread][]*pair{},
		intersections: map[uint64]bool{},
		regions:       btree.NewG(regionDegree, func(a, b *region) bool { return a.start < b.start }),
		cuts:          1,
		round:         1,
	}
	b.unclaimed = shadow.New(
		func(s *releaseClock) { s.clock = s.clock.Copy() },
		func(s *releaseClock) {
			if b.clearInto != nil {
				o.joinRelease(b.clearInto, s)
			}
			o.clear(s)
		})
	o.barriers = b
	o.threads.onDrop = func(id heisen.Thread) { b.moveUnclaimed(heisen.ThreadObject(id), 1, &b.droppedThreads) }
}

// moveUnclaimed adds the release clocks of size objects from start, which are in no region any more, to a
// release clock.
func (b *barriers) moveUnclaimed(start heisen.Object, size uint64, to *releaseClock) {
	b.clearInto = to
	b.unclaimed.Clear(start, size)
	b.clearInto = nil
}

// observeBarriers orders t after everything that r may have observed by hidden calls.
func (o *Order) observeBarriers(t *thread, r *heisen.Record) {
	b := o.barriers
	if t.round != b.round {
		t.round = b.round
		b.active = append(b.active, t)
	}
	switch r.Op {
	case heisen.Hide:
		b.hide(o, t.id, r)
	case heisen.Alloc, heisen.Free:
		b.forget(o, r.Object, r.Value)
		o.acquire(t, &b.unboundedClock)
		return
	}
	o.acquire(t, &b.unboundedClock)
	b.forEachGroup(t.id, r, func(g *group) { o.acquire(t, &g.seen) })
	pairs := b.open[t.id]
	for _, p := range pairs {
		if p.reach == 0 {
			o.catchUp(t)
			return
		}
	}
	for _, p := range pairs {
		for _, at := range b.resolve(o, p.reach) {
			o.acquire(t, &at.pairs)
			o.acquire(t, &at.others)
		}
	}
	start, size := touchedObjects(r)
	for end := spanEnd(start, size); start < end; {
		at, next := b.find(start)
		if at != nil {
			o.acquire(t, &at.pairs)
			next = at.end
		}
		start = min(next, end)
	}
}

// catchUp orders t, which has observed unboundedClock, after all earlier events. A thread whose
// slot another thread has taken over meanwhile needs no step: the parent of the new owner had
// seen all its accesses, and is active itself. Sealed slots stand for threads that a compaction has dropped.
func (o *Order) catchUp(t *thread) {
	b := o.barriers
	t.clockChanges()
	for _, u := range b.active {
		if u != t {
			t.clock.join(&o.pool, &u.clock)
			t.clock.raise(&o.pool, u.epoch)
			o.threads.advance(u)
		}
	}
	o.threads.coverSealed(t)
	b.round++
	t.round = b.round
	b.active = append(b.active[:0], t)
}

// eachClock calls visit with all release clocks.
func (b *barriers) eachClock(visit func(*releaseClock)) {
	for _, p := range b.all {
		visit(&p.group.seen)
	}
	b.regions.Ascend(func(r *region) bool {
		visit(&r.pairs)
		visit(&r.others)
		return true
	})
	b.unclaimed.Each(visit)
	visit(&b.droppedThreads)
	visit(&b.unboundedClock)
}

// publishBarriers publishes t's past, with r, to hidden calls.
func (o *Order) publishBarriers(t *thread, r *heisen.Record) {
	b := o.barriers
	if r.Op == heisen.Alloc || r.Op == heisen.Free {
		return
	}
	b.forEachGroup(t.id, r, func(g *group) { o.release(t, &g.seen) })
	pairs := b.open[t.id]
	unbounded := false
	for _, p := range pairs {
		unbounded = unbounded || p.reach == 0
	}
	switch {
	case unbounded:
		o.release(t, &b.unboundedClock)
	default:
		for _, p := range pairs {
			for _, at := range b.resolve(o, p.reach) {
				o.release(t, &at.pairs)
			}
		}
		b.publish(o, t, r)
	}
	switch r.Op {
	case heisen.Reveal:
		b.reveal(o, t.id, r.Object)
	case heisen.End:
		b.close(o, t.id, 0)
	}
}

// publish publishes t's past through the objects that r touches.
func (b *barriers) publish(o *Order, t *thread, r *heisen.Record) {
	start, size := touchedObjects(r)
	for end := spanEnd(start, size); start < end; {
		at, next := b.find(start)
		if at != nil {
			o.release(t, &at.others)
			start = min(at.end, end)
			continue
		}
		next = min(next, end)
		for c := b.unclaimed.Range(start, uint64(next-start)); c.Next(); {
			o.release(t, c.State())
		}
		start = next
	}
}

// hide opens a pair and merges the groups that it connects.
func (b *barriers) hide(o *Order, id heisen.Thread, r *heisen.Record) {
	p := &pair{call: r.Object, reach: r.Reach(), at: len(b.all)}
	if p.reach == 0 {
		b.unbounded++
	}
	for _, q := range b.all {
		if q.group == p.group || !b.intersects(p.reach, q.reach) {
			continue
		}
		if p.group == nil {
			if p.group = q.group; b.unbounded > 0 && p.reach != 0 {
				break // all pairs are one group
			}
			continue
		}
		old := q.group
		o.joinRelease(&p.group.seen, &old.seen)
		o.clear(&old.seen)
		for _, other := range b.all {
			if other.group == old {
				other.group = p.group
			}
		}
	}
	if p.group == nil {
		p.group = new(group)
	}
	b.all = append(b.all, p)
	b.open[id] = append(b.open[id], p)
}

// reveal closes the latest pair of the thread for the call, and the pairs nested in it.
func (b *barriers) reveal(o *Order, id heisen.Thread, call heisen.Object) {
	pairs := b.open[id]
	for i := len(pairs) - 1; i >= 0; i-- {
		if pairs[i].call == call {
			b.close(o, id, i)
			return
		}
	}
}

// close closes the pairs of a thread from the n-th on. Their groups may decompose. Each part keeps
// what the group has observed.
func (b *barriers) close(o *Order, id heisen.Thread, n int) {
	pairs := b.open[id]
	if len(pairs) == n {
		return
	}
	left := map[*group]bool{}
	for _, p := range pairs[n:] {
		left[p.group] = true
		last := b.all[len(b.all)-1]
		b.all[p.at], last.at = last, p.at
		b.all = b.all[:len(b.all)-1]
		if p.reach == 0 {
			b.unbounded--
		}
	}
	if n == 0 {
		delete(b.open, id)
	} else {
		b.open[id] = pairs[:n]
	}
	if b.unbounded > 0 {
		return // all pairs are still one group
	}
	for _, p := range b.all {
		if left[p.group] {
			seen := &p.group.seen
			b.regroup(p, p.group, &group{seen: releaseClock{seen.clock.Copy(), seen.epoch}})
		}
	}
	for g := range left {
		o.clear(&g.seen)
	}
}

// regroup moves p, and the pairs of its old group that are connected with it, to a new group.
func (b *barriers) regroup(p *pair, from, to *group) {
	p.group = to
	for _, q := range b.all {
		if q.group == from && b.intersects(p.reach, q.reach) {
			b.regroup(q, from, to)
		}
	}
}

// intersects reports whether two sets have an object in common.
func (b *barriers) intersects(r, s heisen.Reach) bool {
	if r > s {
		r, s = s, r
	}
	key := uint64(r)<<32 | uint64(s)
	meet, known := b.intersections[key]
	if !known {
		if len(b.intersections) == maxIntersections {
			clear(b.intersections)
		}
		meet = b.symbols.Reach(r).Intersects(b.symbols.Reach(s))
		b.intersections[key] = meet
	}
	return meet
}

// forEachGroup calls do with every group of open pairs whose hidden code may observe the event or
// be observed by it.
func (b *barriers) forEachGroup(id heisen.Thread, r *heisen.Record, do func(*group)) {
	if len(b.all) == 0 {
		return
	}
	own := b.open[id]
	if len(own) == 0 && !r.Op.IsSync() && r.Op != heisen.Begin && r.Op != heisen.End {
		return
	}
	start, size := touchedObjects(r)
	b.visits++
	for _, p := range b.all {
		if p.group.visit != b.visits && b.touches(own, start, size, p) {
			p.group.visit = b.visits
			do(p.group)
			if b.unbounded > 0 {
				return
			}
		}
	}
}

// touches reports whether an event, with some objects and within some pairs, may touch an object
// in p's set.
func (b *barriers) touches(own []*pair, start heisen.Object, size uint64, p *pair) bool {
	if b.symbols.Reach(p.reach).Meets(start, size) {
		return true
	}
	for _, q := range own {
		if b.intersects(p.reach, q.reach) {
			return true
		}
	}
	return false
}

// touchedObjects returns the objects that an event itself touches, regardless of pairs. There are
// none for most ops that order nothing.
func touchedObjects(r *heisen.Record) (start heisen.Object, size uint64) {
	switch r.Op {
	case heisen.Read, heisen.Write, heisen.AtomicRead, heisen.AtomicWrite, heisen.AtomicUpdate:
		return r.Object, r.Size()
	case heisen.Acquire, heisen.Release, heisen.AcquireShared, heisen.ReleaseShared, heisen.Send, heisen.Receive:
		return r.Object, 1
	case heisen.Fork, heisen.Join:
		if t, ok := threadOf(r.Object); ok {
			return heisen.ThreadObject(t), 1
		}
	case heisen.Begin, heisen.End:
		return heisen.ThreadObject(r.Thread), 1
	}
	return 0, 0
}

// spanEnd returns the object after the last of size objects from start.
func spanEnd(start heisen.Object, size uint64) heisen.Object {
	if size > uint64(^heisen.Object(0)-start) {
		return ^heisen.Object(0)
	}
	return start + heisen.Object(size)
}

// find returns the region that contains an object, or nil and the start of the next region.
func (b *barriers) find(o heisen.Object) (at *region, next heisen.Object) {
	next = ^heisen.Object(0)
	if b.regions.Len() == 0 {
		return nil, next
	}
	pivot := region{start: o}
	b.regions.DescendLessOrEqual(&pivot, func(r *region) bool {
		if o < r.end {
			at = r
		}
		return false
	})
	if at == nil {
		b.regions.AscendGreaterOrEqual(&pivot, func(r *region) bool {
			next = r.start
			return false
		})
	}
	return at, next
}

// resolve returns the regions of a set of objects.
func (b *barriers) resolve(o *Order, r heisen.Reach) []*region {
	if r == heisen.Synchronized {
		return nil
	}
	for len(b.reached) <= int(r) {
		b.reached = append(b.reached, resolved{})
	}
	known := &b.reached[r]
	if known.cuts == b.cuts {
		return known.regions
	}
	known.regions = known.regions[:0]
	for _, s := range b.symbols.Reach(r) {
		end := spanEnd(s.Start, s.Len)
		b.cut(s.Start)
		b.cut(end)
		for start := s.Start; start < end; {
			at, next := b.find(start)
			if at == nil {
				at = b.add(o, start, min(next, end))
			}
			known.regions = append(known.regions, at)
			start = at.end
		}
	}
	known.cuts = b.cuts
	return known.regions
}

// add makes a region of objects that are in none, with their release clocks.
func (b *barriers) add(o *Order, start, end heisen.Object) *region {
	at := &region{start: start, end: end}
	// Clear sees the state of a class of bytes only as a whole. So split the classes that extend
	// across the region's ends.
	for _, edge := range [...]heisen.Object{start, end - 1} {
		for c := b.unclaimed.Range(edge, 1); c.Next(); {
		}
	}
	b.moveUnclaimed(start, uint64(end-start), &at.others)
	if !b.droppedThreads.zero() && end > heisen.ThreadObject(0) {
		// What may concern a thread that was dropped comes after all of these.
		o.joinRelease(&at.others, &b.droppedThreads)
		o.threads.err = fmt.Errorf("%w: hidden calls may reach threads", ErrEndedThread)
	}
	b.regions.ReplaceOrInsert(at)
	return at
}

// cut splits the region that contains at and objects before it.
func (b *barriers) cut(at heisen.Object) {
	left, _ := b.find(at)
	if left == nil || left.start == at {
		return
	}
	right := &region{start: at, end: left.end, pairs: left.pairs, others: left.others}
	right.pairs.clock, right.others.clock = left.pairs.clock.Copy(), left.others.clock.Copy()
	left.end = at
	b.regions.ReplaceOrInsert(right)
	b.cuts++
}

// forget drops the release clocks of objects whose memory is allocated or freed.
func (b *barriers) forget(o *Order, start heisen.Object, size uint64) {
	end := spanEnd(start, size)
	b.unclaimed.Clear(start, size)
	b.cut(start)
	b.cut(end)
	for start < end {
		at, next := b.find(start)
		if at == nil {
			start = next
			continue
		}
		start = at.end
		o.clear(&at.pairs)
		o.clear(&at.others)
		b.regions.Delete(at)
		b.cuts++
	}
}

// joinRelease makes s the maximum of two release clocks.
func (o *Order) joinRelease(s, from *releaseClock) {
	s.clock.join(&o.pool, &from.clock)
	s.clock.raise(&o.pool, s.epoch)
	s.clock.raise(&o.pool, from.epoch)
	s.epoch = 0
}
