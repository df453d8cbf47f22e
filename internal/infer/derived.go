package infer

import (
	"slices"

	"golang.org/x/tools/go/ssa"
)

// derived returns the values that are computed from others in a function in which
// control begins at the end of start, or at its own beginning if that is nil. A
// value merged of several is derived if each is that control can bring there, or if
// a derived test decides which. Values from earlier turns of a loop around start are
// not.
func derived(seeds []ssa.Value, start *ssa.BasicBlock) map[ssa.Value]bool {
	reached := reachedFrom(start)
	mixed := map[*ssa.Phi]bool{}
	for {
		out := closure(seeds, func(phi *ssa.Phi) bool {
			return mixed[phi] || start != nil && phi.Block().Dominates(start)
		})
		before := len(mixed)
		for v := range out {
			phi, ok := v.(*ssa.Phi)
			if !ok {
				continue
			}
			if above := phi.Block().Idom(); above != nil {
				if test, ok := above.Instrs[len(above.Instrs)-1].(*ssa.If); ok && out[test.Cond] {
					continue
				}
			}
			for i, edge := range phi.Edges {
				if !out[edge] && (start == nil || reached.has(phi.Block().Preds[i].Index)) {
					mixed[phi] = true
				}
			}
		}
		if len(mixed) == before {
			return out
		}
	}
}

// reachedFrom returns start and the blocks that control can come to from its end
// before it comes to a block that dominates start.
func reachedFrom(start *ssa.BasicBlock) set {
	if start == nil {
		return nil
	}
	out := newSet(len(start.Parent().Blocks))
	out.add(start.Index)
	work := []*ssa.BasicBlock{start}
	for len(work) > 0 {
		b := work[len(work)-1]
		work = work[:len(work)-1]
		for _, succ := range b.Succs {
			if !out.has(succ.Index) && !succ.Dominates(start) {
				out.add(succ.Index)
				work = append(work, succ)
			}
		}
	}
	return out
}

// closure returns the values that others go into, without those merges that do
// not count.
func closure(seeds []ssa.Value, skip func(*ssa.Phi) bool) map[ssa.Value]bool {
	out := map[ssa.Value]bool{}
	work := slices.Clone(seeds)
	for len(work) > 0 {
		v := work[len(work)-1]
		work = work[:len(work)-1]
		if out[v] {
			continue
		}
		out[v] = true
		if v.Referrers() == nil {
			continue
		}
		for _, ref := range *v.Referrers() {
			switch ref := ref.(type) {
			case *ssa.Store:
				if ref.Val == v {
					work = append(work, loads(ref.Addr)...)
				}
			case *ssa.MakeClosure:
			case *ssa.Phi:
				if !skip(ref) {
					work = append(work, ref)
				}
			case ssa.Value:
				work = append(work, ref)
			}
		}
	}
	return out
}

// loads returns what is read from a local variable that stays in its function, such
// as the results of a function that defers.
func loads(addr ssa.Value) (out []ssa.Value) {
	local, ok := addr.(*ssa.Alloc)
	if !ok || local.Heap {
		return nil
	}
	for _, ref := range *local.Referrers() {
		if load, ok := ref.(*ssa.UnOp); ok {
			out = append(out, load)
		}
	}
	return out
}
