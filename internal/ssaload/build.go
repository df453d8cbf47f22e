package ssaload

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ssa"

	"github.com/heisen-go/heisen/internal/static"
)

// Build builds the SSA form of a package, and of nothing else: it needs of imported packages their types
// only, so that they can come from export data. Functions has the functions and literals with source, in its
// order; the instance of a generic function is not among them.
func Build(fset *token.FileSet, of *types.Package, files []*ast.File, info *types.Info) (pkg *ssa.Package, functions []*ssa.Function, err error) {
	prog := ssa.NewProgram(fset, ssa.BuilderMode(0))
	prog.SetNoReturn(func(fn *types.Func) bool { return static.Known(fn).Has(static.NeverReturns) })
	for _, imported := range of.Imports() {
		prog.CreatePackage(imported, nil, nil, true)
	}
	pkg = prog.CreatePackage(of, files, info, false)
	pkg.Build()
	var add func(fn *ssa.Function)
	add = func(fn *ssa.Function) {
		functions = append(functions, fn)
		for _, literal := range fn.AnonFuncs {
			add(literal)
		}
	}
	for _, file := range files {
		for _, decl := range file.Decls {
			decl, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			obj, ok := info.Defs[decl.Name].(*types.Func)
			if !ok {
				return nil, nil, fmt.Errorf("no type of %s", decl.Name.Name)
			}
			if fn := prog.FuncValue(obj); fn != nil {
				add(fn)
			}
		}
	}
	// Literals in the initial values of package-level variables.
	if init := pkg.Func("init"); init != nil {
		for _, literal := range init.AnonFuncs {
			add(literal)
		}
	}
	return pkg, functions, nil
}

// Origin returns the generic function of an instance, which is the one with a body. It returns other
// functions as they are.
func Origin(fn *ssa.Function) *ssa.Function {
	if o := fn.Origin(); o != nil {
		return o
	}
	return fn
}

// Arguments returns the arguments of a call, of which the first is the receiver of a method. They
// correspond to the parameters of the function that is called.
func Arguments(call *ssa.CallCommon) []ssa.Value {
	if !call.IsInvoke() {
		return call.Args
	}
	return append([]ssa.Value{call.Value}, call.Args...)
}

// IsAtomic reports whether fn is a function or method of sync/atomic.
func IsAtomic(fn *ssa.Function) bool {
	return fn != nil && fn.Object() != nil && fn.Object().Pkg() != nil && fn.Object().Pkg().Path() == "sync/atomic"
}

// IsGlobal reports whether v is the address of a package-level variable.
func IsGlobal(v ssa.Value) bool {
	_, ok := v.(*ssa.Global)
	return ok
}

// LeadsTo reports whether control can get from one instruction to another without entering block
// avoid again.
func LeadsTo(from, to ssa.Instruction, avoid *ssa.BasicBlock) bool {
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
	seen := make([]bool, len(from.Parent().Blocks))
	work := []*ssa.BasicBlock{from.Block()}
	for len(work) > 0 {
		b := work[len(work)-1]
		work = work[:len(work)-1]
		for _, succ := range b.Succs {
			if succ == avoid || seen[succ.Index] {
				continue
			}
			if succ == to.Block() {
				return true
			}
			seen[succ.Index] = true
			work = append(work, succ)
		}
	}
	return false
}

// Repeats reports whether control can get from a block to the same block again.
func Repeats(b *ssa.BasicBlock) bool {
	seen := make([]bool, len(b.Parent().Blocks))
	work := []*ssa.BasicBlock{b}
	for len(work) > 0 {
		at := work[len(work)-1]
		work = work[:len(work)-1]
		for _, succ := range at.Succs {
			if succ == b {
				return true
			}
			if !seen[succ.Index] {
				seen[succ.Index] = true
				work = append(work, succ)
			}
		}
	}
	return false
}
