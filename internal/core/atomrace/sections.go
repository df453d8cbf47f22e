package atomrace

import "sync/atomic"

// Sections (section 3.2 and figure 3 of the paper).
//
// A thread that makes the access at the entry of a section enters the section: it leaves an entry
// for the variable in a table of active sections. Other threads that are about to access the
// variable find the entry and leave the ID of the first read and of the first write there. When the
// thread's access at an end of the section is over, these IDs are compared with what the end
// allows.
//
// In figure 3 one thread at a time is followed on a variable. Here every thread is. A thread can be
// in several sections, also on the same variable, because the end of one can be the entry of the
// next.
//
// A violation is an access of another thread that begins after the entry's beforeAccess and before
// the end's afterAccess. If the accesses are made under locks, or are atomic operations whose host
// holds a lock from Before to After, then it lies between entry and end: none of these accesses can
// begin while another is pending, and a thread's access is over before it releases a lock.
// Otherwise an access that overlaps the entry or the end counts as well. It could have come in
// between, and if the two conflict they are a data race besides.
//
// Entries of active sections. The key of a free entry is 0. Any other key has the variable, a bit
// for each kind of access that came in, and a bit that locks the entry. A thread that claims an
// entry sets the key, locked, then the other fields, then the key, unlocked. All later changes are
// made under the lock. A thread that sees an unlocked key and then loads the owner sees the owner
// that belongs to the key, or a later one. So a thread never takes another thread's entry for its
// own.

const (
	activeBits    = 10
	activeWayBits = 3
	activeWays    = 1 << activeWayBits
	maxActive     = 16 // sections that a thread is in
	maxViolations = 4

	// The room of a table.
	MaxLocations = 4096
	MaxSections  = 4096
	MaxEntries   = 8192
	MaxEnds      = 8192

	activeLocked   = 1 << 0
	activeRead     = 1 << 1 // another thread has read
	activeWritten  = 1 << 2 // another thread has written
	activeReversed = 1 << 3 // the writer came before the reader, if there is a reader
	activeShift    = 4      // of the byte mask
	activeBytes    = 0xFF << activeShift
	activeTagShift = 13
	activeTagBits  = 61 - activeBits
)

// Violation is an execution of a section that remote accesses interrupted.
type Violation struct {
	Section     uint32 // as AddSection numbered it
	Rule        uint32 // its end: the number of the AddEnd call, from 1
	Read, Wrote bool   // the kinds of access by others that the end does not allow
	Addr        uint64 // of the variable
	Entry, End  uint64 // IDs of the section's own accesses
	Reader      uint64 // ID of the first read by others, if Read
	Writer      uint64 // ID of the first write by others, if Wrote
	WriterFirst bool   // the writer came before the reader
}

// sectionRule is a section without its entries and ends.
type sectionRule struct {
	above     uint32
	circular  bool
	recursive bool
}

// entryRule is an entry of a section.
type entryRule struct {
	next    uint32 // the next entry at the same location
	section uint32
}

// endRule is an end of a section.
type endRule struct {
	next          uint32 // the next end at the same location
	section       uint32
	reads, writes bool // allowed
}

// locationRoles is the heads of two lists: the entries and the ends at a location.
type locationRoles struct {
	entry, end uint32
}

// activeBucket holds the active sections on the variables of some words. The keys are in one cache
// line.
type activeBucket struct {
	keys    [activeWays]atomic.Uint64
	owners  [activeWays]atomic.Uint64 // IDs of the accesses at the entries
	readers [activeWays]atomic.Uint64
	writers [activeWays]atomic.Uint64
}

// activeSection is a section that a thread is in. Sections that it entered by the same access share
// an entry of the table.
type activeSection struct {
	addr     uint64
	key      uint64 // Access.Key
	slot     uint32 // as activate has returned it; 0 since Forget
	section  uint32
	minDepth uint32 // the section is given up when the thread has fewer calls on its stack
	nested   uint32 // entries minus ends, of a recursive section
	fresh    bool   // entered by the pending access
}

// AddSection adds a section that is entered at a location, a number from 1 to MaxLocations.
// Location 0 leaves that to AddEntry. The section is given up when the thread returns from the
// function that is above calls above the function of the entry. AddSection returns the section's
// number, from 1, or 0 if there is no room.
//
// Sections are added before the first access. Entries and ends at a location that no access has had
// yet can be added later, by one thread at a time.
//
//go:nosplit
func (t *Table) AddSection(entry, above uint32, circular, recursive bool) uint32 {
	n := t.sections
	if n >= MaxSections {
		return 0
	}
	r := &t.rules[n]
	r.above, r.circular, r.recursive = above, circular, recursive
	t.sections = n + 1
	if entry != 0 && !t.AddEntry(n+1, entry) {
		t.sections = n
		return 0
	}
	return n + 1
}

// AddEntry adds another entry to a section, and reports whether there was room.
//
//go:nosplit
func (t *Table) AddEntry(section, at uint32) bool {
	n := t.entries
	if section == 0 || section > t.sections || at == 0 || at > MaxLocations || n >= MaxEntries {
		return false
	}
	e := &t.entryRules[n]
	t.entries = n + 1
	e.section = section
	e.next, t.roles[at-1].entry = t.roles[at-1].entry, n+1
	return true
}

// AddEnd adds an end to a section. Up to that end others may read the variable if reads is set, and
// write it if writes is set. AddEnd reports whether there was room.
//
//go:nosplit
func (t *Table) AddEnd(section, at uint32, reads, writes bool) bool {
	n := t.ends
	if section == 0 || section > t.sections || at == 0 || at > MaxLocations || n >= MaxEnds {
		return false
	}
	e := &t.endRules[n]
	t.ends = n + 1
	e.section, e.reads, e.writes = section, reads, writes
	e.next, t.roles[at-1].end = t.roles[at-1].end, n+1
	return true
}

// Seen reports whether a thread has gone through a section to the n-th end, counted from 1 in the
// order of AddEnd.
//
//go:nosplit
func (t *Table) Seen(n uint32) bool { return t.seen[(n-1)%MaxEnds].Load() != 0 }

// Exit gives up the sections of calls that have returned; depth is the number of calls on the
// thread's stack. It ends the sections that have an end at the thread's latest access first.
//
//go:nosplit
func (t *Table) Exit(th *Thread, depth uint32, hits *Hits) {
	hits.NumOverlaps, hits.NumViolations = 0, 0
	if t.sections != 0 {
		t.endSections(th, hits)
		t.giveUpCalls(th, depth)
	}
}

// AtomExit gives up the thread's sections on variables at the addresses from first to last, as the
// paper's atomExit does with an end that allows everything. It ends the sections that have an end
// at the thread's latest access first.
//
//go:nosplit
func (t *Table) AtomExit(th *Thread, first, last uint64, hits *Hits) {
	hits.NumOverlaps, hits.NumViolations = 0, 0
	if t.sections == 0 {
		return
	}
	t.endSections(th, hits)
	for i := uint32(0); i < th.numActive && i < maxActive; {
		if addr := th.active[i].addr; first <= addr && addr <= last {
			t.giveUp(th, i)
		} else {
			i++
		}
	}
}

// In reports whether the thread is in a section on a variable at the addresses from first to last.
//
//go:nosplit
func (th *Thread) In(first, last uint64) bool {
	for i := uint32(0); i < th.numActive && i < maxActive; i++ {
		if addr := th.active[i].addr; first <= addr && addr <= last {
			return true
		}
	}
	return false
}

// follow is Before for sections. It ends sections at the thread's latest access, records this
// access in the active sections of other threads, and enters sections.
//
//go:nosplit
func (t *Table) follow(th *Thread, a *Access, first, last uint64, hits *Hits) {
	t.endSections(th, hits)
	t.giveUpCalls(th, a.Depth)
	words := uint32(0)
	for from := first; words < maxSearched; from = (from | 7) + 1 {
		t.recordRemote(a, from, min(from|7, last))
		if from>>3 == last>>3 {
			break
		}
		words++
	}
	if a.Key != 0 {
		at, _ := a.variable(0)
		t.recordRemote(a, at, at)
	}
	th.loc, th.addr, th.key = a.Loc, a.Addr, a.Key
	if a.Loc != 0 && a.Loc <= MaxLocations {
		t.enter(th, a, min(first|7, last))
	}
}

// endSections ends the sections that have an end at the latest access.
//
//go:nosplit
func (t *Table) endSections(th *Thread, hits *Hits) {
	if th.generation != t.generation.Load() {
		for i := uint32(0); i < th.numActive && i < maxActive; i++ {
			th.active[i].slot = 0
		}
	}
	loc := th.loc
	th.loc = 0
	if loc == 0 || loc > MaxLocations {
		return
	}
	for i := uint32(0); i < th.numActive && i < maxActive; {
		r := &th.active[i]
		e := uint32(0)
		if r.addr == th.addr && (r.key == 0 || r.key == th.key) {
			e = t.endAt(r, loc)
		}
		r.fresh = false
		switch {
		case e == 0:
			i++
		case r.nested > 1:
			r.nested--
			i++
		default:
			t.check(th, r, e, hits)
			t.giveUp(th, i)
		}
	}
}

// endAt returns the end that r has at loc, or 0 if it has none there. The access at the entry of a
// circular section does not end the section that it has begun.
//
//go:nosplit
func (t *Table) endAt(r *activeSection, loc uint32) uint32 {
	if r.fresh && r.section-1 < MaxSections && t.rules[r.section-1].circular {
		return 0
	}
	e := t.roles[(loc-1)%MaxLocations].end
	for e != 0 && e <= MaxEnds && t.endRules[e-1].section != r.section {
		e = t.endRules[e-1].next
	}
	return e
}

// check compares the remote accesses that came into r with those that its end e allows. Of sections that Forget
// has come into they are not known.
//
//go:nosplit
func (t *Table) check(th *Thread, r *activeSection, e uint32, hits *Hits) {
	if r.slot == 0 {
		return
	}
	b, way := t.slot(r.slot)
	k := b.lockActive(way)
	owner, reader, writer := b.owners[way].Load(), b.readers[way].Load(), b.writers[way].Load()
	storeRelease(&b.keys[way], k)
	if seen := &t.seen[(e-1)%MaxEnds]; seen.Load() == 0 {
		seen.Store(1)
	}
	rule := &t.endRules[(e-1)%MaxEnds]
	read, wrote := k&activeRead != 0 && !rule.reads, k&activeWritten != 0 && !rule.writes
	if !read && !wrote {
		return
	}
	n := hits.NumViolations
	if n >= maxViolations {
		t.excess.Add(1)
		return
	}
	v := &hits.Violations[n]
	v.Section, v.Rule, v.Addr, v.Entry, v.End = r.section, e, r.addr, owner, th.id
	v.Read, v.Reader, v.Wrote, v.Writer = read, reader, wrote, writer
	v.WriterFirst = k&activeReversed != 0
	hits.NumViolations = n + 1
}

// giveUpCalls gives up the sections of calls that have returned.
//
//go:nosplit
func (t *Table) giveUpCalls(th *Thread, depth uint32) {
	for i := uint32(0); i < th.numActive && i < maxActive; {
		if th.active[i].minDepth > depth {
			t.giveUp(th, i)
		} else {
			i++
		}
	}
}

// recordRemote records an access to the bytes from from to to of a word in the active sections of
// other threads.
//
//go:nosplit
func (t *Table) recordRemote(a *Access, from, to uint64) {
	b, key := t.locateActive(from, to)
	mark := uint64(activeRead)
	if a.Write {
		mark = activeWritten
	}
	for i := range uint32(activeWays) {
		for tries := 0; ; tries++ {
			k := b.keys[i].Load()
			if (k^key)>>activeTagShift != 0 || k&key&activeBytes == 0 {
				break
			}
			if k&activeLocked == 0 {
				if k&mark != 0 || b.owners[i].Load()>>32 == a.ID>>32 {
					break
				}
				if b.keys[i].CompareAndSwap(k, k|activeLocked) {
					if !a.Write {
						storeRelease(&b.readers[i], a.ID)
					} else if storeRelease(&b.writers[i], a.ID); k&activeRead == 0 {
						k |= activeReversed
					}
					storeRelease(&b.keys[i], k|mark)
					break
				}
			}
			if tries == maxTries {
				t.unnamed.Add(1)
				break
			}
			pauseSpinning()
		}
	}
}

// enter makes the thread enter the sections that have their entry at a. The access extends to the
// byte to of its first word.
//
//go:nosplit
func (t *Table) enter(th *Thread, a *Access, to uint64) {
	slot := uint32(0)
	if t.SingleSlot && t.followed(a, to) {
		return
	}
	for e := t.roles[(a.Loc-1)%MaxLocations].entry; e != 0 && e <= MaxEntries; e = t.entryRules[e-1].next {
		s := t.entryRules[e-1].section
		rule := &t.rules[(s-1)%MaxSections]
		stays, over := t.reenter(th, s, a, rule)
		if stays {
			continue
		}
		if over != 0 {
			t.giveUp(th, over-1)
		}
		if slot == 0 && th.numActive < maxActive {
			slot = t.activate(a, to)
		}
		n := th.numActive
		if slot == 0 || n >= maxActive {
			t.unfollowed.Add(1)
			continue
		}
		r := &th.active[n]
		r.addr, r.key, r.slot, r.section, r.nested, r.fresh = a.Addr, a.Key, slot, s, 1, true
		r.minDepth = a.Depth - min(rule.above, a.Depth)
		th.numActive = n + 1
	}
}

// followed reports whether another thread is in a section on the variable of a.
//
//go:nosplit
func (t *Table) followed(a *Access, to uint64) bool {
	b, key := t.locateActive(a.variable(to))
	for i := range uint32(activeWays) {
		k := b.keys[i].Load()
		if (k^key)>>activeTagShift == 0 && k&key&activeBytes != 0 && b.owners[i].Load()>>32 != a.ID>>32 {
			return true
		}
	}
	return false
}

// reenter handles an access at the entry of section s if the thread is in s on the object
// already. It reports whether the thread stays in s, and returns one more than the index of an active
// section that must be given up, or 0. A circular section ends when the access is over; the access also
// begins the next. A recursive section nests on each part of the object by itself. Of other sections,
// the thread is in one on an object, whatever the part.
//
//go:nosplit
func (t *Table) reenter(th *Thread, s uint32, a *Access, rule *sectionRule) (stays bool, over uint32) {
	for i := uint32(0); i < th.numActive && i < maxActive; i++ {
		r := &th.active[i]
		if r.section != s || r.addr != a.Addr {
			continue
		}
		same := r.key == a.Key
		switch {
		case rule.circular && same:
			return false, 0
		case rule.circular || !rule.recursive:
			return false, i + 1
		case same:
			r.nested++
			return true, 0
		}
	}
	return false, 0
}

// variable returns the first and the last byte of what sections are on that begin at a, which extends
// to the byte to of its first word. Parts of an object have words of their own, behind all addresses.
//
//go:nosplit
func (a *Access) variable(to uint64) (first, last uint64) {
	if a.Key == 0 {
		return a.Addr, to
	}
	at := (a.Addr*hashFactor^a.Key)*hashFactor&^7 | 1<<63
	return at, at
}

// activate claims an entry for the variable of a and returns one more than its number,
// or 0 if there is no room.
//
//go:nosplit
func (t *Table) activate(a *Access, to uint64) uint32 {
	at, to := a.variable(to)
	b, key := t.locateActive(at, to)
	for i := range uint32(activeWays) {
		if b.keys[i].Load() == 0 && b.keys[i].CompareAndSwap(0, key|activeLocked) {
			storeRelease(&b.owners[i], a.ID)
			storeRelease(&b.keys[i], key)
			return (activeIndex(at)<<activeWayBits | i) + 1
		}
	}
	return 0
}

// giveUp removes section i from the thread's list, and its entry from the table if no other section
// of the thread shares it.
//
//go:nosplit
func (t *Table) giveUp(th *Thread, i uint32) {
	last := th.numActive - 1
	if i >= maxActive || last >= maxActive {
		return
	}
	slot := th.active[i].slot
	th.active[i] = th.active[last]
	th.numActive = last
	if slot == 0 {
		return
	}
	for j := uint32(0); j < last; j++ {
		if th.active[j].slot == slot {
			return
		}
	}
	b, way := t.slot(slot)
	b.lockActive(way)
	storeRelease(&b.keys[way], 0)
}

// activeIndex returns the index of the bucket of the word at addr.
//
//go:nosplit
func activeIndex(addr uint64) uint32 {
	return uint32(addr >> 3 * hashFactor >> activeTagBits & (1<<activeBits - 1))
}

// locateActive returns the bucket for sections on the bytes from from to to, which are in one word,
// and the key of an entry there.
//
//go:nosplit
func (t *Table) locateActive(from, to uint64) (*activeBucket, uint64) {
	key := from>>3*hashFactor<<activeTagShift | (2<<(to&7)-1)&^(1<<(from&7)-1)<<activeShift
	return &t.active[activeIndex(from)], key
}

// slot returns the entry with the number that activate has returned.
//
//go:nosplit
func (t *Table) slot(n uint32) (b *activeBucket, way uint32) {
	return &t.active[(n-1)>>activeWayBits&(1<<activeBits-1)], (n - 1) & (activeWays - 1)
}

// lockActive locks an entry for its owner and returns its key. Other threads hold the lock for two
// stores.
//
//go:nosplit
func (b *activeBucket) lockActive(way uint32) uint64 {
	way &= activeWays - 1
	for {
		if k := b.keys[way].Load(); k&activeLocked == 0 && b.keys[way].CompareAndSwap(k, k|activeLocked) {
			return k
		}
		pauseSpinning()
	}
}
