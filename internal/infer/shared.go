package infer

import (
	"go/types"

	"golang.org/x/tools/go/ssa"

	"github.com/heisen-go/heisen/internal/ssaload"
)

// sharing decides which variables goroutines may share. It looks at one package, and errs on the
// side of shared, except as described at unshared.
//
//   - A package-level variable is shared.
//   - A local variable, and memory that a function allocates, is shared from the point where it is
//     stored in something that is not local, sent, or passed to a goroutine or to unknown code.
//   - Anything else that a pointer leads to is shared if its type is: if a value of the type, or of
//     a type that contains it, is stored in a package-level variable, handed to a goroutine or a
//     channel, captured by a literal that is not called on the spot, converted to an interface,
//     passed to another package, visible to other packages because it is exported, or has
//     something in it that only goroutines need: a mutex, an atomic variable, a channel.
//
// The types are collected in sharedtypes.go, and escapes.go finds where memory escapes.
type sharing struct {
	p       *program
	types   map[*types.TypeName]bool // types of this package whose values may be shared
	taken   map[*ssa.Function]bool   // functions that are used other than by calling them
	escapes map[ssa.Value][]ssa.Instruction
	params  map[*ssa.Parameter]fate
	closure map[*ssa.Function][]*ssa.MakeClosure
}

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
	s.synchronized()
	for _, member := range pkg.Members {
		if g, ok := member.(*ssa.Global); ok {
			s.addType(g.Type())
		}
	}
	for _, fn := range p.funcs {
		for _, b := range fn.Blocks {
			for _, ins := range b.Instrs {
				s.addShared(ins)
			}
		}
	}
	return s
}

// shared reports whether other goroutines may reach the variable at path p when control is at ins.
// If ins is nil, it reports whether they may ever reach it.
func (s *sharing) shared(p ssaload.Path, ins ssa.Instruction) bool {
	direct := true
	for _, step := range p.Steps {
		direct = direct && step.Kind != ssaload.DerefStep
	}
	if direct {
		roots, fresh := origins(p.Root)
		if fresh {
			for _, root := range roots {
				if s.escaped(root, ins) {
					return true
				}
			}
			return false
		}
		if fv, ok := p.Root.(*ssa.FreeVar); ok {
			return s.captured(fv)
		}
	}
	if !s.unshared(p) {
		if param, ok := p.Root.(*ssa.Parameter); ok && direct && owner(p) == nil {
			return s.param(param, map[*ssa.Parameter]bool{})
		}
		return true
	}
	return false
}

// owner returns the named type that contains the variable at the end of a path most closely, or nil.
func owner(p ssaload.Path) *types.Named {
	for i := len(p.Steps) - 1; i >= 0; i-- {
		if p.Steps[i].Kind == ssaload.FieldStep && p.Steps[i].Owner != nil {
			return p.Steps[i].Owner
		}
	}
	return ssaload.Named(ssaload.Deref(p.Root.Type()))
}

// unshared reports whether the type of the variable at the end of a path rules out that goroutines
// share it: the type is declared in this package and is not in s.types. Values that are shared only
// by unsafe code or reflection are missed.
func (s *sharing) unshared(p ssaload.Path) bool {
	n := owner(p)
	return n != nil && n.Obj().Pkg() == s.p.pass.Pkg && !s.types[n.Obj()]
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

// variable returns the local variable that the root of a path stands for. For a captured variable
// this is the variable in the outermost function.
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

// param reports whether the target of a parameter may be shared. If all calls are known, the
// arguments decide. visiting has the parameters of the calls in progress.
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
			arg := ssaload.Pointee(ssaload.Arguments(&call.Call)[i])
			if next, ok := arg.Root.(*ssa.Parameter); ok && len(arg.Steps) == 0 {
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
