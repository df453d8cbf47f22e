package readuse

import (
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ssa"
)

// onlyStore returns the store that all that is computed from a value ends in. It is nil if there is none, or
// several, or if the value decides.
func onlyStore(v ssa.Value) *ssa.Store {
	f := flow{seen: map[ssa.Value]bool{}}
	if !f.follow(v) {
		return nil
	}
	return f.store
}

// flow follows a value.
type flow struct {
	seen  map[ssa.Value]bool
	store *ssa.Store
}

// follow follows what is computed from v. It reports whether v does not decide.
func (f *flow) follow(v ssa.Value) bool {
	if f.seen[v] {
		return true
	}
	f.seen[v] = true
	for _, user := range *v.Referrers() {
		switch user := user.(type) {
		case *ssa.DebugRef:
		case *ssa.Store:
			if user.Addr == v || f.store != nil && f.store != user {
				return false
			}
			f.store = user
		case *ssa.BinOp, *ssa.UnOp, *ssa.Convert, *ssa.ChangeType, *ssa.Phi:
			if !computes(user) || !harmless(user, v) || !f.follow(user.(ssa.Value)) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// computes reports whether an instruction computes a scalar from scalars.
func computes(ins ssa.Instruction) bool {
	v, ok := ins.(ssa.Value)
	if !ok || !isScalar(v.Type()) {
		return false
	}
	switch ins := ins.(type) {
	case *ssa.BinOp:
		return isScalar(ins.X.Type()) && isScalar(ins.Y.Type())
	case *ssa.UnOp:
		return ins.Op != token.MUL && ins.Op != token.ARROW
	case *ssa.Convert:
		return isScalar(ins.X.Type())
	case *ssa.ChangeType, *ssa.Phi:
		return true
	}
	return false
}

// harmless reports whether an operation cannot panic because of v.
func harmless(ins ssa.Instruction, v ssa.Value) bool {
	op, ok := ins.(*ssa.BinOp)
	if !ok || op.Y != v {
		return true
	}
	switch op.Op {
	case token.QUO, token.REM:
		basic := op.Type().Underlying().(*types.Basic) // a scalar that can be divided
		return basic.Info()&types.IsInteger == 0
	case token.SHL, token.SHR:
		basic, ok := v.Type().Underlying().(*types.Basic)
		return ok && basic.Info()&types.IsUnsigned != 0
	}
	return true
}

// isScalar reports whether values of a type are numbers, booleans or pointers.
func isScalar(t types.Type) bool {
	if _, ok := types.Unalias(t).(*types.TypeParam); ok {
		return false
	}
	switch t := t.Underlying().(type) {
	case *types.Basic:
		return t.Info()&(types.IsNumeric|types.IsBoolean) != 0 || t.Kind() == types.UnsafePointer
	case *types.Pointer, *types.Signature, *types.Chan, *types.Map:
		return true
	}
	return false
}
