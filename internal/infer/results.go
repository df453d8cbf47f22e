package infer

import (
	"go/token"

	"golang.org/x/tools/go/ssa"

	"github.com/heisen-go/heisen/internal/ssaload"
)

// Values that cross the border between a function and its caller.

// returned returns the results of a call of the frame's function that depend on the value that the
// entry read: those that are computed from it, and those that a test of it selects.
func (fr *frame) returned(call *ssa.Call) (out []ssa.Value) {
	results := fr.fn.Signature.Results().Len()
	for i := range results {
		if !fr.dependent(i) {
			continue
		}
		if results == 1 {
			return []ssa.Value{call}
		}
		for _, ref := range *call.Referrers() {
			if part, ok := ref.(*ssa.Extract); ok && part.Index == i {
				out = append(out, part)
			}
		}
	}
	return out
}

// dependent reports whether the i-th result of the frame's function depends on the value that the
// entry read.
func (fr *frame) dependent(i int) bool {
	var first ssa.Value
	differ, selected := false, false
	for _, b := range fr.fn.Blocks {
		ret, ok := b.Instrs[len(b.Instrs)-1].(*ssa.Return)
		if !ok || i >= len(ret.Results) || b == fr.fn.Recover {
			continue
		}
		v := stored(ret.Results[i], b)
		if fr.derived[v] || fr.derived[ret.Results[i]] {
			return true
		}
		if first == nil {
			first = v
		}
		differ = differ || !ssaload.SameValue(first, v)
		selected = selected || fr.selects(b)
	}
	return differ && selected && !fr.rules.data
}

// stored returns the value that a block has last stored in the local variable that v is a load of. If
// v is none, it returns v. Results of functions with deferred calls are such loads.
func stored(v ssa.Value, b *ssa.BasicBlock) ssa.Value {
	load, ok := v.(*ssa.UnOp)
	if !ok || load.Op != token.MUL || load.Block() != b {
		return v
	}
	local, ok := load.X.(*ssa.Alloc)
	if !ok || local.Heap {
		return v
	}
	for _, ins := range b.Instrs {
		if store, ok := ins.(*ssa.Store); ok && store.Addr == local {
			v = store.Val
		} else if ins == load {
			break
		}
	}
	return v
}

// selects reports whether a test of what the entry read decides whether control reaches a block.
func (fr *frame) selects(b *ssa.BasicBlock) bool {
	for above := b.Idom(); above != nil; above = above.Idom() {
		if test, ok := above.Instrs[len(above.Instrs)-1].(*ssa.If); ok && fr.derived[test.Cond] {
			return true
		}
	}
	return false
}

// inward returns the value in a callee that is equal to a value of its caller, or nil.
func inward(v ssa.Value, call *ssa.CallCommon, callee *ssa.Function) ssa.Value {
	if v == nil || isFixed(v) {
		return v
	}
	for i, arg := range ssaload.Arguments(call) {
		if i < len(callee.Params) && ssaload.SameValue(arg, v) {
			return callee.Params[i]
		}
	}
	return nil
}

// outward returns the value in a caller that is equal to a value of its callee, or nil.
func outward(v ssa.Value, call *ssa.CallCommon, callee *ssa.Function) ssa.Value {
	if v == nil || isFixed(v) {
		return v
	}
	args := ssaload.Arguments(call)
	for i, param := range callee.Params {
		if param == v && i < len(args) {
			return args[i]
		}
	}
	return nil
}

// isFixed reports whether a value is the same in all functions: a constant, or the value of a
// package-level variable.
func isFixed(v ssa.Value) bool {
	switch v := v.(type) {
	case *ssa.Const:
		return true
	case *ssa.UnOp:
		return v.Op == token.MUL && ssaload.IsGlobal(v.X)
	}
	return false
}

// sameElement reports whether an access in a frame may concern the element of a map that the entry
// accesses.
func (f *follower) sameElement(fr *frame, met *access) bool {
	if f.entry.key == nil || met.key == nil {
		return true
	}
	return fr.key != nil && ssaload.SameValue(fr.key, met.key)
}

// tested reports whether the frame's function, or a caller to which it returns, tests one of the
// values, or something that is computed from them without a pointer in between.
func (fr *frame) tested(values []ssa.Value) bool {
	known := map[ssa.Value]bool{}
	for len(values) > 0 {
		v := values[len(values)-1]
		values = values[:len(values)-1]
		if known[v] || v.Referrers() == nil {
			continue
		}
		known[v] = true
		for _, ref := range *v.Referrers() {
			switch ref := ref.(type) {
			case *ssa.If:
				return true
			case *ssa.FieldAddr, *ssa.IndexAddr, *ssa.Index, *ssa.MakeClosure, *ssa.Lookup, *ssa.Range:
			case *ssa.UnOp:
				if ref.Op != token.MUL {
					values = append(values, ref)
				}
			case *ssa.Store:
				if ref.Val == v {
					values = append(values, loads(ref.Addr)...)
				}
			case ssa.Value:
				values = append(values, ref)
			}
		}
	}
	if fr.outer == nil || fr.call == nil {
		return false
	}
	inside := frame{fn: fr.fn, derived: known}
	results := inside.returned(fr.call)
	return len(results) > 0 && fr.outer.tested(results)
}
