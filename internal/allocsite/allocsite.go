// Package allocsite remembers where memory was allocated, so that reports can show it.
//
// A Tracker handles the Alloc events of a stream. It must get the events before the detectors whose
// findings it explains. Memory that is allocated again has the new place. A Tracker remembers at
// least the latest maxAllocations allocations, and at most twice as many, in some 100 MB. It
// forgets the oldest allocations of a program with more live objects; findings then do not show
// them. An Alloc costs less than 0.1 µs, other events next to nothing.
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
	// The latest allocations and those before them, by word number: the word at which an object
	// starts, and each word in it at which a block starts. A search for an object therefore goes
	// back no further than to the start of a block.
	latest, before map[uint64]allocation
	// A ring of the allocation epochs that ended last. A finding comes later than its accesses,
	// because events come in batches.
	ended [1 << 12]allocation
	ends  int
}

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
	wordShift      = 3
	blockWords     = 1 << 13 // 64 KiB
)

// Handle implements heisen.Detector.
func (t *Tracker) Handle(e heisen.Event) {
	t.events++
	if e.Op() == heisen.Alloc {
		t.add(heisen.AsRecord(e))
	}
}

// Flush implements heisen.Detector.
func (t *Tracker) Flush() error { return nil }

func (t *Tracker) add(r *heisen.Record) {
	if r.Value == 0 || r.Value > 1<<32-1 {
		return
	}
	l := allocation{start: r.Object, index: t.events, size: uint32(r.Value), thread: r.Thread, site: r.Site, context: r.Context}
	t.put(uint64(r.Object)>>wordShift, l)
	last := (uint64(r.Object) + r.Value - 1) >> wordShift
	for word := (uint64(r.Object)>>wordShift)&^(blockWords-1) + blockWords; word <= last; word += blockWords {
		t.put(word, l)
	}
}

func (t *Tracker) put(word uint64, l allocation) {
	if len(t.latest) == maxAllocations {
		t.before, t.latest = t.latest, nil
	}
	if t.latest == nil {
		t.latest = map[uint64]allocation{}
	}
	if old := t.latest[word]; old.index > 0 {
		t.ended[t.ends%len(t.ended)] = old
		t.ends++
	}
	t.latest[word] = l
}

// find returns the latest known allocation that has the byte at o and was made before the given
// event. It returns the zero allocation if another object has had the word of o since.
func (t *Tracker) find(o heisen.Object, event uint64) (found allocation) {
	if len(t.latest) == 0 {
		return allocation{}
	}
	var newest uint64
	look := func(l *allocation) {
		if l.index >= event || l.index <= newest {
			return
		}
		if o >= l.start && uint64(o-l.start) < uint64(l.size) {
			found, newest = *l, l.index
		} else if o >= l.start {
			newest = l.index
		}
	}
	for word := uint64(o) >> wordShift; ; word-- {
		for _, allocations := range []map[uint64]allocation{t.latest, t.before} {
			l := allocations[word]
			look(&l)
		}
		if word%blockWords == 0 {
			break
		}
	}
	for i := range t.ended {
		if l := &t.ended[i]; o >= l.start && uint64(o-l.start) < uint64(l.size) {
			look(l)
		}
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
