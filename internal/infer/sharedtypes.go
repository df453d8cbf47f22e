package infer

import (
	"go/types"

	"golang.org/x/tools/go/ssa"

	"github.com/heisen-go/heisen/internal/ssaload"
)

// exported adds the types whose values other packages can have.
func (s *sharing) exported(pkg *types.Package) {
	if pkg.Name() == "main" {
		return
	}
	for _, name := range pkg.Scope().Names() {
		obj := pkg.Scope().Lookup(name)
		if !obj.Exported() {
			continue
		}
		s.addType(obj.Type())
		if n, ok := types.Unalias(obj.Type()).(*types.Named); ok {
			for i := range n.NumMethods() {
				if m := n.Method(i); m.Exported() {
					s.addType(m.Type())
				}
			}
		}
	}
}

// synchronized adds the types of this package that have something of the packages sync or
// sync/atomic in them, or a channel. Nobody puts that into what one goroutine uses.
func (s *sharing) synchronized() {
	for _, obj := range s.p.pass.TypesInfo.Defs {
		name, ok := obj.(*types.TypeName)
		if !ok || name.IsAlias() {
			continue
		}
		if st, ok := name.Type().Underlying().(*types.Struct); ok && synchronizes(st, nil) {
			s.addType(name.Type())
		}
	}
}

// synchronizes reports whether a struct has a part that goroutines synchronize with. around are the
// structs around it.
func synchronizes(st *types.Struct, around []*types.Struct) bool {
	if len(around) > 8 {
		return false
	}
	for i := range st.NumFields() {
		t := types.Unalias(ssaload.Deref(st.Field(i).Type()))
		if array, ok := t.(*types.Array); ok {
			t = types.Unalias(array.Elem())
		}
		if n, ok := t.(*types.Named); ok && n.Obj().Pkg() != nil {
			switch n.Obj().Pkg().Path() {
			case "sync", "sync/atomic":
				return true
			}
		}
		switch part := t.Underlying().(type) {
		case *types.Chan:
			return true
		case *types.Struct:
			if part != st && synchronizes(part, append(around, st)) {
				return true
			}
		}
	}
	return false
}

// addType adds the types of this package that a value of type t leads to.
func (s *sharing) addType(t types.Type) {
	switch t := types.Unalias(t).(type) {
	case *types.Named:
		for i := range t.TypeArgs().Len() {
			s.addType(t.TypeArgs().At(i))
		}
		name := t.Origin().Obj()
		if s.types[name] {
			return
		}
		s.types[name] = true
		if name.Pkg() == s.p.pass.Pkg {
			s.addType(t.Origin().Underlying())
		}
	case *types.Pointer:
		s.addType(t.Elem())
	case *types.Slice:
		s.addType(t.Elem())
	case *types.Array:
		s.addType(t.Elem())
	case *types.Chan:
		s.addType(t.Elem())
	case *types.Map:
		s.addType(t.Key())
		s.addType(t.Elem())
	case *types.Struct:
		for i := range t.NumFields() {
			s.addType(t.Field(i).Type())
		}
	case *types.Signature:
		s.addType(t.Params())
		s.addType(t.Results())
	case *types.Tuple:
		for i := range t.Len() {
			s.addType(t.At(i).Type())
		}
	}
}

// addShared adds the types of the values that an instruction may share.
func (s *sharing) addShared(ins ssa.Instruction) {
	var called ssa.Value
	if call, ok := ins.(ssa.CallInstruction); ok {
		called = call.Common().Value
	}
	for _, operand := range ins.Operands(nil) {
		if fn, ok := (*operand).(*ssa.Function); ok && fn != called {
			s.taken[ssaload.Origin(fn)] = true
		}
	}
	switch ins := ins.(type) {
	case *ssa.Go:
		for _, operand := range ins.Operands(nil) {
			s.addValue(*operand)
		}
	case *ssa.Send:
		s.addType(ins.X.Type())
	case *ssa.Select:
		for _, state := range ins.States {
			if state.Send != nil {
				s.addType(state.Send.Type())
			}
		}
	case *ssa.MakeInterface:
		s.addType(ins.X.Type())
	case *ssa.MakeClosure:
		fn := ins.Fn.(*ssa.Function)
		s.closure[fn] = append(s.closure[fn], ins)
		if !calledOnly(ins) {
			s.addValue(ins)
		}
	case *ssa.Call:
		if _, ok := ins.Call.Value.(*ssa.Builtin); ok || s.p.body(&ins.Call) != nil {
			return
		}
		for i, arg := range ins.Call.Args {
			if i > 0 || !foreignReceiver(&ins.Call) {
				s.addType(arg.Type())
			}
		}
	}
}

// addValue adds the type of a value, or those of what a literal captures.
func (s *sharing) addValue(v ssa.Value) {
	if v == nil {
		return
	}
	if closure, ok := v.(*ssa.MakeClosure); ok {
		for _, bound := range closure.Bindings {
			s.addType(bound.Type())
		}
		return
	}
	if _, ok := v.(*ssa.Function); !ok {
		s.addType(v.Type())
	}
}

// calledOnly reports whether a literal is only called or deferred on the spot.
func calledOnly(closure *ssa.MakeClosure) bool {
	for _, ref := range *closure.Referrers() {
		switch ref := ref.(type) {
		case *ssa.Call:
			if ref.Call.Value != closure || uses(ref.Call.Args, closure) {
				return false
			}
		case *ssa.Defer:
			if ref.Call.Value != closure || uses(ref.Call.Args, closure) {
				return false
			}
		case *ssa.DebugRef:
		default:
			return false
		}
	}
	return true
}

func uses(args []ssa.Value, v ssa.Value) bool {
	for _, arg := range args {
		if arg == v {
			return true
		}
	}
	return false
}

// foreignReceiver reports whether a call to another package calls a method, such as that of a
// mutex, or an atomic operation. Its first argument, which may be a field of a value, does not
// share the rest of the value.
func foreignReceiver(call *ssa.CallCommon) bool {
	callee := call.StaticCallee()
	return callee != nil && callee.Signature.Recv() != nil || ssaload.IsAtomic(callee)
}
