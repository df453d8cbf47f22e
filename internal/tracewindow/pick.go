package tracewindow

import (
	"maps"
	"slices"

	"github.com/heisen-go/heisen"
)

// drawable reports whether events of an op can be in a window. The others say nothing about order:
// calls, allocations, ends of accesses, and states of channels.
func drawable(op heisen.Op) bool {
	switch op {
	case heisen.Done, heisen.Call, heisen.Return, heisen.Branch, heisen.Alloc, heisen.Free, heisen.Change, heisen.Observe:
		return false
	}
	return true
}

// picker selects events in the order of the trace.
type picker struct {
	*selection
	around bool   // the marks, not a range
	until  uint64 // the window is that before this event; 0 if it is another one

	out     []Event // selected
	latest  []Event // a ring of those that may be selected
	oldest  int     // in the ring
	room    int     // for the ring
	skipped uint64  // events like those selected, since the latest of out or since the start, without the ring
	next    int     // mark
	after   int     // events after the last mark that may still be selected
	left    uint64  // events after those
	others  uint64  // events of too many goroutines
	lanes   []heisen.Thread

	ended map[heisen.Thread]heisen.ThreadInfo // goroutines that events name and that were forgotten at their end
}

// pick reads the trace for the third time and selects events.
func (s *selection) pick() error {
	p := &picker{selection: s, ended: map[heisen.Thread]heisen.ThreadInfo{}}
	p.plan()
	symbols, err := s.again(s.w.Total, p.keeps, p.see)
	if err != nil {
		return err
	}
	if p.until != 0 {
		p.take()
		p.skipLanes()
	}
	if len(p.out) == 0 {
		return ErrNoEvents
	}
	s.w.Events, s.w.Left, s.w.Others, s.w.symbols = p.out, p.left, p.others, symbols
	s.w.Lanes = p.used()
	for t, info := range p.ended {
		symbols.SetThread(t, info)
	}
	if s.about != nil {
		f := s.q.Resolver.Resolve(s.about.finding, symbols)
		s.w.Finding, s.w.found = &f, &s.about.finding
		s.w.Missing = len(f.Accesses)
		for i := range p.out {
			if p.out[i].Access >= 0 {
				s.w.Missing--
			}
		}
	}
	return nil
}

// plan decides how many events may come before each mark.
func (p *picker) plan() {
	p.marks = p.marks[max(0, len(p.marks)-min(maxAccesses, p.q.Events)):]
	anywhere := p.q.First == 0 && p.q.Last == 0
	p.around = len(p.marks) > 0 && anywhere
	if !p.around {
		p.room = p.q.Events
		switch {
		case anywhere && p.about != nil: // its events are not known
			p.until = p.about.at
		case p.q.First == 0:
			p.until = p.q.Last
		}
		return
	}
	free := p.q.Events - len(p.marks)
	p.after = min(afterMarks, free/3)
	p.room = (free - p.after) / len(p.marks)
	for _, m := range p.marks {
		p.lane(p.about.finding.Accesses[m.access].Thread)
	}
	if len(p.q.Goroutines) > 0 {
		return
	}
	for _, t := range slices.Clone(p.lanes) {
		if info := p.kept[t]; info.Forked {
			p.lane(info.Parent)
		}
	}
}

// lane gives a goroutine a lane if there is room. It reports whether the goroutine has one.
func (p *picker) lane(t heisen.Thread) bool {
	if slices.Contains(p.lanes, t) {
		return true
	}
	if p.until != 0 {
		return true // of the latest events, it is known at the end
	}
	if len(p.lanes) >= MaxLanes {
		return false
	}
	p.lanes = append(p.lanes, t)
	return true
}

// see looks at an event.
func (p *picker) see(r *heisen.Record, number uint64, symbols *heisen.Symbols) {
	access := -1
	if i := slices.IndexFunc(p.marks, func(m mark) bool { return m.number == number }); i >= 0 {
		access = p.marks[i].access
	}
	if number < p.q.First || p.q.Last != 0 && number > p.q.Last || p.until != 0 && number > p.until {
		return
	}
	if access < 0 && (!p.wants(r, number) || !p.wantsLane(r.Thread, symbols)) {
		return
	}
	if p.around && access >= 0 {
		p.take()
		p.next++
	}
	if !p.lane(r.Thread) {
		p.others++
		return
	}
	e := Event{Record: *r, Number: number, Access: access}
	switch {
	case p.around && access >= 0:
		p.add(e)
	case p.around && p.next < len(p.marks), p.until != 0:
		p.push(e)
	case p.around && p.after > 0:
		p.after--
		p.add(e)
	case !p.around && len(p.out) < p.q.Events:
		p.add(e)
	default:
		p.left++
	}
}

// keeps remembers a goroutine at its end if selected events name it.
func (p *picker) keeps(t heisen.Thread, symbols *heisen.Symbols) bool {
	if p.selection.keeps(t, symbols) {
		return true
	}
	if p.selects(t) {
		if len(p.ended) > 2*MaxEvents {
			maps.DeleteFunc(p.ended, func(t heisen.Thread, _ heisen.ThreadInfo) bool { return !p.selects(t) })
		}
		p.ended[t] = symbols.Thread(t)
	}
	return false
}

func (p *picker) selects(t heisen.Thread) bool {
	names := func(e Event) bool { return e.Thread == t || onThread(e.Op) && e.Object.Thread() == t }
	return slices.ContainsFunc(p.latest, names) || slices.ContainsFunc(p.out, names)
}

// wants reports whether an event that is no access of the finding may be selected.
func (p *picker) wants(r *heisen.Record, number uint64) bool {
	switch {
	case !drawable(r.Op):
		return false
	case len(p.q.Objects) > 0:
		return p.lives.has(r, number)
	case r.Op.IsAtomic() && !p.q.Atomics:
		return p.around && p.lives.has(r, number)
	case r.Op.IsAccess():
		return !p.around || p.lives.has(r, number)
	}
	return true
}

// wantsLane reports whether events of a goroutine that are no accesses of the finding may be selected.
func (p *picker) wantsLane(t heisen.Thread, symbols *heisen.Symbols) bool {
	switch {
	case slices.Contains(p.lanes, t):
		return true
	case len(p.q.Goroutines) > 0:
		return p.names.goroutine(t, symbols)
	}
	return !p.around || len(p.q.Objects) > 0 // otherwise those of the finding have lanes
}

// add selects an event.
func (p *picker) add(e Event) {
	e.Before = p.skipped
	p.skipped = 0
	p.out = append(p.out, e)
}

// push makes an event one of the latest.
func (p *picker) push(e Event) {
	switch {
	case p.room == 0:
		p.drop(e)
	case len(p.latest) < p.room:
		p.latest = append(p.latest, e)
	default:
		p.drop(p.latest[p.oldest])
		p.latest[p.oldest] = e
		p.oldest = (p.oldest + 1) % p.room
	}
}

// drop does not select an event, unless it starts a goroutine with a lane while there are events before it:
// nobody is to take the goroutine for an older one.
func (p *picker) drop(e Event) {
	starts := e.Op == heisen.Fork && len(p.out) > 0 && slices.Contains(p.lanes, e.Object.Thread())
	if starts && !slices.ContainsFunc(p.out, func(o Event) bool { return o.Op == heisen.Fork && o.Object == e.Object }) {
		p.add(e)
		return
	}
	p.skipped++
}

// take selects the latest events.
func (p *picker) take() {
	for i := range p.latest {
		p.add(p.latest[(p.oldest+i)%len(p.latest)])
	}
	p.latest, p.oldest = p.latest[:0], 0
}

// skipLanes leaves out the events of goroutines beyond the bound, those without late events first.
func (p *picker) skipLanes() {
	var lanes []heisen.Thread
	for _, e := range slices.Backward(p.out) {
		if !slices.Contains(lanes, e.Thread) && len(lanes) < MaxLanes {
			lanes = append(lanes, e.Thread)
		}
	}
	kept := p.out[:0]
	for _, e := range p.out {
		if slices.Contains(lanes, e.Thread) {
			kept = append(kept, e)
		} else {
			p.others++
		}
	}
	p.out = kept
}

// used returns the lanes: the goroutines with events, and those of the finding that have started one of
// these.
func (p *picker) used() (lanes []heisen.Thread) {
	for _, e := range p.out {
		if !slices.Contains(lanes, e.Thread) {
			lanes = append(lanes, e.Thread)
		}
	}
	for _, t := range slices.Clone(lanes) {
		info := p.kept[t]
		if info.Forked && slices.Contains(p.lanes, info.Parent) && !slices.Contains(lanes, info.Parent) && len(lanes) < MaxLanes {
			lanes = append(lanes, info.Parent)
		}
	}
	slices.Sort(lanes)
	return lanes
}
