package atomicity

import (
	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/locksets"
)

// bounds limit what is stored.
type bounds struct {
	perVariable int // initial reads, writes and 1v-blocks of a transaction, each
	variables   int // of a transaction
	holds       int // of locks in a transaction
	pairs       int // of accesses of a transaction to different variables
	one         int // 1v-blocks of a variable, and accesses that may come between those of one, of all transactions
	two         int // 2v-blocks of two variables, of all transactions
}

var defaultBounds = bounds{perVariable: 32, variables: 256, holds: 256, pairs: 1 << 18, one: 256, two: 64}

// event is an access of a transaction to a variable.
type event struct {
	heisen.Access
	moment  *moment
	time    uint32 // within the transaction
	segment uint32 // counts the times at which the transaction takes or releases a lock
}

// hold is a hold of a lock by a thread, with its time within the open transaction: 0 if it began
// before.
type hold struct {
	lock     locksets.Lock
	shared   bool
	from, to uint32
}

// builder collects what a transaction accesses.
type builder struct {
	bounds        bounds
	time, segment uint32
	pattern       uint64 // hash of the events
	holds         []hold
	index         map[uint32]int // of variables
	variables     []accessed
	used          int  // variables in use; those behind keep their memory
	verified      bool // the transaction is known to be atomic: of each variable one read and one write suffice
	dropped       uint64
	two           int                     // pairs of accesses to different variables so far
	sets          map[[2]uint32]heldTwice // by segments, of lockSets.between
	lostHold      bool                    // a hold was dropped, so that it is not known which locks protect what
}

// heldTwice is the locks that are held throughout, and at any time, from one segment to another.
type heldTwice struct{ throughout, ever locksets.Held }

// accessed is what a transaction does to a variable.
type accessed struct {
	id      uint32
	initial []event // reads that no write precedes; of each segment the first and the last
	writes  []event // different ones
	final   event   // the last write, if written
	written bool
	pairs   []pair

	stored *variableBlocks
}

// pair is a 1v-block.
type pair struct {
	first, last event
	pattern     pattern
}

// pattern says which access in between makes a 1v-block unserializable.
type pattern uint8

const (
	toRead       pattern = iota // any write
	writeToWrite                // an initial read
	readToFinal                 // the final write; the block is from an initial read to the final write
)

func (b *builder) reset() {
	if b.index == nil {
		b.index = map[uint32]int{}
		b.sets = map[[2]uint32]heldTwice{}
	}
	clear(b.index)
	clear(b.sets)
	b.two = 0
	b.time, b.segment, b.pattern, b.used, b.dropped = 0, 0, 14695981039346656037, 0, 0
	b.holds, b.verified, b.lostHold = b.holds[:0], false, false
}

// mix adds to the hash.
func (b *builder) mix(x, y uint64) {
	for _, v := range [2]uint64{x, y} {
		b.pattern = (b.pattern ^ v) * 0x9e3779b97f4a7c15
		b.pattern ^= b.pattern >> 29
	}
}

// tick returns the next time.
func (b *builder) tick() uint32 {
	b.time++
	return b.time
}

// acquired returns the time of a hold that begins now.
func (b *builder) acquired() uint32 {
	b.segment++
	return b.tick()
}

// released records a hold that ends now.
func (b *builder) released(h hold) {
	h.to = b.tick()
	b.segment++
	b.keep(h)
}

func (b *builder) keep(h hold) {
	if len(b.holds) >= b.bounds.holds {
		b.dropped++
		b.lostHold = true
		return
	}
	b.holds = append(b.holds, h)
}

// complete ends the transaction. The thread holds the given locks.
func (b *builder) complete(open []hold) {
	end := b.tick()
	for _, h := range open {
		h.to = end
		b.keep(h)
	}
	if b.verified {
		return
	}
	for i := range b.used {
		v := &b.variables[i]
		if v.written && len(v.initial) > 0 && v.initial[0].time < v.final.time {
			b.pair(v, pair{v.initial[0], v.final, readToFinal})
		}
	}
}

// variable returns what the transaction does to a variable, or nil if there are too many.
func (b *builder) variable(id uint32, stored *variableBlocks) *accessed {
	if i, ok := b.index[id]; ok && b.variables[i].stored == stored {
		return &b.variables[i]
	}
	if b.used >= b.bounds.variables {
		b.dropped++
		return nil
	}
	if b.used == len(b.variables) {
		b.variables = append(b.variables, accessed{})
	}
	v := &b.variables[b.used]
	*v = accessed{id: id, stored: stored, initial: v.initial[:0], writes: v.writes[:0], pairs: v.pairs[:0]}
	b.index[id] = b.used
	b.used++
	return v
}

// add adds an access to a variable. An AtomicUpdate is a read and a write at the same time.
func (b *builder) add(id uint32, stored *variableBlocks, e event) {
	v := b.variable(id, stored)
	if v == nil {
		return
	}
	if e.Op != heisen.Write && e.Op != heisen.AtomicWrite {
		b.read(v, e)
	}
	if e.Op.IsWrite() {
		b.write(v, e)
	}
}

func (b *builder) read(v *accessed, e event) {
	if b.verified {
		if !v.written && len(v.initial) == 0 {
			v.initial = append(v.initial, e)
		}
		return
	}
	if v.written {
		b.pair(v, pair{v.final, e, toRead})
		return
	}
	n := len(v.initial)
	if n > 0 {
		b.pair(v, pair{v.initial[n-1], e, toRead})
	}
	switch {
	case n > 1 && v.initial[n-1].segment == e.segment && v.initial[n-2].segment == e.segment:
		v.initial[n-1] = e
	case n < b.bounds.perVariable:
		v.initial = append(v.initial, e)
	default:
		v.initial[n-1] = e
		v.stored.drop(&b.dropped)
	}
}

func (b *builder) write(v *accessed, e event) {
	if b.verified {
		v.final, v.written = e, true
		return
	}
	if v.written {
		b.pair(v, pair{v.final, e, writeToWrite})
	}
	v.final, v.written = e, true
	for i := range v.writes {
		if v.writes[i].sameAs(&e) {
			return
		}
	}
	if len(v.writes) >= b.bounds.perVariable {
		v.stored.drop(&b.dropped)
		return
	}
	v.writes = append(v.writes, e)
}

// sameAs reports whether two events differ in nothing but their time and index.
func (e *event) sameAs(f *event) bool {
	return e.segment == f.segment && e.Site == f.Site && e.Op == f.Op && e.moment == f.moment
}

// pair adds a 1v-block, unless there is an equal one.
func (b *builder) pair(v *accessed, p pair) {
	for i := range v.pairs {
		if q := &v.pairs[i]; q.pattern == p.pattern && q.first.sameAs(&p.first) && q.last.sameAs(&p.last) {
			return
		}
	}
	if len(v.pairs) >= b.bounds.perVariable {
		v.stored.drop(&b.dropped)
		return
	}
	v.pairs = append(v.pairs, p)
}

// lockSets computes the locks of a transaction.
type lockSets struct{ table *locksets.Table }

// collect returns the holds for which in returns true.
func (s lockSets) collect(b *builder, in func(*hold) bool) (held locksets.Held) {
	for i := range b.holds {
		if h := &b.holds[i]; in(h) {
			held.Any = s.table.With(held.Any, h.lock)
			if !h.shared {
				held.Exclusive = s.table.With(held.Exclusive, h.lock)
			}
		}
	}
	return held
}

// throughout returns the locks that are held from one time to another without interruption.
func (s lockSets) throughout(b *builder, from, to uint32) locksets.Held {
	return s.collect(b, func(h *hold) bool { return h.from <= from && h.to > to })
}

// ever returns the locks that are held at any time from one time to another.
func (s lockSets) ever(b *builder, from, to uint32) locksets.Held {
	return s.collect(b, func(h *hold) bool { return h.from <= to && h.to > from })
}

// between returns the locks that are held throughout, and at any time, from one event to another. Of a transaction
// that is known to be atomic, these are all of its locks.
func (s lockSets) between(b *builder, from, to *event) (throughout, ever locksets.Held) {
	if to.time < from.time {
		from, to = to, from
	}
	key := [2]uint32{from.segment, to.segment}
	sets, known := b.sets[key]
	switch {
	case known:
	case b.verified:
		sets.throughout = s.all(b)
		sets.ever = sets.throughout
		b.sets[key] = sets
	default:
		sets = heldTwice{s.throughout(b, from.time, to.time), s.ever(b, from.time, to.time)}
		b.sets[key] = sets
	}
	return sets.throughout, sets.ever
}

// all returns the locks that a transaction holds at any time.
func (s lockSets) all(b *builder) locksets.Held {
	return s.collect(b, func(*hold) bool { return true })
}

// exclude reports whether a lock is in both, and exclusively in one.
func (s lockSets) exclude(a, b locksets.Held) bool {
	return !s.table.Disjoint(a.Any, b.Exclusive) || !s.table.Disjoint(a.Exclusive, b.Any)
}
