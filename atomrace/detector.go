package atomrace

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/core/atomrace"
	"github.com/heisen-go/heisen/internal/intake"
	"github.com/heisen-go/heisen/internal/option"
	"github.com/heisen-go/heisen/internal/shadow"
)

// Detector finds data races as accesses that overlap and, given sections, atomicity violations as
// accesses that come in between. The package documentation states what it promises. Its name in
// findings is "atomrace". There are two ways to drive a Detector, of which one may be used at a time:
//
//   - BeforeAccess, AfterAccess, AtomExit and EndThread, which the threads of a program call around
//     their accesses, all at the same time and each for itself.
//   - Handle or HandleRecords with a stream of events, from one goroutine.
//
// A finding of Kind heisen.Race has two accesses: the one that was pending, then the one that came. A
// finding of Kind heisen.Atomicity has the access at the section's entry; the first read or the first
// write by others that the end does not allow, or both in their order; and the access at the
// section's end. In a stream, accesses have the contexts of the records, and an access has an Index if it
// was pending when the finding was made; otherwise its Index is 0. If the threads of a program drive
// the Detector, all accesses have context 0 and Index 0.
//
// A Detector takes about 1.6 MB, and 1.2 KB for each thread that has not ended. If threads call it, their
// numbers should be used again, because each number takes 8 bytes for ever. An event of a stream takes
// some tens of nanoseconds. A pair of BeforeAccess and AfterAccess takes as long, and longer if
// processors contend for a variable. In steady state nothing is allocated.
//
// The zero Detector is ready to use, without sink, sections and noise.
type Detector struct {
	core     atomic.Pointer[atomrace.Table] // nil in a zero Detector that nothing was asked of; see table
	sections *sectionTable                  // nil if there are none
	noise    Noise                          // nil if there is none

	threads radixTable[threadSlot] // those that call the detector

	// The state of streams.
	streamed *shadow.Memory[*thread] // the threads of the stream; nil before the first
	active   []*thread               // those with a pending access or in sections
	free     []*thread               // states of threads that have ended, for others
	intake   intake.Check
	events   uint64
	places   places

	mu       sync.Mutex
	reported map[findingKey]struct{} // guarded by mu
	dedup    int                     // bound of reported; 0: defaultDedup, negative: report all

	sinking sync.Mutex // held while sink is called
	sink    heisen.Sink
}

// NewDetector returns a detector. Without WithSink it discards its findings.
func NewDetector(opts ...DetectorOption) (*Detector, error) {
	const name = "atomrace.NewDetector"
	c := config{dedup: defaultDedup}
	if err := option.Apply(name, &c, opts); err != nil {
		return nil, err
	}
	d := &Detector{noise: c.noise, sink: c.sink, dedup: c.dedup}
	if c.dedup == 0 {
		d.dedup = -1
	}
	table := &atomrace.Table{SingleSlot: c.singleSlot}
	d.core.Store(table)
	if c.locator != nil {
		var err error
		if d.sections, err = newSectionTable(table, c.sections, *c.locator); err != nil {
			return nil, fmt.Errorf("%s: %w", name, option.Errorf("WithSections: %w", err))
		}
	}
	return d, nil
}

// table returns the core table. A zero Detector gets its table with the first call.
func (d *Detector) table() *atomrace.Table {
	if t := d.core.Load(); t != nil {
		return t
	}
	return loadOrNew(&d.core)
}

// BeforeAccess announces that a thread is about to access a variable. It is the paper's
// beforeAccessEvent. The op is an access, plain or atomic; other ops do nothing. A variable is one
// unit, whatever its size: two variables are the same or disjoint. The access is pending until
// AfterAccess or the thread's next BeforeAccess.
//
// A finding is a true race only if the thread does not synchronize between BeforeAccess and
// AfterAccess, except by the access itself if that is atomic. Two atomic operations of one variable
// must not be between BeforeAccess and AfterAccess at the same time: the second one may observe what
// the first one did, so that it is ordered while the first one still counts as pending, and a plain
// access that follows it would be reported although the first one happened before. A lock around both
// calls keeps them apart.
//
// BeforeAccess may be called from many goroutines at the same time, but from one goroutine at a time
// for each thread number. In findings, sites from 2^29 on are reported as 0.
func (d *Detector) BeforeAccess(t heisen.Thread, variable heisen.Object, site heisen.Site, op heisen.Op) {
	if !op.IsAccess() {
		return
	}
	th := d.thread(t)
	a := atomrace.Access{
		Addr: uint64(variable), Size: 1, ID: who(t, packPlace(site, op)),
		Write: op.IsWrite(), Atomic: op.IsAtomic(),
	}
	if d.sections != nil {
		a.Loc = d.sections.location(site, op)
	}
	d.table().Before(&th.core, &a, &th.hits)
	d.reportViolations(th, nil)
	if th.hits.NumOverlaps != 0 {
		d.reportRaces(th, heisen.Access{Op: op, Thread: t, Object: variable, Size: 1, Site: site}, false)
	}
	if d.noise != nil {
		disturb(d.noise, Point{Thread: t, Op: op, Object: variable, Site: site})
	}
}

// AfterAccess announces that the thread's latest access is over. It is the paper's afterAccessEvent.
// For concurrent calls see BeforeAccess.
func (d *Detector) AfterAccess(t heisen.Thread) {
	d.endPending(d.thread(t), nil)
}

// AtomExit announces that the thread has left the sections on a variable that it was in, on a path on
// which they are not to be checked. It is the paper's atomExitEvent with an end that allows
// everything. It must also be called before a variable's memory becomes another variable, if the
// thread may be in sections on it. For concurrent calls see BeforeAccess.
func (d *Detector) AtomExit(t heisen.Thread, variable heisen.Object) {
	th := d.thread(t)
	d.table().AtomExit(&th.core, uint64(variable), uint64(variable), &th.hits)
	d.reportViolations(th, nil)
}

// EndThread announces that a thread does nothing more, so that its memory can serve others. Its number
// may be used again. For concurrent calls see BeforeAccess.
func (d *Detector) EndThread(t heisen.Thread) {
	slot := d.threads.find(uint32(t))
	if slot == nil {
		return
	}
	if th := slot.Swap(nil); th != nil {
		d.endThread(th, nil)
	}
}

// endPending ends the pending access of a thread and the sections that it is at an end of. latest is
// the thread's latest access, or nil if it is not known.
func (d *Detector) endPending(th *thread, latest *heisen.Access) {
	d.table().After(&th.core, &th.hits)
	d.reportViolations(th, latest)
}

// endThread ends the pending access of a thread and gives up the sections that it is in. For latest
// see endPending.
func (d *Detector) endThread(th *thread, latest *heisen.Access) {
	d.table().AtomExit(&th.core, 0, 1<<64-1, &th.hits)
	d.reportViolations(th, latest)
	d.table().After(&th.core, &th.hits)
}

// Missed counts what a Detector could not follow because a bound was reached. That is no error: the
// detector does not claim to find everything.
type Missed struct {
	// Unseen counts accesses that could not be announced because three accesses of other threads
	// near the variable were pending: they were checked against those, but no later access was
	// checked against them. An access of up to four words counts once for each such word.
	Unseen uint64
	// Partial counts accesses of more than 512 bytes. Only their first 512 bytes were compared with
	// shorter accesses.
	Partial uint64
	// Unnamed counts overlaps, and accesses within sections, that could not be reported because the
	// other access ended while the detector read it.
	Unnamed uint64
	// Excess counts the overlaps of one access beyond the first eight, and the violations at one
	// access beyond the first four.
	Excess uint64
	// Sections counts entries into sections that were not followed: the thread was in 16 sections
	// already, or other threads were in eight near the variable.
	Sections uint64
}

// Missed returns what was missed so far. It takes some tens of microseconds and may be called at any
// time.
func (d *Detector) Missed() Missed {
	l := d.table().Missed()
	return Missed{Unseen: l.Unseen, Partial: l.Partial, Unnamed: l.Unnamed, Excess: l.Excess, Sections: l.Sections}
}
