package vclock

// Clock is a vector clock (Mattern 1989, Fidge 1988): a time for every slot, of which all but
// finitely many are zero. The zero Clock is zero everywhere and ready for use. A nil *Clock reads
// as a zero one; Tick, Raise and Join change their clock, which must not be nil.
//
// Clocks share memory: Copy takes constant time, and a change to a clock copies only the block of
// 64 slots that changes. Use Copy to copy a Clock. A copy by assignment shares memory without
// being counted, so that a change to one also changes the other. Clocks that may share memory,
// which are those related by Copy and Join, must be used by one goroutine at a time.
type Clock struct{ v *vector }

// vector is the content of a Clock. Clocks may share it. A nil block is zero.
type vector struct {
	refs   int32
	blocks []*block
}

// block has the times of 64 successive slots. Vectors may share it.
type block struct {
	refs  int32
	times [blockSlots]uint64
}

const blockSlots = 64

// Time returns the time of slot. It takes constant time.
func (c *Clock) Time(slot uint32) uint64 {
	if c == nil {
		return 0
	}
	return c.time(slot)
}

// time is Time of a clock that is not nil, short enough to be inlined.
func (c *Clock) time(slot uint32) uint64 {
	if c.v == nil {
		return 0
	}
	i := int(slot / blockSlots)
	if i >= len(c.v.blocks) || c.v.blocks[i] == nil {
		return 0
	}
	return c.v.blocks[i].times[slot%blockSlots]
}

// Covers reports whether e is at most the clock's time of e's slot. If the clock is that of a
// thread, e then happened before the thread's present. It takes constant time.
func (c *Clock) Covers(e Epoch) bool { return e.Time() <= c.Time(e.Slot()) }

// Raise makes c cover e. It takes constant time if c shares no memory with another clock.
// Otherwise it copies a block, and a pointer per 64 slots.
func (c *Clock) Raise(e Epoch) {
	if c != nil {
		c.raise(nil, e)
	}
}

// Tick advances the time of slot by one and returns the new epoch. It costs as much as Raise. The
// largest time, 2^44-1, stays as it is. Slots from MaxSlots on have no time: for them, Tick changes
// nothing and returns the zero Epoch.
func (c *Clock) Tick(slot uint32) Epoch {
	if c == nil || slot >= MaxSlots {
		return 0
	}
	e := MakeEpoch(slot, min(c.Time(slot)+1, maxTime))
	c.Raise(e)
	return e
}

// Join makes c the pointwise maximum of c and d. It takes a step per slot, or a step per 64 slots
// where both share memory. A nil d is a zero clock.
func (c *Clock) Join(d *Clock) {
	if c != nil && d != nil {
		c.join(nil, d)
	}
}

// Copy returns a clock with the times of c. It takes constant time.
func (c *Clock) Copy() Clock {
	if c == nil {
		return Clock{}
	}
	if c.v != nil {
		c.v.refs++
	}
	return *c
}

// LessEq reports whether no slot's time is later in c than in d: d has seen everything that c has
// seen. It takes a step per slot, or a step per 64 slots where both share memory.
func (c *Clock) LessEq(d *Clock) bool {
	if c == nil {
		return true
	}
	if d == nil {
		d = new(Clock)
	}
	return c.lessEqBut(nil, d, MaxSlots)
}

// String returns the times that are not zero, by slot, each as time@slot: [3@0 1@7].
func (c *Clock) String() string {
	text := []byte{'['}
	if c != nil && c.v != nil {
		for i, b := range c.v.blocks {
			if b == nil {
				continue
			}
			for j, time := range b.times {
				if time == 0 {
					continue
				}
				if len(text) > 1 {
					text = append(text, ' ')
				}
				text = append(text, MakeEpoch(uint32(i*blockSlots+j), time).String()...)
			}
		}
	}
	return string(append(text, ']'))
}

// lessEqBut is LessEq without one slot.
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

// zeroBlock replaces nil where that saves a case. It is read-only.
var zeroBlock block

func (c *Clock) block(i int) *block {
	if c.v == nil || i >= len(c.v.blocks) {
		return nil
	}
	return c.v.blocks[i]
}

// pool is a free list of vectors and blocks. A nil pool is empty and stays so.
type pool struct {
	vectors []*vector
	blocks  []*block
	slots   int // all slots from here on are zero in every clock
}

// used returns how many of the times in block i may be other than zero.
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

// block returns a block whose times are arbitrary.
func (p *pool) block() *block {
	if p == nil || len(p.blocks) == 0 {
		return &block{refs: 1}
	}
	b := p.blocks[len(p.blocks)-1]
	p.blocks = p.blocks[:len(p.blocks)-1]
	b.refs = 1
	return b
}

// drop makes c zero and returns memory that c shared with no other clock to the pool.
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

// own makes c the only user of its vector, but not of the vector's blocks, and grows the vector
// to at least n blocks.
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

// ownBlock makes v, which no other clock uses, the only user of its block i.
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
	if e.Time() <= c.time(e.Slot()) {
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

// joinBlock makes block i of c, which is a, the maximum of a and b. If the maximum equals one of
// the two, c shares that one.
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
	v.blocks[i].release(p) // a, which v no longer uses
	v.blocks[i] = fresh
}

// max sets the first n times of b, which may be x or y, to the pointwise maximum of x and y, and
// reports whether x and y are less than the maximum at some slot. It has no branches that depend
// on the times, because the processor could not predict them.
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

// overwrite sets c to d if both are one block long and no other clock uses c's. It reports whether
// it did.
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
