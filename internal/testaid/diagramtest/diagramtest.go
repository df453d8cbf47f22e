// Package diagramtest checks that diagrams show what their findings say. Tests and corpora give it all findings that they get.
package diagramtest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/diagram"
	"github.com/heisen-go/heisen/lockset"
	"github.com/heisen-go/heisen/report"
	"github.com/heisen-go/heisen/vclock"
)

// Check returns an error if the diagram of a finding does not show the finding: the events of a race, as a trace, have the race for package
// vclock, and those of a deadlock of locks the cycle for package lockset; each acquisition begins a bar, each release ends one, and each
// lock that is held at an access or a wait has one; each wait for a lock that is held has an arrow to its holder; and nothing happens in a
// lane after its wait.
func Check(f *report.Finding) error { return Shows(diagram.Of(f), f) }

// Shows is as Check, of a diagram that may be changed.
func Shows(d *diagram.Diagram, f *report.Finding) error {
	c := checker{f: f, d: d}
	if err := Numbers(d); err != nil {
		c.fail("%v", err)
	}
	c.race()
	c.cycle()
	c.bars()
	c.waits()
	if n := len(d.Lanes); n > 40 {
		c.fail("%d lanes are too many", n)
	}
	if len(c.problems) == 0 {
		return nil
	}
	return fmt.Errorf("the diagram of the %s %s (%s): %w\n%s", f.Kind, f.Fingerprint, f.Detector, errors.Join(c.problems...), Text(d))
}

type checker struct {
	f        *report.Finding
	d        *diagram.Diagram
	problems []error
}

func (c *checker) fail(format string, args ...any) {
	c.problems = append(c.problems, fmt.Errorf(format, args...))
}

// IsRace reports whether Check replays the diagram of a finding as a race.
func IsRace(f *report.Finding) bool {
	return f.Kind == heisen.Race && len(f.Accesses) == 2 && f.Accesses[0].Thread != f.Accesses[1].Thread
}

// race replays the events of a race.
func (c *checker) race() {
	d := c.d
	if !IsRace(c.f) {
		return
	}
	r := newReplay(d)
	for i := range d.Events {
		e := &d.Events[i]
		op, known := opOf(e.Op)
		// Which store an atomic operation sees is not known in a selection of the steps.
		if !known || e.Waits || c.f.Trials != nil && strings.HasPrefix(e.Op, "atomic") && e.Access < 0 {
			continue
		}
		r.add(e.Lane, op, r.object(e), e.Site)
	}
	found := false
	detector, err := vclock.NewHappensBefore(vclock.WithSink(func(race heisen.Finding) {
		at := map[string]bool{}
		for _, a := range race.Accesses {
			at[fmt.Sprintf("%d %s", a.Thread, r.symbols.Site(a.Site).Text)] = true
		}
		found = found || !slices.ContainsFunc(d.Events, func(e diagram.Event) bool {
			return e.Access >= 0 && !at[fmt.Sprintf("%d %s", e.Lane, e.Site)]
		})
	}))
	if err == nil {
		err = r.run(detector)
	}
	if err != nil {
		c.fail("%w", err)
	}
	if !found {
		c.fail("the events have no race")
	}
}

// IsCycle reports whether Check replays the diagram of a finding as a cycle of the lock order: each goroutine waits for a lock that the
// next one holds. That is not so for a reader behind a writer that waits.
func IsCycle(f *report.Finding) bool {
	if f.Kind != heisen.Deadlock || len(f.Cycle) == 0 {
		return false
	}
	for i, a := range f.Accesses {
		next := f.Accesses[(i+1)%len(f.Accesses)]
		if !slices.ContainsFunc(next.Locks, func(l report.Lock) bool {
			return l.Lock == a.Object && (l.Mode != "read" || a.Op != heisen.AcquireShared.String())
		}) {
			return false
		}
	}
	return true
}

// cycle follows the arrows of a deadlock, and replays what each of its goroutines acquires, one after the other, as they would go without
// the deadlock.
func (c *checker) cycle() {
	d := c.d
	if !IsCycle(c.f) {
		return
	}
	next := map[int]int{} // lanes
	for _, e := range d.Edges {
		if from := d.Events[e.From]; e.Kind == diagram.WaitsFor && from.Access >= 0 {
			next[from.Lane] = d.Events[e.To].Lane
		}
	}
	if len(next) != len(c.f.Accesses) {
		c.fail("%d arrows for %d waits", len(next), len(c.f.Accesses))
	}
	for lane := range next {
		at := lane
		for range next {
			at = next[at]
		}
		if at != lane {
			c.fail("the arrows make no circle")
		}
	}
	r := newReplay(d)
	for lane := range d.Lanes {
		var held []heisen.Record
		for _, b := range d.Bars { // the acquisitions that are not shown
			if op := heisen.Acquire; b.Lane == lane && b.Before {
				if b.Shared {
					op = heisen.AcquireShared
				}
				r.add(lane, op, r.named(b.Object), "")
				held = append(held, r.records[len(r.records)-1])
			}
		}
		for i := range d.Events {
			e := &d.Events[i]
			op, _ := opOf(e.Op)
			if e.Lane != lane || !op.IsLock() {
				continue
			}
			r.add(lane, op, r.object(e), e.Site)
			last := r.records[len(r.records)-1]
			if op == heisen.Acquire || op == heisen.AcquireShared {
				held = append(held, last)
			} else if k := slices.IndexFunc(held, func(h heisen.Record) bool { return h.Object == last.Object }); k >= 0 {
				held = slices.Delete(held, k, k+1)
			}
		}
		for _, h := range held {
			op := heisen.Release
			if h.Op == heisen.AcquireShared {
				op = heisen.ReleaseShared
			}
			r.add(lane, op, h.Object, "")
		}
	}
	found := false
	detector, err := lockset.NewLockOrder(lockset.WithSink(func(heisen.Finding) { found = true }))
	if err == nil {
		err = r.run(detector)
	}
	if err != nil {
		c.fail("%w", err)
	}
	if !found {
		c.fail("the events have no cycle")
	}
}

// bars looks for the bar of each lock.
func (c *checker) bars() {
	covered := func(lane, row int, locks []report.Lock) {
		for _, l := range locks {
			if !slices.ContainsFunc(c.d.Bars, func(b diagram.Bar) bool {
				return b.Lane == lane && b.Object == l.Lock && b.From <= row && row <= b.To
			}) {
				c.fail("lane %d has no bar of %s in row %d", lane, l.Lock, row)
			}
		}
	}
	blocked := map[heisen.Thread][]report.Lock{}
	for _, g := range c.f.Blocked {
		blocked[g.Thread] = g.Locks
	}
	for i := range c.d.Events {
		e := &c.d.Events[i]
		op, _ := opOf(e.Op)
		begins, ends := false, false
		for _, b := range c.d.Bars {
			same := b.Object == e.Object
			begins = begins || same && b.Lane == e.Lane && b.From == e.Row && !b.Before
			ends = ends || same && b.To == e.Row && !b.After
		}
		switch {
		case e.Waits || e.Pending || e.Access >= 0 && !c.d.Ordered:
		case op == heisen.Acquire || op == heisen.AcquireShared:
			if !begins && e.Access < 0 {
				c.fail("event %d begins no bar", i)
			}
		case op == heisen.Release || op == heisen.ReleaseShared:
			if !ends {
				c.fail("event %d ends no bar", i)
			}
		}
		switch {
		case e.Access >= 0:
			covered(e.Lane, e.Row, c.f.Accesses[e.Access].Locks)
		case e.Waits:
			covered(e.Lane, e.Row, blocked[c.d.Lanes[e.Lane].Thread])
		}
	}
}

// waits looks at the waits: they are those of the finding, they are the last of their lanes, and they have arrows.
func (c *checker) waits() {
	waiting, arrows := map[heisen.Thread]bool{}, map[int]bool{}
	for _, e := range c.d.Edges {
		if e.Kind != diagram.WaitsFor {
			continue
		}
		arrows[e.From] = true
		if !c.d.Events[e.From].Waits {
			c.fail("an arrow begins at event %d, which does not wait", e.From)
		}
	}
	for i := range c.d.Events {
		e := &c.d.Events[i]
		if !e.Waits {
			continue
		}
		waiting[c.d.Lanes[e.Lane].Thread] = true
		for _, later := range c.d.Events[i+1:] {
			if later.Lane == e.Lane {
				c.fail("lane %d goes on after its wait", e.Lane)
			}
		}
		if !arrows[i] && slices.ContainsFunc(c.d.Bars, func(b diagram.Bar) bool {
			return e.Object != "" && b.Object == e.Object && b.Lane != e.Lane && b.After && holderShown(c.d, &b)
		}) {
			c.fail("the wait of event %d has no arrow", i)
		}
	}
	if len(c.d.Events) == 0 {
		return
	}
	for _, g := range c.f.Blocked[:min(len(c.f.Blocked), 8)] { // of many, some are not drawn
		if !waiting[g.Thread] {
			c.fail("%s does not wait", g.Goroutine)
		}
	}
}

// holderShown reports whether there is an event to which an arrow can lead: an acquisition or a wait in the lane of a bar.
func holderShown(d *diagram.Diagram, b *diagram.Bar) bool {
	return slices.ContainsFunc(d.Events, func(e diagram.Event) bool { return e.Lane == b.Lane && (e.Waits || e.Row == b.From && !b.Before) })
}

// Numbers returns an error if numbers of a diagram do not fit together.
func Numbers(d *diagram.Diagram) error {
	taken := map[[2]int]bool{}
	for i, e := range d.Events {
		if e.Lane < 0 || e.Lane >= len(d.Lanes) || e.Row < 0 || e.Row >= d.Rows {
			return fmt.Errorf("event %d is in lane %d, row %d", i, e.Lane, e.Row)
		}
		if at := [2]int{e.Lane, e.Row}; taken[at] {
			return fmt.Errorf("two events are in lane %d, row %d", e.Lane, e.Row)
		} else {
			taken[at] = true
		}
	}
	for _, s := range d.Starts {
		if s.Parent >= len(d.Lanes) || s.Child >= len(d.Lanes) {
			return fmt.Errorf("start %v", s)
		}
	}
	for _, e := range d.Edges {
		if e.From >= len(d.Events) || e.To >= len(d.Events) {
			return fmt.Errorf("edge %v", e)
		}
		if e.Kind == diagram.Order && d.Events[e.From].Row >= d.Events[e.To].Row {
			return fmt.Errorf("edge %v goes up", e)
		}
	}
	for _, bar := range d.Bars {
		if bar.Lane >= len(d.Lanes) || bar.From > bar.To || bar.To >= d.Rows {
			return fmt.Errorf("bar %v", bar)
		}
	}
	return nil
}

// replay makes a trace of a diagram.
type replay struct {
	d       *diagram.Diagram
	objects map[string]heisen.Object
	symbols *heisen.Symbols
	records []heisen.Record
}

func newReplay(d *diagram.Diagram) *replay {
	r := &replay{d: d, objects: map[string]heisen.Object{}, symbols: heisen.NewSymbols()}
	for _, s := range d.Starts {
		r.add(s.Parent, heisen.Fork, heisen.Object(s.Child), s.Site)
	}
	return r
}

func (r *replay) add(lane int, op heisen.Op, object heisen.Object, site string) {
	r.records = append(r.records, heisen.Record{Op: op, Thread: heisen.Thread(lane), Object: object, Site: r.symbols.AddSite(heisen.SiteInfo{Text: site})})
}

// object returns the number of the object of an event: that of a thread, or one that nothing else has.
func (r *replay) object(e *diagram.Event) heisen.Object {
	if e.Op == heisen.Fork.String() || e.Op == heisen.Join.String() {
		for i, l := range r.d.Lanes {
			if l.Name == e.Object {
				return heisen.Object(i)
			}
		}
		return heisen.Object(len(r.d.Lanes) + len(e.Object)) // a goroutine without a lane
	}
	name := e.Object
	if e.Access >= 0 && e.Op != heisen.Acquire.String() && e.Op != heisen.AcquireShared.String() {
		name = "the variable" // two parts of it have different addresses
	}
	return r.named(name)
}

// named returns the number of the object with a name.
func (r *replay) named(name string) heisen.Object {
	if r.objects[name] == 0 {
		r.objects[name] = heisen.Object(1000 * (len(r.objects) + 1))
	}
	return r.objects[name]
}

// opOf returns the op with a name, if there is one.
func opOf(name string) (heisen.Op, bool) {
	for op := range heisen.Op(64) {
		if op.String() == name {
			return op, true
		}
	}
	return 0, false
}

// run gives the trace to a detector.
func (r *replay) run(detector heisen.Detector) error {
	for i := range r.records {
		detector.Handle(r.records[i].Event())
	}
	return detector.Flush()
}

// Text returns a diagram as text: a line for each event, then what connects them.
func Text(d *diagram.Diagram) string {
	var b strings.Builder
	fmt.Fprintf(&b, "ordered: %v\n", d.Ordered)
	for i, l := range d.Lanes {
		fmt.Fprintf(&b, "lane %d: %s %s\n", i, l.Name, l.Test)
	}
	for _, s := range d.Starts {
		fmt.Fprintf(&b, "lane %d starts lane %d at %s\n", s.Parent, s.Child, s.Site)
	}
	for i, e := range d.Events {
		fmt.Fprintf(&b, "%3d row %d lane %d: %s %s at %s", i, e.Row, e.Lane, e.Verb, e.What, e.Site)
		if e.Times > 1 {
			fmt.Fprintf(&b, ", %d times", e.Times)
		}
		if e.Waits {
			b.WriteString(", waits")
		}
		if e.Pending {
			b.WriteString(", pending")
		}
		if e.Access >= 0 {
			fmt.Fprintf(&b, ", access %d", e.Access)
		}
		if e.NoLocks {
			b.WriteString(", no locks")
		}
		b.WriteByte('\n')
	}
	for _, e := range d.Edges {
		fmt.Fprintf(&b, "%s: %d to %d %s\n", e.Kind, e.From, e.To, e.Label)
	}
	for _, bar := range d.Bars {
		fmt.Fprintf(&b, "lane %d holds %s in rows %d to %d, before %v, after %v\n", bar.Lane, bar.Lock, bar.From, bar.To, bar.Before, bar.After)
	}
	for _, n := range d.Notes {
		fmt.Fprintln(&b, n)
	}
	return b.String()
}
