package watch

import "sync/atomic"

// Races (section 3.1, figure 2).
//
// A thread that is about to access a variable leaves an entry that says so, and then
// looks for entries of others that conflict: first publish, then scan. Of two
// accesses that do so, the one that publishes later finds the other's entry, if that
// is still there when it has looked. So of two accesses that are pending at the same
// time at least one finds the other, and whatever is found was pending at that moment.
// Where a bound is in the way of the former, that is counted.
//
// Entries are found by the 8-byte word of their address. A word's entries are in one
// bucket, a cache line with room for three; a product with an odd constant is a
// permutation of the 2^61 words, of which the high bits choose the bucket and the
// others stand in the entry's key, so that a key is exact. The key also has the bytes
// of the word that are accessed, whether they are written, and a turn bit; what it
// is that accesses them, the who, has a word of its own.
//
// Reading a key and the who that belongs to it. An entry's claims are numbered from
// 1. Claim c changes the key, in one atomic step that also publishes the access, to
// one whose turn bit is the lowest of c; then it sets the who, and then the entry's
// turn to c. The end of the access empties the key but for the turn bit. A free entry
// is claimed by comparing and swapping the key, a held one by its holder only, so
// claims come one after the other, and the turn is c or c-1 at any time, c being the
// latest claim. A reader loads turn, who, key, turn. Let both turns be T. When the
// key was loaded the latest claim was T or T+1, and the turn bit tells that it was T if
// it agrees with T. Then the who, which was loaded before, had not been changed by claim
// T+1 yet, but had been set by claim T, for the turn was T before it was loaded. So
// who and key belong together, and the access was pending when the key was loaded. (A
// turn has 32 bits. The reader is wrong if the entry changes hands exactly 2^32 times
// while it takes these four steps.)
//
// Where the turn bit disagrees, the claim is a store or two from being complete, and
// the reader tries again. If the other thread has been interrupted just there it gives
// up in the end, and counts that.

const (
	bucketBits  = 14
	bucketWays  = 3       // entries of a bucket
	maxPieces   = 4       // words of an access that has entries; longer ones are wide
	maxWide     = 64      // wide accesses at a time, as many as a mask has bits
	maxSearched = 64      // words of a wide access in which it looks for narrow ones
	maxTries    = 1 << 10 // to read an entry
	maxOverlaps = 4

	keyTurn     = 1 << 0
	keyWrite    = 1 << 1
	keyShift    = 8 // of the byte mask
	keyBytes    = 0xFF << keyShift
	keyTagShift = 17
	keyTagBits  = 61 - bucketBits

	spread = 0x9E3779B97F4A7C15 // 2^64 divided by the golden ratio
)

// Access is an access that a thread is about to make.
type Access struct {
	Addr uint64
	Size uint64 // in bytes; 0 counts as 1
	// Who is what others are told who find the access: the thread's number in the high
	// 32 bits, and whatever the host likes in the low ones, such as the place.
	Who    uint64
	Loc    uint32 // the place's number among those of sections, 0 if it is none
	Depth  uint32 // how many calls the thread is in
	Write  bool
	Atomic bool // an operation of sync/atomic
}

// Overlap is an access of another thread that is pending while a conflicting one is
// about to be made: a data race.
type Overlap struct {
	Who uint64
	// Where it meets: the other's bytes in the first word found that both touch.
	Addr, Size uint64
	Write      bool
}

// Hits is what was found. Each call that takes one overwrites it.
type Hits struct {
	Overlaps   uint32 // how many of At are set
	Violations uint32 // how many of Broken are set
	At         [maxOverlaps]Overlap
	Broken     [maxViolations]Violation
}

// Losses counts what could not be followed because a bound was reached.
type Losses struct {
	Full  uint64 // words of accesses, and wide accesses, that others could not see
	Long  uint64 // accesses that were compared with those to their first words only
	Busy  uint64 // overlaps and suspects that were there, but not to be told in time with whom
	Found uint64 // overlaps and violations for which Hits had no room

	Sections uint64 // entries into sections that were not followed
}

// entryBucket is a cache line of entries.
type entryBucket struct {
	keys  [bucketWays]atomic.Uint64
	whos  [bucketWays]atomic.Uint64
	turns [bucketWays]atomic.Uint32
	full  atomic.Uint32 // times that there was no free entry
}

// wideEntry is a pending access of more than maxPieces words. It is a sequence lock:
// state is odd while the access is pending and never repeats, and the rest changes
// only while it is even. So what is read between two loads of the same odd state
// belongs together, and was pending.
type wideEntry struct {
	state       atomic.Uint64
	first, last atomic.Uint64 // bytes
	who         atomic.Uint64
	write       atomic.Uint32
	_           [28]byte
}

// Table is what all threads of a program share. Its zero value is ready. It is
// large and not to be copied. At an address that is a multiple of 64 its buckets are
// cache lines.
type Table struct {
	buckets [1 << bucketBits]entryBucket
	wide    [maxWide]wideEntry
	active  [1 << activeBits]activeBucket

	// What every access loads and few change.
	wides atomic.Uint64 // a bit for each of wide that is taken
	life  atomic.Uint32 // times that everything was forgotten

	// Single makes an access of up to four words leave no entry in a word while another
	// thread's access to the same bytes is pending, as in figure 2, where a variable has
	// room for one, and not follow sections on a variable that another thread is
	// followed on, as in figure 3. Races with a second reader are lost. It is set
	// before the first access.
	Single   bool
	sections uint32 // how many of rules are set
	entries  uint32 // how many of entryRules are set
	ends     uint32 // how many of endRules are set
	_        [36]byte

	fullWide, long, busy, found, dropped atomic.Uint64

	roles      [MaxLocations]locationRoles
	rules      [MaxSections]sectionRule
	entryRules [MaxEntries]entryRule
	endRules   [MaxEnds]endRule
	seen       [MaxEnds]atomic.Uint32
}

// Thread is what a thread has pending. Its zero value is ready. It belongs to the
// thread.
type Thread struct {
	who    uint64
	life   uint32 // of the table, when the access began
	pieces uint32 // words of the access that have an entry
	wide   uint32 // one more than its index among wide ones; 0 if it is none
	at     [maxPieces]uint32
	keys   [maxPieces]uint64

	// Where the latest access was, until its section's ends have been seen to; and the
	// sections the thread is in.
	loc     uint32
	actives uint32
	addr    uint64
	active  [maxActive]activeSection
}

// Idle reports whether the thread has nothing pending and is in no section.
//
//go:nosplit
func (th *Thread) Idle() bool { return th.pieces|th.wide|th.loc|th.actives == 0 }

// Before says that a thread is about to make an access, and looks for accesses of
// other threads that conflict with it and are pending now: accesses that share a byte,
// one of them a write. It first ends the thread's latest access, as After does. Then
// sections: the access is a suspect in those that other threads are in on the
// variable, and begins those whose entry it is.
//
// Accesses by the same thread number never conflict. An atomic operation leaves no
// entry, for it may order whatever comes after it; it looks for plain accesses that are
// pending.
//
//go:nosplit
func (t *Table) Before(th *Thread, a *Access, hits *Hits) {
	hits.Overlaps, hits.Violations = 0, 0
	first, last := a.Addr, a.Addr+a.Size-1
	if last < first || a.Size == 0 {
		if last = first; a.Size != 0 {
			last = 1<<64 - 1 // the end of the address space
		}
	}
	if t.sections != 0 {
		t.follow(th, a, first, last, hits)
	}
	if last>>3 != first>>3 || a.Atomic || !t.again(th, a, first, last, hits) {
		t.end(th)
		th.who = a.Who
		th.life = t.life.Load()
		if last>>3-first>>3 >= maxPieces {
			t.beforeWide(th, a, first, last, hits)
			return
		}
		for from := first; ; from = (from | 7) + 1 {
			t.beforePiece(th, a, from, min(from|7, last), hits)
			if from>>3 == last>>3 {
				break
			}
		}
	}
	if t.wides.Load() != 0 {
		t.scanWide(maxWide, a, first, last, hits)
	}
}

// After says that the thread's latest access is over, which it is at the thread's
// next event at the latest, before whatever that event publishes takes effect. It
// ends the sections of which the access is an end.
//
//go:nosplit
func (t *Table) After(th *Thread, hits *Hits) {
	hits.Overlaps, hits.Violations = 0, 0
	if t.sections != 0 {
		t.finish(th, hits)
	}
	t.end(th)
}

// Forget drops all pending accesses, as if they were over, and gives up all sections
// that threads are in. It is called while no thread is inside another method: when
// memory may get another life.
//
//go:nosplit
func (t *Table) Forget() {
	t.life.Add(1)
	for i := range t.buckets {
		b := &t.buckets[i]
		for j := range b.keys {
			if k := b.keys[j].Load(); k&keyBytes != 0 {
				storeRelease(&b.keys[j], k&keyTurn)
			}
		}
	}
	for i := range t.wide {
		if s := t.wide[i].state.Load(); s&1 != 0 {
			storeRelease(&t.wide[i].state, s+1)
		}
	}
	t.wides.Store(0)
	if t.sections == 0 {
		return
	}
	for i := range t.active {
		b := &t.active[i]
		for j := range b.keys {
			if b.keys[j].Load() != 0 {
				storeRelease(&b.keys[j], 0)
			}
		}
	}
}

// Missed returns what was lost so far. It takes time proportional to the table.
//
//go:nosplit
func (t *Table) Missed() (l Losses) {
	l.Full = t.fullWide.Load()
	for i := range t.buckets {
		l.Full += uint64(t.buckets[i].full.Load())
	}
	l.Long, l.Busy, l.Found = t.long.Load(), t.busy.Load(), t.found.Load()
	l.Sections = t.dropped.Load()
	return l
}

// end takes back the entries of the thread's pending access, unless they were
// forgotten meanwhile.
//
//go:nosplit
func (t *Table) end(th *Thread) {
	if th.pieces|th.wide == 0 {
		return
	}
	if th.life == t.life.Load() {
		for i := uint32(0); i < th.pieces && i < maxPieces; i++ {
			b := &t.buckets[th.at[i]>>2&(1<<bucketBits-1)]
			if own := th.at[i] & 3; own < bucketWays {
				storeRelease(&b.keys[own], th.keys[i]&keyTurn)
			}
		}
		if th.wide != 0 {
			t.endWide(th.wide - 1)
		}
	}
	th.pieces, th.wide = 0, 0
}

// again handles an access to the word that the thread's pending access is to, which
// is most often the same access in a loop, or a write after a read: the entry stays,
// and is claimed anew by its holder. It reports whether it was such an access. One that
// is the same in all has been found by whoever has come since it was published, and
// needs nothing.
//
//go:nosplit
func (t *Table) again(th *Thread, a *Access, first, last uint64, hits *Hits) bool {
	at, old := th.at[0], th.keys[0]
	b, key := t.locate(first, last, a.Write)
	own := at & 3
	if th.pieces != 1 || own >= bucketWays || (old^key)>>keyTagShift != 0 ||
		at>>2 != bucketIndex(first) || th.life != t.life.Load() {
		return false
	}
	if (old^key)&^keyTurn == 0 && th.who == a.Who {
		return true
	}
	th.who = a.Who
	th.keys[0] = key | ^old&keyTurn
	b.keys[own].Swap(th.keys[0])
	b.complete(own, a.Who)
	t.scan(b, own, key, a.Who, first, hits)
	return true
}

// beforePiece is Before for the part of an access that lies in one word.
//
//go:nosplit
func (t *Table) beforePiece(th *Thread, a *Access, from, to uint64, hits *Hits) {
	b, key := t.locate(from, to, a.Write)
	own := uint32(bucketWays)
	if !a.Atomic && !(t.Single && t.taken(b, key, a.Who)) {
		if own = b.claim(key, a.Who); own < bucketWays {
			i := th.pieces % maxPieces // there are fewer
			th.at[i] = bucketIndex(from)<<2 | own
			th.keys[i] = b.keys[own].Load()
			th.pieces = i + 1
		}
	}
	t.scan(b, own, key, a.Who, from, hits)
}

//go:nosplit
func bucketIndex(addr uint64) uint32 {
	return uint32(addr >> 3 * spread >> keyTagBits & (1<<bucketBits - 1))
}

// locate returns the bucket of an access to the bytes from from to to, which are in
// one word, and the key of its entry but for the turn bit.
//
//go:nosplit
func (t *Table) locate(from, to uint64, write bool) (*entryBucket, uint64) {
	key := from>>3*spread<<keyTagShift | (2<<(to&7)-1)&^(1<<(from&7)-1)<<keyShift
	if write {
		key |= keyWrite
	}
	return &t.buckets[bucketIndex(from)], key
}

// claim takes a free entry and publishes an access in it. It returns which one, or
// bucketWays if there is none.
//
//go:nosplit
func (b *entryBucket) claim(key, who uint64) uint32 {
	for i := range uint32(bucketWays) {
		k := b.keys[i].Load()
		if k&keyBytes == 0 && b.keys[i].CompareAndSwap(k, key|^k&keyTurn) {
			b.complete(i, who)
			return i
		}
	}
	b.full.Add(1)
	return bucketWays
}

// complete sets what goes with a key that the entry's holder has published.
//
//go:nosplit
func (b *entryBucket) complete(i uint32, who uint64) {
	if i < bucketWays {
		storeRelease(&b.whos[i], who)
		storeRelease32(&b.turns[i], b.turns[i].Load()+1)
	}
}

// conflicting reports whether accesses to the words of one bucket share a byte that
// one of them writes.
//
//go:nosplit
func conflicting(k, key uint64) bool {
	return (k^key)>>keyTagShift == 0 && k&key&keyBytes != 0 && (k|key)&keyWrite != 0
}

// scan looks in b for entries that conflict with an access by who in the word of addr,
// whose own entry is own.
//
//go:nosplit
func (t *Table) scan(b *entryBucket, own uint32, key, who, addr uint64, hits *Hits) {
	for i := range uint32(bucketWays) {
		if i != own && conflicting(b.keys[i].Load(), key) {
			if other, k, ok := t.read(b, i, key); ok && other>>32 != who>>32 {
				t.report(hits, other, k, addr)
			}
		}
	}
}

// taken reports whether another thread's access to the bytes of key is pending.
//
//go:nosplit
func (t *Table) taken(b *entryBucket, key, who uint64) bool {
	for i := range uint32(bucketWays) {
		if conflicting(b.keys[i].Load(), key|keyWrite) {
			if other, _, ok := t.read(b, i, key|keyWrite); ok && other>>32 != who>>32 {
				return true
			}
		}
	}
	return false
}

// read returns the who and the key of an entry that conflicts with key, if there
// still is one: as said above, turn, who, key, turn.
//
//go:nosplit
func (t *Table) read(b *entryBucket, i uint32, key uint64) (who, k uint64, ok bool) {
	if i >= bucketWays {
		return 0, 0, false
	}
	for range maxTries {
		turn := b.turns[i].Load()
		who = b.whos[i].Load()
		k = b.keys[i].Load()
		if !conflicting(k, key) {
			return 0, 0, false
		}
		if b.turns[i].Load() == turn && uint64(turn)&keyTurn == k&keyTurn {
			return who, k, true
		}
		pauseSpinning()
	}
	t.busy.Add(1)
	return 0, 0, false
}

// report notes an overlap with the entry of key k in the word of addr, once for each
// who.
//
//go:nosplit
func (t *Table) report(hits *Hits, who, k, addr uint64) {
	first, size := uint64(0), uint64(0)
	for m := k & keyBytes >> keyShift; m != 0; m >>= 1 {
		if size += m & 1; size == 0 {
			first++
		}
	}
	t.add(hits, who, addr&^7+first, size, k&keyWrite != 0)
}

//go:nosplit
func (t *Table) add(hits *Hits, who, addr, size uint64, write bool) {
	n := hits.Overlaps
	for i := uint32(0); i < n && i < maxOverlaps; i++ {
		if hits.At[i].Who == who {
			return
		}
	}
	if n >= maxOverlaps {
		t.found.Add(1)
		return
	}
	o := &hits.At[n]
	o.Who, o.Addr, o.Size, o.Write = who, addr, size, write
	hits.Overlaps = n + 1
}

// beforeWide is Before for an access of more than maxPieces words. It publishes, then
// looks at wide accesses and, word by word, at narrow ones; narrow ones look at it,
// see scanWide.
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
			storeRelease(&e.who, a.Who)
			write := uint32(0)
			if a.Write {
				write = 1
			}
			storeRelease32(&e.write, write)
			e.state.Add(1)
		} else {
			t.fullWide.Add(1)
		}
	}
	t.scanWide(own, a, first, last, hits)
	words := uint32(0)
	for from := first; ; from = (from | 7) + 1 {
		b, key := t.locate(from, min(from|7, last), a.Write)
		t.scan(b, bucketWays, key, a.Who, from, hits)
		if from>>3 == last>>3 {
			return
		}
		if words++; words == maxSearched {
			t.long.Add(1)
			return
		}
	}
}

// claimWide returns an index among wide accesses that is the caller's, maxWide if
// there is none.
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

// scanWide looks for wide accesses that conflict with a, which touches the bytes from
// first to last and is wide entry own itself.
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
		from, to, who, write := e.first.Load(), e.last.Load(), e.who.Load(), e.write.Load() != 0
		if state&1 != 0 && e.state.Load() == state && from <= last && first <= to &&
			(write || a.Write) && who>>32 != a.Who>>32 {
			t.add(hits, who, from, to-from+1, write)
		}
	}
}
