package diagram

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/wording"
	"github.com/heisen-go/heisen/report"
)

// site returns the place of a frame, or nothing.
func site(f report.Frame) string {
	if f.File == "" {
		return f.Func
	}
	return fmt.Sprintf("%s:%d", f.File, f.Line)
}

// selected reports whether the witness is a selection of the steps of an execution, as those of
// controlled executions are. The schedule of a detector has all events.
func (b *builder) selected() bool { return b.f.Trials != nil }

// follows reports whether the finding is drawn as its witness: the accesses are steps of it, or do not
// complete.
func (b *builder) follows() bool {
	return len(b.f.Witness) > 0 && (b.stops() || len(b.marks()) == len(b.f.Accesses))
}

// witness draws the schedule of the finding.
func (b *builder) witness() {
	steps := b.f.Witness
	marks := b.marks()
	groups := grouped(steps, marks)
	first, end := b.window(groups, marks)
	if first > 0 {
		b.note(fmt.Sprintf("%d earlier steps are not shown.", groups[first].first))
	}
	if end < len(groups) {
		b.note(fmt.Sprintf("%d later steps are not shown.", len(steps)-groups[end].first))
	}
	row, pending := 0, -1
	for _, g := range groups[first:end] {
		s := &steps[g.first]
		at := row
		if s.Pending {
			if pending < 0 {
				pending, row = row, row+1
			}
			at = pending
		} else {
			row++
		}
		e := Event{
			Lane: b.lane(s.Thread, s.Name, ""), Row: at, thread: s.Thread, Op: s.Op, Verb: g.verb(steps),
			What: cmp.Or(s.Expression(), s.Object), Object: s.Object, Site: s.Site, Access: -1, Times: g.times, Pending: s.Pending,
		}
		if i, marked := marks[g.first]; marked {
			a := &b.f.Accesses[i]
			e.Access, e.NoLocks = i, len(a.Locks) == 0 && !a.LocksUnknown
			b.lane(a.Thread, a.Goroutine, a.Test)
		}
		if s.Pending && b.stops() {
			e.Waits, e.Verb = true, "waits for"
		}
		b.add(e)
	}
	if b.stops() { // what does not complete is no step of an execution, and comes last
		for i := range b.f.Accesses {
			a := &b.f.Accesses[i]
			waits := slices.IndexFunc(b.d.Events, func(e Event) bool { return e.Waits && e.thread == a.Thread && e.Object == a.Object })
			switch {
			case b.eventOf(i) >= 0:
			case waits >= 0: // the schedule ends with it
				b.d.Events[waits].Access, b.d.Events[waits].NoLocks = i, len(a.Locks) == 0 && !a.LocksUnknown
			default:
				b.access(i, row)
			}
		}
	}
	b.blocked(max(row, b.d.Rows-1))
	b.orders()
	b.lockBars()
	if b.selected() {
		b.note("The diagram has the steps that explain the execution, not all of them. The marked accesses are those of the finding that come closest to each other.")
	}
}

// group is a run of steps that are drawn as one event.
type group struct {
	first, end int // steps
	times      int
}

// verb says what the steps of a group do.
func (g group) verb(steps []report.Step) string {
	verb := wording.Op(cmp.Or(steps[g.first].Verb, steps[g.first].Op))
	for _, s := range steps[g.first:g.end] {
		if s.Op != steps[g.first].Op {
			return "reads, writes"
		}
	}
	return verb
}

// grouped joins plain accesses in a row by one goroutine at one place to one object, unless one of
// them is marked.
func grouped(steps []report.Step, marks map[int]int) (groups []group) {
	plain := func(s *report.Step) bool { return s.Op == heisen.Read.String() || s.Op == heisen.Write.String() }
	for i := range steps {
		s := &steps[i]
		if n := len(groups); n > 0 {
			last := &steps[groups[n-1].first]
			_, marked := marks[i]
			_, lastMarked := marks[groups[n-1].first]
			if plain(s) && plain(last) && !marked && !lastMarked && !s.Pending && !last.Pending &&
				s.Thread == last.Thread && s.Site == last.Site && s.Object == last.Object {
				groups[n-1].end++
				groups[n-1].times++
				continue
			}
		}
		groups = append(groups, group{i, i + 1, 1})
	}
	return groups
}

// window returns which groups are drawn: the last ones, or those around the marks.
func (b *builder) window(groups []group, marks map[int]int) (first, end int) {
	end = len(groups)
	if len(marks) > 0 {
		last := 0
		for i, g := range groups {
			if _, marked := marks[g.first]; marked {
				last = i
			}
		}
		end = min(end, last+1+afterMark)
	}
	return max(0, end-maxRows), end
}

// marks returns which steps are accesses of the finding. Of two accesses, those steps are chosen that
// come closest to each other, the last of several.
func (b *builder) marks() map[int]int {
	marks := map[int]int{}
	if b.stops() && b.selected() {
		return marks // they are no steps
	}
	var candidates [][]int
	for i := range b.f.Accesses {
		a := &b.f.Accesses[i]
		var steps []int
		for k := range b.f.Witness {
			s := &b.f.Witness[k]
			if s.Thread == a.Thread && s.Op == a.Op && s.Site == a.Site && s.Object == a.Object {
				steps = append(steps, k)
			}
		}
		candidates = append(candidates, steps)
	}
	if len(candidates) == 2 && len(candidates[0]) > 0 && len(candidates[1]) > 0 {
		first, second := closest(candidates[0], candidates[1])
		marks[first], marks[second] = 0, 1
		return marks
	}
	before := len(b.f.Witness)
	for i := len(candidates) - 1; i >= 0; i-- { // those of a section, in their order
		k := len(candidates[i]) - 1
		for k >= 0 && candidates[i][k] >= before {
			k--
		}
		if k >= 0 {
			before = candidates[i][k]
			marks[before] = i
		}
	}
	return marks
}

// closest returns the numbers of two ascending lists that differ least, the last of several.
func closest(a, b []int) (x, y int) {
	distance := func(x, y int) int { return max(x-y, y-x) }
	x, y = a[0], b[0]
	for i, j := 0, 0; i < len(a) && j < len(b); {
		if a[i] != b[j] && (distance(a[i], b[j]) <= distance(x, y) || x == y) {
			x, y = a[i], b[j]
		}
		if a[i] <= b[j] {
			i++
		} else {
			j++
		}
	}
	return x, y
}

// releases are the latest releases of an object or sends of a message by each goroutine.
type releases map[string]map[int]int // event by lane, by object

func (r releases) add(object string, lane, event int) {
	if r[object] == nil {
		r[object] = map[int]int{}
	}
	r[object][lane] = event
}

// orders adds the happens-before edges between goroutines that do not follow from others.
func (b *builder) orders() {
	forks := releases{}         // by the name of the goroutine
	written := releases{}       // releases for all, and messages: L(o) in the comments of heisen.Op
	read := releases{}          // releases by readers: R(o)
	lasts := map[string]int{}   // latest event of a goroutine, by its name
	clocks := make([][]int, 0)  // latest known event of each lane, plus one, by event
	latest := make(map[int]int) // latest event of each lane
	for i := range b.d.Events {
		e := &b.d.Events[i]
		name := b.d.Lanes[e.Lane].Name
		clock := make([]int, len(b.d.Lanes))
		if k, ok := latest[e.Lane]; ok {
			copy(clock, clocks[k])
		}
		from := []map[int]int{forks[name]}
		delete(forks, name)
		if !e.Waits && !e.Pending {
			from = append(from, b.joined(e, forks, written, read, lasts)...)
		}
		b.orderAfter(i, from, clocks, clock)
		clock[e.Lane] = i + 1
		clocks = append(clocks, clock)
		e.clock = clock
		latest[e.Lane], lasts[name] = i, i
		if !e.Waits && !e.Pending {
			b.published(i, forks, written, read)
		}
	}
}

// joined returns the events after which e comes, by lane.
func (b *builder) joined(e *Event, forks, written, read releases, lasts map[string]int) (from []map[int]int) {
	switch e.Op {
	case heisen.Join.String():
		from = append(from, forks[e.Object]) // of a goroutine without events
		if k, ok := lasts[e.Object]; ok {
			from = append(from, map[int]int{b.d.Events[k].Lane: k})
		}
	case heisen.Acquire.String():
		from = append(from, written[e.Object], read[e.Object])
	case heisen.AcquireShared.String(), heisen.Receive.String():
		from = append(from, written[e.Object])
	case heisen.AtomicRead.String(), heisen.AtomicUpdate.String():
		if !b.selected() {
			from = append(from, written[e.Object])
		}
	}
	return from
}

// published notes what later events may come after. A store hides what was published before, and in a
// selection of steps it is not known whether there was another one: the order by atomic operations
// is not drawn then.
func (b *builder) published(i int, forks, written, read releases) {
	e := &b.d.Events[i]
	switch e.Op {
	case heisen.Fork.String():
		forks.add(e.Object, e.Lane, i)
	case heisen.Release.String(), heisen.Send.String():
		written.add(e.Object, e.Lane, i)
	case heisen.ReleaseShared.String():
		read.add(e.Object, e.Lane, i)
	case heisen.AtomicWrite.String():
		if !b.selected() {
			delete(written, e.Object)
			delete(read, e.Object)
			written.add(e.Object, e.Lane, i)
		}
	case heisen.AtomicUpdate.String():
		if !b.selected() {
			written.add(e.Object, e.Lane, i)
		}
	case heisen.Alloc.String(), heisen.Free.String(): // the objects there are others from now on
		clear(written)
		clear(read)
	}
}

// orderAfter adds edges to event i from events, the latest first, unless an edge follows from others.
// It adds what event i learns of other goroutines to its clock.
func (b *builder) orderAfter(i int, from []map[int]int, clocks [][]int, clock []int) {
	var events []int
	for _, by := range from {
		for _, k := range by {
			events = append(events, k)
		}
	}
	slices.Sort(events)
	slices.Reverse(events)
	to := b.d.Events[i].Lane
	for _, k := range events {
		lane := b.d.Events[k].Lane
		if lane == to || clock[lane] > k {
			continue
		}
		b.d.Edges = append(b.d.Edges, Edge{Order, k, i, ""})
		for l, known := range clocks[k] {
			clock[l] = max(clock[l], known)
		}
	}
}

// lockBars adds the locks that are held: from each acquisition to the release, or to the end of the diagram, to a release that has no
// acquisition from the beginning, and the locks that are held at the accesses of the finding and whose acquisition is not shown.
func (b *builder) lockBars() {
	open := map[int][]Event{} // acquisitions of locks that are held, by lane
	add := func(e Event, from, to int, before, after bool) {
		b.d.Bars = append(b.d.Bars, Bar{
			Lane: e.Lane, From: from, To: to, Lock: e.What, Shared: e.Op == heisen.AcquireShared.String() || e.Op == heisen.ReleaseShared.String(),
			Object: e.Object, Before: before, After: after,
		})
	}
	for _, e := range b.d.Events {
		switch {
		case e.Waits || e.Pending:
		case isAcquire(e.Op):
			open[e.Lane] = append(open[e.Lane], e)
		case isRelease(e.Op):
			from := opened(open, &e)
			if from == nil {
				add(e, 0, e.Row, true, false)
				continue
			}
			add(*from, from.Row, e.Row, false, false)
		}
	}
	for lane := range b.d.Lanes {
		for _, e := range open[lane] {
			add(e, e.Row, b.d.Rows-1, false, true)
		}
	}
	for i := range b.f.Accesses {
		if k := b.eventOf(i); k >= 0 {
			b.heldAt(b.d.Events[k].Row, b.lanes[b.f.Accesses[i].Thread], b.f.Accesses[i].Locks)
		}
	}
	for i := range b.f.Blocked {
		lane, drawn := b.lanes[b.f.Blocked[i].Thread]
		if !drawn {
			continue
		}
		if k := slices.IndexFunc(b.d.Events, func(e Event) bool { return e.Lane == lane && e.Waits }); k >= 0 {
			b.heldAt(b.d.Events[k].Row, lane, b.f.Blocked[i].Locks)
		}
	}
}

// heldAt adds the locks that a lane holds in a row and that have no bar there.
func (b *builder) heldAt(row, lane int, locks []report.Lock) {
	for j := range locks {
		l := &locks[j]
		shown := slices.ContainsFunc(b.d.Bars, func(bar Bar) bool {
			return bar.Lane == lane && bar.Object == l.Lock && bar.From <= row && row <= bar.To
		})
		if !shown {
			b.bar(lane, l, row, row, true)
		}
	}
}

// opened takes the acquisition of what an event releases from those of a lane, nil if there is none: that of the same goroutine, or that
// of another one, which may leave it to this one to unlock a Mutex.
func opened(open map[int][]Event, e *Event) *Event {
	take := func(lane int) *Event {
		for i, acquired := range slices.Backward(open[lane]) {
			if acquired.Object == e.Object {
				open[lane] = slices.Delete(open[lane], i, i+1)
				return &acquired
			}
		}
		return nil
	}
	if from := take(e.Lane); from != nil || e.Op != heisen.Release.String() {
		return from
	}
	for _, lane := range slices.Sorted(maps.Keys(open)) {
		if from := take(lane); from != nil {
			return from
		}
	}
	return nil
}

// contradicts reports whether the events that are the accesses of a race are ordered with each other.
// In a selection of steps these may be other executions of the operations than those that raced.
func (b *builder) contradicts() bool {
	if b.f.Kind != heisen.Race && b.f.Kind != heisen.PotentialRace || len(b.f.Accesses) != 2 {
		return false
	}
	i, j := b.eventOf(0), b.eventOf(1)
	if i < 0 || j < 0 {
		return false
	}
	return b.d.Events[max(i, j)].clock[b.d.Events[min(i, j)].Lane] > min(i, j)
}
