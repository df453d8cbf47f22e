package infer

import (
	"go/token"

	"golang.org/x/tools/go/ssa"

	"github.com/heisen-go/heisen/internal/ssaload"
)

// fate describes what a function does with a parameter.
type fate struct{ escapes, returned bool }

// origins returns the instructions of the function that allocate a value. fresh reports whether the
// value comes from these only.
func origins(v ssa.Value) (roots []ssa.Value, fresh bool) {
	seen := map[ssa.Value]bool{}
	fresh = true
	var follow func(v ssa.Value)
	follow = func(v ssa.Value) {
		if seen[v] {
			return
		}
		seen[v] = true
		switch v := v.(type) {
		case *ssa.Phi:
			for _, edge := range v.Edges {
				follow(edge)
			}
		case *ssa.Slice:
			follow(v.X)
		case *ssa.ChangeType:
			follow(v.X)
		case *ssa.Const:
		case *ssa.Alloc, *ssa.MakeMap, *ssa.MakeSlice, *ssa.MakeChan:
			roots = append(roots, v)
		case *ssa.Call:
			if builtin, ok := v.Call.Value.(*ssa.Builtin); ok && builtin.Name() == "append" {
				follow(v.Call.Args[0])
				return
			}
			fresh = false
		default:
			fresh = false
		}
	}
	follow(v)
	return roots, fresh && len(roots) > 0
}

// escaped reports whether the memory that root allocates may be shared when control is at ins:
// whether it has escaped on some path to ins since it was allocated. If ins is nil, it reports
// whether it ever escapes.
func (s *sharing) escaped(root ssa.Value, ins ssa.Instruction) bool {
	made, _ := root.(ssa.Instruction)
	for _, from := range s.escapesOf(root) {
		if ins == nil || from.Parent() != ins.Parent() || ssaload.LeadsTo(from, ins, made.Block()) {
			return true
		}
	}
	return false
}

// escapesOf returns the instructions by which a value that a function has allocated escapes. A
// return is none of them, because the function is over then.
func (s *sharing) escapesOf(v ssa.Value) []ssa.Instruction {
	if out, ok := s.escapes[v]; ok {
		return out
	}
	s.escapes[v] = nil // for cycles
	f := flow{s: s, seen: map[ssa.Value]bool{}}
	f.follow(v)
	s.escapes[v] = f.out
	return f.out
}

// fateOf computes the fate of a parameter.
func (s *sharing) fateOf(param *ssa.Parameter) fate {
	if out, ok := s.params[param]; ok {
		return out
	}
	s.params[param] = fate{}
	f := flow{s: s, seen: map[ssa.Value]bool{}}
	f.follow(param)
	s.params[param] = fate{len(f.out) > 0, f.returned}
	return s.params[param]
}

// flow follows a value, and pointers into it, to their uses.
type flow struct {
	s        *sharing
	seen     map[ssa.Value]bool
	out      []ssa.Instruction
	returned bool
}

func (f *flow) follow(v ssa.Value) {
	if f.seen[v] || v.Referrers() == nil {
		return
	}
	f.seen[v] = true
	for _, ref := range *v.Referrers() {
		switch ref := ref.(type) {
		case *ssa.Store:
			if ref.Val != v {
				break
			}
			to := ssaload.Pointee(ref.Addr)
			if local, ok := to.Root.(*ssa.Alloc); !ok || len(f.s.escapesOf(local)) > 0 {
				f.out = append(f.out, ref)
			}
		case *ssa.UnOp:
			if ref.Op == token.ARROW {
				f.out = append(f.out, ref)
			}
		case *ssa.Phi, *ssa.Slice, *ssa.ChangeType, *ssa.MakeInterface, *ssa.FieldAddr, *ssa.IndexAddr,
			*ssa.Convert, *ssa.ChangeInterface, *ssa.TypeAssert, *ssa.Extract, *ssa.SliceToArrayPointer, *ssa.MultiConvert:
			f.follow(ref.(ssa.Value))
		case *ssa.MakeClosure:
			f.closure(ref, v)
		case *ssa.Return:
			f.returned = true
		case *ssa.Call:
			f.call(ref, &ref.Call, v)
		case *ssa.Defer:
			f.call(ref, &ref.Call, v)
		case *ssa.MapUpdate:
			if ref.Map != v {
				f.out = append(f.out, ref)
			}
		case *ssa.BinOp, *ssa.If, *ssa.DebugRef, *ssa.Lookup, *ssa.Index, *ssa.Field, *ssa.Range, *ssa.Panic:
		default:
			f.out = append(f.out, ref)
		}
	}
}

// closure follows a captured variable into its literal, and the literal itself.
func (f *flow) closure(closure *ssa.MakeClosure, v ssa.Value) {
	if !calledOnly(closure) {
		f.out = append(f.out, closure)
		return
	}
	fn := closure.Fn.(*ssa.Function)
	for i, bound := range closure.Bindings {
		if bound == v {
			inside := flow{s: f.s, seen: f.seen}
			inside.follow(fn.FreeVars[i])
			if len(inside.out) > 0 {
				f.out = append(f.out, closure)
			}
		}
	}
}

func (f *flow) call(ins ssa.Instruction, call *ssa.CallCommon, v ssa.Value) {
	if builtin, ok := call.Value.(*ssa.Builtin); ok {
		if builtin.Name() == "append" {
			if call.Args[0] == v {
				f.follow(ins.(ssa.Value))
			} else {
				f.out = append(f.out, ins)
			}
		}
		return
	}
	if call.Value == v && !call.IsInvoke() {
		return // a literal that is called
	}
	callee := f.s.p.body(call)
	if callee == nil {
		for i, arg := range call.Args {
			if arg == v && (i > 0 || !foreignReceiver(call)) {
				f.out = append(f.out, ins)
				return
			}
		}
		if call.IsInvoke() && call.Value == v {
			f.out = append(f.out, ins)
		}
		return
	}
	for i, arg := range ssaload.Arguments(call) {
		if arg != v {
			continue
		}
		fate := f.s.fateOf(callee.Params[i])
		if fate.escapes {
			f.out = append(f.out, ins)
			return
		}
		if result, ok := ins.(ssa.Value); ok && fate.returned {
			f.follow(result)
		}
	}
}
