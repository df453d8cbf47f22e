package vclock

import "iter"

// The coverage of an epoch is the set of clocks that cover it. A compaction compares coverages of many
// epochs. So each clock gets a random weight, and a coverage is known by the sum of its weights. If two
// coverages have the same sum by chance (a chance of 2^-64 for each pair), a race may be missed or
// invented.
//
// Clocks share most of their memory. So the weight of a clock goes to its vector, from there to the
// blocks, and each block is looked at once.

// weight is the sum of the weights of some clocks.
type weight struct {
	sum     uint64
	running uint32 // how many of them are clocks of running threads
	pass    uint32 // the compaction for which the two above are; see pool.pass
}

func (w *weight) add(x weight) {
	w.sum += x.sum
	w.running += x.running
}

func (w *weight) subtract(x weight) {
	w.sum -= x.sum
	w.running -= x.running
}

// begin makes a weight zero that is of an earlier compaction. It reports whether it was.
func (w *weight) begin(pass uint32) bool {
	if w.pass == pass {
		return false
	}
	*w = weight{pass: pass}
	return true
}

// clockUse says what a clock is to a compaction.
type clockUse struct {
	clock   *Clock
	epoch   *Epoch // an epoch that the clock covers in addition, or nil
	running bool   // it is that of a running thread
}

// eachClock calls visit with all clocks that later ones can be maxima of.
func (o *Order) eachClock(more iter.Seq[*Clock], visit func(clockUse)) {
	o.threads.byID.Each(func(p **thread) {
		switch t := *p; {
		case t == nil:
		case !t.ended:
			visit(clockUse{clock: &t.clock, running: true})
		case o.threads.joinable(t):
			visit(clockUse{clock: &t.clock, epoch: &t.epoch})
		}
	})
	o.objects.Each(func(p **syncObject) {
		if s := *p; s != nil {
			visit(clockUse{clock: &s.published.clock, epoch: &s.published.epoch})
			visit(clockUse{clock: &s.readers.clock, epoch: &s.readers.epoch})
		}
	})
	if o.barriers != nil {
		o.barriers.eachClock(func(s *releaseClock) { visit(clockUse{clock: &s.clock, epoch: &s.epoch}) })
	}
	if more != nil {
		for c := range more {
			visit(clockUse{clock: c})
		}
	}
}

// weigh gives a clock a weight.
func (k *Compaction) weigh(c clockUse) {
	k.visited++
	w := weight{sum: k.next()}
	if c.running {
		w.running = 1
	}
	if v := c.clock.v; v != nil {
		if v.weight.begin(k.order.pool.pass) {
			k.vectors = append(k.vectors, v)
		}
		v.weight.add(w)
	}
	if c.epoch == nil || *c.epoch == 0 {
		return
	}
	e := *c.epoch
	u := &k.slots[e.Slot()]
	if u.live {
		if u.needed != nil { // see hasSeen
			at := k.order.threads.tenureOf(e)
			for i := at; i < min(at+3, len(u.needed)); i++ {
				u.needed[i] = true
			}
		}
		return
	}
	if u.coverage == nil {
		u.coverage = make([]weight, len(u.times))
	}
	// The vector counts for less than the clock does.
	by, in := upTo(u.times, c.clock.time(e.Slot())), upTo(u.times, u.timeOf(e))
	if in > by {
		if by > 0 {
			u.coverage[by-1].subtract(w)
		}
		u.coverage[in-1].add(w)
	}
}

// next returns a random weight: SplitMix64, the same ones in each run.
func (k *Compaction) next() uint64 {
	k.random += 0x9e3779b97f4a7c15
	z := k.random
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// addUp computes the coverage of all epochs.
func (k *Compaction) addUp() {
	pass := k.order.pool.pass
	for _, v := range k.vectors {
		for i, b := range v.blocks {
			if b == nil {
				continue
			}
			if b.weight.begin(pass) {
				for len(k.blocks) <= i {
					k.blocks = append(k.blocks, nil)
				}
				k.blocks[i] = append(k.blocks[i], b)
			}
			b.weight.add(v.weight)
		}
	}
	for s := range k.slots {
		u := &k.slots[s]
		if u.coverage == nil {
			u.coverage = make([]weight, len(u.times))
		}
		if len(u.times) == 0 {
			continue
		}
		if i := s / blockSlots; i < len(k.blocks) {
			for _, b := range k.blocks[i] {
				if n := upTo(u.times, b.times[s%blockSlots]); n > 0 {
					u.coverage[n-1].add(b.weight)
				}
			}
		}
		for i := len(u.coverage) - 2; i >= 0; i-- {
			u.coverage[i].add(u.coverage[i+1])
		}
	}
}

// rewriteBlocks replaces the times of slots that are not live in all clocks, and drops the blocks that
// then are zero.
func (k *Compaction) rewriteBlocks() {
	for i, blocks := range k.blocks {
		for j := range k.order.pool.used(i) {
			u := &k.slots[i*blockSlots+j]
			if u.live || u.vacant {
				continue
			}
			for _, b := range blocks {
				if t := b.times[j]; t != 0 {
					b.times[j] = u.seal(t)
				}
			}
		}
		for _, b := range blocks {
			b.weight.sum = 1
			if b.times == zeroBlock.times {
				b.weight.sum = 0
			}
		}
	}
	for _, v := range k.vectors {
		last := 0
		for i, b := range v.blocks {
			switch {
			case b == nil:
			case b.weight.sum == 0:
				b.release(&k.order.pool)
				v.blocks[i] = nil
			default:
				last = i + 1
			}
		}
		v.blocks = v.blocks[:last]
	}
}

// settle makes a clock with an additional epoch one that mentions only slots that are still in use, and
// a clock that has become zero an empty one.
func (k *Compaction) settle(c clockUse) {
	if c.clock.v != nil && len(c.clock.v.blocks) == 0 {
		c.clock.drop(&k.order.pool)
	}
	if c.epoch != nil && *c.epoch != 0 && !k.slots[c.epoch.Slot()].live {
		c.clock.raise(&k.order.pool, k.sealEpoch(*c.epoch))
		*c.epoch = 0
	}
}
