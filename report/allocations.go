package report

import (
	"slices"

	"github.com/heisen-go/heisen"
)

// Allocations is a Detector that finds nothing: it remembers where memory was allocated, by
// the Alloc events of a stream, so that findings in the stream can say it. It has to get the
// events before the detectors that make the findings.
//
// Memory that is allocated again has its new place of allocation. Remembered are at least
// the latest maxLives allocations, at most twice as many, in some 100 MB; a program that
// has more objects at a time has those forgotten that it allocated longest ago, and findings
// do not say where. An Alloc costs less than 0.1 µs, other events next to nothing.
//
// The zero Allocations is ready for use. It belongs to one goroutine.
type Allocations struct {
	events uint64 // so far
	// What was allocated lately, and before that, by the numbers of words: those at which an
	// object starts, and those in it at which a block does, so that whoever looks for an
	// object need not go back further than to the start of a block.
	latest, before map[uint64]life
	// Findings come later than the accesses, if only because events come in batches: these
	// are the lives that ended last, in turns.
	ended [1 << 12]life
	ends  int
}

// life is that of an object.
type life struct {
	start   heisen.Object
	index   uint64 // of its Alloc in the stream, from 1
	size    uint32
	thread  heisen.Thread
	site    heisen.Site
	context heisen.Context
}

const (
	maxLives   = 1 << 19
	wordShift  = 3
	blockWords = 1 << 13 // 64 KiB
)

// Handle implements heisen.Detector.
func (a *Allocations) Handle(e heisen.Event) {
	a.events++
	if e.Op() == heisen.Alloc {
		a.add(heisen.AsRecord(e))
	}
}

// Flush implements heisen.Detector.
func (a *Allocations) Flush() error { return nil }

func (a *Allocations) add(r *heisen.Record) {
	if r.Value == 0 || r.Value > 1<<32-1 {
		return
	}
	l := life{start: r.Object, index: a.events, size: uint32(r.Value), thread: r.Thread, site: r.Site, context: r.Context}
	a.put(uint64(r.Object)>>wordShift, l)
	last := (uint64(r.Object) + r.Value - 1) >> wordShift
	for word := (uint64(r.Object)>>wordShift)&^(blockWords-1) + blockWords; word <= last; word += blockWords {
		a.put(word, l)
	}
}

func (a *Allocations) put(word uint64, l life) {
	if len(a.latest) == maxLives {
		a.before, a.latest = a.latest, nil
	}
	if a.latest == nil {
		a.latest = map[uint64]life{}
	}
	if old := a.latest[word]; old.index > 0 {
		a.ended[a.ends%len(a.ended)] = old
		a.ends++
	}
	a.latest[word] = l
}

// find returns the latest known life of the memory at o that began before an event. What
// has had another object in it since is over.
func (a *Allocations) find(o heisen.Object, event uint64) (found life) {
	if len(a.latest) == 0 {
		return life{}
	}
	var newest uint64
	look := func(l *life) {
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
		for _, lives := range []map[uint64]life{a.latest, a.before} {
			l := lives[word]
			look(&l)
		}
		if word%blockWords == 0 {
			break
		}
	}
	for i := range a.ended {
		if l := &a.ended[i]; o >= l.start && uint64(o-l.start) < uint64(l.size) {
			look(l)
		}
	}
	return found
}

// Of returns where the objects of a finding's accesses were allocated, as far as that is
// known: each object once, in the order of the accesses. What is allocated after the
// latest access is another object; of findings that say of no access where in the stream it
// is, nothing is known.
func (a *Allocations) Of(f *heisen.Finding, symbols *heisen.Symbols) (all []Allocation) {
	var latest uint64
	for _, access := range f.Accesses {
		latest = max(latest, access.Index)
	}
	r := resolver{symbols: symbols}
	var known []life
	for _, access := range f.Accesses {
		l := a.find(access.Object, latest)
		if l.index == 0 || slices.Contains(known, l) {
			continue
		}
		known = append(known, l)
		all = append(all, Allocation{
			Object:    symbols.Name(access.Object),
			Offset:    uint64(access.Object - l.start),
			Size:      uint64(l.size),
			Thread:    l.thread,
			Goroutine: r.name(l.thread),
			Test:      symbols.Task(l.thread, l.context),
			Site:      r.site(l.site),
			Stack:     r.stack(l.site, l.context),
		})
	}
	return all
}
