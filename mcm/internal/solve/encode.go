package solve

import (
	"github.com/heisen-go/heisen/mcm/internal/model"
	"github.com/heisen-go/heisen/mcm/order"
)

// encode gives reads and critical sections to a solver, which propagates them without clauses. With
// ControlFlow, the values that a read may see depend on other reads, so reads become clauses when a
// candidate violates them.
func (s *Solver) encode(solver *order.Solver) error {
	m := s.m
	if m.Flow == nil {
		if err := s.encodeReads(solver); err != nil {
			return err
		}
	}
	for i := range m.Locks {
		var list []order.CriticalSection
		for _, id := range m.Locks[i].Sections {
			x := &m.Sections[id]
			list = append(list, order.CriticalSection{Start: x.Acquire, End: x.Release, Holder: int(x.Chain), Shared: x.Shared})
		}
		if err := solver.AddLock(list...); err != nil {
			return err
		}
	}
	return nil
}

// encodeReads gives reads to a solver. The value of a write is its index among the writes of the
// cell. Writes that some read accepts as the same have the smallest of their indices.
func (s *Solver) encodeReads(solver *order.Solver) error {
	m := s.m
	byCell := make([][]int32, len(m.Cells))
	for i := range m.Reads {
		c := m.Reads[i].Cell
		byCell[c] = append(byCell[c], int32(i))
	}
	for c := range m.Cells {
		if len(byCell[c]) == 0 {
			continue
		}
		writes := make([]order.Write, len(m.Cells[c].Writes))
		at := make(map[order.Node]int, len(writes))
		for k, n := range m.Cells[c].Writes {
			writes[k] = order.Write{Node: n, Value: int32(k)}
			at[n] = k
		}
		done := map[order.Node]bool{} // by the first write of a value: its writes have their value
		for _, i := range byCell[c] {
			r := &m.Reads[i]
			if len(r.Same) == 0 || done[r.Same[0]] {
				continue
			}
			done[r.Same[0]] = true
			for _, w := range r.Same {
				writes[at[w]].Value = int32(at[r.Same[0]])
			}
		}
		initial := int32(len(writes))
		v, err := solver.NewVariable(initial, writes...)
		if err != nil {
			return err
		}
		for _, i := range byCell[c] {
			r := &m.Reads[i]
			var values []int32
			if len(r.Same) > 0 {
				values = append(values, writes[at[r.Same[0]]].Value)
			}
			if r.Saw != model.None {
				if x := writes[at[r.Saw]].Value; len(values) == 0 || x != values[0] {
					values = append(values, x)
				}
			}
			if r.Initial {
				values = append(values, initial)
			}
			if err := solver.AddRead(v, r.Node, values...); err != nil {
				return err
			}
		}
	}
	return nil
}
