package patch

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"

	"golang.org/x/tools/go/cfg"
	"golang.org/x/tools/go/packages"

	"github.com/heisen-go/heisen/internal/static"
)

// program is the source of a module, and what is known of its locks.
type program struct {
	*static.Program
	functions []*function // of Functions
	byCall    map[*ast.CallExpr]*call

	values   []*function        // used other than by calling them, apart from literals that are called at once; see inline
	taken    map[*function]bool // the same
	parallel bool               // some tests run at the same time as others
	locks    *locking
}

// function is a function or function literal with a body.
type function struct {
	*static.Function
	graph *cfg.CFG
	calls []*call
}

// name returns the name of a declared function, and says of a literal what it is.
func (fn *function) name() string {
	if decl, ok := fn.Node.(*ast.FuncDecl); ok {
		return decl.Name.Name
	}
	return "function literal"
}

// recv returns the receiver of a method, or nil.
func (fn *function) recv() *ast.FieldList {
	if decl, ok := fn.Node.(*ast.FuncDecl); ok {
		return decl.Recv
	}
	return nil
}

// call is a call expression in a function.
type call struct {
	in      *function
	expr    *ast.CallExpr
	started bool        // by a go statement
	later   bool        // by a defer statement
	callees []*function // of the module
	known   bool        // callees has all that may be called
	std     *types.Func // the function of another package that is called
}

func newProgram(all []*packages.Package, fset *token.FileSet) *program {
	p := &program{Program: static.NewProgram(fset, all), byCall: map[*ast.CallExpr]*call{}, taken: map[*function]bool{}}
	for _, fn := range p.Functions {
		graph := cfg.New(fn.Body, func(call *ast.CallExpr) bool { return static.MayReturn(fn.Info(), call) })
		p.functions = append(p.functions, &function{Function: fn, graph: graph})
	}
	for _, fn := range p.functions {
		p.findCalls(fn)
	}
	for _, fn := range p.of(p.Values()) {
		if !p.inline(fn) {
			p.values = append(p.values, fn)
			p.taken[fn] = true
		}
	}
	p.locks = newLocking(p)
	return p
}

// of returns what is known here of functions.
func (p *program) of(functions []*static.Function) (out []*function) {
	for _, fn := range functions {
		out = append(out, p.functions[fn.Number])
	}
	return out
}

// one returns what is known here of a function, nil for nil.
func (p *program) one(fn *static.Function) *function {
	if fn == nil {
		return nil
	}
	return p.functions[fn.Number]
}

// around returns the function that a node stands in, or nil.
func (p *program) around(n ast.Node) *function { return p.one(p.Around(n)) }

// position returns where something stands, as findings name it.
func (p *program) position(pos token.Pos) token.Position { return p.Fset.Position(pos) }

// findCalls finds the calls in a function, without those of literals in it.
func (p *program) findCalls(fn *function) {
	static.Own(fn.Body, func(n ast.Node) {
		expr, ok := n.(*ast.CallExpr)
		if !ok {
			return
		}
		c := p.callOf(fn, expr)
		fn.calls = append(fn.calls, c)
		p.byCall[expr] = c
		if c.std != nil && c.std.FullName() == "(*testing.T).Parallel" {
			p.parallel = true
		}
	})
}

// callOf describes a call.
func (p *program) callOf(fn *function, expr *ast.CallExpr) *call {
	c := &call{in: fn, expr: expr}
	switch p.Parent(expr).(type) {
	case *ast.GoStmt:
		c.started = true
	case *ast.DeferStmt:
		c.later = true
	}
	info := fn.Info()
	if lit, ok := ast.Unparen(expr.Fun).(*ast.FuncLit); ok {
		c.callees, c.known = []*function{p.one(p.Of(lit))}, true
		return c
	}
	used := static.Callee(info, expr)
	if used == nil { // unless it is a conversion or a builtin function, the call of a function value
		c.known = !info.Types[expr.Fun].IsValue()
		return c
	}
	for _, arg := range expr.Args {
		if lit, ok := arg.(*ast.FuncLit); ok && p.inline(p.one(p.Of(lit))) {
			c.callees = append(c.callees, p.one(p.Of(lit)))
		}
	}
	if recv := used.Signature().Recv(); recv != nil && types.IsInterface(recv.Type()) {
		c.std = used
		return c // see possible
	}
	c.known = true
	if callee := p.one(p.Declared(used)); callee != nil {
		c.callees = []*function{callee}
	} else {
		c.std = used
	}
	return c
}

// inline reports whether a function is a literal that a function of another package calls before it returns.
func (p *program) inline(fn *function) bool {
	call, ok := p.Parent(fn.Node).(*ast.CallExpr)
	if !ok || fn.Parent == nil || call.Fun == fn.Node {
		return false
	}
	switch p.Parent(call).(type) {
	case *ast.GoStmt, *ast.DeferStmt:
		return false
	}
	return known(fn.Info(), call).Has(callsBefore)
}

// possible returns the functions of the module that a call may call.
func (p *program) possible(c *call) []*function {
	if c.known {
		return c.callees
	}
	if c.std != nil { // through an interface
		return p.of(p.Methods(c.std.Name()))
	}
	return p.values
}

// place returns where a node stands, such as "bank.go:31".
func (p *program) place(n ast.Node) string {
	at := p.position(n.Pos())
	return fmt.Sprintf("%s:%d", filepath.Base(at.Filename), at.Line)
}
