package infer

import (
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// derived returns the values that a function computes from the seeds. Control begins at the end of
// block start, or at the beginning of the function if start is nil. A phi is derived if all its
// operands on reachable edges are, or if a derived test selects the operand. Values of earlier
// iterations of a loop around start are not derived.
func derived(seeds []ssa.Value, start *ssa.BasicBlock) map[ssa.Value]bool {
	return rules{}.derived(seeds, start)
}

// rules narrow down what counts as computed from a value.
type rules struct {
	data    bool // a value that a test selects does not count, unless it is a constant
	surface bool // what is reached through a pointer, or is an element, does not count
}

func (f *follower) derived(seeds []ssa.Value, start *ssa.BasicBlock) map[ssa.Value]bool {
	return f.pattern.rules.derived(seeds, start)
}

func (r rules) derived(seeds []ssa.Value, start *ssa.BasicBlock) map[ssa.Value]bool {
	reached := reachedFrom(start)
	mixed := map[*ssa.Phi]bool{}
	for {
		out := closure(seeds, func(from, to ssa.Value) bool {
			phi, ok := to.(*ssa.Phi)
			if !ok {
				return r.surface && deeper(from, to)
			}
			return mixed[phi] || start != nil && phi.Block().Dominates(start)
		})
		before := len(mixed)
		for v := range out {
			phi, ok := v.(*ssa.Phi)
			if !ok {
				continue
			}
			if above := phi.Block().Idom(); above != nil && (!r.data || constants(phi, out)) {
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

// constants reports whether all operands of a phi are constants or derived.
func constants(phi *ssa.Phi, derived map[ssa.Value]bool) bool {
	return !slices.ContainsFunc(phi.Edges, func(edge ssa.Value) bool {
		_, ok := edge.(*ssa.Const)
		return !ok && !derived[edge]
	})
}

// reachedFrom returns start and the blocks that control can reach from its end before it reaches a
// block that dominates start.
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

// deeper reports whether a value is computed from what the other one leads to, rather than from the value
// itself. Functions are not expected to look behind pointers only if they are builtin.
func deeper(from, to ssa.Value) bool {
	switch to := to.(type) {
	case *ssa.FieldAddr, *ssa.IndexAddr, *ssa.Index, *ssa.Lookup, *ssa.Range, *ssa.MakeClosure:
		return true
	case *ssa.UnOp:
		return to.Op == token.MUL
	case *ssa.Call:
		if _, ok := to.Call.Value.(*ssa.Builtin); ok {
			return false
		}
		switch from.Type().Underlying().(type) {
		case *types.Basic, *types.Tuple:
			return false
		}
		return true
	}
	return false
}

// closure returns all values that are computed from the seeds, except by steps from one value to the next
// for which skip is true.
func closure(seeds []ssa.Value, skip func(from, to ssa.Value) bool) map[ssa.Value]bool {
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
			case ssa.Value:
				if !skip(v, ref) {
					work = append(work, ref)
				}
			}
		}
	}
	return out
}

// loads returns the loads of a local variable that does not escape, such as a result of a function
// that defers.
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
