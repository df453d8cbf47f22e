package ownership

import (
	"context"
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
	"golang.org/x/tools/go/ssa"

	"github.com/heisen-go/heisen/focus"
	"github.com/heisen-go/heisen/internal/ssaload"
)

// analysis is the source under analysis. Packages refer to what other packages declare by name, because each
// package has types of its own for what it imports.
type analysis struct {
	ctx       context.Context
	fset      *token.FileSet
	packages  []*source
	functions []*function
	byID      map[string]*function

	taken   map[string]bool // functions that are used other than by calling them
	invoked map[string]bool // names of methods that are called through interfaces
	inits   map[string]bool // functions that run only while packages are initialized

	lockers  map[memory]bool            // locks that are used through sync.Locker
	releases map[string]map[memory]bool // that functions may release for their callers
	acquires map[string][]acquired
	dynamic  map[memory]bool            // what a call of an unknown function may release
	methods  map[string]map[memory]bool // what a call of a method through an interface may release, by name

	structs   map[focus.Variable]*types.Named // by the variable without Name
	variables map[memory]*variable
	stores    []*storing
	exposed   map[focus.Variable]Reason // types whose values code by reflection, or of other packages, may access
	boxed     map[focus.Variable][]string
	captured  map[string]map[focus.Variable]bool // by signature: what literals of it capture

	notes []ssaload.Note
}

// source is a package under analysis.
type source struct {
	pkg       *packages.Package
	ssa       *ssa.Package
	spots     *ssaload.Spots
	publish   *publishing
	functions []*ssa.Function
}

// function is a function or literal with source.
type function struct {
	a       *analysis
	in      *source
	fn      *ssa.Function
	id      string
	name    focus.Function // empty if it is not certain
	places  *places
	entries []*locksAt // by block; nil: it cannot be reached

	unknownCallers bool
	callers        []*call
	calls          []*call
	accesses       []*access

	// inherited says, for each lock that callers are asked about, in which ways they hold it.
	inherited map[string]*inheritance
}

func newAnalysis(ctx context.Context, loaded *ssaload.Loaded) (*analysis, error) {
	a := &analysis{
		ctx: ctx, fset: loaded.Fset, byID: map[string]*function{}, notes: loaded.Notes,
		taken: map[string]bool{}, invoked: map[string]bool{}, lockers: map[memory]bool{},
		releases: map[string]map[memory]bool{}, acquires: map[string][]acquired{},
		structs: map[focus.Variable]*types.Named{}, variables: map[memory]*variable{},
		exposed: map[focus.Variable]Reason{}, boxed: map[focus.Variable][]string{}, captured: map[string]map[focus.Variable]bool{},
	}
	for _, pkg := range loaded.Packages {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := a.add(pkg); err != nil {
			return nil, err
		}
	}
	for _, f := range a.functions {
		a.findUses(f)
	}
	for _, f := range a.functions {
		f.unknownCallers = a.callersUnknown(f)
	}
	if err := a.solveLocks(); err != nil {
		return nil, err
	}
	a.findInits()
	for _, f := range a.functions {
		f.collect()
	}
	return a, ctx.Err()
}

// add builds a package and its functions.
func (a *analysis) add(pkg *packages.Package) error {
	built, functions, err := ssaload.Build(a.fset, pkg.Types, pkg.Syntax, pkg.TypesInfo)
	if err != nil {
		return err
	}
	if init := built.Func("init"); init != nil {
		functions = append(functions, init)
	}
	in := &source{pkg: pkg, ssa: built, functions: functions, spots: ssaload.NewSpots(pkg.Syntax, pkg.TypesInfo, functions)}
	local := map[*ssa.Function]bool{}
	for _, fn := range functions {
		local[fn] = true
	}
	in.publish = newPublishing(func(call *ssa.CallCommon) *ssa.Function {
		if callee := call.StaticCallee(); callee != nil && local[ssaload.Origin(callee)] {
			return ssaload.Origin(callee)
		}
		return nil
	})
	names := functionNames(pkg.Types, functions)
	for _, fn := range functions {
		f := &function{a: a, in: in, fn: fn, id: id(fn), name: names[fn], places: newPlaces(fn), inherited: map[string]*inheritance{}}
		if a.byID[f.id] != nil {
			continue // in another variant of the package
		}
		a.byID[f.id] = f
		a.functions = append(a.functions, f)
	}
	a.packages = append(a.packages, in)
	for _, obj := range pkg.TypesInfo.Defs {
		name, ok := obj.(*types.TypeName)
		if !ok || name.IsAlias() {
			continue
		}
		n, ok := name.Type().(*types.Named)
		if !ok {
			continue
		}
		if _, isStruct := n.Underlying().(*types.Struct); isStruct {
			if v, ok := typeName(n); ok {
				a.structs[v] = n
			}
		}
	}
	return nil
}

// findUses finds which functions a function uses other than by calling them.
func (a *analysis) findUses(f *function) {
	for _, b := range f.fn.Blocks {
		for _, ins := range b.Instrs {
			call, isCall := ins.(ssa.CallInstruction)
			if isCall && call.Common().IsInvoke() {
				a.invoked[call.Common().Method.Name()] = true
			}
			for _, operand := range ins.Operands(nil) {
				fn, ok := (*operand).(*ssa.Function)
				if !ok || isCall && operand == &call.Common().Value {
					continue
				}
				if closure, ok := ins.(*ssa.MakeClosure); ok && calledOnly(closure) {
					continue
				}
				a.taken[id(fn)] = true
				if obj, ok := fn.Object().(*types.Func); ok { // of a wrapper, the method
					a.taken[obj.Origin().FullName()] = true
				}
			}
			if box, ok := ins.(*ssa.MakeInterface); ok && lockType(ssaload.Deref(box.X.Type())) != notLock {
				if m, ok := f.memoryAt(box.X); ok {
					a.lockers[m] = true
				}
			}
		}
	}
}

// calledOnly reports whether a literal is used for calls only: where it stands, or by a defer or go statement.
func calledOnly(closure *ssa.MakeClosure) bool {
	for _, ref := range *closure.Referrers() {
		if _, ok := ref.(*ssa.DebugRef); ok {
			continue
		}
		call, ok := ref.(ssa.CallInstruction)
		if !ok || call.Common().Value != closure || slices.Contains(call.Common().Args, ssa.Value(closure)) {
			return false
		}
	}
	return true
}

// callersUnknown reports whether a function may be called from where the analysis does not see it.
func (a *analysis) callersUnknown(f *function) bool {
	obj := f.fn.Object()
	switch {
	case a.taken[f.id]:
		return true
	case obj == nil:
		return f.fn.Parent() == nil // the initialization of a package
	case obj.Name() == "main" || obj.Name() == "init":
		return true
	case f.fn.Signature.Recv() != nil:
		return obj.Exported() || a.invoked[obj.Name()]
	case !obj.Exported():
		return false
	}
	return f.in.pkg.Types.Name() != "main" || strings.HasSuffix(a.fset.Position(f.fn.Pos()).Filename, "_test.go")
}

// releasedBy returns the classes of locks that a call may release.
func (a *analysis) releasedBy(call *ssa.CallCommon) map[memory]bool {
	if _, ok := call.Value.(*ssa.Builtin); ok {
		return nil
	}
	if call.IsInvoke() {
		return a.methods[call.Method.Name()]
	}
	callee := call.StaticCallee()
	if callee == nil {
		return a.dynamic
	}
	if a.byID[id(callee)] != nil {
		return a.releases[id(callee)]
	}
	if synchronizes(callee) && !strings.Contains(callee.Name(), "Do") && callee.Name() != "Range" && callee.Name() != "Get" {
		return nil
	}
	return a.dynamic // a function of another package may call back
}

// solveLocks computes which locks are held where, and which functions acquire or release locks for their
// callers.
func (a *analysis) solveLocks() error {
	const rounds = 8
	for round := 0; ; round++ {
		a.collectDynamic()
		changed := false
		for _, f := range a.functions {
			f.solve()
		}
		for _, f := range a.functions {
			if f.collectReleases() {
				changed = true
			}
			if round < rounds && f.collectAcquires() {
				changed = true
			}
		}
		if err := a.ctx.Err(); err != nil {
			return err
		}
		if round == rounds {
			clear(a.acquires) // they depend on each other in circles: do without
			changed = true
		}
		if !changed {
			return nil
		}
	}
}

// collectDynamic computes what calls of unknown functions may release.
func (a *analysis) collectDynamic() {
	a.dynamic, a.methods = map[memory]bool{}, map[string]map[memory]bool{}
	for name, classes := range a.releases {
		f := a.byID[name]
		for class := range classes {
			if a.taken[name] {
				a.dynamic[class] = true
			}
			if obj := f.fn.Object(); obj != nil && f.fn.Signature.Recv() != nil {
				if a.methods[obj.Name()] == nil {
					a.methods[obj.Name()] = map[memory]bool{}
				}
				a.methods[obj.Name()][class] = true
			}
		}
	}
}

// instantiate returns the place in the caller for one in the called function.
func (f *function) instantiate(call *ssa.CallCommon, p place) (place, bool) {
	if p.root == "" {
		return place{}, false
	}
	var out place
	switch p.root[0] {
	case 'g':
		return place{root: p.root, steps: p.steps, through: p.through}, true
	case 'p':
		i := index(p.root[1:])
		args := ssaload.Arguments(call)
		if i >= len(args) {
			return place{}, false
		}
		out = f.places.of(args[i])
	case '&', 'f':
		closure, ok := call.Value.(*ssa.MakeClosure)
		i := index(strings.TrimLeft(p.root, "&f"))
		if !ok || i >= len(closure.Bindings) {
			return place{}, false
		}
		out = f.places.of(closure.Bindings[i])
		if p.root[0] == 'f' {
			if out = f.places.contentOf(closure.Bindings[i]); out.near == nil {
				return place{}, false
			}
		}
	default:
		return place{}, false
	}
	return out.with(p.steps, p.through), true
}

func index(digits string) (n int) {
	for _, c := range digits {
		n = 10*n + int(c-'0')
	}
	return n
}

// files returns the source files of the analyzed packages, without those that the go command generates.
func (a *analysis) files() (names []string) {
	seen := map[string]bool{}
	for _, in := range a.packages {
		for _, file := range in.pkg.Syntax {
			name := a.fset.PositionFor(file.Package, false).Filename
			if !seen[name] && filepath.Ext(name) == ".go" && slices.Contains(in.pkg.GoFiles, name) {
				seen[name] = true
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// syntax returns the function's declaration or literal, or nil.
func (f *function) syntax() ast.Node { return f.fn.Syntax() }
