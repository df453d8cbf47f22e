package atomrace

import "sync/atomic"

// Wide accesses have more than maxNarrow words.

// maxWide bounds the wide accesses at a time. A mask of 64 bits marks those in use.
const maxWide = 64

// wideEntry is a pending wide access. It is a sequence lock: state is odd while the access is
// pending and never repeats, and the other fields change only while it is even. So what is read
// between two loads of the same odd state belongs together, and was pending.
type wideEntry struct {
	state       atomic.Uint64
	first, last atomic.Uint64 // bytes
	id          atomic.Uint64
	write       atomic.Uint32
	_           [28]byte
}

// beforeWide is Before for a wide access. It publishes the access, then looks at the other wide
// accesses and, word by word, at narrow ones. Narrow accesses look at wide ones in scanWide.
//
//go:nosplit
func (t *Table) beforeWide(th *Thread, a *Access, first, last uint64, hits *Hits) {
	own := uint32(maxWide)
	if !a.Atomic {
		if own = t.claimWide(); own < maxWide {
			th.wide = own + 1
			e := &t.wide[own]
			storeRelease(&e.first, first)
			storeRelease(&e.last, last)
			storeRelease(&e.id, a.ID)
			write := uint32(0)
			if a.Write {
				write = 1
			}
			storeRelease32(&e.write, write)
			e.state.Add(1)
		} else {
			t.unseenWide.Add(1)
		}
	}
	t.scanWide(own, a, first, last, hits)
	words := uint32(0)
	for from := first; ; from = (from | 7) + 1 {
		if t.buckets[bucketIndex(from)].used() {
			b, key := t.locate(from, min(from|7, last), a.Write)
			t.scan(b, bucketWays, key, a.ID, from, hits)
		}
		if from>>3 == last>>3 {
			return
		}
		if words++; words == maxSearched {
			t.partial.Add(1)
			return
		}
	}
}

// claimWide takes a free element of Table.wide and returns its index, or maxWide if none is free.
//
//go:nosplit
func (t *Table) claimWide() uint32 {
	for {
		taken := t.wides.Load()
		i := uint32(0)
		for i < maxWide && taken>>i&1 != 0 {
			i++
		}
		if i == maxWide || t.wides.CompareAndSwap(taken, taken|1<<i) {
			return i
		}
	}
}

// endWide ends a wide access.
//
//go:nosplit
func (t *Table) endWide(i uint32) {
	if i >= maxWide {
		return
	}
	e := &t.wide[i]
	storeRelease(&e.state, e.state.Load()+1)
	for {
		taken := t.wides.Load()
		if t.wides.CompareAndSwap(taken, taken&^(1<<i)) {
			return
		}
	}
}

// scanWide looks for wide accesses that conflict with a, which touches the bytes from first to
// last. If a is wide itself, its index is own.
//
//go:nosplit
func (t *Table) scanWide(own uint32, a *Access, first, last uint64, hits *Hits) {
	taken := t.wides.Load()
	for i := uint32(0); i < maxWide && taken>>i != 0; i++ {
		if taken>>i&1 == 0 || i == own {
			continue
		}
		e := &t.wide[i]
		state := e.state.Load()
		from, to, id, write := e.first.Load(), e.last.Load(), e.id.Load(), e.write.Load() != 0
		if state&1 != 0 && e.state.Load() == state && from <= last && first <= to &&
			(write || a.Write) && id>>32 != a.ID>>32 {
			t.addOverlap(hits, id, from, to-from+1, write)
		}
	}
}
