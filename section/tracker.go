package section

import (
	"fmt"
	"math"

	"github.com/heisen-go/heisen"
)

// Execution is one execution of an atomic section: a thread makes an access at the entry and, later, an
// access to the same variable at one of the ends.
type Execution struct {
	Section    int           // index of the section
	Entry, End heisen.Access // with their positions in the stream
	Allow      Modes         // what others may do to the variable in between
}

// Tracker follows the threads of a stream through atomic sections. It takes no notice of what other
// threads do meanwhile, so it serves analyses that ask what they could have done. A Detector of
// package atomrace that watches the same sections reports violations only of executions that a Tracker
// would report.
//
// A thread is followed through at most 256 sections at a time; entries beyond them are ignored. An
// access costs a map lookup, and a scan of the sections that its thread is in if it has a role in any.
// Memory is proportional to the number of threads and sites. A Tracker is for one goroutine at a time.
type Tracker struct {
	index   Index
	ended   func(Execution)
	threads map[heisen.Thread]*trackedThread
	depths  map[heisen.Context]int
	most    int // sections that a thread is in
}

// trackedThread is the state of a thread.
type trackedThread struct {
	depth   int // calls on its stack, by Call and Return events
	active  []activeSection
	deepest int // no active section has a larger home
}

// defaultActive bounds the sections that a thread is in. The bound of internal/core/atomrace is lower.
const defaultActive = 256

// activeSection is a section that a thread has entered.
type activeSection struct {
	section int
	entry   heisen.Access
	home    int  // the section is given up when the thread has fewer calls on its stack
	nested  int  // entries without an end, of a recursive section
	fresh   bool // entered by the current access
}

// NewTracker returns a tracker of sections, which it copies. It calls ended at the end of each
// execution, in the order of the stream, except for ends that allow everything. For the error see
// NewIndex; it wraps heisen.ErrOption if ended is nil.
func NewTracker(sections []Section, locator Locator, ended func(Execution)) (*Tracker, error) {
	if ended == nil {
		return nil, fmt.Errorf("section.NewTracker: %w: the function that receives the executions is nil", heisen.ErrOption)
	}
	index, err := newIndex("section.NewTracker", sections, locator)
	if err != nil {
		return nil, err
	}
	return &Tracker{
		index: *index, ended: ended,
		most: defaultActive, threads: map[heisen.Thread]*trackedThread{}, depths: map[heisen.Context]int{},
	}, nil
}

// Next takes the next event of the stream. Its position goes into the executions. The zero Tracker has
// no sections and ignores all events.
func (t *Tracker) Next(r *heisen.Record, position uint64) {
	if t.ended == nil {
		return
	}
	if op := r.Access(); op != heisen.Invalid && r.Op == op { // a lock operation is no access to a variable
		t.access(r, position)
		return
	}
	switch r.Op {
	case heisen.Call:
		t.thread(r.Thread).depth++
	case heisen.Return:
		if th := t.threads[r.Thread]; th != nil {
			th.depth = max(0, th.depth-1)
			th.giveUpCalls(th.depth)
		}
	case heisen.End:
		delete(t.threads, r.Thread)
	case heisen.Alloc, heisen.Free:
		t.giveUpMemory(r)
	}
}

func (t *Tracker) thread(id heisen.Thread) *trackedThread {
	th := t.threads[id]
	if th == nil {
		th = &trackedThread{}
		t.threads[id] = th
	}
	return th
}

// access makes an access of a thread: it ends sections of the thread and then enters others.
func (t *Tracker) access(r *heisen.Record, position uint64) {
	roles := t.index.Roles(r.Site, r.Op)
	th := t.threads[r.Thread]
	if len(roles) == 0 && (th == nil || len(th.active) == 0) {
		return
	}
	if th == nil {
		th = t.thread(r.Thread)
	}
	depth := th.depth
	if t.index.locator.Depth != nil {
		depth = t.contextDepth(r.Context)
	}
	th.giveUpCalls(depth)
	if len(roles) == 0 {
		return
	}
	access := heisen.AccessOf(r, position)
	for _, role := range roles {
		if role.IsEntry() {
			t.enter(th, role.Section, access, depth)
		}
	}
	t.leave(th, roles, access)
}

// enter puts a thread into a section whose entry it accesses.
func (t *Tracker) enter(th *trackedThread, section int, access heisen.Access, depth int) {
	s := &t.index.sections[section]
	for i := range th.active {
		a := &th.active[i]
		if a.section != section || a.entry.Object != access.Object {
			continue
		}
		if s.Recursive {
			a.nested++
			return
		}
		if !s.Circular { // the section begins anew; a circular one also ends with this access
			th.giveUp(i)
		}
		break
	}
	if len(th.active) < t.most {
		home := max(0, depth-s.Above)
		th.active = append(th.active, activeSection{section: section, entry: access, home: home, nested: 1, fresh: true})
		th.deepest = max(th.deepest, home)
	}
}

// leave ends the sections of a thread that have an end among the roles of its access.
func (t *Tracker) leave(th *trackedThread, roles []Role, access heisen.Access) {
	for i := 0; i < len(th.active); {
		a := &th.active[i]
		end := t.endOf(a, roles, access.Object)
		a.fresh = false
		switch {
		case end < 0:
			i++
		case a.nested > 1:
			a.nested--
			i++
		default:
			e := &t.index.sections[a.section].Ends[end]
			p := Execution{Section: a.section, Entry: a.entry, End: access, Allow: e.Allow}
			th.giveUp(i)
			if p.Allow != Reads|Writes && t.index.locator.Inside(e, access) {
				t.ended(p)
			}
		}
	}
}

// endOf returns the index of the end of a's section that an access has the role of, or -1. The access
// at the entry of a circular section does not end the section that it has just begun.
func (t *Tracker) endOf(a *activeSection, roles []Role, variable heisen.Object) int {
	if a.entry.Object != variable || a.fresh && t.index.sections[a.section].Circular {
		return -1
	}
	for _, role := range roles {
		if role.Section == a.section && !role.IsEntry() {
			return role.End
		}
	}
	return -1
}

// giveUpMemory gives up the sections on variables in memory that is allocated or freed.
func (t *Tracker) giveUpMemory(r *heisen.Record) {
	if r.Value == 0 {
		return
	}
	first := uint64(r.Object)
	last := first + r.Value - 1
	if last < first {
		last = math.MaxUint64
	}
	for _, th := range t.threads {
		th.giveUpIf(func(a *activeSection) bool {
			return first <= uint64(a.entry.Object) && uint64(a.entry.Object) <= last
		})
	}
}

// giveUpCalls gives up the sections of calls that have returned.
func (th *trackedThread) giveUpCalls(depth int) {
	if th.deepest > depth {
		th.giveUpIf(func(a *activeSection) bool { return a.home > depth })
		th.deepest = depth
	}
}

func (th *trackedThread) giveUpIf(over func(*activeSection) bool) {
	for i := 0; i < len(th.active); {
		if over(&th.active[i]) {
			th.giveUp(i)
		} else {
			i++
		}
	}
}

// giveUp removes the i-th active section.
func (th *trackedThread) giveUp(i int) {
	last := len(th.active) - 1
	th.active[i] = th.active[last]
	th.active = th.active[:last]
}

// contextDepth returns the number of calls on the stack of a context.
func (t *Tracker) contextDepth(c heisen.Context) int {
	if c == 0 {
		return 0
	}
	d, known := t.depths[c]
	if !known {
		d = max(0, t.index.locator.Depth(c))
		t.depths[c] = d
	}
	return d
}
