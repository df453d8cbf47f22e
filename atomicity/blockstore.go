package atomicity

import (
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/locksets"
)

// blockStore has the blocks of all transactions so far.
type blockStore struct {
	bounds    bounds
	variables []*variableBlocks // by number; nil for a free number
	vacant    []uint32
	pairs     map[[2]uint32]*twoVariables
	dropped   uint64
}

// variableBlocks has what transactions do to a variable.
type variableBlocks struct {
	blocks   []block // 1v-blocks
	singles  []single
	next     [2]int // the block and the single that is dropped next
	partners []uint32

	// What is dropped matters only if a second thread accesses the variable.
	owner  heisen.Thread // the first thread
	owned  bool          // there was one
	shared bool          // and another one
	lost   uint64        // what was dropped, until the variable is shared
}

// accessed says that a thread accesses a variable.
func (s *blockStore) accessed(v *variableBlocks, by heisen.Thread) {
	switch {
	case !v.owned:
		v.owner, v.owned = by, true
	case by != v.owner && !v.shared:
		v.shared = true
		s.dropped += v.lost
		v.lost = 0
	}
}

// drop counts something that is dropped of a variable in count, or in the variable as long as it is not shared.
func (v *variableBlocks) drop(count *uint64) {
	if !v.shared {
		count = &v.lost
	}
	*count++
}

// twoVariables has the 2v-blocks of two variables.
type twoVariables struct {
	blocks []block
	next   int
}

// single is an access that may come between those of a 1v-block.
type single struct {
	event
	held    locksets.Held
	initial bool // a read that no write of the transaction precedes
	final   bool // the last write
}

// block is two accesses of a transaction. Those of a 2v-block stand in the order of their variables'
// numbers.
type block struct {
	events     [2]event
	throughout locksets.Held
	ever       locksets.Held // of a 2v-block
	write      [2]bool       // of a 2v-block
	pattern    pattern       // of a 1v-block
}

func (s *blockStore) init(limits bounds) {
	s.bounds = limits
	s.variables = []*variableBlocks{nil}
	s.pairs = map[[2]uint32]*twoVariables{}
}

// add returns the number of a new variable.
func (s *blockStore) add() uint32 {
	if n := len(s.vacant) - 1; n >= 0 {
		id := s.vacant[n]
		s.vacant = s.vacant[:n]
		s.variables[id] = new(variableBlocks)
		return id
	}
	s.variables = append(s.variables, new(variableBlocks))
	return uint32(len(s.variables) - 1)
}

// forget drops the blocks of a variable whose memory is reused. An open transaction may still have its
// number.
func (s *blockStore) forget(id *uint32) {
	if *id == 0 {
		return
	}
	v := s.variables[*id]
	s.variables[*id] = nil
	for _, p := range v.partners {
		delete(s.pairs, [2]uint32{min(*id, p), max(*id, p)})
		if other := s.variables[p]; other != nil {
			other.partners = slices.DeleteFunc(other.partners, func(q uint32) bool { return q == *id })
		}
	}
	s.vacant = append(s.vacant, *id)
}

// two returns the 2v-blocks of two variables.
func (s *blockStore) two(x, y uint32) *twoVariables {
	key := [2]uint32{x, y}
	p := s.pairs[key]
	if p == nil {
		p = new(twoVariables)
		s.pairs[key] = p
		s.variables[x].partners = append(s.variables[x].partners, y)
		s.variables[y].partners = append(s.variables[y].partners, x)
	}
	return p
}

// keep keeps the sets of locks of all blocks.
func (s *blockStore) keep(k *locksets.Compaction) {
	held := func(h *locksets.Held) { k.Keep(&h.Any); k.Keep(&h.Exclusive) }
	for _, v := range s.variables {
		if v == nil {
			continue
		}
		for i := range v.blocks {
			held(&v.blocks[i].throughout)
			held(&v.blocks[i].ever)
		}
		for i := range v.singles {
			held(&v.singles[i].held)
		}
	}
	for _, p := range s.pairs {
		for i := range p.blocks {
			held(&p.blocks[i].throughout)
			held(&p.blocks[i].ever)
		}
	}
}

// known returns the index of a stored block that b can replace, or -1. If it is not even of another moment, b has
// been compared with all that are stored.
//
// A block can be replaced by an equal one of the same thread, or of another one that comes after it by messages:
// what comes later in the stream and can interrupt the first can interrupt the second, because it would come after
// the first if it came after the second, or were of its thread.
func known(stored []block, b *block) (at int, compared bool) {
	for i := range stored {
		o := &stored[i]
		if o.throughout == b.throughout && o.ever == b.ever && o.write == b.write && o.pattern == b.pattern &&
			sameAccess(&o.events[0], &b.events[0]) && sameAccess(&o.events[1], &b.events[1]) &&
			(o.events[0].time < o.events[1].time) == (b.events[0].time < b.events[1].time) &&
			(o.events[0].time == o.events[1].time) == (b.events[0].time == b.events[1].time) &&
			o.last().moment.before(b.first().moment) {
			return i, o.events[0].moment == b.events[0].moment && o.events[1].moment == b.events[1].moment
		}
	}
	return -1, false
}

func (b *block) first() *event {
	if b.events[1].time < b.events[0].time {
		return &b.events[1]
	}
	return &b.events[0]
}

func (b *block) last() *event {
	if b.events[1].time < b.events[0].time {
		return &b.events[0]
	}
	return &b.events[1]
}

// put stores a block in place of the one at an index, or of the oldest one if there are too many.
// Of are the variables.
func (s *blockStore) put(to *[]block, next *int, at int, b *block, of ...*variableBlocks) {
	limit := s.bounds.one
	if len(of) > 1 {
		limit = s.bounds.two
	}
	switch {
	case at >= 0:
		(*to)[at] = *b
	case len(*to) < limit:
		*to = append(*to, *b)
	default:
		v := of[0]
		if len(of) > 1 && v.shared {
			v = of[1]
		}
		v.drop(&s.dropped)
		(*to)[*next] = *b
		*next = (*next + 1) % limit
	}
}

func sameAccess(a, b *event) bool { return a.Site == b.Site && a.Op == b.Op }

func (s *blockStore) putSingle(v *variableBlocks, x *single) {
	for i := range v.singles {
		if o := &v.singles[i]; o.held == x.held && o.initial == x.initial && o.final == x.final && sameAccess(&o.event, &x.event) && o.moment.before(x.moment) {
			*o = *x
			return
		}
	}
	if len(v.singles) < s.bounds.one {
		v.singles = append(v.singles, *x)
		return
	}
	v.drop(&s.dropped)
	v.singles[v.next[1]] = *x
	v.next[1] = (v.next[1] + 1) % s.bounds.one
}
