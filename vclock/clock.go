package vclock

// Clock is a vector clock: a time for every slot, of which all but finitely many
// are zero. The zero Clock is zero everywhere and ready for use.
//
// Clocks share memory: Copy takes constant time, and a clock that is then
// changed copies only what it changes, in blocks of 64 slots. Copying a Clock by
// assignment is a mistake that Copy avoids. Clocks that may share memory, which
// are those related by Copy and Join, must be used by one goroutine at a time.
type Clock struct{ v *vector }

// vector is what a Clock holds and may share with others. A nil block is zero.
type vector struct {
	refs   int32
	blocks []*block
}

// block is the times of 64 successive slots. It may be shared by vectors.
type block struct {
	refs  int32
	times [blockSlots]uint64
}

const blockSlots = 64

// Time returns the time of slot. It takes constant time.
func (c *Clock) Time(slot uint32) uint64 {
	if c.v == nil {
		return 0
	}
	i := int(slot / blockSlots)
	if i >= len(c.v.blocks) || c.v.blocks[i] == nil {
		return 0
	}
	return c.v.blocks[i].times[slot%blockSlots]
}

// Covers reports whether e is not later than the clock's time of e's slot: e
// happened before a thread whose clock this is. It takes constant time.
func (c *Clock) Covers(e Epoch) bool { return e.Time() <= c.Time(e.Slot()) }

// Raise makes c cover e. It takes constant time if c shares no memory with
// another clock, and otherwise copies a block and a pointer per 64 slots.
func (c *Clock) Raise(e Epoch) { c.raise(nil, e) }

// Join makes c the pointwise maximum of c and d. It takes a step per slot at
// most, and only one per 64 slots that the two share.
func (c *Clock) Join(d *Clock) { c.join(nil, d) }

// Copy returns a clock with the times of c.
func (c *Clock) Copy() Clock {
	if c.v != nil {
		c.v.refs++
	}
	return *c
}

// LessEq reports whether no slot's time is later in c than in d: what c has seen
// d has seen.
func (c *Clock) LessEq(d *Clock) bool { return c.lessEqBut(nil, d, MaxSlots) }

// lessEqBut is LessEq that leaves out one slot.
func (c *Clock) lessEqBut(p *pool, d *Clock, slot uint32) bool {
	if c.v == nil || c.v == d.v {
		return true
	}
	for i, a := range c.v.blocks {
		b := d.block(i)
		if a == nil || a == b {
			continue
		}
		if b == nil {
			b = &zeroBlock
		}
		for j := range p.used(i) {
			if a.times[j] > b.times[j] && uint32(i*blockSlots+j) != slot {
				return false
			}
		}
	}
	return true
}

// zeroBlock stands in for nil where that saves a case. It is never changed.
var zeroBlock block

func (c *Clock) block(i int) *block {
	if c.v == nil || i >= len(c.v.blocks) {
		return nil
	}
	return c.v.blocks[i]
}

// pool keeps vectors and blocks for their next use. A nil pool keeps nothing.
type pool struct {
	vectors []*vector
	blocks  []*block
	slots   int // those from here on are zero in every clock
}

// used returns how many times of block i may not be zero.
func (p *pool) used(i int) int {
	if p == nil {
		return blockSlots
	}
	return min(max(p.slots-i*blockSlots, 0), blockSlots)
}

func (p *pool) vector() *vector {
	if p == nil || len(p.vectors) == 0 {
		return &vector{refs: 1}
	}
	v := p.vectors[len(p.vectors)-1]
	p.vectors = p.vectors[:len(p.vectors)-1]
	v.refs = 1
	return v
}

// block returns a block with arbitrary times.
func (p *pool) block() *block {
	if p == nil || len(p.blocks) == 0 {
		return &block{refs: 1}
	}
	b := p.blocks[len(p.blocks)-1]
	p.blocks = p.blocks[:len(p.blocks)-1]
	b.refs = 1
	return b
}

// drop makes c zero and gives back what it alone held.
func (c *Clock) drop(p *pool) {
	v := c.v
	if v == nil {
		return
	}
	c.v = nil
	if v.refs--; v.refs > 0 {
		return
	}
	for _, b := range v.blocks {
		b.release(p)
	}
	clear(v.blocks)
	v.blocks = v.blocks[:0]
	if p != nil {
		p.vectors = append(p.vectors, v)
	}
}

func (b *block) release(p *pool) {
	if b == nil {
		return
	}
	if b.refs--; b.refs == 0 && p != nil {
		p.blocks = append(p.blocks, b)
	}
}

// own makes c the only holder of its vector, though perhaps not of its blocks,
// and gives the vector at least n blocks.
func (c *Clock) own(p *pool, n int) *vector {
	v := c.v
	switch {
	case v == nil:
		v = p.vector()
	case v.refs > 1:
		shared := v
		shared.refs--
		v = p.vector()
		v.blocks = append(v.blocks, shared.blocks...)
		for _, b := range v.blocks {
			if b != nil {
				b.refs++
			}
		}
	}
	for len(v.blocks) < n {
		v.blocks = append(v.blocks, nil)
	}
	c.v = v
	return v
}

// ownBlock makes block i of v, which is not shared itself, unshared too.
func (v *vector) ownBlock(p *pool, i int) *block {
	b := v.blocks[i]
	if b != nil && b.refs == 1 {
		return b
	}
	fresh := p.block()
	if b != nil {
		b.refs--
		fresh.times = b.times
	} else {
		clear(fresh.times[:])
	}
	v.blocks[i] = fresh
	return fresh
}

func (c *Clock) raise(p *pool, e Epoch) {
	if c.Covers(e) {
		return
	}
	i := int(e.Slot() / blockSlots)
	b := c.own(p, i+1).ownBlock(p, i)
	b.times[e.Slot()%blockSlots] = e.Time()
}

func (c *Clock) join(p *pool, d *Clock) {
	if d.v == nil || d.v == c.v {
		return
	}
	if c.v == nil {
		*c = d.Copy()
		return
	}
	for i, b := range d.v.blocks {
		if a := c.block(i); b != nil && a != b {
			c.joinBlock(p, i, a, b)
		}
	}
}

// joinBlock makes block i of c, which is a, the maximum of a and b. Where the
// maximum is one of the two, that one is shared.
func (c *Clock) joinBlock(p *pool, i int, a, b *block) {
	switch {
	case a == nil:
		b.refs++
		c.own(p, i+1).blocks[i] = b
		return
	case a.refs == 1 && c.v.refs == 1:
		a.max(a, b, p.used(i))
		return
	}
	fresh := p.block()
	used := p.used(i)
	clear(fresh.times[used:])
	switch aLess, bLess := fresh.max(a, b, used); {
	case !aLess:
		fresh.release(p)
		return
	case !bLess:
		fresh.release(p)
		fresh = b
		b.refs++
	}
	v := c.own(p, i+1)
	v.blocks[i].release(p) // a, which v may hold a second time now
	v.blocks[i] = fresh
}

// max sets the first n times of b, which may be x or y, to the pointwise maximum
// of x and y, and reports whether x and y are less than that somewhere. It has no
// branches that depend on the times, for those would be taken at random.
func (b *block) max(x, y *block, n int) (xLess, yLess bool) {
	var xDiff, yDiff uint64
	xs, ys, out := x.times[:n], y.times[:n], b.times[:n]
	for i, xt := range xs {
		yt := ys[i]
		m := max(xt, yt)
		xDiff |= m ^ xt
		yDiff |= m ^ yt
		out[i] = m
	}
	return xDiff != 0, yDiff != 0
}

// overwrite sets c to d if both are a block long and c's is its own, and reports
// whether that was so.
func (c *Clock) overwrite(p *pool, d *Clock) bool {
	if c.v == nil || d.v == nil || c.v.refs > 1 || len(c.v.blocks) != 1 || len(d.v.blocks) != 1 {
		return false
	}
	a, b := c.v.blocks[0], d.v.blocks[0]
	if a == nil || b == nil || a.refs > 1 {
		return false
	}
	copy(a.times[:p.used(0)], b.times[:])
	return true
}
