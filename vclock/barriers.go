package vclock

import (
	"github.com/google/btree"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/shadow"
)

// barriers is the order that BarrierPairs add, as the doc comment of heisen.Hide
// defines it: an event of a pair is ordered with every other event that may touch
// what the pair reaches. (TREE and RDIT, section 4.2; its caveats 1 to 4 are this
// rule.)
//
// Nothing is compared pair by pair. What may be touched is cut into regions, such
// that each is whole in every set of objects so far, and a region has a chain:
// what events of pairs that reach it have published, and what other events that
// touch it have. The former see both and publish the one, the latter see the one
// and publish the other, so that accesses are not ordered among themselves. It is
// a step per region and event of a pair, and a lookup per other event.
//
// What events touch that no pair has reached yet is kept by the byte, until a set
// of objects comes that has it. There alone the order may be more than it should:
// a region that is cut, by a later set or by the end of a life, gives both parts
// what the whole had.
type barriers struct {
	symbols *heisen.Symbols
	open    map[heisen.Thread][]*pair
	all     []*pair         // of all threads
	wide    int             // of these, pairs that reach everything; then there is but one group
	meet    map[uint64]bool // whether two sets intersect, by both numbers
	marks   uint64          // events so far that a pair may have overheard

	regions *btree.BTreeG[*region] // by start; they do not overlap
	cuts    uint64                 // changes of regions so far
	reached []resolved             // by number of a set of objects

	// touched is what was published by events that no pair was known to reach.
	touched *shadow.Memory[stamp]
	into    *stamp // where touched goes as it is cleared; nil where it is forgotten

	// unbounded is what the events of pairs have published that reach everything:
	// they come after all that was before them, and before all that follows. Since
	// the latest of them only the threads in acted have done anything.
	unbounded stamp
	acted     []*thread
	turn      uint64
}

// pair is a BarrierPair that is open.
type pair struct {
	call  heisen.Object
	reach heisen.Reach
	group *group
	at    int // in barriers.all
}

// group is open pairs that reach each other, if need be by way of others of the
// group: what the code of one sees, that of all may pass on.
type group struct {
	seen stamp
	mark uint64 // the latest event that touches what the group reaches
}

// region is a range of objects.
type region struct {
	start, end heisen.Object
	pairs      stamp // published by events of pairs that reach it
	others     stamp // by other events that touch it
}

// resolved is the regions of a set of objects, as they were after some cuts.
type resolved struct {
	regions []*region
	cuts    uint64
}

const regionDegree = 32

// acceptBarriers makes the order accept BarrierPairs; it is done before the first
// event.
func (o *Order) acceptBarriers(symbols *heisen.Symbols) {
	b := &barriers{
		symbols: symbols,
		open:    map[heisen.Thread][]*pair{},
		meet:    map[uint64]bool{},
		regions: btree.NewG(regionDegree, func(a, b *region) bool { return a.start < b.start }),
		cuts:    1,
		turn:    1,
	}
	b.touched = shadow.New(
		func(s *stamp) { s.clock = s.clock.Copy() },
		func(s *stamp) {
			if b.into != nil {
				o.join(b.into, s)
			}
			o.reset(s)
		})
	o.barriers = b
}

// enterBarriers orders t after what r may have waited for.
func (o *Order) enterBarriers(t *thread, r *heisen.Record) {
	b := o.barriers
	if t.acted != b.turn {
		t.acted = b.turn
		b.acted = append(b.acted, t)
	}
	switch r.Op {
	case heisen.Hide:
		b.hide(o, t.id, r)
	case heisen.Alloc, heisen.Free:
		b.forget(o, r.Object, r.Value)
		o.see(t, &b.unbounded)
		return
	}
	o.see(t, &b.unbounded)
	b.overhear(t.id, r, func(g *group) { o.see(t, &g.seen) })
	pairs := b.open[t.id]
	for _, p := range pairs {
		if p.reach == 0 {
			o.catchUp(t)
			return
		}
	}
	for _, p := range pairs {
		for _, at := range b.resolve(o, p.reach) {
			o.see(t, &at.pairs)
			o.see(t, &at.others)
		}
	}
	start, size := ordinary(r)
	for end := spanEnd(start, size); start < end; {
		at, next := b.find(start)
		if at != nil {
			o.see(t, &at.pairs)
			next = at.end
		}
		start = min(next, end)
	}
}

// catchUp orders t, which has seen what is unbounded, after everything so far. Whoever
// has given up its state to another thread meanwhile has done so when a parent had
// seen all its accesses, and that has acted too.
func (o *Order) catchUp(t *thread) {
	b := o.barriers
	t.learn()
	for _, u := range b.acted {
		if u != t {
			t.clock.join(&o.pool, &u.clock)
			t.clock.raise(&o.pool, u.epoch)
			o.threads.advance(u)
		}
	}
	b.turn++
	t.acted = b.turn
	b.acted = append(b.acted[:0], t)
}

// leaveBarriers publishes what t has done, r included.
func (o *Order) leaveBarriers(t *thread, r *heisen.Record) {
	b := o.barriers
	if r.Op == heisen.Alloc || r.Op == heisen.Free {
		return
	}
	b.overhear(t.id, r, func(g *group) { o.merge(t, &g.seen) })
	pairs := b.open[t.id]
	unbounded := false
	for _, p := range pairs {
		unbounded = unbounded || p.reach == 0
	}
	switch {
	case unbounded:
		o.merge(t, &b.unbounded)
	default:
		for _, p := range pairs {
			for _, at := range b.resolve(o, p.reach) {
				o.merge(t, &at.pairs)
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

// publish publishes what t has done through what r names.
func (b *barriers) publish(o *Order, t *thread, r *heisen.Record) {
	start, size := ordinary(r)
	for end := spanEnd(start, size); start < end; {
		at, next := b.find(start)
		if at != nil {
			o.merge(t, &at.others)
			start = min(at.end, end)
			continue
		}
		next = min(next, end)
		for c := b.touched.Range(start, uint64(next-start)); c.Next(); {
			o.merge(t, c.State())
		}
		start = next
	}
}

// hide opens a pair, and makes one group of all that it reaches.
func (b *barriers) hide(o *Order, id heisen.Thread, r *heisen.Record) {
	p := &pair{call: r.Object, reach: r.Reach(), at: len(b.all)}
	if p.reach == 0 {
		b.wide++
	}
	for _, q := range b.all {
		if q.group == p.group || !b.meets(p.reach, q.reach) {
			continue
		}
		if p.group == nil {
			if p.group = q.group; b.wide > 0 && p.reach != 0 {
				break // all are one
			}
			continue
		}
		old := q.group
		o.join(&p.group.seen, &old.seen)
		o.reset(&old.seen)
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

// reveal ends the latest pair of the thread for the call, and those within it.
func (b *barriers) reveal(o *Order, id heisen.Thread, call heisen.Object) {
	pairs := b.open[id]
	for i := len(pairs) - 1; i >= 0; i-- {
		if pairs[i].call == call {
			b.close(o, id, i)
			return
		}
	}
}

// close ends the pairs of a thread from the n-th on. What is left of their groups
// may fall apart; each part has seen the same.
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
			b.wide--
		}
	}
	if n == 0 {
		delete(b.open, id)
	} else {
		b.open[id] = pairs[:n]
	}
	if b.wide > 0 {
		return // all are one still
	}
	for _, p := range b.all {
		if left[p.group] {
			seen := &p.group.seen
			b.regroup(p, p.group, &group{seen: stamp{seen.clock.Copy(), seen.last}})
		}
	}
	for g := range left {
		o.reset(&g.seen)
	}
}

// regroup moves p, and the pairs of its old group that it is connected with, to a
// new one.
func (b *barriers) regroup(p *pair, from, to *group) {
	p.group = to
	for _, q := range b.all {
		if q.group == from && b.meets(p.reach, q.reach) {
			b.regroup(q, from, to)
		}
	}
}

// meets reports whether two sets have an object in common.
func (b *barriers) meets(r, s heisen.Reach) bool {
	if r > s {
		r, s = s, r
	}
	key := uint64(r)<<32 | uint64(s)
	meet, known := b.meet[key]
	if !known {
		meet = b.symbols.Reach(r).Intersects(b.symbols.Reach(s))
		b.meet[key] = meet
	}
	return meet
}

// overhear calls do with the groups of open pairs whose code may pass on what the
// event does, or have passed on to it.
func (b *barriers) overhear(id heisen.Thread, r *heisen.Record, do func(*group)) {
	if len(b.all) == 0 {
		return
	}
	own := b.open[id]
	if len(own) == 0 && !r.Op.IsSync() && r.Op != heisen.Begin && r.Op != heisen.End {
		return
	}
	start, size := ordinary(r)
	b.marks++
	for _, p := range b.all {
		if p.group.mark != b.marks && b.touches(own, start, size, p) {
			p.group.mark = b.marks
			do(p.group)
			if b.wide > 0 {
				return
			}
		}
	}
}

// touches reports whether an event, of some pairs and about some objects, touches
// what p reaches.
func (b *barriers) touches(own []*pair, start heisen.Object, size uint64, p *pair) bool {
	if b.symbols.Reach(p.reach).Meets(start, size) {
		return true
	}
	for _, q := range own {
		if b.meets(p.reach, q.reach) {
			return true
		}
	}
	return false
}

// ordinary returns the objects that an event touches apart from pairs, none for
// most ops that order nothing.
func ordinary(r *heisen.Record) (start heisen.Object, size uint64) {
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

// spanEnd returns the object after the last of size objects.
func spanEnd(start heisen.Object, size uint64) heisen.Object {
	if size > uint64(^heisen.Object(0)-start) {
		return ^heisen.Object(0)
	}
	return start + heisen.Object(size)
}

// find returns the region that has an object, or nil and the start of the next
// region.
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

// add makes a region of what is in none, with what was published there.
func (b *barriers) add(o *Order, start, end heisen.Object) *region {
	at := &region{start: start, end: end}
	// What is kept for several bytes must not reach across the region's ends, for
	// it is only seen as a whole.
	for _, edge := range [...]heisen.Object{start, end - 1} {
		for c := b.touched.Range(edge, 1); c.Next(); {
		}
	}
	b.into = &at.others
	b.touched.Clear(start, uint64(end-start))
	b.into = nil
	b.regions.ReplaceOrInsert(at)
	return at
}

// cut cuts the region that has objects before and from at on.
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

// forget ends the life of objects.
func (b *barriers) forget(o *Order, start heisen.Object, size uint64) {
	end := spanEnd(start, size)
	b.touched.Clear(start, size)
	b.cut(start)
	b.cut(end)
	for start < end {
		at, next := b.find(start)
		if at == nil {
			start = next
			continue
		}
		start = at.end
		o.reset(&at.pairs)
		o.reset(&at.others)
		b.regions.Delete(at)
		b.cuts++
	}
}

// join adds to a stamp what another one holds.
func (o *Order) join(s, from *stamp) {
	s.clock.join(&o.pool, &from.clock)
	s.clock.raise(&o.pool, s.last)
	s.clock.raise(&o.pool, from.last)
	s.last = 0
}
