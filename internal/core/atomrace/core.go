package atomrace

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
//
// A thread keeps its entry for a word when it accesses the word in another way, as in a
// write after a read: it claims anew what it holds. So it never has two for a word.
//
// How long an access may be pending. That the access itself goes on is not needed, only
// that its thread has published nothing since. Let accesses of two threads be pending at
// the same moment. For one to be ordered before the other its thread had to release
// something after it, and the other thread to acquire that before its own access. But
// that access had begun at that moment, and the release was yet to come. So a host that
// calls After before each release can let accesses be pending until then (Table.Keep).
// That finds more, and an access that repeats what is pending costs but a look at the
// thread's own memory (Pending).

const (
	bucketBits  = 14
	bucketWays  = 3       // entries of a bucket
	maxHeld     = 16      // entries that a thread holds
	maxPieces   = 4       // words of an access that has entries; longer ones are wide
	maxWide     = 64      // wide accesses at a time, as many as a mask has bits
	maxSearched = 64      // words of a wide access in which it looks for narrow ones
	maxTries    = 1 << 10 // to read an entry
	maxOverlaps = 8

	keyTurn     = 1 << 0
	keyWrite    = 1 << 1
	keyShift    = 8 // of the byte mask
	keyBytes    = 0xFF << keyShift
	keyLow      = keyBytes | keyWrite | keyTurn
	keyTagShift = 17
	keyTagBits  = 61 - bucketBits // of 58, the others choose the buckets of a line

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

	wides atomic.Uint64 // a bit for each of wide that is taken
	_     [56]byte

	// What every access loads and few change.
	life atomic.Uint32 // times that everything was forgotten

	// Single makes an access of up to four words leave no entry in a word while another
	// thread's access to the same bytes is pending, as in figure 2, where a variable has
	// room for one, and not follow sections on a variable that another thread is
	// followed on, as in figure 3. Races with a second reader are lost. It is set
	// before the first access.
	Single bool
	// Keep makes accesses pending until After, or until the thread has too many. It is for
	// hosts that call After before whatever the thread publishes, and set before the first
	// access.
	Keep     bool
	sections uint32 // how many of rules are set
	entries  uint32 // how many of entryRules are set
	ends     uint32 // how many of endRules are set
	_        [44]byte

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
	kept uint32 // a bit for each of held that may have an entry
	life uint32 // of the table, when the latest access began
	wide uint32 // one more than its index among wide ones; 0 if it is none

	// Where the latest access was, until its section's ends have been seen to; and the
	// sections the thread is in.
	loc     uint32
	actives uint32
	who     uint64 // of the latest access
	addr    uint64

	held   [maxHeld]heldEntry
	active [maxActive]activeSection
}

// heldEntry is an entry of the table that a thread holds. The thread's entry for a word
// is always at the same index, see heldIndex.
type heldEntry struct {
	word uint64 // its address, divided by 8
	low  uint32 // the low bits of its key; without a byte there is no entry
	at   uint32 // the bucket, above two bits for which of its entries
}

// Idle reports whether the thread has nothing pending and is in no section.
//
//go:nosplit
func (th *Thread) Idle() bool { return th.kept|th.wide|th.loc|th.actives == 0 }

// Pending reports whether an access to the byte at addr is pending already, by an
// entry that says as much: then Before has nothing to do but for sections, if accesses are
// kept.
//
//go:nosplit
func (t *Table) Pending(th *Thread, addr uint64, write bool) bool {
	need := uint32(1) << keyShift << (addr & 7)
	if write {
		need |= keyWrite
	}
	e := &th.held[heldIndex(addr)]
	return e.word == addr>>3 && need&^e.low == 0 && th.life == t.life.Load()
}

// Touch does what Before does first, and as a rule all of it, for an access to the byte
// at addr, where there are no sections and accesses are kept. If the access is not pending
// then, Before is to be called. If it is, but not alone, Search is.
//
//go:nosplit
func (t *Table) Touch(th *Thread, addr, who uint64, write bool) (pending, alone bool) {
	if th.wide != 0 || th.life != t.life.Load() {
		return false, false
	}
	b, key := t.locate(addr, addr, write)
	i := heldIndex(addr)
	e := &th.held[i]
	at, low := e.at, e.low
	if low != 0 && e.word == addr>>3 {
		if at&3 != 0 {
			return false, false
		}
		key |= ^uint64(low) & keyTurn
		b.keys[0].Swap(key)
		b.complete(0, who)
		e.low = uint32(key & keyLow)
	} else {
		k := b.keys[0].Load()
		key |= ^k & keyTurn
		if k&keyBytes != 0 || !b.keys[0].CompareAndSwap(k, key) {
			return false, false
		}
		b.complete(0, who)
		e.word, e.low, e.at = addr>>3, uint32(key&keyLow), bucketIndex(addr)<<2
		th.kept |= 1 << i
		t.release(at, low)
	}
	return true, (b.keys[1].Load()|b.keys[2].Load())&keyBytes == 0 && t.wides.Load() == 0
}

// Search looks for accesses of other threads that conflict with a, which Touch has made
// pending.
//
//go:nosplit
func (t *Table) Search(a *Access, hits *Hits) {
	hits.Overlaps, hits.Violations = 0, 0
	b, key := t.locate(a.Addr, a.Addr, a.Write)
	t.scan(b, bucketWays, key, a.Who, a.Addr, hits)
	t.scanWide(maxWide, a, a.Addr, a.Addr, hits)
}

// Before says that a thread is about to make an access, and looks for accesses of
// other threads that conflict with it and are pending now: accesses that share a byte,
// one of them a write. Then sections: the access is a suspect in those that other threads
// are in on the variable, and begins those whose entry it is.
//
// The access is pending until After or, unless the table is to Keep it, the thread's
// next Before. What the thread already has pending, in all its bytes and at least as
// strongly, is not looked for again: whoever has come since has found it.
//
// Accesses by the same thread number never conflict. An atomic operation ends what is
// pending, as After does, and leaves no entry, for it may order whatever comes after it;
// it looks for plain accesses that are pending.
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
	th.who = a.Who
	if life := t.life.Load(); !t.Keep || a.Atomic || th.life != life {
		t.end(th)
		th.life = life
	} else if th.wide != 0 {
		t.endWide(th.wide - 1)
		th.wide = 0
	}
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
	if t.wides.Load() != 0 {
		t.scanWide(maxWide, a, first, last, hits)
	}
}

// After says that the thread's accesses are over, which they are when the thread
// publishes something at the latest, before that takes effect. It ends the sections of
// which the latest access is an end.
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

// end takes back the entries of the thread's pending accesses, unless they were
// forgotten meanwhile.
//
//go:nosplit
func (t *Table) end(th *Thread) {
	alive := th.life == t.life.Load()
	for kept := th.kept; kept != 0; kept &= kept - 1 {
		e := &th.held[lowestBit(kept)%maxHeld]
		if alive {
			t.release(e.at, e.low)
		}
		e.low = 0
	}
	if th.wide != 0 && alive {
		t.endWide(th.wide - 1)
	}
	th.kept, th.wide = 0, 0
}

// release takes back an entry whose key has the given low bits, if it is one.
//
//go:nosplit
func (t *Table) release(at, low uint32) {
	b := &t.buckets[at>>2%(1<<bucketBits)]
	if own := at & 3; low != 0 && own < bucketWays {
		storeRelease(&b.keys[own], uint64(low&keyTurn))
	}
}

// beforePiece is Before for the part of an access that lies in one word. If the thread
// has an entry for the word, that says where the thread accesses it from now on;
// most often this is the write after a read.
//
//go:nosplit
func (t *Table) beforePiece(th *Thread, a *Access, from, to uint64, hits *Hits) {
	b, key := t.locate(from, to, a.Write)
	own := uint32(bucketWays)
	if !a.Atomic && !(t.Single && t.taken(b, key, a.Who)) {
		i := heldIndex(from)
		e := &th.held[i]
		at, low := e.at, e.low
		if low != 0 && e.word == from>>3 {
			if uint32(key&keyLow)&^low == 0 {
				return
			}
			own = at & 3
			if key |= ^uint64(low) & keyTurn; own < bucketWays {
				b.keys[own].Swap(key)
				b.complete(own, a.Who)
			}
			e.low = uint32(key & keyLow)
		} else {
			e.low = 0
			if own = b.claim(key, a.Who); own < bucketWays {
				e.word, e.low, e.at = from>>3, uint32(b.keys[own].Load()&keyLow), bucketIndex(from)<<2|own
				th.kept |= 1 << i
			}
			t.release(at, low)
		}
	}
	t.scan(b, own, key, a.Who, from, hits)
}

//go:nosplit
func bucketIndex(addr uint64) uint32 {
	return uint32(addr>>6*spread>>keyTagBits<<3|addr>>3&7) % (1 << bucketBits)
}

// heldIndex returns where a thread holds the entry for the word of addr. The words of an
// access have different places, unless it crosses a multiple of 512.
//
//go:nosplit
func heldIndex(addr uint64) uint64 { return (addr>>3 + addr>>9 + addr>>13) % maxHeld }

// locate returns the bucket of an access to the bytes from from to to, which are in
// one word, and the key of its entry but for the turn bit.
//
//go:nosplit
func (t *Table) locate(from, to uint64, write bool) (*entryBucket, uint64) {
	key := from>>6*spread<<keyTagShift | (2<<(to&7)-1)&^(1<<(from&7)-1)<<keyShift
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

// used reports whether there is an entry.
//
//go:nosplit
func (b *entryBucket) used() bool {
	return (b.keys[0].Load()|b.keys[1].Load()|b.keys[2].Load())&keyBytes != 0
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
		if t.buckets[bucketIndex(from)].used() {
			b, key := t.locate(from, min(from|7, last), a.Write)
			t.scan(b, bucketWays, key, a.Who, from, hits)
		}
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
