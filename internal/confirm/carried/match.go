package carried

import (
	"fmt"
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/corpus"
	"github.com/heisen-go/heisen/racefuzz"
)

// Matched is an order whose anchors were looked for in a recording.
type Matched struct {
	recording *Recording
	order     *corpus.Order
	threads   map[uint32]uint32 // those of the recording, by those of the order
	turns     []matchedTurn
	varied    int // the turn that a variation lets go on for longer
	waiting   int // the turn that had to wait for others, once the order is judged; len(turns) if all had, or none
}

// matchedTurn is a turn. Its anchors are indexes of events, or negative if they were not found.
type matchedTurn struct {
	first, last found
	until       int // the event that the turn goes on to; last, unless it is varied
}

// found is an operation that an anchor is taken for. It is sure if the statement is the same.
type found struct {
	event int
	sure  bool
}

var missing = found{event: -1}

// Match looks for the anchors of an order in a recording. Goroutines are told apart by what they do, and then by the order of their
// creation.
func Match(o *corpus.Order, r *Recording) *Matched {
	r.complete()
	m := &Matched{recording: r, order: o, threads: map[uint32]uint32{}, turns: make([]matchedTurn, len(o.Turns))}
	taken := map[uint32]bool{}
	there := r.sorted()
	for _, old := range m.old() {
		best, at := 0, uint32(0)
		for _, now := range there {
			if taken[now] {
				continue
			}
			if score := m.score(old, r.threads[now]); score > best {
				best, at = score, now
			}
		}
		if best > 0 {
			m.threads[old], taken[at] = at, true
		}
	}
	for i := range o.Turns {
		t := &o.Turns[i]
		m.turns[i] = matchedTurn{missing, missing, -1}
		if now, known := m.threads[t.Thread]; known {
			first, last := m.find(r.threads[now], &t.First), m.find(r.threads[now], &t.Last)
			m.turns[i] = matchedTurn{first, last, last.event}
		}
	}
	return m
}

// old returns the goroutines of the order.
func (m *Matched) old() (all []uint32) {
	for i := range m.order.Turns {
		all = append(all, m.order.Turns[i].Thread)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// score says how well a goroutine of the order is like one of the recording.
func (m *Matched) score(old uint32, now *thread) (score int) {
	for i := range m.order.Turns {
		t := &m.order.Turns[i]
		if t.Thread != old {
			continue
		}
		for _, a := range []*corpus.Anchor{&t.First, &t.Last} {
			switch f := m.find(now, a); {
			case f.sure:
				score += 3
			case f.event >= 0:
				score++
			}
		}
	}
	return score
}

// find returns the operation of a goroutine that an anchor is taken for: the one on the same line of the function, or, if there is none, of
// another function; then any in the function.
func (t *thread) find(a *corpus.Anchor) found {
	exact, text, function := keys(a)
	for _, list := range [][]int{t.exact[exact], t.texts[text]} {
		if int(a.Nth) < len(list) {
			return found{list[a.Nth], true}
		}
		if len(list) > 0 { // a loop is shorter
			return found{list[len(list)-1], false}
		}
	}
	if list := t.funcs[function]; int(a.Of) < len(list) {
		return found{list[a.Of], a.Op == heisen.Fork.String()} // what goroutines are for is known by what they do
	}
	return missing
}

// find is thread.find. An access of the finding may have become an atomic one.
func (m *Matched) find(t *thread, a *corpus.Anchor) found {
	exact, _, _ := keys(a)
	f := t.find(a)
	if f.event >= 0 || !slices.Contains(m.order.Places, exact) {
		return f
	}
	for _, op := range atomicsFor(a.Op) {
		one := *a
		one.Op = op
		if f := t.find(&one); f.event >= 0 {
			return found{f.event, true}
		}
	}
	return missing
}

// atomicsFor returns the atomic operations that may replace a plain one.
func atomicsFor(op string) []string { return []string{"atomic-" + op, heisen.AtomicUpdate.String()} }

// Turns returns the turns that lead to the order.
func (m *Matched) Turns() []racefuzz.Turn {
	var order []racefuzz.Position
	has := map[uint32]bool{} // goroutines
	for i := range m.turns {
		if at := m.turns[i].until; at >= 0 {
			e := &m.recording.events[at]
			order = append(order, racefuzz.Position{ID: e.thread, Seq: e.seq})
			has[e.thread] = true
		}
	}
	// What others create comes before, as do they themselves.
	starts := slices.DeleteFunc(slices.Clone(m.recording.starts), func(s racefuzz.Creation) bool { return !has[s.ID] })
	return racefuzz.Turns(order, nil, starts)
}

// State says what an execution has of an order.
type State int

const (
	Other     State = iota // it has another one, or it is not known which one
	Followed               // the operations came in this order
	Prevented              // where they did not, goroutines waited for others
)

// Judge returns what the recorded execution has of the order. If it has another one, why says where the first difference is. stuck says that the
// execution of the order has ended because no goroutine could go on.
func (m *Matched) Judge(stuck bool) (state State, why string) {
	r := m.recording
	if r.over {
		return Other, "the execution is too long"
	}
	if gone := m.Gone(); gone != "" {
		return Other, gone + " is not reached"
	}
	type point struct {
		anchor *corpus.Anchor
		event  int
		turn   int
	}
	var points []point
	for i := range m.turns {
		t, of := &m.turns[i], &m.order.Turns[i]
		for _, x := range []struct {
			anchor *corpus.Anchor
			found
		}{{&of.First, t.first}, {&of.Last, t.last}} {
			switch {
			case x.event < 0:
				return Other, name(x.anchor) + " is not reached"
			case !x.sure:
				return Other, name(x.anchor) + " is another statement"
			}
			points = append(points, point{x.anchor, x.event, i})
		}
	}
	rest := points
	for i := range m.turns { // goroutines whose last turn is over made nothing more
		if !stuck {
			break
		}
		if next := m.afterTurn(i); next >= 0 && !m.comesAgain(i) {
			rest = append(rest, point{nil, next, i})
		}
	}
	state, m.waiting = Followed, len(m.turns)
	for i := range rest {
		x, y := points[min(i, len(points)-1)], rest[i]
		if i > 0 && i < len(points) {
			x = points[i-1]
		}
		if x.event <= y.event {
			continue
		}
		if r.events[x.event].thread == r.events[y.event].thread || !r.waited(r.events[x.event].thread, y.event, 0) {
			return Other, fmt.Sprintf("%s comes later", name(x.anchor))
		}
		if state == Followed {
			state, m.waiting = Prevented, x.turn
		}
	}
	return state, ""
}

// Passed returns how many turns were over before an earlier one was. An execution that follows the turns cannot make them, and counts each as one
// from which it diverges.
func (m *Matched) Passed() (n uint64) {
	latest := -1
	for i := range m.turns {
		if m.turns[i].last.event < latest {
			n++
		}
		latest = max(latest, m.turns[i].last.event)
	}
	return n
}

// Gone returns an access of the finding that the program does not make any more; empty if it makes them all.
func (m *Matched) Gone() string {
	for i := range m.order.Places {
		if p := &m.order.Places[i]; !m.recording.reaches(p) {
			return name(p)
		}
	}
	return ""
}

// reaches reports whether the program makes an access at a place: the one there, or one in the function that may have replaced it.
func (r *Recording) reaches(p *corpus.Anchor) bool {
	exact, text, function := keys(p)
	for _, t := range r.threads {
		n := len(t.exact[exact]) + len(t.texts[text]) + len(t.funcs[function])
		for _, function.Op = range atomicsFor(p.Op) {
			n += len(t.funcs[function])
		}
		if function.Op = p.Op; n > 0 {
			return true
		}
	}
	return false
}

// comesAgain reports whether the goroutine of a turn has a later one.
func (m *Matched) comesAgain(turn int) bool {
	return slices.ContainsFunc(m.order.Turns[turn+1:], func(t corpus.Turn) bool { return t.Thread == m.order.Turns[turn].Thread })
}

// afterTurn returns the first operation of the program that the goroutine of a turn makes after it; negative if there is none.
func (m *Matched) afterTurn(turn int) int {
	r := m.recording
	last := m.turns[turn].last.event
	for _, i := range r.threads[r.events[last].thread].all {
		if i > last && r.events[i].at != nil {
			return i
		}
	}
	return -1
}

// waited reports whether a goroutine waited for another one when an event took place: what it did next was to acquire or to receive something, or it
// was created later, by a goroutine of which that is true.
func (r *Recording) waited(thread uint32, at, depth int) bool {
	all := r.threads[thread].all
	i, _ := slices.BinarySearch(all, at)
	if i == len(all) {
		return false
	}
	switch r.events[all[i]].op {
	case heisen.Acquire, heisen.AcquireShared, heisen.Receive, heisen.Join:
		return true
	}
	if i > 0 || depth == len(r.starts) {
		return false
	}
	for _, s := range r.starts {
		if s.Child == thread && r.threads[s.ID] != nil {
			return r.waited(s.ID, at, depth+1)
		}
	}
	return false
}

func letsOthersGoOn(op heisen.Op) bool {
	switch op {
	case heisen.Release, heisen.ReleaseShared, heisen.Send, heisen.AtomicWrite, heisen.AtomicUpdate, heisen.Fork:
		return true
	}
	return false
}

// Varied returns which turn a variation lets go on for longer.
func (m *Matched) Varied() int { return m.varied }

// Variations returns the order with later ends of turns, one for each place at which a goroutine that has stopped may let others go on: those before
// the turn that had to wait. It returns false if there are more than most.
func (m *Matched) Variations(most int) (all []*Matched, ok bool) {
	r := m.recording
	for i := range m.turns[:m.waiting] {
		from := m.turns[i].last.event
		to := len(r.events)
		for j := i + 1; j < len(m.turns); j++ {
			if m.order.Turns[j].Thread == m.order.Turns[i].Thread {
				to = m.turns[j].first.event
				break
			}
		}
		for _, at := range r.threads[r.events[from].thread].all {
			if at <= from || at >= to || !letsOthersGoOn(r.events[at].op) {
				continue
			}
			if len(all) == most {
				return all, false
			}
			one := *m
			one.turns = slices.Clone(m.turns)
			one.turns[i].until, one.varied = at, i
			all = append(all, &one)
		}
	}
	return all, true
}
