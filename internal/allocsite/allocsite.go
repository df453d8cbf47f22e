// Package allocsite remembers where memory was allocated, so that reports can show it.
//
// A Tracker handles the Alloc events of a stream. It must get the events before the detectors whose
// findings it explains. Memory that is allocated again has the new place: the allocations that a
// Tracker remembers do not overlap, so there are no more of them than objects fit into the program's
// heap. A Tracker remembers at least the latest maxAllocations of these, and at most twice as many, in
// some 100 MB. It forgets the oldest ones of a program with more live objects; findings then do not show
// them. An Alloc costs 0.1 to 0.2 µs, other events next to nothing.
package allocsite

import (
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/report"
)

// Tracker is a heisen.Detector without findings. The zero Tracker is ready for use. It belongs to
// one goroutine.
type Tracker struct {
	events uint64 // handled so far
	// The latest allocations and those before them.
	latest, before pages
	entries        int // in latest
	// A ring of the allocation epochs that ended last. A finding comes later than its accesses,
	// because events come in batches.
	ended [1 << 12]allocation
	ends  int
}

// pages has allocations by the page of memory in which they start, and in each page in order. One that
// goes on beyond a block of pages stands also in the first page of each further block. A search for an
// object therefore goes back no further than to the start of a block.
type pages map[uint64][]allocation

// allocation is an allocation epoch: the time between the allocation of an object and the next
// allocation of its memory.
type allocation struct {
	start   heisen.Object
	index   uint64 // of the Alloc event in the stream, from 1
	size    uint32
	thread  heisen.Thread
	site    heisen.Site
	context heisen.Context
}

const (
	maxAllocations = 1 << 19
	pageShift      = 13
	blockPages     = 8
)

// Handle implements heisen.Detector.
func (t *Tracker) Handle(e heisen.Event) {
	t.events++
	if e.Op() == heisen.Alloc {
		t.add(heisen.AsRecord(e))
	}
}

// HandleRecords implements heisen.RecordHandler.
func (t *Tracker) HandleRecords(batch []heisen.Record) {
	first := t.events
	for i := range batch {
		if r := &batch[i]; r.Op == heisen.Alloc {
			t.events = first + uint64(i) + 1
			t.add(r)
		}
	}
	t.events = first + uint64(len(batch))
}

// Flush implements heisen.Detector.
func (t *Tracker) Flush() error { return nil }

func (t *Tracker) add(r *heisen.Record) {
	if r.Value == 0 || r.Value > 1<<32-1 || uint64(r.Object)+r.Value < r.Value {
		return
	}
	if t.latest == nil || t.entries >= maxAllocations {
		t.latest, t.before, t.entries = pages{}, t.latest, 0
	}
	l := allocation{start: r.Object, index: t.events, size: uint32(r.Value), thread: r.Thread, site: r.Site, context: r.Context}
	// In most cases the memory was allocated with the same size before.
	if old := t.latest.at(l.start); old != nil && old.size == l.size && l.pages() == 1 {
		t.end(old)
		*old = l
		return
	}
	for old := t.latest.overlapping(&l); old != nil; old = t.latest.overlapping(&l) {
		t.end(old)
		t.entries -= t.latest.remove(*old)
	}
	for old := t.before.overlapping(&l); old != nil; old = t.before.overlapping(&l) {
		t.end(old)
		t.before.remove(*old)
	}
	t.entries += t.latest.insert(l)
}

// end notes that an allocation epoch is over.
func (t *Tracker) end(l *allocation) {
	t.ended[t.ends%len(t.ended)] = *l
	t.ends++
}

func (l *allocation) has(o heisen.Object) bool {
	return o >= l.start && uint64(o-l.start) < uint64(l.size)
}

// pages returns the number of pages that have a part of the object.
func (l *allocation) pages() uint64 { return l.last() - l.first() + 1 }

func (l *allocation) first() uint64 { return uint64(l.start) >> pageShift }

func (l *allocation) last() uint64 { return (uint64(l.start) + uint64(l.size) - 1) >> pageShift }

// entries yields the pages in which an allocation stands.
func (l *allocation) entries(yield func(page uint64) bool) {
	if !yield(l.first()) {
		return
	}
	for page := l.first()&^(blockPages-1) + blockPages; page <= l.last(); page += blockPages {
		if !yield(page) {
			return
		}
	}
}

// position returns where in a page an object that starts at o stands, or would stand.
func position(page []allocation, o heisen.Object) (at int, found bool) {
	// slices.BinarySearchFunc takes twice as long.
	end := len(page)
	for at < end {
		if middle := (at + end) / 2; page[middle].start < o {
			at = middle + 1
		} else {
			end = middle
		}
	}
	return at, at < len(page) && page[at].start == o
}

// at returns the allocation that starts at o, or nil.
func (p pages) at(o heisen.Object) *allocation {
	page := p[uint64(o)>>pageShift]
	if at, found := position(page, o); found {
		return &page[at]
	}
	return nil
}

// covering returns the allocation that has o, or nil. It is the last one that does not start later,
// because allocations do not overlap.
func (p pages) covering(o heisen.Object) *allocation {
	for page := uint64(o) >> pageShift; ; page-- {
		l := p[page]
		at, found := position(l, o)
		if found {
			return &l[at]
		}
		if at > 0 {
			if l[at-1].has(o) {
				return &l[at-1]
			}
			return nil
		}
		if page%blockPages == 0 {
			return nil
		}
	}
}

// overlapping returns an allocation that shares memory with l, or nil.
func (p pages) overlapping(l *allocation) *allocation {
	if old := p.covering(l.start); old != nil {
		return old
	}
	for page := l.first(); page <= l.last(); page++ {
		starts := p[page]
		if at, _ := position(starts, l.start); at < len(starts) && l.has(starts[at].start) {
			return &starts[at]
		}
	}
	return nil
}

// insert adds an allocation that overlaps with no other one, and returns the number of its entries.
func (p pages) insert(l allocation) (entries int) {
	for page := range l.entries {
		at, _ := position(p[page], l.start)
		p[page] = slices.Insert(p[page], at, l)
		entries++
	}
	return entries
}

// remove removes an allocation and returns the number of its entries.
func (p pages) remove(l allocation) (entries int) {
	for page := range l.entries {
		at, found := position(p[page], l.start)
		if !found {
			continue
		}
		entries++
		if p[page] = slices.Delete(p[page], at, at+1); len(p[page]) == 0 {
			delete(p, page)
		}
	}
	return entries
}

// find returns the latest known allocation that has the byte at o and was made before the given
// event, or the zero allocation.
func (t *Tracker) find(o heisen.Object, event uint64) (found allocation) {
	look := func(l *allocation) {
		if l != nil && l.has(o) && l.index < event && l.index > found.index {
			found = *l
		}
	}
	look(t.latest.covering(o))
	look(t.before.covering(o))
	for i := range t.ended {
		look(&t.ended[i])
	}
	return found
}

// Of returns where the objects of a finding's accesses were allocated, each object once, in the
// order of the accesses, as far as that is known. An allocation after the latest access is another
// object. Nothing is known about a finding whose accesses have no Index.
func (t *Tracker) Of(f *heisen.Finding, symbols *heisen.Symbols) (all []report.Allocation) {
	var latest uint64
	for _, access := range f.Accesses {
		latest = max(latest, access.Index)
	}
	var known []allocation
	var resolver report.Resolver
	for _, access := range f.Accesses {
		l := t.find(access.Object, latest)
		if l.index == 0 || slices.Contains(known, l) {
			continue
		}
		known = append(known, l)
		by := heisen.Access{Thread: l.thread, Object: access.Object, Site: l.site, Context: l.context}
		at := resolver.Resolve(heisen.Finding{Accesses: []heisen.Access{by}}, symbols).Accesses[0]
		all = append(all, report.Allocation{
			Object:    at.Object,
			Offset:    uint64(access.Object - l.start),
			Size:      uint64(l.size),
			Thread:    l.thread,
			Goroutine: at.Goroutine,
			Test:      at.Test,
			Site:      at.Site,
			Stack:     at.Stack,
		})
	}
	return all
}
