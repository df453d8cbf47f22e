package infer

import (
	"go/types"
	"reflect"
	"sync"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"

	"github.com/heisen-go/heisen/internal/ssaload"
)

// Accesses is the analyzer that all patterns require: it builds the SSA form of a package and finds
// what its instructions access. Unlike passes/buildssa it needs no facts of imported packages, so
// that imports can come from export data.
var Accesses = &analysis.Analyzer{
	Name:       "accesses",
	Doc:        "find the accesses to variables that goroutines may share",
	Run:        func(pass *analysis.Pass) (any, error) { return newProgram(pass) },
	ResultType: reflect.TypeFor[*program](),
}

// program is a package under analysis.
type program struct {
	// The analyzers of a package run at the same time, and they compute some of the fields below
	// lazily.
	mu sync.Mutex

	pass    *analysis.Pass
	funcs   []*ssa.Function // functions and literals with source, in its order
	spots   *ssaload.Spots
	byIns   map[ssa.Instruction]*access
	byFn    map[*ssa.Function][]*access
	calls   map[*ssa.Function][]*ssa.Call // calls with a known callee, by callee
	invoked map[string]bool               // names of methods that are called through interfaces
	started map[*ssa.Function]bool        // functions that go and defer statements call
	prog    *ssa.Program
	single  map[*types.Func]*ssa.Function // of methods of interfaces, what implementation returns
	shared  *sharing
	writes  *written
	locks   *locking
	graphs  map[*ssa.Function]*graph
	reach   map[*ssa.Function]map[types.Object]bool
}

func newProgram(pass *analysis.Pass) (*program, error) {
	pkg, functions, err := ssaload.Build(pass.Fset, pass.Pkg, pass.Files, pass.TypesInfo)
	if err != nil {
		return nil, err
	}
	p := &program{
		pass:    pass,
		funcs:   functions,
		byIns:   map[ssa.Instruction]*access{},
		byFn:    map[*ssa.Function][]*access{},
		calls:   map[*ssa.Function][]*ssa.Call{},
		invoked: map[string]bool{},
		started: map[*ssa.Function]bool{},
		prog:    pkg.Prog,
		single:  map[*types.Func]*ssa.Function{},
		graphs:  map[*ssa.Function]*graph{},
		reach:   map[*ssa.Function]map[types.Object]bool{},
	}
	p.spots = ssaload.NewSpots(pass.Files, pass.TypesInfo, p.funcs)
	for _, fn := range p.funcs {
		for _, b := range fn.Blocks {
			for _, ins := range b.Instrs {
				if call, ok := ins.(ssa.CallInstruction); ok && call.Common().IsInvoke() {
					p.invoked[call.Common().Method.Name()] = true
				}
				switch call := ins.(type) {
				case *ssa.Go, *ssa.Defer:
					if callee := p.body(call.(ssa.CallInstruction).Common()); callee != nil {
						p.started[callee] = true
					}
				case *ssa.Call:
					if callee := call.Call.StaticCallee(); callee != nil {
						p.calls[ssaload.Origin(callee)] = append(p.calls[ssaload.Origin(callee)], call)
					} else if callee := p.body(&call.Call); callee != nil {
						p.calls[callee] = append(p.calls[callee], call)
					}
				}
				if a := p.accessOf(ins); a != nil {
					p.byIns[ins] = a
					p.byFn[fn] = append(p.byFn[fn], a)
				}
			}
		}
	}
	p.shared = newSharing(p, pkg)
	p.writes = newWritten(p)
	p.locks = newLocking(p)
	return p, nil
}
