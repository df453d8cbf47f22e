package atomrace

import "sync/atomic"

// Sections (section 3.2, figure 3).
//
// A thread that makes the access at the entry of a section becomes active in it: it
// leaves an entry for the variable in a table of its own. Others who are about to
// access the variable find that and leave the first read and the first write as
// suspects. When the thread's access at an end of the section is over, the suspects are
// compared with what the end allows.
//
// In figure 3 one thread at a time is followed on a variable. Here every thread is,
// and a thread can be in several sections, also on the same variable: the end of
// one can be the entry of the next.
//
// A violation is an access of another thread that began after the entry's
// beforeAccess and before the end's afterAccess. Where the accesses concerned are made
// under locks, or are atomic operations whose host holds a lock from before to
// after, that means that it lies between them: none of them can begin while another is
// pending, and a thread's access is over before it releases a lock. Where they are
// not, an access that overlaps the entry or the end is taken to lie in between
// too; it could have, and it is a race by itself if the two conflict.
//
// Entries of active sections. A key is 0 if the entry is free, and otherwise has the
// variable, which suspects there are, and a bit that locks the entry. Who claims an
// entry sets its key, locked, then the rest, then the key unlocked. All else changes
// under the lock, but whoever sees an unlocked key and then the owner sees the owner
// that belongs to the key, or one who came later. So a thread does not take another's
// entry for its own.

const (
	activeBits    = 10
	activeWayBits = 3
	activeWays    = 1 << activeWayBits
	maxActive     = 16 // sections that a thread is in
	maxViolations = 4

	// What a table has room for.
	MaxLocations = 4096
	MaxSections  = 4096
	MaxEntries   = 8192
	MaxEnds      = 8192

	activeLocked   = 1 << 0
	activeRead     = 1 << 1 // there is a reader among the suspects
	activeWritten  = 1 << 2 // there is a writer
	activeReversed = 1 << 3 // and it came before the reader, if there is one
	activeShift    = 4      // of the byte mask
	activeBytes    = 0xFF << activeShift
	activeTagShift = 13
	activeTagBits  = 61 - activeBits
)

// Violation is a section that other threads broke into.
type Violation struct {
	Section     uint32 // as AddSection numbered it
	Rule        uint32 // its end, by the order in which ends were added, from 1
	Read, Wrote bool   // the kinds of access by others that the end does not allow
	Addr        uint64 // of the variable
	Entry, End  uint64 // who, of the section's own accesses
	Reader      uint64 // who read first, if Read
	Writer      uint64 // who wrote first, if Wrote
	WriterFirst bool   // the writer came before the reader
}

// sectionRule is a section, except for its entries and ends.
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

// locationRoles is what a location is to sections: the first entry there and the first
// end there.
type locationRoles struct {
	entry, end uint32
}

// activeBucket is the entries of active sections on the variables of some words. The
// keys are in one cache line.
type activeBucket struct {
	keys    [activeWays]atomic.Uint64
	owners  [activeWays]atomic.Uint64 // who made the access at the entry
	readers [activeWays]atomic.Uint64
	writers [activeWays]atomic.Uint64
}

// activeSection is a section that a thread is in. Sections that it entered by the same
// access share an entry of the table.
type activeSection struct {
	addr    uint64
	slot    uint32
	section uint32
	home    uint32 // it is given up when the thread is in fewer calls
	count   uint32 // entries less ends, of a recursive section
	fresh   bool   // entered by the access that is pending
}

// AddSection adds a section that is entered at a location, a number from 1 to
// MaxLocations, or 0 if AddEntry is to say where. It returns the section's number, the
// first being 1, or 0 if there is no room. The section is given up when the thread
// returns from the function that is above calls above that of the entry.
//
// Sections are added before the first access. Entries and ends at a location that no
// access has had yet can be added later, by one thread at a time.
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

// AddEnd adds an end to a section, which allows others to read or write the variable
// until there. It reports whether there was room.
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

// Seen reports whether a thread has gone through a section to the end that was added
// as the n-th, from 1.
//
//go:nosplit
func (t *Table) Seen(n uint32) bool { return t.seen[(n-1)%MaxEnds].Load() != 0 }

// Exit gives up the sections that the thread entered in calls that are over, when it
// is in depth calls. It comes after the thread's latest access, which may have been
// at an end.
//
//go:nosplit
func (t *Table) Exit(th *Thread, depth uint32, hits *Hits) {
	hits.Overlaps, hits.Violations = 0, 0
	if t.sections != 0 {
		t.finish(th, hits)
		t.abandon(th, depth)
	}
}

// AtomExit gives up the thread's sections on variables at the addresses from first to
// last, as the paper's atomExit does with an end that allows everything. It comes after
// the thread's latest access, which may have been at an end.
//
//go:nosplit
func (t *Table) AtomExit(th *Thread, first, last uint64, hits *Hits) {
	hits.Overlaps, hits.Violations = 0, 0
	if t.sections == 0 {
		return
	}
	t.finish(th, hits)
	for i := uint32(0); i < th.actives && i < maxActive; {
		if addr := th.active[i].addr; first <= addr && addr <= last {
			t.drop(th, i)
		} else {
			i++
		}
	}
}

// follow is Before for sections: the latest access may be an end, this one a suspect
// in sections of others, and an entry.
//
//go:nosplit
func (t *Table) follow(th *Thread, a *Access, first, last uint64, hits *Hits) {
	t.finish(th, hits)
	t.abandon(th, a.Depth)
	words := uint32(0)
	for from := first; words < maxSearched; from = (from | 7) + 1 {
		t.suspect(a, from, min(from|7, last))
		if from>>3 == last>>3 {
			break
		}
		words++
	}
	th.loc, th.addr = a.Loc, a.Addr
	if a.Loc != 0 && a.Loc <= MaxLocations {
		t.enter(th, a, min(first|7, last))
	}
}

// finish ends the sections of which the latest access is an end.
//
//go:nosplit
func (t *Table) finish(th *Thread, hits *Hits) {
	if th.life != t.life.Load() {
		th.actives = 0
	}
	loc := th.loc
	th.loc = 0
	if loc == 0 || loc > MaxLocations {
		return
	}
	for i := uint32(0); i < th.actives && i < maxActive; {
		r := &th.active[i]
		e := uint32(0)
		if r.addr == th.addr {
			e = t.endAt(r, loc)
		}
		r.fresh = false
		switch {
		case e == 0:
			i++
		case r.count > 1:
			r.count--
			i++
		default:
			t.check(th, r, e, hits)
			t.drop(th, i)
		}
	}
}

// endAt returns the end that an access at loc is of r, 0 if it is none. The access at
// the entry of a circular section does not end what it has begun.
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

// check compares the suspects of r with what its end e allows.
//
//go:nosplit
func (t *Table) check(th *Thread, r *activeSection, e uint32, hits *Hits) {
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
	n := hits.Violations
	if n >= maxViolations {
		t.found.Add(1)
		return
	}
	v := &hits.Broken[n]
	v.Section, v.Rule, v.Addr, v.Entry, v.End = r.section, e, r.addr, owner, th.who
	v.Read, v.Reader, v.Wrote, v.Writer = read, reader, wrote, writer
	v.WriterFirst = k&activeReversed != 0
	hits.Violations = n + 1
}

// abandon gives up sections of calls that are over.
//
//go:nosplit
func (t *Table) abandon(th *Thread, depth uint32) {
	for i := uint32(0); i < th.actives && i < maxActive; {
		if th.active[i].home > depth {
			t.drop(th, i)
		} else {
			i++
		}
	}
}

// suspect leaves an access to the bytes from from to to of a word with the sections
// that other threads are in.
//
//go:nosplit
func (t *Table) suspect(a *Access, from, to uint64) {
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
				if k&mark != 0 || b.owners[i].Load()>>32 == a.Who>>32 {
					break
				}
				if b.keys[i].CompareAndSwap(k, k|activeLocked) {
					if !a.Write {
						storeRelease(&b.readers[i], a.Who)
					} else if storeRelease(&b.writers[i], a.Who); k&activeRead == 0 {
						k |= activeReversed
					}
					storeRelease(&b.keys[i], k|mark)
					break
				}
			}
			if tries == maxTries {
				t.busy.Add(1)
				break
			}
			pauseSpinning()
		}
	}
}

// enter makes the thread active in the sections whose entry is a, an access to the
// variable that reaches to the byte to of its first word.
//
//go:nosplit
func (t *Table) enter(th *Thread, a *Access, to uint64) {
	slot := uint32(0)
	if t.Single && t.followed(a, to) {
		return
	}
	for e := t.roles[(a.Loc-1)%MaxLocations].entry; e != 0 && e <= MaxEntries; e = t.entryRules[e-1].next {
		s := t.entryRules[e-1].section
		rule := &t.rules[(s-1)%MaxSections]
		if t.reenter(th, s, a.Addr, rule) {
			continue
		}
		if slot == 0 && th.actives < maxActive {
			slot = t.activate(a, to)
		}
		n := th.actives
		if slot == 0 || n >= maxActive {
			t.dropped.Add(1)
			continue
		}
		r := &th.active[n]
		r.addr, r.slot, r.section, r.count, r.fresh = a.Addr, slot, s, 1, true
		r.home = a.Depth - min(rule.above, a.Depth)
		th.actives = n + 1
	}
}

// followed reports whether another thread is in a section on the variable of a.
//
//go:nosplit
func (t *Table) followed(a *Access, to uint64) bool {
	b, key := t.locateActive(a.Addr, to)
	for i := range uint32(activeWays) {
		k := b.keys[i].Load()
		if (k^key)>>activeTagShift == 0 && k&key&activeBytes != 0 && b.owners[i].Load()>>32 != a.Who>>32 {
			return true
		}
	}
	return false
}

// reenter handles an entry into section s on a variable where the thread may be in it
// already, and reports whether that is to go on. A circular section goes on until
// the access is over; it is its end and begins the next.
//
//go:nosplit
func (t *Table) reenter(th *Thread, s uint32, addr uint64, rule *sectionRule) bool {
	for i := uint32(0); i < th.actives && i < maxActive; i++ {
		r := &th.active[i]
		if r.section != s || r.addr != addr {
			continue
		}
		switch {
		case rule.circular:
		case rule.recursive:
			r.count++
			return true
		default:
			t.drop(th, i)
		}
		return false
	}
	return false
}

// activate claims an entry for the variable of a and returns one more than its number,
// or 0 if there is no room.
//
//go:nosplit
func (t *Table) activate(a *Access, to uint64) uint32 {
	b, key := t.locateActive(a.Addr, to)
	for i := range uint32(activeWays) {
		if b.keys[i].Load() == 0 && b.keys[i].CompareAndSwap(0, key|activeLocked) {
			storeRelease(&b.owners[i], a.Who)
			storeRelease(&b.keys[i], key)
			return (activeIndex(a.Addr)<<activeWayBits | i) + 1
		}
	}
	return 0
}

// drop takes section i off the thread's list, and its entry with the last section that
// has it.
//
//go:nosplit
func (t *Table) drop(th *Thread, i uint32) {
	last := th.actives - 1
	if i >= maxActive || last >= maxActive {
		return
	}
	slot := th.active[i].slot
	th.active[i] = th.active[last]
	th.actives = last
	for j := uint32(0); j < last; j++ {
		if th.active[j].slot == slot {
			return
		}
	}
	b, way := t.slot(slot)
	b.lockActive(way)
	storeRelease(&b.keys[way], 0)
}

//go:nosplit
func activeIndex(addr uint64) uint32 {
	return uint32(addr >> 3 * spread >> activeTagBits & (1<<activeBits - 1))
}

// locateActive returns the bucket for sections on the bytes from from to to, which are
// in one word, and the key of an entry there.
//
//go:nosplit
func (t *Table) locateActive(from, to uint64) (*activeBucket, uint64) {
	key := from>>3*spread<<activeTagShift | (2<<(to&7)-1)&^(1<<(from&7)-1)<<activeShift
	return &t.active[activeIndex(from)], key
}

// slot returns the entry that activate has returned.
//
//go:nosplit
func (t *Table) slot(n uint32) (b *activeBucket, way uint32) {
	return &t.active[(n-1)>>activeWayBits&(1<<activeBits-1)], (n - 1) & (activeWays - 1)
}

// lockActive locks an entry for its owner and returns its key. Others hold the lock
// for two stores.
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
