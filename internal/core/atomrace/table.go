package atomrace

import "sync/atomic"

// Races (section 3.1 and figure 2 of the paper).
//
// A thread that is about to access a variable first publishes an entry that says so. Then it scans
// for entries of others that conflict. Of two accesses that are pending at the same time, the one
// that publishes later finds the other's entry. So at least one of the two is reported, and
// whatever is reported was pending at that moment. Where a bound prevents a report, Losses counts
// it.
//
// An access of up to maxNarrow words has an entry for each word; see entries.go. A longer access has
// one wide entry; see wide.go. Sections are in sections.go.
//
// How long an access may be pending. The access itself need not be in progress; it is enough that
// its thread has published nothing since. Let accesses of two threads be pending at the same
// moment. For one to be ordered before the other, its thread must release something after it, and
// the other thread must acquire that before its own access. But the other access has begun at that
// moment, and the release is yet to come. So a host that calls After before each release can let
// accesses be pending until then (Table.Keep). More overlaps are found that way, and an access that
// repeats a pending one costs only a look at the thread's own memory (Pending).

const (
	maxHeld     = 16      // entries that a thread holds
	maxNarrow   = 4       // words of an access that has an entry for each word; longer accesses are wide
	maxSearched = 64      // words in which a wide access looks for narrow ones
	maxTries    = 1 << 10 // attempts to read an entry
	maxOverlaps = 8
)

// Access is an access that a thread is about to make.
type Access struct {
	Addr uint64
	Size uint64 // in bytes; 0 counts as 1
	// ID identifies the access to threads that find it. The high 32 bits are the thread's number.
	// The low bits belong to the host; hosts store the place there.
	ID    uint64
	Loc   uint32 // number of the location for sections, 0 if no section knows it
	Depth uint32 // number of calls on the thread's stack
	// Key tells parts of an object apart, of which an access concerns one: those of a map that have
	// different keys. Sections are on one part if their entry is. 0 is the whole object. Races do not
	// depend on it.
	Key    uint64
	Write  bool
	Atomic bool // an operation of sync/atomic
}

// Overlap is an access of another thread that is pending while a conflicting one is about to be
// made: a data race.
type Overlap struct {
	ID uint64
	// Addr and Size are the other access's bytes in the first word that both touch.
	Addr, Size uint64
	Write      bool
}

// Hits is what a call has found. Each call overwrites it.
type Hits struct {
	NumOverlaps   uint32 // how many elements of Overlaps are set
	NumViolations uint32 // how many elements of Violations are set
	Overlaps      [maxOverlaps]Overlap
	Violations    [maxViolations]Violation
}

// Losses counts what was not followed because a bound was reached.
type Losses struct {
	Unseen  uint64 // words of accesses, and wide accesses, that others could not find
	Partial uint64 // accesses of which only the first words were compared with narrow accesses
	Unnamed uint64 // overlaps, and accesses in sections of others, that ended before the other ID was read
	Excess  uint64 // overlaps and violations for which Hits had no room

	Sections uint64 // entries into sections that were not followed
}

// Table is the memory that all threads of a program share. The zero value is ready to use. A Table
// is large and must not be copied. At an address that is a multiple of 64 its buckets are cache
// lines.
type Table struct {
	buckets [1 << bucketBits]entryBucket
	wide    [maxWide]wideEntry
	active  [1 << activeBits]activeBucket

	wides atomic.Uint64 // a bit for each element of wide that is in use
	_     [56]byte

	// Every access loads these fields, and few change them.
	generation atomic.Uint32 // number of calls of Forget

	// SingleSlot restores figures 2 and 3 of the paper. An access of up to maxNarrow words leaves
	// no entry in a word while another thread's access to the same bytes is pending. A section on a
	// variable is not followed while another thread is in a section on the variable. Races with a
	// second reader are lost. It is set before the first access.
	SingleSlot bool
	// Keep makes accesses pending until After, or until the thread has too many. It is for hosts
	// that call After before each release of a thread. It is set before the first access.
	Keep     bool
	sections uint32 // how many elements of rules are set
	entries  uint32 // how many elements of entryRules are set
	ends     uint32 // how many elements of endRules are set
	_        [44]byte

	unseenWide, partial, unnamed, excess, unfollowed atomic.Uint64 // see Losses

	roles      [MaxLocations]locationRoles
	rules      [MaxSections]sectionRule
	entryRules [MaxEntries]entryRule
	endRules   [MaxEnds]endRule
	seen       [MaxEnds]atomic.Uint32
}

// Thread is the state of a thread. The zero value is ready to use. It belongs to the thread.
type Thread struct {
	holding    uint32 // a bit for each element of held that may have an entry
	generation uint32 // of the table, when the latest access began
	wide       uint32 // one more than the index of the latest access among wide ones; 0 if it is narrow

	// For sections: the location of the latest access, until its ends have been processed, and the
	// sections that the thread is in.
	loc       uint32
	numActive uint32
	id        uint64 // of the latest access
	addr, key uint64 // likewise

	held   [maxHeld]heldEntry
	active [maxActive]activeSection
}

// Idle reports whether the thread has no pending access and is in no section.
//
//go:nosplit
func (th *Thread) Idle() bool { return th.holding|th.wide|th.loc|th.numActive == 0 }

// Pending reports whether the thread has a pending access to the byte at addr that is at least as
// strong. If accesses are kept and there are no sections, Before then has nothing to do.
//
//go:nosplit
func (t *Table) Pending(th *Thread, addr uint64, write bool) bool {
	need := uint32(1) << keyShift << (addr & 7)
	if write {
		need |= keyWrite
	}
	e := &th.held[heldIndex(addr)]
	return e.word == addr>>3 && need&^e.low == 0 && th.generation == t.generation.Load()
}

// Touch does the first part of Before for an access to the byte at addr, and in most cases all of
// it. It is for tables without sections that keep accesses. If pending is false, the caller must
// call Before. If pending is true and alone is false, the caller must call Search.
//
//go:nosplit
func (t *Table) Touch(th *Thread, addr, id uint64, write bool) (pending, alone bool) {
	if th.wide != 0 || th.generation != t.generation.Load() {
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
		b.publishID(0, id)
		e.low = uint32(key & keyLow)
	} else {
		k := b.keys[0].Load()
		key |= ^k & keyTurn
		if k&keyBytes != 0 || !b.keys[0].CompareAndSwap(k, key) {
			return false, false
		}
		b.publishID(0, id)
		e.word, e.low, e.at = addr>>3, uint32(key&keyLow), bucketIndex(addr)<<2
		th.holding |= 1 << i
		t.release(at, low)
	}
	return true, (b.keys[1].Load()|b.keys[2].Load())&keyBytes == 0 && t.wides.Load() == 0
}

// Search looks for accesses of other threads that conflict with a, which Touch has made pending.
//
//go:nosplit
func (t *Table) Search(a *Access, hits *Hits) {
	hits.NumOverlaps, hits.NumViolations = 0, 0
	b, key := t.locate(a.Addr, a.Addr, a.Write)
	t.scan(b, bucketWays, key, a.ID, a.Addr, hits)
	t.scanWide(maxWide, a, a.Addr, a.Addr, hits)
}

// Before announces that a thread is about to make an access. It looks for pending accesses of other
// threads that conflict with it: accesses that share a byte, of which one is a write. Then it
// processes sections: the access may come into sections of other threads, and begins the sections
// whose entry it is.
//
// The access is pending until After or, unless the table keeps accesses, until the thread's next
// Before. If the thread has a pending access to the same bytes that is at least as strong, Before
// does not look again: any thread that has come since has found the pending access.
//
// Accesses with the same thread number never conflict. An atomic operation ends the thread's
// pending accesses, as After does, and leaves no entry, because it may order whatever comes after
// it. It only looks for plain accesses that are pending.
//
//go:nosplit
func (t *Table) Before(th *Thread, a *Access, hits *Hits) {
	hits.NumOverlaps, hits.NumViolations = 0, 0
	first, last := a.Addr, a.Addr+a.Size-1
	if last < first || a.Size == 0 {
		if last = first; a.Size != 0 {
			last = 1<<64 - 1 // the end of the address space
		}
	}
	if t.sections != 0 {
		t.follow(th, a, first, last, hits)
	}
	th.id = a.ID
	if generation := t.generation.Load(); !t.Keep || a.Atomic || th.generation != generation {
		t.endAccesses(th)
		th.generation = generation
	} else if th.wide != 0 {
		t.endWide(th.wide - 1)
		th.wide = 0
	}
	if last>>3-first>>3 >= maxNarrow {
		t.beforeWide(th, a, first, last, hits)
		return
	}
	for from := first; ; from = (from | 7) + 1 {
		t.beforeWord(th, a, from, min(from|7, last), hits)
		if from>>3 == last>>3 {
			break
		}
	}
	if t.wides.Load() != 0 {
		t.scanWide(maxWide, a, first, last, hits)
	}
}

// After announces that the thread's accesses are over. A host calls it no later than the thread
// publishes something, and before that takes effect. It ends the sections that have an end at the
// latest access.
//
//go:nosplit
func (t *Table) After(th *Thread, hits *Hits) {
	hits.NumOverlaps, hits.NumViolations = 0, 0
	if t.sections != 0 {
		t.endSections(th, hits)
	}
	t.endAccesses(th)
}

// Forget ends all pending accesses. Threads stay in their sections, which end without a check. It is called when
// memory may be reused for other variables, while no thread is inside another method.
//
//go:nosplit
func (t *Table) Forget() {
	t.generation.Add(1)
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
	l.Unseen = t.unseenWide.Load()
	for i := range t.buckets {
		l.Unseen += uint64(t.buckets[i].unseen.Load())
	}
	l.Partial, l.Unnamed, l.Excess = t.partial.Load(), t.unnamed.Load(), t.excess.Load()
	l.Sections = t.unfollowed.Load()
	return l
}

// endAccesses removes the entries of the thread's pending accesses, unless Forget has removed them.
//
//go:nosplit
func (t *Table) endAccesses(th *Thread) {
	alive := th.generation == t.generation.Load()
	for kept := th.holding; kept != 0; kept &= kept - 1 {
		e := &th.held[lowestBit(kept)%maxHeld]
		if alive {
			t.release(e.at, e.low)
		}
		e.low = 0
	}
	if th.wide != 0 && alive {
		t.endWide(th.wide - 1)
	}
	th.holding, th.wide = 0, 0
}

// addOverlap adds an overlap with the access that id identifies, unless hits has it already.
//
//go:nosplit
func (t *Table) addOverlap(hits *Hits, id, addr, size uint64, write bool) {
	n := hits.NumOverlaps
	for i := uint32(0); i < n && i < maxOverlaps; i++ {
		if hits.Overlaps[i].ID == id {
			return
		}
	}
	if n >= maxOverlaps {
		t.excess.Add(1)
		return
	}
	o := &hits.Overlaps[n]
	o.ID, o.Addr, o.Size, o.Write = id, addr, size, write
	hits.NumOverlaps = n + 1
}
