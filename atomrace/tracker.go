package atomrace

import (
	"errors"
	"math"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/core/atomrace"
)

// Passage is that a thread has gone through an atomic section: from an access at its
// entry to one at an end.
type Passage struct {
	Section    int    // index
	Entry, End uint64 // positions of the two accesses in the stream, from 1
	Allow      Modes  // what others may do to the variable in between
}

// Tracker follows the threads of a stream through atomic sections, whatever others do
// meanwhile. It is for those who ask what others could have done: a Detector that watches
// the same sections reports no other passages. It belongs to one goroutine, takes about
// 1.6 MB, and has the bounds of a Detector.
type Tracker struct {
	table    *atomrace.Table
	sections *repository
	passed   func(Passage)

	threads map[heisen.Thread]*tracked
	other   tracked // who comes into all sections, so that the table tells of each end
}

// tracked is what is known of a thread.
type tracked struct {
	watch atomrace.Thread
	hits  atomrace.Hits
	depth uint32
}

// nobody is the thread number of who comes into all sections.
const nobody heisen.Thread = math.MaxUint32

// NewTracker returns a tracker of sections for a stream, which calls passed at the end of
// each passage. For the arguments and the error see WithSections.
func NewTracker(sections []Section, locator Locator, passed func(Passage)) (*Tracker, error) {
	switch {
	case locator.Site == nil:
		return nil, errors.New("atomrace: sections without a function that locates sites")
	case passed == nil:
		return nil, errors.New("atomrace: nobody to be told of passages")
	}
	if err := CheckSections(sections); err != nil {
		return nil, err
	}
	t := &Tracker{table: new(atomrace.Table), passed: passed, threads: map[heisen.Thread]*tracked{}}
	var err error
	t.sections, err = newRepository(t.table, sections, locator)
	return t, err
}

// Next takes the next event of the stream and its position there.
func (t *Tracker) Next(r *heisen.Record, position uint64) {
	switch op := r.Access(); {
	case op != heisen.Invalid && r.Op == op: // an operation on a lock is none on a variable
		t.access(r, position)
		return
	case r.Op == heisen.Call:
		t.thread(r.Thread).depth++
		return
	case r.Op == heisen.Alloc || r.Op == heisen.Free:
		if r.Value > 0 {
			last := uint64(r.Object) + r.Value - 1
			if last < uint64(r.Object) {
				last = math.MaxUint64
			}
			for _, th := range t.threads {
				t.table.AtomExit(&th.watch, uint64(r.Object), last, &th.hits)
			}
		}
		return
	}
	th := t.threads[r.Thread]
	if th == nil {
		return
	}
	switch r.Op {
	case heisen.Return:
		th.depth -= min(th.depth, 1)
		t.table.Exit(&th.watch, th.depth, &th.hits)
	case heisen.End:
		t.table.AtomExit(&th.watch, 0, math.MaxUint64, &th.hits)
		delete(t.threads, r.Thread)
	}
}

// Err returns an error that wraps ErrSections if there were more places and variables
// than there is room for, so that passages are missing.
func (t *Tracker) Err() error { return t.sections.failed }

func (t *Tracker) thread(id heisen.Thread) *tracked {
	th := t.threads[id]
	if th == nil {
		th = new(tracked)
		t.threads[id] = th
	}
	return th
}

func (t *Tracker) access(r *heisen.Record, position uint64) {
	loc := t.sections.location(r.Site, r.Op)
	th := t.threads[r.Thread]
	if loc == 0 && (th == nil || th.watch.Idle()) || r.Thread == nobody {
		return
	}
	if th == nil {
		th = t.thread(r.Thread)
	}
	a := atomrace.Access{
		Addr: uint64(r.Object), Size: r.Size(), Who: who(r.Thread, uint32(position)), Loc: loc, Depth: th.depth,
		Write: r.Op.IsWrite(), Atomic: r.Op.IsAtomic(),
	}
	if t.sections.locator.Depth != nil {
		a.Depth = t.sections.depth(r.Context)
	}
	// The access is over at once: what another thread does comes before it or after.
	t.table.Before(&th.watch, &a, &th.hits)
	t.table.After(&th.watch, &th.hits)
	for i := range th.hits.Violations {
		t.pass(&th.hits.Broken[i%uint32(len(th.hits.Broken))], position)
	}
	if loc == 0 || th.watch.Idle() {
		return
	}
	for _, write := range [2]bool{false, true} {
		b := atomrace.Access{Addr: a.Addr, Size: a.Size, Who: who(nobody, 0), Write: write}
		t.table.Before(&t.other.watch, &b, &t.other.hits)
		t.table.After(&t.other.watch, &t.other.hits)
	}
}

// pass tells of a passage.
func (t *Tracker) pass(v *atomrace.Violation, end uint64) {
	p := Passage{Section: int(v.Section) - 1, End: end, Allow: Reads | Writes}
	p.Entry = end - uint64(uint32(end)-uint32(v.Entry))
	if v.Read {
		p.Allow &^= Reads
	}
	if v.Wrote {
		p.Allow &^= Writes
	}
	t.passed(p)
}
