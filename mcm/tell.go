package mcm

import (
	"fmt"

	"github.com/heisen-go/heisen/mcm/order"
)

// tell tells a solver of the reads and the sections, which it draws conclusions from
// by itself. With ControlFlow it depends on others what a read may see: those come
// as clauses.
func (s *solving) tell(solver *order.Solver) error {
	m := s.m
	if m.flow == nil {
		if err := s.tellReads(solver); err != nil {
			return fmt.Errorf("mcm: %w", err)
		}
	}
	for i := range m.locks {
		var list []order.CriticalSection
		for _, id := range m.locks[i].sections {
			x := &m.sections[id]
			list = append(list, order.CriticalSection{Start: x.acquire, End: x.release, Holder: int(x.chain), Shared: x.shared})
		}
		if err := solver.AddLock(list...); err != nil {
			return fmt.Errorf("mcm: %w", err)
		}
	}
	return nil
}

// tellReads tells the solver of reads. Writes of a cell have the same value if some
// read takes them for the same.
func (s *solving) tellReads(solver *order.Solver) error {
	m := s.m
	byCell := make([][]int32, len(m.cells))
	for i := range m.reads {
		c := m.reads[i].cell
		byCell[c] = append(byCell[c], int32(i))
	}
	for c := range m.cells {
		if len(byCell[c]) == 0 {
			continue
		}
		writes := make([]order.Write, len(m.cells[c].writes))
		at := make(map[order.Node]int, len(writes))
		for k, n := range m.cells[c].writes {
			writes[k] = order.Write{Node: n, Value: int32(k)}
			at[n] = k
		}
		named := map[order.Node]bool{}
		for _, i := range byCell[c] {
			r := &m.reads[i]
			if len(r.same) == 0 || named[r.same[0]] {
				continue
			}
			named[r.same[0]] = true
			for _, w := range r.same {
				writes[at[w]].Value = int32(at[r.same[0]])
			}
		}
		initial := int32(len(writes))
		v, err := solver.NewVariable(initial, writes...)
		if err != nil {
			return err
		}
		for _, i := range byCell[c] {
			r := &m.reads[i]
			var values []int32
			if len(r.same) > 0 {
				values = append(values, writes[at[r.same[0]]].Value)
			}
			if r.saw != none {
				if x := writes[at[r.saw]].Value; len(values) == 0 || x != values[0] {
					values = append(values, x)
				}
			}
			if r.init {
				values = append(values, initial)
			}
			if err := solver.AddRead(v, r.node, values...); err != nil {
				return err
			}
		}
	}
	return nil
}
