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

// program is the source of a module.
type program struct {
	fset      *token.FileSet
	packages  []*packages.Package
	functions []*function
	byObject  map[object]*function
	byNode    map[ast.Node]*function
	files     map[string]*file // by name
	parents   map[ast.Node]ast.Node
	byCall    map[*ast.CallExpr]*call

	methods  map[string][]*function // by name, for calls through interfaces
	taken    map[*function]bool     // used other than by calling them
	values   []*function            // the same, in order; see allTaken
	parallel bool                   // some tests run at the same time as others
	locks    *locking
}

// file is a file of the program.
type file struct {
	name   string
	syntax *ast.File
	pkg    *packages.Package
	cgo    bool // the syntax is what cgo has made of the file
}

// object identifies what is declared. Packages that import each other have different types.Objects
// for the same declaration.
type object struct {
	name string
	file string
	line int
}

// function is a function or function literal with a body.
type function struct {
	pkg    *packages.Package
	file   *file
	node   ast.Node // *ast.FuncDecl or *ast.FuncLit
	typ    *ast.FuncType
	recv   *ast.FieldList
	body   *ast.BlockStmt
	parent *function // around a literal
	graph  *cfg.CFG
	name   string
	calls  []*call
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
	p := &program{
		fset: fset, packages: all,
		byObject: map[object]*function{}, byNode: map[ast.Node]*function{}, files: map[string]*file{},
		parents: map[ast.Node]ast.Node{}, byCall: map[*ast.CallExpr]*call{}, methods: map[string][]*function{}, taken: map[*function]bool{},
	}
	for _, pkg := range all {
		for i, syntax := range pkg.Syntax {
			name := fset.PositionFor(syntax.Package, false).Filename
			if p.files[name] != nil {
				continue // in another variant of the package
			}
			f := &file{name: name, syntax: syntax, pkg: pkg}
			f.cgo = i < len(pkg.CompiledGoFiles) && fset.Position(syntax.Package).Filename != name && filepath.Ext(fset.Position(syntax.Package).Filename) == ".go"
			p.files[name] = f
			p.addFile(f)
		}
	}
	for _, fn := range p.functions {
		p.findCalls(fn)
	}
	p.locks = newLocking(p)
	return p
}

// addFile finds the functions of a file, and the parents of its nodes.
func (p *program) addFile(f *file) {
	var stack []ast.Node
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		if n == nil {
			stack = stack[:len(stack)-1]
			return true
		}
		if len(stack) > 0 {
			p.parents[n] = stack[len(stack)-1]
		}
		stack = append(stack, n)
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Body != nil {
				p.addFunction(&function{pkg: f.pkg, file: f, node: n, typ: n.Type, recv: n.Recv, body: n.Body, name: n.Name.Name})
			}
		case *ast.FuncLit:
			p.addFunction(&function{pkg: f.pkg, file: f, node: n, typ: n.Type, body: n.Body, name: "function literal", parent: p.around(n)})
		}
		return true
	})
}

func (p *program) addFunction(fn *function) {
	fn.graph = cfg.New(fn.body, func(call *ast.CallExpr) bool { return static.MayReturn(fn.pkg.TypesInfo, call) })
	p.functions = append(p.functions, fn)
	p.byNode[fn.node] = fn
	if decl, ok := fn.node.(*ast.FuncDecl); ok {
		if obj := fn.pkg.TypesInfo.Defs[decl.Name]; obj != nil {
			p.byObject[p.object(obj)] = fn
		}
		if decl.Recv != nil {
			p.methods[decl.Name.Name] = append(p.methods[decl.Name.Name], fn)
		}
	}
}

// around returns the function that a node stands in, or nil.
func (p *program) around(n ast.Node) *function {
	for n = p.parents[n]; n != nil; n = p.parents[n] {
		if fn := p.byNode[n]; fn != nil {
			return fn
		}
	}
	return nil
}

// object returns the identity of what is declared.
func (p *program) object(obj types.Object) object {
	if v, ok := obj.(*types.Var); ok {
		obj = v.Origin()
	}
	if f, ok := obj.(*types.Func); ok {
		obj = f.Origin()
	}
	at := p.fset.PositionFor(obj.Pos(), false)
	return object{obj.Name(), at.Filename, at.Line}
}

// position returns where something stands, as findings name it.
func (p *program) position(pos token.Pos) token.Position { return p.fset.Position(pos) }

// findCalls finds the calls in a function, without those of literals in it, and the functions that are used
// other than by calling them.
func (p *program) findCalls(fn *function) {
	info := fn.pkg.TypesInfo
	inspectOwn(fn.body, func(n ast.Node) {
		switch n := n.(type) {
		case *ast.CallExpr:
			c := p.callOf(fn, n)
			fn.calls = append(fn.calls, c)
			p.byCall[n] = c
			if c.std != nil && c.std.FullName() == "(*testing.T).Parallel" {
				p.parallel = true
			}
		case *ast.FuncLit:
			if call, ok := p.parents[n].(*ast.CallExpr); !p.inline(p.byNode[n]) && (!ok || call.Fun != n) {
				p.taken[p.byNode[n]] = true
			}
		case *ast.Ident:
			f, ok := info.Uses[n].(*types.Func)
			if !ok {
				return
			}
			var whole ast.Node = n
			if sel, ok := p.parents[n].(*ast.SelectorExpr); ok && sel.Sel == n {
				whole = sel
			}
			if call, ok := p.parents[whole].(*ast.CallExpr); ok && call.Fun == whole {
				return
			}
			if callee := p.byObject[p.object(f)]; callee != nil {
				p.taken[callee] = true
			}
		}
	})
}

// callOf describes a call.
func (p *program) callOf(fn *function, expr *ast.CallExpr) *call {
	c := &call{in: fn, expr: expr}
	switch p.parents[expr].(type) {
	case *ast.GoStmt:
		c.started = true
	case *ast.DeferStmt:
		c.later = true
	}
	info := fn.pkg.TypesInfo
	var used types.Object
	switch fun := ast.Unparen(expr.Fun).(type) {
	case *ast.FuncLit:
		c.callees, c.known = []*function{p.byNode[fun]}, true
		return c
	case *ast.Ident:
		used = info.Uses[fun]
	case *ast.SelectorExpr:
		used = info.Uses[fun.Sel]
	case *ast.IndexExpr: // an instance of a generic function
		if id, ok := fun.X.(*ast.Ident); ok {
			used = info.Uses[id]
		}
	default:
		if tv := info.Types[expr.Fun]; tv.IsType() {
			c.known = true
		}
		return c
	}
	switch used := used.(type) {
	case *types.Builtin, *types.TypeName:
		c.known = true
	case *types.Func:
		for _, arg := range expr.Args {
			if lit, ok := arg.(*ast.FuncLit); ok && p.inline(p.byNode[lit]) {
				c.callees = append(c.callees, p.byNode[lit])
			}
		}
		if recv := used.Signature().Recv(); recv != nil && types.IsInterface(recv.Type()) {
			c.std = used
			return c // see possible
		}
		c.known = true
		if callee := p.byObject[p.object(used)]; callee != nil {
			c.callees = []*function{callee}
		} else {
			c.std = used
		}
	}
	return c
}

// inline reports whether a function is a literal that a function of another package calls before it returns.
func (p *program) inline(fn *function) bool {
	call, ok := p.parents[fn.node].(*ast.CallExpr)
	if !ok || fn.parent == nil || call.Fun == fn.node {
		return false
	}
	switch p.parents[call].(type) {
	case *ast.GoStmt, *ast.DeferStmt:
		return false
	}
	return known(fn.pkg.TypesInfo, call).Has(callsBefore)
}

// possible returns the functions of the module that a call may call.
func (p *program) possible(c *call) []*function {
	if c.known {
		return c.callees
	}
	if c.std != nil { // through an interface
		return p.methods[c.std.Name()]
	}
	return p.allTaken()
}

// allTaken returns the functions that are used other than by calling them. All calls have been found.
func (p *program) allTaken() []*function {
	if p.values == nil {
		p.values = []*function{}
		for _, fn := range p.functions {
			if p.taken[fn] {
				p.values = append(p.values, fn)
			}
		}
	}
	return p.values
}

// inspectOwn calls visit with the nodes of a function without those in literals in it.
func inspectOwn(n ast.Node, visit func(ast.Node)) {
	ast.Inspect(n, func(inner ast.Node) bool {
		if inner == nil {
			return false
		}
		visit(inner)
		_, literal := inner.(*ast.FuncLit)
		return !literal || inner == n
	})
}

// place returns where a node stands, such as "bank.go:31".
func (p *program) place(n ast.Node) string {
	at := p.position(n.Pos())
	return fmt.Sprintf("%s:%d", filepath.Base(at.Filename), at.Line)
}
