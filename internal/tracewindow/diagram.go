package tracewindow

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/diagram"
	"github.com/heisen-go/heisen/internal/wording"
	"github.com/heisen-go/heisen/report"
)

// Diagram draws the window: a row for each event, in the order of the trace.
func (w *Window) Diagram() *diagram.Diagram {
	b := &builder{Window: w, d: &diagram.Diagram{Ordered: true, Rows: len(w.Events)}}
	b.resolve()
	b.lanes()
	b.events()
	for _, e := range w.Edges {
		b.d.Edges = append(b.d.Edges, diagram.Edge{Kind: diagram.Order, From: e.From, To: e.To})
	}
	b.bars()
	b.conflict()
	b.starts()
	b.d.Distinguish(b.accesses)
	b.notes()
	return b.d
}

type builder struct {
	*Window
	d        *diagram.Diagram
	steps    []report.Step // by event
	accesses []report.Access
	names    map[heisen.Object]string // expressions of objects that have one expression in the window; empty for those with several
}

// resolve turns the events into words. An event without an expression gets that of the other events of its
// object, if these agree.
func (b *builder) resolve() {
	f := heisen.Finding{}
	if b.found != nil {
		f.Kind, f.Accesses = b.found.Kind, b.found.Accesses
	}
	for i := range b.Events {
		f.Witness = append(f.Witness, b.Events[i].Record)
	}
	resolved := b.query.Resolver.Resolve(f, b.symbols)
	b.steps, b.accesses, b.names = resolved.Witness, resolved.Accesses, map[heisen.Object]string{}
	for i := range b.steps {
		name, known := b.names[b.Events[i].Object]
		switch v := b.steps[i].Variable; {
		case v == "" || onThread(b.Events[i].Op):
		case !known:
			b.names[b.Events[i].Object] = v
		case name != v:
			b.names[b.Events[i].Object] = ""
		}
	}
}

// onThread reports whether the object of an op is a goroutine.
func onThread(op heisen.Op) bool { return op == heisen.Fork || op == heisen.Join }

func (b *builder) lane(t heisen.Thread) int { return slices.Index(b.Lanes, t) }

func (b *builder) lanes() {
	// The names of goroutines come with steps and accesses.
	probe := heisen.Finding{}
	for _, t := range b.Lanes {
		probe.Accesses = append(probe.Accesses, heisen.Access{Thread: t})
	}
	for _, a := range (*report.Resolver)(nil).Resolve(probe, b.symbols).Accesses {
		b.d.Lanes = append(b.d.Lanes, diagram.Lane{Thread: a.Thread, Name: a.Goroutine, Test: a.Test})
	}
}

func (b *builder) events() {
	for i := range b.Events {
		e, s := &b.Events[i], &b.steps[i]
		what := cmp.Or(s.Variable, s.Object)
		if !onThread(e.Op) {
			what = cmp.Or(s.Variable, b.names[e.Object], s.Object)
		}
		if what == wording.NoObject || e.Op == heisen.Begin || e.Op == heisen.End {
			what = ""
		}
		row := diagram.Event{
			Lane: b.lane(e.Thread), Row: i, Number: e.Number, Op: s.Op, Verb: wording.Op(s.Op),
			What: what, Object: s.Object, Site: s.Site, Access: e.Access, Times: 1,
		}
		if e.Site == 0 {
			row.Site = ""
		}
		if e.Access >= 0 {
			a := &b.accesses[e.Access]
			row.What = cmp.Or(a.Variable, what)
			row.NoLocks = len(a.Locks) == 0 && !a.LocksUnknown
		}
		b.d.Events = append(b.d.Events, row)
		if e.Before > 0 && i > 0 {
			b.d.Gaps = append(b.d.Gaps, diagram.Gap{Row: i, Text: events(e.Before) + " not shown"})
		}
	}
}

// events is a number of events in words.
func events(n uint64) string {
	if n == 1 {
		return "1 event"
	}
	return fmt.Sprintf("%d events", n)
}

func notShown(n uint64, which string) string {
	is := "are"
	if n == 1 {
		is = "is"
	}
	return fmt.Sprintf("%s %s %s not shown.", events(n), which, is)
}

// bars draws the locks that goroutines hold, as the contexts of the events say. So a bar ends also if the
// release is not an event of the window.
func (b *builder) bars() {
	if b.symbols.NumContexts() <= 1 {
		return // see notes
	}
	for _, t := range b.Lanes {
		l := laneBars{builder: b, lane: b.lane(t)}
		for i := range b.Events {
			if b.Events[i].Thread == t {
				l.step(i)
			}
		}
		for _, k := range l.open { // as far as is known
			b.d.Bars[k.bar].To, b.d.Bars[k.bar].After = l.last, true
		}
	}
}

// laneBars are the bars of a lane.
type laneBars struct {
	*builder
	lane int
	last int    // latest event
	open []hold // at the latest event
}

// hold is a lock that is held.
type hold struct {
	lock   heisen.Object
	shared bool
	bar    int
}

// step takes the next event of the lane.
func (l *laneBars) step(i int) {
	e := &l.Events[i]
	held := l.symbols.Locks(e.Context)
	l.open = slices.DeleteFunc(l.open, func(h hold) bool {
		still := slices.ContainsFunc(held, func(x heisen.HeldLock) bool { return x.Lock == h.lock && x.Shared == h.shared })
		if still && !slices.Contains(l.released[l.last], h.lock) {
			return false
		}
		l.d.Bars[h.bar].To, l.d.Bars[h.bar].After = l.last, true // it was released after the latest event
		return true
	})
	var names []report.Lock // of those held
	for k, x := range held {
		if l.index(x.Lock, x.Shared) >= 0 {
			continue
		}
		if names == nil {
			names = l.query.Resolver.Resolve(heisen.Finding{Accesses: []heisen.Access{{Context: e.Context}}}, l.symbols).Accesses[0].Locks
		}
		l.begin(x.Lock, x.Shared, i, cmp.Or(names[k].Variable, l.names[x.Lock], names[k].Lock), names[k].Lock)
		l.d.Bars[len(l.d.Bars)-1].Before = true
	}
	switch e.Op {
	case heisen.Acquire, heisen.AcquireShared:
		s := &l.steps[i]
		l.begin(e.Object, e.Op == heisen.AcquireShared, i, cmp.Or(s.Variable, l.names[e.Object], s.Object), s.Object)
	case heisen.Release, heisen.ReleaseShared:
		if k := l.index(e.Object, e.Op == heisen.ReleaseShared); k >= 0 {
			l.d.Bars[l.open[k].bar].To = i
			l.open = slices.Delete(l.open, k, k+1)
		}
	}
	l.last = i
}

// index returns which of the open holds is that of a lock, or -1.
func (l *laneBars) index(lock heisen.Object, shared bool) int {
	return slices.IndexFunc(l.open, func(h hold) bool { return h.lock == lock && h.shared == shared })
}

func (l *laneBars) begin(lock heisen.Object, shared bool, row int, name, object string) {
	l.open = append(l.open, hold{lock, shared, len(l.d.Bars)})
	l.d.Bars = append(l.d.Bars, diagram.Bar{Lane: l.lane, From: row, To: row, Lock: name, Shared: shared, Object: object})
}

// conflict connects the two accesses of a race.
func (b *builder) conflict() {
	if b.Finding == nil || len(b.accesses) != 2 {
		return
	}
	label := diagram.ConflictLabel(b.Finding.Kind)
	first := slices.IndexFunc(b.Events, func(e Event) bool { return e.Access == 0 })
	second := slices.IndexFunc(b.Events, func(e Event) bool { return e.Access == 1 })
	switch {
	case label == "" || first < 0 || second < 0 || b.Events[first].Thread == b.Events[second].Thread:
	case b.Ordered && b.Finding.Kind == heisen.Race: // in this order of the events; the race is that of another one
	default:
		b.d.Edges = append(b.d.Edges, diagram.Edge{Kind: diagram.Conflict, From: first, To: second, Label: label})
	}
}

// starts adds the starts of goroutines that are no events of the window and came before all of them.
func (b *builder) starts() {
	for child, t := range b.Lanes {
		info := b.symbols.Thread(t)
		parent := b.lane(info.Parent)
		forked := slices.ContainsFunc(b.Events, func(e Event) bool { return e.Op == heisen.Fork && e.Object.Thread() == t })
		if !info.Forked || parent < 0 || parent == child || forked || slices.Contains(b.late, t) {
			continue
		}
		site := ""
		if info.Site != 0 {
			site = b.query.Resolver.Resolve(heisen.Finding{Accesses: []heisen.Access{{Site: info.Site}}}, b.symbols).Accesses[0].Site
		}
		b.d.Starts = append(b.d.Starts, diagram.Start{Parent: parent, Child: child, Site: site})
	}
}

func (b *builder) note(text string) { b.d.Notes = append(b.d.Notes, text) }

// notes says what the diagram does not show.
func (b *builder) notes() {
	if n := b.Events[0].Before; n > 0 {
		b.note(notShown(n, "of the same kinds and goroutines before the first one"))
	}
	if b.Left > 0 {
		b.note(notShown(b.Left, "of the same kinds and goroutines after the last one"))
	}
	if b.Others > 0 {
		b.note(notShown(b.Others, "of further goroutines") + fmt.Sprintf(" A diagram has at most %d lanes.", MaxLanes))
	}
	switch {
	case b.Missing == 1:
		b.note(fmt.Sprintf("An access of the finding, which has %d, is not among the events.", len(b.accesses)))
	case b.Missing > 0:
		b.note(fmt.Sprintf("%d accesses of the finding, which has %d, are not among the events.", b.Missing, len(b.accesses)))
	}
	if b.Atomic {
		b.note("The order by atomic operations is not drawn.")
	}
	if b.Hidden {
		b.note("The trace has hidden calls. The order by what they may do is not drawn.")
	}
	locks := slices.ContainsFunc(b.Events, func(e Event) bool { return e.Op == heisen.Acquire || e.Op == heisen.AcquireShared })
	if locks && b.symbols.NumContexts() <= 1 {
		b.note("The trace does not say which locks are held.")
	}
}
