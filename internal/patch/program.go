package patch

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"

	"golang.org/x/tools/go/packages"

	"github.com/heisen-go/heisen/internal/static"
)

// program is the source of a module, and what is known of its calls, its locks and its waits.
type program struct {
	*static.Program
	graph    *static.CallGraph
	locks    *static.Locks
	waits    *static.Waits
	parallel bool // some tests run at the same time as others

	written []map[*types.Var]bool // see writtenBy
	changed map[*types.Var]bool   // see changesVariable
	names   map[static.Key]string // see lockName
	ordered map[[2]string]bool    // see orders
	stalled map[string]ast.Node   // see heldWhileWaiting
}

func newProgram(all []*packages.Package, fset *token.FileSet) *program {
	p := &program{Program: static.NewProgram(fset, all)}
	p.graph = static.NewCallGraph(p.Program)
	p.locks = static.NewLocks(p.graph)
	p.waits = static.FindWaits(p.graph)
	for c := range p.calls {
		if c.Outside != nil && c.Outside.FullName() == "(*testing.T).Parallel" {
			p.parallel = true
		}
	}
	return p
}

// calls yields all calls of the program, in the order of their functions.
func (p *program) calls(yield func(*static.Call) bool) {
	for _, fn := range p.Functions {
		for _, c := range p.graph.Calls(fn) {
			if !yield(c) {
				return
			}
		}
	}
}

// position returns where something stands, as findings name it.
func (p *program) position(pos token.Pos) token.Position { return p.Fset.Position(pos) }

// place returns where a node stands, such as "bank.go:31".
func (p *program) place(n ast.Node) string {
	at := p.position(n.Pos())
	return fmt.Sprintf("%s:%d", filepath.Base(at.Filename), at.Line)
}

// known returns what is known of a call of a builtin function, of a conversion, or of a function of the standard
// library.
func known(info *types.Info, call *ast.CallExpr) static.Fact {
	switch fun := info.Types[call.Fun]; {
	case fun.IsBuiltin():
		return static.Prompt | static.StartsNothing | static.HandsOver
	case fun.IsType():
		return static.Prompt | static.StartsNothing
	}
	return static.Known(static.Callee(info, call))
}
