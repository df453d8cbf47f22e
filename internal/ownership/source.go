package ownership

import (
	"context"
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
	ids       map[*ssa.Function]string
	paths     map[string]bool // import paths of the packages
	structs   map[focus.Variable]*types.Named

	annotations map[focus.Variable][]annotation

	taken   map[string]*types.Func // functions that are used other than by calling them; nil for literals
	methods map[string]bool        // full names of methods that can be called through interfaces
	open    map[string]bool        // of those, the ones of which not all such calls are known
	twice   map[string]bool        // names of functions of which there are several
	boxes   *boxes

	reflected      map[string]bool // types whose values may be accessed by reflection, by key
	reflectedKinds []string        // and interfaces with such values, by their methods
	opening        []types.Type    // types that are not tracked any more

	classes  classes             // of locks
	lockers  classSet            // locks that are used through sync.Locker
	releases map[string]classSet // that functions may release for their callers
	acquires map[string][]acquired
	dynamic  classSet            // what a call of an unknown function may release
	released map[string]classSet // what a call of a method through an interface may release, by name

	leaving        map[*function]bool // may return while goroutines run that they have started
	leavingUnknown bool               // so may functions of which not all calls are known

	variables map[memory]*variable
	transfers []transfer
	boxed     map[string]boxedType // what is converted to interfaces
	captured  map[string][]carrier
	racy      map[memory]Reason // objects that other goroutines may get to know without being ordered after what was done before
	orphans   []orphan
	nameless  map[ssa.Instruction]bool // those of orphans
	widened   []widening

	proofs    *proofs
	verdicts  map[memory]*verdict
	merged    map[memory]memory // elements that are not told apart from others, to all of them
	aliased   map[memory]bool   // elements that several variables may have
	pointers  map[memory]memory // variables to which pointers lead, to what these lead to
	shown     []memory          // those of them that have names
	singles   []memory          // locks in single objects
	sorted    []memory
	racyKinds map[string]bool // interfaces and signatures whose contents are racy
	seenOnly  bool            // judge as if there were no accesses but those that are seen
}

// source is a package under analysis.
type source struct {
	pkg     *packages.Package
	spots   *ssaload.Spots
	publish *publishing
	linked  bool // functions may be called by names that the linker knows
	outside bool // of the standard library: others may import it
}

// function is a function or literal with source.
type function struct {
	a       *analysis
	in      *source
	fn      *ssa.Function
	id      string
	name    focus.Function // empty if it is not certain
	places  *places
	locks   map[ssa.Value]held // by pointer
	entries []*locksAt         // by block; nil: it cannot be reached

	initializes    bool // it is the initialization of a package
	unknownCallers bool
	callers        []*call
	accesses       []*access
	alone          map[ssa.Instruction]bool // when no other goroutine runs, see alone.go
	keepsTo        map[ssa.Instruction]bool // stores to local objects, see local.go
}

func newAnalysis(ctx context.Context, loaded *ssaload.Loaded) (*analysis, error) {
	a := &analysis{
		ctx: ctx, fset: loaded.Fset, byID: map[string]*function{}, ids: map[*ssa.Function]string{}, paths: map[string]bool{},
		structs: map[focus.Variable]*types.Named{}, annotations: map[focus.Variable][]annotation{}, taken: map[string]*types.Func{}, methods: map[string]bool{},
		open: map[string]bool{}, twice: map[string]bool{}, reflected: map[string]bool{}, pointers: map[memory]memory{},
		classes: newClasses(), releases: map[string]classSet{}, acquires: map[string][]acquired{},
		variables: map[memory]*variable{}, boxed: map[string]boxedType{}, captured: map[string][]carrier{},
	}
	for _, pkg := range loaded.Packages {
		if followedPackages[pkg.PkgPath] {
			continue // what it declares is that of another package
		}
		a.paths[pkg.PkgPath] = true
		a.addTypes(pkg)
		a.readAnnotations(pkg)
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
		f.findUses()
	}
	for _, f := range a.functions {
		f.unknownCallers = f.callersUnknown()
	}
	a.findBoxes()
	if err := a.solveLocks(); err != nil {
		return nil, err
	}
	for _, f := range a.functions {
		f.collect()
	}
	for _, in := range a.packages {
		a.exposeInstances(in)
	}
	a.exposeWidened()
	a.findAlone()
	a.findLocal()
	return a, ctx.Err()
}

// addTypes adds the struct types that a package declares outside of functions.
func (a *analysis) addTypes(pkg *packages.Package) {
	scope := pkg.Types.Scope()
	for _, name := range scope.Names() {
		obj, ok := scope.Lookup(name).(*types.TypeName)
		if !ok || obj.IsAlias() {
			continue
		}
		n, ok := obj.Type().(*types.Named)
		if !ok {
			continue
		}
		if _, isStruct := n.Underlying().(*types.Struct); isStruct {
			a.structs[focus.Variable{Package: pkg.PkgPath, Type: name}] = n
		}
	}
}

// add builds a package and its functions.
func (a *analysis) add(pkg *packages.Package) error {
	built, functions, err := ssaload.Build(a.fset, pkg.Types, pkg.Syntax, pkg.TypesInfo)
	if err != nil {
		return err
	}
	initialization := built.Func("init")
	if initialization != nil {
		functions = append(functions, initialization)
	}
	in := &source{pkg: pkg, linked: linkedByName(pkg), outside: followedPackages[pkg.PkgPath], spots: ssaload.NewSpots(pkg.Syntax, pkg.TypesInfo, functions)}
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
		f := &function{a: a, in: in, fn: fn, id: a.id(fn), name: names[fn], places: newPlaces(fn), locks: map[ssa.Value]held{}, initializes: fn == initialization}
		if obj := fn.Object(); obj != nil && obj.Name() == "init" && fn.Signature.Recv() == nil {
			f.initializes = true
		}
		if a.byID[f.id] != nil {
			a.twice[f.id] = true
			f.id += "'" // functions named _, or of a package that was loaded twice
			f.unknownCallers = true
		}
		a.byID[f.id] = f
		a.functions = append(a.functions, f)
	}
	a.packages = append(a.packages, in)
	return nil
}

// position returns a position as reports have it.
func (a *analysis) position(pos token.Pos) Position {
	at := a.fset.Position(pos)
	return Position{File: at.Filename, Line: at.Line}
}

// files returns the source files of the analyzed packages, without those that the go command generates.
func (a *analysis) files() (names []string) {
	seen := map[string]bool{}
	for _, in := range a.packages {
		if in.outside {
			continue
		}
		for _, name := range in.pkg.GoFiles {
			if !seen[name] && filepath.Ext(name) == ".go" {
				seen[name] = true
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// isTest reports whether a function is in a file of tests.
func (f *function) isTest() bool {
	return strings.HasSuffix(f.a.fset.Position(f.fn.Pos()).Filename, "_test.go")
}
