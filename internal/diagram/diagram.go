// Package diagram turns a finding into a diagram: a lane for each goroutine, the events of each from
// the top to the bottom, arrows of the happens-before order, and bars for locks that are held.
//
// A finding with a witness is drawn as that schedule. Otherwise the diagram shows what the detector
// knows: the accesses, the locks held there and where they were acquired, and who started the
// goroutines. Nothing else is drawn: where the order of two events is not known, they are in rows of
// the same height or the diagram has a note.
package diagram

import (
	"cmp"
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/plural"
	"github.com/heisen-go/heisen/internal/wording"
	"github.com/heisen-go/heisen/report"
)

// Diagram is a finding as lanes.
type Diagram struct {
	Lanes  []Lane
	Starts []Start // of goroutines, before the rows
	Rows   int     // number of rows
	// Ordered is set if the rows are in the order of an execution, or of a schedule that is possible.
	// Otherwise only the rows of each lane have an order.
	Ordered bool
	Events  []Event // by row, and in a row by lane
	Gaps    []Gap   // by row
	Edges   []Edge
	Bars    []Bar
	Held    [][]string // names of the locks held at each access of the finding
	Notes   []string   // what the diagram leaves out, or does not know
}

// Lane is a goroutine.
type Lane struct {
	Thread     heisen.Thread
	Name, Test string
	Labels     []report.Label // as far as known
}

// Start says that a goroutine started another one.
type Start struct {
	Parent, Child int    // lanes
	Site          string // of the go statement; empty if it is not known
}

// Event is something that a goroutine did, or several equal things in a row.
type Event struct {
	Lane, Row int
	Number    uint64 // of the event in the trace, from 1; 0 if the events are not those of a trace
	Op        string // of the event, as in report.Step
	Verb      string // such as "writes" or "waits for"
	What      string // expression or name of the object
	Object    string // name of the object
	Site      string
	Access    int  // index of the access in the finding, or -1
	Waits     bool // it does not happen: the goroutine waits here
	Pending   bool // it is next, at the same time as the other pending ones
	Times     int  // how often, in a row
	NoLocks   bool // it is known that the goroutine holds no lock

	thread heisen.Thread
	clock  []int // of an event of a schedule: the latest event of each lane that happens before it, plus one
}

// Gap says that events before a row are left out.
type Gap struct {
	Row  int
	Text string
}

// EdgeKind is what an Edge says.
type EdgeKind string

const (
	Order    EdgeKind = "order"    // the first event happens before the second one
	Conflict EdgeKind = "conflict" // nothing orders the two accesses
	WaitsFor EdgeKind = "waits"    // the first event waits for the goroutine of the second one, until what that has acquired there is free
)

// Edge connects two events.
type Edge struct {
	Kind     EdgeKind
	From, To int // indexes of events
	Label    string
}

// Bar is the time in which a goroutine holds a lock, from row to row.
type Bar struct {
	Lane, From, To int
	Lock           string // expression or name
	Shared         bool   // it is held for reading
	Object         string // name of the lock
	Before, After  bool   // it is held before the first or after the last row, as far as is known
}

// Bounds on what a diagram shows.
const (
	maxRows   = 40
	afterMark = 6 // rows after the last access of the finding
	maxLanes  = 4 // beyond which no more ancestors are added
	maxWaits  = 8 // goroutines that only wait beyond which no more are added
)

// Of returns the diagram of a finding. It has no lanes if the finding has neither accesses nor a
// witness nor blocked goroutines.
func Of(f *report.Finding) *Diagram {
	b := newBuilder(f)
	drawn := b.follows()
	if drawn {
		b.d.Ordered = true
		b.witness()
		if drawn = !b.contradicts(); !drawn {
			b = newBuilder(f)
			b.note("The steps of the schedule do not show which of several equal accesses raced, so the diagram does not follow it.")
		}
	}
	switch {
	case drawn:
		b.narrow()
	case b.sequential():
		b.d.Ordered = f.Kind == heisen.Atomicity && !f.Unproved()
		b.sequence()
		if f.Unproved() {
			b.note("What other goroutines do stands behind that from which nothing keeps it apart. When it happens is not known.")
		}
	default:
		b.sideBySide()
	}
	b.conflicts()
	b.waits()
	b.starts()
	b.labels()
	b.sort()
	b.d.Distinguish(f.Accesses)
	return b.d
}

type builder struct {
	f     *report.Finding
	d     *Diagram
	lanes map[heisen.Thread]int
}

func newBuilder(f *report.Finding) *builder {
	return &builder{f: f, d: &Diagram{}, lanes: map[heisen.Thread]int{}}
}

// lane returns the lane of a goroutine.
func (b *builder) lane(t heisen.Thread, name, test string) int {
	i, known := b.lanes[t]
	if !known {
		i = len(b.d.Lanes)
		b.lanes[t] = i
		b.d.Lanes = append(b.d.Lanes, Lane{Thread: t, Name: name})
	}
	if test != "" {
		b.d.Lanes[i].Test = test
	}
	return i
}

// labels sets the labels of goroutines: those at the latest access that has some.
func (b *builder) labels() {
	set := func(t heisen.Thread, labels []report.Label) {
		if i, drawn := b.lanes[t]; drawn && len(labels) > 0 {
			b.d.Lanes[i].Labels = labels
		}
	}
	for i := range b.f.Blocked {
		set(b.f.Blocked[i].Thread, b.f.Blocked[i].Labels)
	}
	for i := range b.f.Accesses {
		set(b.f.Accesses[i].Thread, b.f.Accesses[i].Labels)
	}
}

func (b *builder) add(e Event) int {
	e.Times = max(e.Times, 1)
	b.d.Events = append(b.d.Events, e)
	b.d.Rows = max(b.d.Rows, e.Row+1)
	return len(b.d.Events) - 1
}

// access adds an access of the finding in a row.
func (b *builder) access(i, row int) int {
	a := &b.f.Accesses[i]
	e := Event{
		Lane: b.lane(a.Thread, a.Goroutine, a.Test), Row: row, thread: a.Thread,
		Op: a.Op, Verb: wording.Op(a.Op), What: cmp.Or(a.Expression(), a.Object), Object: a.Object, Site: a.Site,
		Access: i, NoLocks: len(a.Locks) == 0 && !a.LocksUnknown,
	}
	if b.stops() {
		e.Waits, e.Verb = true, "waits: "+e.Op
		switch reason := wording.WaitReason(b.f); {
		case isAcquire(e.Op):
			e.Verb = "waits for"
		case reason != "":
			e.Verb = "waits: " + reason
		}
	}
	if b.f.Kind == heisen.Unstoppable {
		e.Waits, e.Verb, e.What = true, wording.Does(b.f, a), ""
	}
	if e.What == wording.NoObject {
		e.What = ""
	}
	return b.add(e)
}

// stops reports whether the accesses of the finding are operations that do not complete.
func (b *builder) stops() bool { return b.f.Kind == heisen.Deadlock || b.f.Kind == heisen.Leak }

// sequential reports whether the accesses come one after the other.
func (b *builder) sequential() bool {
	threads := map[heisen.Thread]bool{}
	for i := range b.f.Accesses {
		threads[b.f.Accesses[i].Thread] = true
	}
	return b.f.Kind == heisen.Atomicity || len(threads) < len(b.f.Accesses)
}

// locked adds the acquisition of a lock that a goroutine holds.
func (b *builder) locked(thread heisen.Thread, l *report.Lock, row int) {
	op := heisen.Acquire.String()
	if l.Mode == "read" {
		op = heisen.AcquireShared.String()
	}
	b.add(Event{
		Lane: b.lanes[thread], Row: row, thread: thread,
		Op: op, Verb: wording.Op(op), What: wording.LockName(l), Object: l.Lock, Site: l.Site, Access: -1,
	})
}

// holds draws the locks that a goroutine holds in a row: above it their acquisitions, of which the places are known.
func (b *builder) holds(thread heisen.Thread, locks []report.Lock, row int) {
	for j := range locks {
		l := &locks[j]
		from := row - len(locks) + j
		if l.Site == "" {
			from = row
		} else {
			b.locked(thread, l, from)
		}
		b.bar(b.lanes[thread], l, from, row, l.Site == "")
	}
}

// sideBySide draws the accesses in one row, above each the locks that are held there.
func (b *builder) sideBySide() {
	row := 0
	for i := range b.f.Accesses {
		row = max(row, len(b.f.Accesses[i].Locks))
	}
	for i := range b.f.Blocked {
		row = max(row, len(b.f.Blocked[i].Locks))
	}
	for i := range b.f.Accesses {
		a := &b.f.Accesses[i]
		b.lane(a.Thread, a.Goroutine, a.Test)
		b.holds(a.Thread, a.Locks, row)
		b.access(i, row)
	}
	for _, g := range b.blocked(row) {
		b.holds(g.Thread, g.Locks, row)
	}
	if len(b.d.Lanes) > 1 {
		b.note("The order of events of different goroutines is not known, except where it is shown.")
	}
}

// blocked adds the goroutines of the finding that do not make progress, and returns those that had no event that says so.
func (b *builder) blocked(row int) (added []*report.Blocked) {
	more := 0
	for i := range b.f.Blocked {
		g := &b.f.Blocked[i]
		if _, drawn := b.lanes[g.Thread]; !drawn && i >= maxWaits {
			more++
			continue
		}
		lane := b.lane(g.Thread, g.Goroutine, g.Test)
		if slices.ContainsFunc(b.d.Events, func(e Event) bool { return e.Lane == lane && e.Waits }) {
			continue
		}
		frame := wording.UserFrame(g.Stack)
		b.add(Event{
			Lane: lane, Row: row, thread: g.Thread, Op: "wait", Verb: "waits: " + g.Reason, What: cmp.Or(g.Variable, g.Object),
			Object: g.Object, Site: site(frame), Access: -1, Waits: true,
		})
		added = append(added, g)
	}
	if more > 0 {
		b.note(plural.Of(more, "goroutine") + " more that wait for ever are not shown.")
	}
	return added
}

func (b *builder) bar(lane int, l *report.Lock, from, to int, before bool) {
	b.d.Bars = append(b.d.Bars, Bar{
		Lane: lane, From: from, To: to, Lock: wording.LockName(l), Shared: l.Mode == "read", Before: before, After: true, Object: l.Lock,
	})
}

// sequence draws the accesses one below the other. A lock that is held at several accesses of a
// goroutine is drawn once if it was acquired at the same place.
func (b *builder) sequence() {
	row := 0
	for i := range b.f.Accesses {
		a := &b.f.Accesses[i]
		lane := b.lane(a.Thread, a.Goroutine, a.Test)
		var until []int // indexes of the bars that reach to the access
		for j := range a.Locks {
			l := &a.Locks[j]
			k := slices.IndexFunc(b.d.Bars, func(bar Bar) bool { return bar.Lane == lane && bar.Object == l.Lock })
			if k < 0 {
				k = len(b.d.Bars)
				from, shown := b.shown(lane, l)
				if !shown {
					from = row
				}
				if !shown && l.Site != "" {
					b.locked(a.Thread, l, row)
					row++
				}
				b.bar(lane, l, from, row, l.Site == "")
			}
			until = append(until, k)
		}
		for _, k := range until {
			b.d.Bars[k].To = row
		}
		b.access(i, row)
		row++
	}
	b.blocked(row)
}

// shown returns the row of an access that is the acquisition of a lock, if there is one: a transaction begins with
// one.
func (b *builder) shown(lane int, l *report.Lock) (row int, ok bool) {
	for _, e := range b.d.Events {
		if e.Lane == lane && e.Access >= 0 && isAcquire(e.Op) && e.Object == l.Lock && e.Site == l.Site {
			return e.Row, true
		}
	}
	return 0, false
}

// conflicts connects the two accesses of a race.
func (b *builder) conflicts() {
	label := ConflictLabel(b.f.Kind)
	if label == "" || len(b.f.Accesses) != 2 {
		return
	}
	first, second := b.eventOf(0), b.eventOf(1)
	if first >= 0 && second >= 0 && b.d.Events[first].Lane != b.d.Events[second].Lane {
		b.d.Edges = append(b.d.Edges, Edge{Conflict, first, second, label})
	}
}

// ConflictLabel says what is between the two accesses of a finding, or nothing for other kinds.
func ConflictLabel(kind heisen.Kind) string {
	switch kind {
	case heisen.Race:
		return "not ordered"
	case heisen.PotentialRace:
		return "may race"
	case heisen.Discipline:
		return "no common lock"
	}
	return ""
}

// waits connects what waits for a lock with its acquisition by the goroutine that holds it, or with what that goroutine waits for if the
// acquisition is not shown or, as in the case of a reader behind a writer, there is none yet.
func (b *builder) waits() {
	connected := map[int]bool{}
	connect := func(from, to int) {
		if from >= 0 && to >= 0 && from != to {
			connected[from] = true
			b.d.Edges = append(b.d.Edges, Edge{WaitsFor, from, to, "waits for"})
		}
	}
	if b.f.Kind == heisen.Deadlock {
		for i := range b.f.Accesses {
			next := (i + 1) % len(b.f.Accesses)
			to := b.acquisition(b.f.Accesses[i].Object, b.f.Accesses[next].Thread)
			if to < 0 {
				to = b.eventOf(next)
			}
			connect(b.eventOf(i), to)
		}
	}
	for k := range b.d.Events {
		e := &b.d.Events[k]
		if !e.Waits || e.Object == "" || connected[k] {
			continue
		}
		for _, bar := range b.d.Bars {
			if bar.Object != e.Object || bar.Lane == e.Lane || !bar.After {
				continue
			}
			to := b.acquisition(bar.Object, b.d.Lanes[bar.Lane].Thread)
			if to < 0 {
				to = slices.IndexFunc(b.d.Events, func(e Event) bool { return e.Lane == bar.Lane && e.Waits })
			}
			connect(k, to)
			break
		}
	}
}

// acquisition returns the latest event by which a goroutine has acquired a lock, or -1.
func (b *builder) acquisition(lock string, by heisen.Thread) int {
	for k, e := range slices.Backward(b.d.Events) {
		if e.thread == by && isAcquire(e.Op) && !e.Waits && !e.Pending && e.Object == lock {
			return k
		}
	}
	return -1
}

// eventOf returns the index of the event that is an access of the finding, or -1.
func (b *builder) eventOf(access int) int {
	return slices.IndexFunc(b.d.Events, func(e Event) bool { return e.Access == access })
}

// starts adds who started the goroutines whose start is no event.
func (b *builder) starts() {
	drawn := map[heisen.Thread]bool{}
	for i := 0; i < len(b.f.Goroutines); i++ {
		g := &b.f.Goroutines[i]
		child, shown := b.lanes[g.Thread]
		if !shown || g.Parent == nil || drawn[g.Thread] || b.forked(g.Name) {
			continue
		}
		drawn[g.Thread] = true
		parent, shown := b.lanes[*g.Parent]
		if !shown {
			k := slices.IndexFunc(b.f.Goroutines, func(p report.Goroutine) bool { return p.Thread == *g.Parent })
			if k < 0 || len(b.d.Lanes) >= maxLanes {
				continue
			}
			parent = b.lane(*g.Parent, b.f.Goroutines[k].Name, "")
			i = -1 // the parent's own start may come earlier in the list
		}
		b.d.Starts = append(b.d.Starts, Start{parent, child, site(wording.UserFrame(g.Stack))})
	}
	if len(b.d.Starts) > 0 && b.f.Kind != heisen.Race && b.f.Kind != heisen.PotentialRace {
		b.note("Goroutines may have been started at any time before their first event.")
	}
}

// forked reports whether the start of a goroutine is an event.
func (b *builder) forked(name string) bool {
	return slices.ContainsFunc(b.d.Events, func(e Event) bool { return e.Op == heisen.Fork.String() && e.Object == name })
}

// sort puts the lanes of goroutines that start others first, then those of the finding, and events in the order of rows.
func (b *builder) sort() {
	d := b.d
	depth := make([]int, len(d.Lanes))
	for range d.Lanes {
		for _, s := range d.Starts {
			if s.Parent != s.Child && depth[s.Child] <= depth[s.Parent] && depth[s.Parent] < len(d.Lanes) {
				depth[s.Child] = depth[s.Parent] + 1
			}
		}
	}
	order := make([]int, len(d.Lanes)) // lanes by place
	for i := range order {
		order[i] = i
	}
	parents := map[int]bool{}
	for _, s := range d.Starts {
		parents[s.Parent] = true
	}
	rank := func(lane int) int {
		of := func(a report.Access) bool { return a.Thread == d.Lanes[lane].Thread }
		switch {
		case parents[lane]:
			return depth[lane]
		case slices.ContainsFunc(b.f.Accesses, of):
			return len(d.Lanes)
		}
		return len(d.Lanes) + 1
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(rank(i), rank(j)) })
	place, lanes := make([]int, len(order)), make([]Lane, len(order))
	for p, i := range order {
		place[i], lanes[p] = p, d.Lanes[i]
	}
	d.Lanes = lanes
	for i := range d.Starts {
		d.Starts[i].Parent, d.Starts[i].Child = place[d.Starts[i].Parent], place[d.Starts[i].Child]
	}
	slices.SortStableFunc(d.Starts, func(a, b Start) int { return cmp.Compare(a.Parent, b.Parent) })
	for i := range d.Bars {
		d.Bars[i].Lane = place[d.Bars[i].Lane]
	}
	numbers := make([]int, len(d.Events))
	for i := range d.Events {
		d.Events[i].Lane = place[d.Events[i].Lane]
		numbers[i] = i
	}
	slices.SortStableFunc(numbers, func(i, j int) int {
		return cmp.Or(cmp.Compare(d.Events[i].Row, d.Events[j].Row), cmp.Compare(d.Events[i].Lane, d.Events[j].Lane))
	})
	events, at := make([]Event, len(numbers)), make([]int, len(numbers))
	for k, i := range numbers {
		events[k], at[i] = d.Events[i], k
	}
	d.Events = events
	for i := range d.Edges {
		d.Edges[i].From, d.Edges[i].To = at[d.Edges[i].From], at[d.Edges[i].To]
	}
}

func (b *builder) note(text string) { b.d.note(text) }

func (d *Diagram) note(text string) { d.Notes = append(d.Notes, text) }

// isAcquire reports whether an op takes a lock.
func isAcquire(op string) bool {
	return op == heisen.Acquire.String() || op == heisen.AcquireShared.String()
}

// isRelease reports whether an op releases a lock.
func isRelease(op string) bool {
	return op == heisen.Release.String() || op == heisen.ReleaseShared.String()
}
