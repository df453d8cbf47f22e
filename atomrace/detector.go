package atomrace

import (
	"errors"
	"fmt"
	"sync"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/core/atomrace"
)

// Detector finds data races as accesses that overlap and, given sections,
// atomicity violations as accesses that come in between; the package documentation
// says what that promises. Its name in findings is "atomrace". There are two ways to
// drive one, and no more than one of them at a time:
//
//   - BeforeAccess, AfterAccess and AtomExit from the threads of a program, as they
//     access variables, each thread for itself and all at the same time.
//   - Handle or HandleRecords with a stream of events, from one goroutine.
//
// A finding of Kind heisen.Race has the access that was pending, then the one that
// came. One of Kind heisen.Atomicity has the access at the section's entry, the first
// read or the first write by others that was not allowed, or both in their order, and
// the access at the section's end. Accesses have contexts if the stream's records have;
// they have an Index if they were pending when the finding was made, and 0 otherwise.
//
// A Detector takes about 1.6 MB, and 1.2 KB for each thread that it knows. An event
// takes some tens of nanoseconds, in the first way more if processors contend for
// a variable. In steady state nothing is allocated.
type Detector struct {
	table    *atomrace.Table
	sections *sectionTable // nil if there are none
	noise    Noise         // nil if there is none
	remember int

	threads numbered[threadSlot]

	// The state of streams.
	busy   []*thread // those with something pending, or in sections
	idle   []*thread // of threads that have ended
	events uint64
	places places

	mu       sync.Mutex
	reported map[findingKey]struct{} // guarded by mu

	sinking sync.Mutex // while sink is called
	sink    heisen.Sink
}

// NewDetector returns a detector that reports to sink, one finding at a time; nil is a
// sink that discards. When the detector is driven by a program's threads, the sink is
// called on the thread whose call it is that found something. It must not call the
// detector.
func NewDetector(sink heisen.Sink, options ...Option) (*Detector, error) {
	d := &Detector{table: new(atomrace.Table), sink: sink, remember: 4096, reported: map[findingKey]struct{}{}}
	for _, option := range options {
		if option == nil {
			return nil, errors.New("atomrace: option is nil")
		}
		if err := option(d); err != nil {
			return nil, fmt.Errorf("atomrace: %w", err)
		}
	}
	return d, nil
}

// BeforeAccess says that a thread is about to access a variable: the paper's
// beforeAccessEvent. op is an access, plain or atomic; other ops do nothing. variable
// is one thing, whatever its size; variables are the same or disjoint. The access is
// pending until AfterAccess or the thread's next BeforeAccess.
//
// What is reported is a race only if the thread synchronises in no way from here to
// AfterAccess, except by the access itself if that is atomic. An atomic operation must
// not happen at the same time as another one of the same variable between its
// BeforeAccess and AfterAccess: the caller holds a lock for it.
//
// It may be called from many goroutines at the same time, but from one for each thread
// number. In findings, sites from 2^29 on are reported as 0.
func (d *Detector) BeforeAccess(t heisen.Thread, variable heisen.Object, site heisen.Site, op heisen.Op) {
	if !op.IsAccess() {
		return
	}
	th := d.thread(t)
	a := atomrace.Access{
		Addr: uint64(variable), Size: 1, Who: who(t, packPlace(site, op)),
		Write: op.IsWrite(), Atomic: op.IsAtomic(),
	}
	if d.sections != nil {
		a.Loc = d.sections.location(site, op)
	}
	d.table.Before(&th.watch, &a, &th.hits)
	d.violations(th, nil)
	if th.hits.Overlaps != 0 {
		d.races(th, heisen.Access{Op: op, Thread: t, Object: variable, Size: 1, Site: site}, false)
	}
	if d.noise != nil {
		disturb(d.noise, Point{Thread: t, Op: op, Object: variable, Site: site})
	}
}

// AfterAccess says that the thread's latest access is over: the paper's
// afterAccessEvent. It may be called like BeforeAccess.
func (d *Detector) AfterAccess(t heisen.Thread) {
	th := d.thread(t)
	d.table.After(&th.watch, &th.hits)
	d.violations(th, nil)
}

// AtomExit says that the thread has left the sections on a variable that it was in, on
// a way on which they are not to be checked: the paper's atomExitEvent with an end that
// allows everything. It is also to be called before a variable's memory becomes another
// variable, if the thread may be in sections on it. It may be called like BeforeAccess.
func (d *Detector) AtomExit(t heisen.Thread, variable heisen.Object) {
	th := d.thread(t)
	d.table.AtomExit(&th.watch, uint64(variable), uint64(variable), &th.hits)
	d.violations(th, nil)
}

// EndThread says that a thread does nothing more, so that its memory can be used for
// others. Its number may be used again. It may be called like BeforeAccess.
func (d *Detector) EndThread(t heisen.Thread) {
	slot := d.threads.find(uint32(t))
	if slot == nil {
		return
	}
	if th := slot.Swap(nil); th != nil {
		d.leave(th, nil)
	}
}

// leave ends all that a thread has pending or is in. latest is its latest access, if
// it is known.
func (d *Detector) leave(th *thread, latest *heisen.Access) {
	d.table.AtomExit(&th.watch, 0, 1<<64-1, &th.hits)
	d.violations(th, latest)
	d.table.After(&th.watch, &th.hits)
}

// Missed counts what a Detector could not follow because a bound was reached. It is
// no error: the detector claims no completeness.
type Missed struct {
	Unseen   uint64 // accesses, or words of them, that were compared with others but could not be seen by others
	Partial  uint64 // accesses of more than 512 bytes, of which only the first were compared with shorter ones
	Unnamed  uint64 // overlaps and suspects that ended while they were looked at
	Excess   uint64 // overlaps with more than 4 others at a time, violations of more than 4 sections
	Sections uint64 // entries into sections when the thread was in 16, or 8 were followed near the variable
}

// Missed returns what was missed so far. It takes some tens of microseconds, and may be
// called at any time.
func (d *Detector) Missed() Missed {
	l := d.table.Missed()
	return Missed{Unseen: l.Full, Partial: l.Long, Unnamed: l.Busy, Excess: l.Found, Sections: l.Sections}
}
