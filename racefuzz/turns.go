package racefuzz

import (
	"errors"
	"fmt"
	"slices"

	"github.com/heisen-go/heisen"
)

// ErrOrder is wrapped by the error of Result.Turns if its arguments are not an order of the
// execution's events.
var ErrOrder = errors.New("not an order of the execution's events")

// Position is the position of an event: its task and the sequence number of the operation. Sequence
// numbers are those of Turn.
type Position struct {
	ID  uint32
	Seq uint64
}

// Creation says that a task created another one, during the operation at its position or after it
// and before the next one.
type Creation struct {
	Position
	Child uint32
}

// Turns returns the turns that make an execution follow another order. order is a prefix of the new
// execution: the positions of its events. Consecutive events of a task may be shortened to the last. next are positions at which their tasks stop: no task of next continues before all of
// them are there. creations are the creations of the execution from which the positions come, in
// its order.
//
// Tasks are numbered in order of creation, so a task may have another number in the new execution.
// Turns translates the numbers. It assumes that tasks that no creation mentions keep theirs.
func Turns(order, next []Position, creations []Creation) []Turn {
	var children []uint32 // IDs of created tasks
	by := map[uint32][]Creation{}
	for _, s := range creations {
		children = append(children, s.Child)
		by[s.ID] = append(by[s.ID], s)
	}
	slices.Sort(children)
	numbers := map[uint32]uint32{} // IDs in the new execution
	// A task arrives at its first operation without a turn.
	order = slices.DeleteFunc(slices.Clone(order), func(p Position) bool { return p.Seq == 0 })
	for _, p := range next {
		if p.Seq > 0 {
			order = append(order, Position{ID: p.ID, Seq: p.Seq - 1})
		}
	}
	order = append(order, next...)
	var turns []Turn
	reached := map[uint32]uint64{}
	for i, p := range order {
		until := p.Seq + 1
		if i+1 < len(order) && order[i+1].ID == p.ID || until <= reached[p.ID] {
			continue
		}
		reached[p.ID] = until
		id, ok := numbers[p.ID]
		if !ok {
			id = p.ID
		}
		turns = append(turns, Turn{ID: id, Until: until})
		list := by[p.ID]
		for ; len(list) > 0 && list[0].Seq < until; list = list[1:] {
			numbers[list[0].Child] = children[len(numbers)]
		}
		by[p.ID] = list
	}
	return turns
}

// Turns returns the turns, for Follow, that make an execution follow another order of this
// execution's events. events are indices into the events that the detector of WithDetector received,
// in the new order. last says how many events at the end of events are only reached, all at the same
// time, and not performed. The Order and Last of a witness from package mcm are such arguments. The events of each goroutine must be its first
// ones, in their order. The error wraps ErrOrder.
func (r *Result) Turns(events []int, last int) ([]Turn, error) {
	if last < 0 || last > len(events) {
		return nil, fmt.Errorf("%w: the last %d of %d events", ErrOrder, last, len(events))
	}
	var order []Position
	next := map[uint32]int{}
	for _, e := range events {
		if e < 0 || e >= len(r.positions) {
			return nil, fmt.Errorf("%w: event %d, but the detector received %d", ErrOrder, e, len(r.positions))
		}
		p := r.positions[e]
		if list := r.events[p.ID]; next[p.ID] == len(list) || list[next[p.ID]] != e {
			return nil, fmt.Errorf("%w: event %d of %s comes before earlier ones, or again", ErrOrder, e, r.Names[p.ID])
		}
		next[p.ID]++
		order = append(order, p)
	}
	first := len(order) - last
	return Turns(order[:first], order[first:], r.creations), nil
}

// addEvent records the position of an event that the detector receives.
func (r *Result) addEvent(g *G, x *heisen.Record) {
	p := Position{ID: g.id, Seq: g.task.Seq}
	r.events[p.ID] = append(r.events[p.ID], len(r.positions))
	r.positions = append(r.positions, p)
	if x.Op == heisen.Fork {
		r.creations = append(r.creations, Creation{p, uint32(x.Object)})
	}
}
