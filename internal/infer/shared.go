package infer

import (
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ssa"
)

// sharing decides which variables goroutines may share. It looks at one package, and errs on the side of
// shared, except as described at unshared.
//
//   - A package-level variable is shared.
//   - A local variable, and memory that a function allocates, is shared from the point where it is
//     stored in something that is not local, sent, or passed to a goroutine or to unknown code.
//   - Anything else that a pointer leads to is shared if its type is: if a value of the type, or of a
//     type that contains it, is kept in a package-level variable, handed to a goroutine or a channel,
//     captured by a literal that is not called on the spot, converted to an interface, passed to
//     another package, or visible to other packages because it is exported.
//
// The file is long because these rules use each other: types, parameters and escapes.
type sharing struct {
	p       *program
	types   map[*types.TypeName]bool // types of this package whose values may be shared
	taken   map[*ssa.Function]bool   // functions that are used other than by calling them
	escapes map[ssa.Value][]ssa.Instruction
	params  map[*ssa.Parameter]fate
	closure map[*ssa.Function][]*ssa.MakeClosure
}

// fate is what a function does with a parameter.
type fate struct{ escapes, returned bool }

func newSharing(p *program, pkg *ssa.Package) *sharing {
	s := &sharing{
		p:       p,
		types:   map[*types.TypeName]bool{},
		taken:   map[*ssa.Function]bool{},
		escapes: map[ssa.Value][]ssa.Instruction{},
		params:  map[*ssa.Parameter]fate{},
		closure: map[*ssa.Function][]*ssa.MakeClosure{},
	}
	s.exported(pkg.Pkg)
	for _, member := range pkg.Members {
		if g, ok := member.(*ssa.Global); ok {
			s.addType(g.Type())
		}
	}
	for _, fn := range p.funcs {
		for _, b := range fn.Blocks {
			for _, ins := range b.Instrs {
				s.look(ins)
			}
		}
	}
	return s
}

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

// look adds the types of the values that an instruction may share.
func (s *sharing) look(ins ssa.Instruction) {
	var called ssa.Value
	if call, ok := ins.(ssa.CallInstruction); ok {
		called = call.Common().Value
	}
	for _, operand := range ins.Operands(nil) {
		if fn, ok := (*operand).(*ssa.Function); ok && fn != called {
			s.taken[origin(fn)] = true
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

// foreignReceiver reports whether a call to another package calls a method, such as that of a mutex, or an
// atomic operation. Its first argument, which may be a field of a value, does not share the rest of the
// value.
func foreignReceiver(call *ssa.CallCommon) bool {
	callee := call.StaticCallee()
	return callee != nil && callee.Signature.Recv() != nil || isAtomic(callee)
}

func isAtomic(fn *ssa.Function) bool {
	return fn != nil && fn.Object() != nil && fn.Object().Pkg() != nil && fn.Object().Pkg().Path() == "sync/atomic"
}

// shared reports whether other goroutines may reach the variable at path p when control is at ins. If ins is
// nil, it reports whether they may ever reach it.
func (s *sharing) shared(p path, ins ssa.Instruction) bool {
	direct := true
	for _, step := range p.steps {
		direct = direct && step.kind != derefStep
	}
	if direct {
		roots, fresh := origins(p.root)
		if fresh {
			for _, root := range roots {
				if s.escaped(root, ins) {
					return true
				}
			}
			return false
		}
		if fv, ok := p.root.(*ssa.FreeVar); ok {
			return s.captured(fv)
		}
	}
	if !s.unshared(p) {
		if param, ok := p.root.(*ssa.Parameter); ok && direct && owner(p) == nil {
			return s.param(param, map[*ssa.Parameter]bool{})
		}
		return true
	}
	return false
}

// owner returns the named type that contains the variable at the end of a path most closely, or nil.
func owner(p path) *types.Named {
	for i := len(p.steps) - 1; i >= 0; i-- {
		if p.steps[i].kind == fieldStep && p.steps[i].owner != nil {
			return p.steps[i].owner
		}
	}
	return named(deref(p.root.Type()))
}

// unshared reports whether the type of the variable at the end of a path rules out that goroutines share it:
// the type is declared in this package and is not in s.types. Values that are shared only by unsafe code
// or reflection are missed.
func (s *sharing) unshared(p path) bool {
	n := owner(p)
	return n != nil && n.Obj().Pkg() == s.p.pass.Pkg && !s.types[n.Obj()]
}

// origins returns the instructions of the function that allocate a value. fresh reports whether the value
// comes from these only.
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

// captured reports whether a captured variable is shared: this literal, or another that captures the
// variable, may run in another goroutine.
func (s *sharing) captured(fv *ssa.FreeVar) bool {
	for _, v := range s.bindings(fv) {
		switch v := v.(type) {
		case *ssa.Alloc:
			if len(s.escapesOf(v)) > 0 {
				return true
			}
		case *ssa.FreeVar:
			if s.captured(v) {
				return true
			}
		default:
			return true
		}
	}
	return false
}

// bindings returns the values of a captured variable in the functions around its literal.
func (s *sharing) bindings(fv *ssa.FreeVar) (out []ssa.Value) {
	fn := fv.Parent()
	for i, candidate := range fn.FreeVars {
		if candidate == fv {
			for _, closure := range s.closure[fn] {
				out = append(out, closure.Bindings[i])
			}
		}
	}
	return out
}

// variable returns the local variable that the root of a path stands for. For a captured variable this is
// the variable in the outermost function.
func (s *sharing) variable(v ssa.Value) ssa.Value {
	for {
		fv, ok := v.(*ssa.FreeVar)
		if !ok {
			return v
		}
		outside := s.bindings(fv)
		if len(outside) == 0 {
			return v
		}
		v = outside[0]
	}
}

// param reports whether the target of a parameter may be shared. If all calls are known, the arguments
// decide. visiting has the parameters of recursive questions.
func (s *sharing) param(param *ssa.Parameter, visiting map[*ssa.Parameter]bool) bool {
	fn := param.Parent()
	obj := fn.Object()
	if obj == nil || fn.Signature.Recv() != nil || s.taken[fn] || len(s.p.calls[fn]) == 0 ||
		obj.Exported() && s.p.pass.Pkg.Name() != "main" {
		return true
	}
	if visiting[param] {
		return false
	}
	visiting[param] = true
	for i, candidate := range fn.Params {
		if candidate != param {
			continue
		}
		for _, call := range s.p.calls[fn] {
			arg := pointee(call.Call.Args[i])
			if next, ok := arg.root.(*ssa.Parameter); ok && len(arg.steps) == 0 {
				if s.param(next, visiting) {
					return true
				}
			} else if s.shared(arg, call) {
				return true
			}
		}
	}
	return false
}

// escaped reports whether the memory that root allocates may be shared when control is at ins: whether it has
// escaped on some path to ins since it was allocated. If ins is nil, it reports whether it ever escapes.
func (s *sharing) escaped(root ssa.Value, ins ssa.Instruction) bool {
	made, _ := root.(ssa.Instruction)
	for _, from := range s.escapesOf(root) {
		if ins == nil || from.Parent() != ins.Parent() || leadsTo(from, ins, made.Block()) {
			return true
		}
	}
	return false
}

// leadsTo reports whether control can go from one instruction to another without entering block avoid again.
func leadsTo(from, to ssa.Instruction, avoid *ssa.BasicBlock) bool {
	if from.Block() == to.Block() {
		for _, ins := range from.Block().Instrs {
			if ins == from {
				return true
			}
			if ins == to {
				break
			}
		}
	}
	seen := newSet(len(from.Parent().Blocks))
	work := []*ssa.BasicBlock{from.Block()}
	for len(work) > 0 {
		b := work[len(work)-1]
		work = work[:len(work)-1]
		for _, succ := range b.Succs {
			if succ == avoid || seen.has(succ.Index) {
				continue
			}
			if succ == to.Block() {
				return true
			}
			seen.add(succ.Index)
			work = append(work, succ)
		}
	}
	return false
}

// escapesOf returns the instructions by which a value that a function has allocated escapes. A return is none
// of them, because the function is over then.
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
			to := pointee(ref.Addr)
			if local, ok := to.root.(*ssa.Alloc); !ok || len(f.s.escapesOf(local)) > 0 {
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
	for i, arg := range call.Args {
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
