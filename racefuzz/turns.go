package racefuzz

import (
	"fmt"
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/core/strategies"
)

// Turn is that a task goes on until it stands at its operation Until, or at a later one,
// or ends, or waits in the one before. Operations of a task have ascending numbers: in a
// model from 1 one after the other; in a real program 1<<32 times how many points the
// goroutine has come to where it synchronises or has started another, plus how many
// accesses since. They do not depend on what other tasks do as long as this one goes the
// same way.
type Turn = strategies.Turn

// Moment is an event of an execution: at which operation of which task.
type Moment struct {
	ID uint32
	At uint64
}

// Start is that a task has started another, during its operation At or after it and before
// the next.
type Start struct {
	Moment
	Child uint32
}

// Turns returns the turns by which the events of an execution come in another order. It is
// the order in which they are to come, and of each task has those up to some point; of
// several in a row that are of one task the last will do. After them come those of next,
// but not before all their tasks stand there: they are next at the same time. starts are
// those of the execution, in its order.
//
// Tasks are numbered in the order of their creation, so those of the turns have other
// numbers than those of the execution if they come to be in another order. Those that
// nobody has started are there before all others, or at the same place among them.
func Turns(order, next []Moment, starts []Start) []Turn {
	var children []uint32 // the numbers that tasks have which were started
	by := map[uint32][]Start{}
	for _, s := range starts {
		children = append(children, s.Child)
		by[s.ID] = append(by[s.ID], s)
	}
	slices.Sort(children)
	numbers := map[uint32]uint32{} // those that they get
	// A task begins by itself.
	order = slices.DeleteFunc(slices.Clone(order), func(m Moment) bool { return m.At == 0 })
	for _, m := range next {
		if m.At > 0 {
			order = append(order, Moment{ID: m.ID, At: m.At - 1})
		}
	}
	order = append(order, next...)
	var turns []Turn
	reached := map[uint32]uint64{}
	for i, m := range order {
		until := m.At + 1
		if i+1 < len(order) && order[i+1].ID == m.ID || until <= reached[m.ID] {
			continue
		}
		reached[m.ID] = until
		id, ok := numbers[m.ID]
		if !ok {
			id = m.ID
		}
		turns = append(turns, Turn{ID: id, Until: until})
		list := by[m.ID]
		for ; len(list) > 0 && list[0].At < until; list = list[1:] {
			numbers[list[0].Child] = children[len(numbers)]
		}
		by[m.ID] = list
	}
	return turns
}

// Turns returns the turns by which the events of the execution come in another order, for
// Follow. events are indices of what was handed to the detector of Trace, in the order in
// which they are to come, of which the last so many are next at the same time: those of a
// witness of package mcm, for example. They have to be the first ones of each goroutine
// that has any, in their order. The error wraps ErrConfig.
func (r *Result) Turns(events []int, last int) ([]Turn, error) {
	if last < 0 || last > len(events) {
		return nil, fmt.Errorf("%w: the last %d of %d events", ErrConfig, last, len(events))
	}
	var order []Moment
	next := map[uint32]int{}
	for _, e := range events {
		if e < 0 || e >= len(r.moments) {
			return nil, fmt.Errorf("%w: event %d of %d that were traced", ErrConfig, e, len(r.moments))
		}
		m := r.moments[e]
		if list := r.events[m.ID]; next[m.ID] == len(list) || list[next[m.ID]] != e {
			return nil, fmt.Errorf("%w: event %d of %s comes before earlier ones, or again", ErrConfig, e, r.Names[m.ID])
		}
		next[m.ID]++
		order = append(order, m)
	}
	first := len(order) - last
	return Turns(order[:first], order[first:], r.starts), nil
}

// note takes down an event.
func (r *Result) note(g *G, x *heisen.Record) {
	m := Moment{ID: g.id, At: g.task.Seq}
	r.events[m.ID] = append(r.events[m.ID], len(r.moments))
	r.moments = append(r.moments, m)
	if x.Op == heisen.Fork {
		r.starts = append(r.starts, Start{m, uint32(x.Object)})
	}
}
