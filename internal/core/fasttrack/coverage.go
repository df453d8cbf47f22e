package fasttrack

// Coverage: which clocks have learned an epoch of an ended thread. Two epochs that the same clocks
// cover are equivalent for ever: every later clock is a join of present ones and of epochs of live
// threads, so it covers both or none (see reclaim.go).
//
// Each clock that counts has a random weight of 64 bits. The coverage of an epoch is the sum of the
// weights of the clocks that cover it; two coverages are taken for equal if the sums are. The
// weight of a clock is added to its vector, those of vectors to their nodes, and those of nodes to
// their blocks. So a block that many clocks share is looked at once. Each time of an ended thread's
// slot in a block is a mark. The marks of a slot are sorted by time, and the weights added up from
// the latest, so the coverage of an epoch is that of the first mark that is not earlier.

// weight is the sum of the weights of the clocks that have a vector, a node or a block, and the
// number of those that are threads. A node, or a block, is in the same place of all these clocks.
type weight struct {
	sum     uint64
	threads uint32
	at      uint32
}

// mark is a time of a slot that some clocks have. Once the marks are sorted, the sums are those of
// all clocks that have this time or a later one.
type mark struct {
	sum           uint64
	time, threads uint32
}

const (
	maxWeights = maxVectors + maxNodes + maxBlocks
	maxMarks   = 1 << 27
)

// nodeWeight returns the weight of a node.
func (t *Table) nodeWeight(i uint32) *weight { return weightAt(maxVectors>>t.memory.fewer + i) }

// blockWeight returns the weight of a block.
func (t *Table) blockWeight(i uint32) *weight {
	return weightAt((maxVectors+maxNodes)>>t.memory.fewer + i)
}

// random returns the weight of a clock, given a number of its own.
func random(n uint64) uint64 {
	n *= 0x9E3779B97F4A7C15
	n = (n ^ n>>30) * 0xBF58476D1CE4E5B9
	n = (n ^ n>>27) * 0x94D049BB133111EB
	return n ^ n>>31
}

// The numbers of clocks: of the release clocks of an extension, twice its number and one more; of
// the others, these and more.
const (
	threadClocks   = 1 << 40
	collectedClock = 1 << 41
)

// add adds the weight of a part of a clock to a smaller part.
func (w *weight) add(v *weight, at uint32) {
	w.sum += v.sum
	w.threads += v.threads
	w.at = at
}

// weigh adds up the weights of vectors, nodes and blocks. Those of threads are in their vectors.
func (t *Table) weigh() {
	for i := uint32(1); i <= t.memory.made[extensions]; i++ {
		x := extensionAt(i)
		t.weighRelease(&x.release, 2*uint64(i))
		t.weighRelease(&x.sharedRelease, 2*uint64(i)+1)
	}
	for i := uint32(1); i <= t.memory.made[vectors]; i++ {
		w := weightAt(i)
		if w.sum == 0 {
			continue
		}
		if b := vectorAt(i).first; b != 0 {
			t.blockWeight(b).add(w, 0)
		}
		for k := range t.usedNodes() {
			if n := *nodeIndexAt(i, k); n != 0 {
				t.nodeWeight(n).add(w, k)
			}
		}
	}
	for i := uint32(1); i <= t.memory.made[nodes]; i++ {
		w := t.nodeWeight(i)
		if w.sum == 0 {
			continue
		}
		for k, b := range nodeAt(i).blocks {
			if b != 0 {
				t.blockWeight(b).add(w, 1+w.at*nodeBlocks+uint32(k))
			}
		}
	}
}

// weighRelease adds the weight of a release clock to its vector.
func (t *Table) weighRelease(s *releaseClock, number uint64) {
	if !s.empty() && s.clock != 0 && s.clock != inlined {
		weightAt(s.clock).sum += random(number)
	}
}

// sortMarks makes the marks of all ended slots, and reports whether there is room for them.
func (t *Table) sortMarks() bool {
	r := &t.reclaim
	t.eachMark() // counts them
	total := uint64(0)
	for s := range r.end {
		n := r.end[s]
		r.end[s] = uint32(total) // where those of the slot begin
		if total += uint64(n); total > maxMarks>>t.memory.smaller {
			return false
		}
	}
	r.filling = true
	t.eachMark()
	first := uint32(0)
	for s := range r.end { // no copy, which would take stack
		end := r.end[s]
		if end == first {
			continue
		}
		sortMarks(first, end)
		var sum mark
		for i := end; i > first; i-- {
			m := markAt(i - 1)
			sum.sum += m.sum
			sum.threads += m.threads
			m.sum, m.threads = sum.sum, sum.threads
		}
		first = end
	}
	return true
}

// sortMarks sorts marks by time.
func sortMarks(first, end uint32) {
	n := end - first
	gap := uint32(1)
	for gap < n/3 {
		gap = 3*gap + 1
	}
	for ; gap > 0; gap /= 3 {
		for i := first + gap; i < end; i++ {
			m, k := *markAt(i), i
			for ; k >= first+gap && markAt(k-gap).time > m.time; k -= gap {
				*markAt(k) = *markAt(k - gap)
			}
			*markAt(k) = m
		}
	}
}

// eachMark calls mark for all times of ended slots in clocks.
func (t *Table) eachMark() {
	r := &t.reclaim
	for s := range t.slots.Load() {
		r.mark(s, t.collected[s%maxSlots], random(collectedClock), 0)
	}
	if t.sharing.Load() != 0 {
		for s := uint32(ownedSlots); s < firstOrphanSlot; s++ {
			r.mark(s, t.collected[s], random(collectedClock), 0)
		}
	}
	for i := uint32(1); i <= t.memory.made[blocks]; i++ {
		w := t.blockWeight(i)
		if w.sum == 0 {
			continue
		}
		b := blockAt(i)
		for k := range uint32(blockSlots / 2) {
			if b.times[k] != 0 {
				s := w.at*blockSlots + 2*k
				r.mark(s, b.time(2*k), w.sum, w.threads)
				r.mark(s+1, b.time(2*k+1), w.sum, w.threads)
			}
		}
	}
	for i := uint32(1); i <= t.memory.made[extensions]; i++ {
		x := extensionAt(i)
		t.markRelease(x, &x.release, random(2*uint64(i)))
		t.markRelease(x, &x.sharedRelease, random(2*uint64(i)+1))
	}
}

// markRelease makes the marks of a release clock that are not those of its vector.
func (t *Table) markRelease(x *extension, s *releaseClock, w uint64) {
	if s.empty() {
		return
	}
	if s.clock == inlined {
		for slot := range uint32(inlineSlots) {
			t.reclaim.mark(slot, x.inline.time(slot), w, 0)
		}
	}
	e, second := s.lastEpoch(), s.partnerEpoch&epochMask
	if e>>timeBits == second>>timeBits {
		e, second = max(e, second), 0
	}
	t.markEpoch(x, s, e, w)
	t.markEpoch(x, s, second, w)
}

// markEpoch makes the mark of a release clock for an epoch that its vector may not cover.
func (t *Table) markEpoch(x *extension, s *releaseClock, e, w uint64) {
	slot, time := uint32(e>>timeBits), uint32(e&maxTime)
	before := uint32(0)
	if s.clock != inlined {
		before = t.timeOf(s.clock, slot)
	} else if slot < inlineSlots {
		before = x.inline.time(slot)
	}
	if time > before {
		t.reclaim.mark(slot, time, w, 0)
		t.reclaim.mark(slot, before, -w, 0) // which is that of the vector
	}
}

// mark counts a mark, or makes it.
func (r *reclaimer) mark(slot, time uint32, sum uint64, threads uint32) {
	if time == 0 || r.state[slot%maxSlots] < slotEnded {
		return
	}
	end := &r.end[slot%maxSlots]
	if r.filling {
		*markAt(*end) = mark{sum, time, threads}
	}
	*end++
}

// coverage returns the sum of the weights of the clocks that cover an epoch of an ended slot, 0 if
// there is none, and the number of threads.
func (r *reclaimer) coverage(slot, time uint32) (sum uint64, threads uint32) {
	low, end := uint32(0), r.end[slot%maxSlots]
	if slot != 0 {
		low = r.end[(slot-1)%maxSlots]
	}
	high := end
	for low < high {
		if mid := low + (high-low)/2; markAt(mid).time < time {
			low = mid + 1
		} else {
			high = mid
		}
	}
	if low == end {
		return 0, 0
	}
	m := markAt(low)
	return m.sum, m.threads
}
