package changed

import (
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"regexp"
	"strings"

	"golang.org/x/tools/go/packages"
)

// A node is a declaration: the import path of its package, a space, and its key. See initializers for what is not one
// declaration.
type node string

func nodeOf(pkg, key string) node { return node(pkg + " " + key) }

// starts is the node of what starts other processes.
const starts node = "os StartProcess"

// graph says what declarations name.
type graph struct {
	edges   map[node]map[node]bool
	methods map[node][]string // names of the methods of a type
	called  *callable
}

func newGraph(called *callable) *graph {
	return &graph{edges: map[node]map[node]bool{}, methods: map[node][]string{}, called: called}
}

func (g *graph) add(from, to node) {
	if g.edges[from] == nil {
		g.edges[from] = map[node]bool{}
	}
	g.edges[from][to] = true
}

// addPackage adds the declarations of a package with their types.
func (g *graph) addPackage(pkg *packages.Package) {
	w := &walker{graph: g, pkg: pkg}
	usesC := false
	for _, file := range pkg.Syntax {
		for _, spec := range file.Imports {
			usesC = usesC || spec.Path.Value == `"C"`
		}
		start := nodeOf(pkg.PkgPath, initializers)
		if strings.HasSuffix(pkg.Fset.PositionFor(file.FileStart, false).Filename, "_test.go") && !strings.HasSuffix(pkg.Name, "_test") {
			start = nodeOf(pkg.PkgPath, testInitializers)
		}
		for _, d := range file.Decls {
			w.declaration(d, start)
		}
		w.linknames(file)
	}
	if len(pkg.OtherFiles) > 0 {
		w.assembly()
	}
	if usesC || len(pkg.CompiledGoFiles) > len(pkg.GoFiles) { // C may call what is exported to it
		for _, key := range w.keys {
			g.add(nodeOf(pkg.PkgPath, initializers), nodeOf(pkg.PkgPath, key))
		}
	}
}

// walker adds the declarations of one package.
type walker struct {
	*graph
	pkg  *packages.Package
	keys []string
}

func (w *walker) own(key string) node {
	w.keys = append(w.keys, key)
	return nodeOf(w.pkg.PkgPath, key)
}

// declaration adds a declaration. Start is the node of what runs at the start.
func (w *walker) declaration(d ast.Decl, start node) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		key := funcKey(d)
		at := w.own(key)
		if d.Recv == nil && d.Name.Name == initializers {
			at = start
		}
		if receiver, name, method := strings.Cut(key, "."); method {
			t := nodeOf(w.pkg.PkgPath, receiver)
			w.methods[t] = append(w.methods[t], name)
			if fn, ok := w.pkg.TypesInfo.Defs[d.Name].(*types.Func); ok {
				w.alias(at, fn, name)
			}
		}
		w.names(at, d)
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				w.names(w.own(s.Name.Name), s)
			case *ast.ValueSpec:
				for _, name := range s.Names {
					w.names(w.own(name.Name), s)
				}
				if d.Tok == token.VAR && !plainValues(s) {
					w.names(start, s)
				}
			}
		}
	}
}

// names adds edges to what the syntax of a declaration names, and to the types whose fields and methods it selects.
func (w *walker) names(at node, n ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			if obj := w.pkg.TypesInfo.Uses[n]; obj != nil {
				w.object(at, obj)
			}
		case *ast.SelectorExpr:
			if s := w.pkg.TypesInfo.Selections[n]; s != nil {
				w.named(at, s.Recv())
			}
		}
		return true
	})
}

// object adds an edge to a package-level object or a method.
func (w *walker) object(at node, obj types.Object) {
	if obj.Pkg() == nil {
		return
	}
	path := obj.Pkg().Path()
	if w.called.starting[path] {
		w.add(at, starts)
	}
	if fn, ok := obj.(*types.Func); ok {
		if startsProcess(path, fn.Name()) {
			w.add(at, starts)
		}
		if fn.Origin().Signature().Recv() != nil {
			if t := receiverOf(fn); t != nil {
				w.add(at, nodeOf(path, t.Name()+"."+fn.Name()))
				w.add(at, nodeOf(path, t.Name()))
			}
			return
		}
	}
	if obj.Parent() == obj.Pkg().Scope() {
		w.add(at, nodeOf(path, obj.Name()))
	}
}

// receiverOf returns the type to which a method belongs; nil if it has no name.
func receiverOf(method *types.Func) *types.TypeName {
	t := types.Unalias(method.Origin().Signature().Recv().Type())
	if p, ok := t.(*types.Pointer); ok {
		t = types.Unalias(p.Elem())
	}
	if n, ok := t.(*types.Named); ok {
		return n.Obj()
	}
	return nil
}

// alias adds an edge to the node of a method whose receiver has another name of its type: who calls it names the type.
func (w *walker) alias(at node, method *types.Func, name string) {
	if of := receiverOf(method); of != nil {
		t := nodeOf(w.pkg.PkgPath, of.Name())
		if by := t + node("."+name); by != at {
			w.add(by, at)
			w.methods[t] = append(w.methods[t], name)
		}
	}
}

// named adds edges to the named types that a type is made of.
func (w *walker) named(at node, t types.Type) {
	switch t := t.(type) {
	case *types.Alias:
		if obj := t.Obj(); obj.Pkg() != nil {
			w.add(at, nodeOf(obj.Pkg().Path(), obj.Name()))
		}
		w.named(at, types.Unalias(t))
	case *types.Pointer:
		w.named(at, t.Elem())
	case *types.Named:
		if obj := t.Obj(); obj.Pkg() != nil {
			w.add(at, nodeOf(obj.Pkg().Path(), obj.Name()))
		}
	}
}

// startsProcess reports whether a function of the standard library starts a process.
func startsProcess(path, name string) bool {
	switch path {
	case "os/exec":
		return strings.HasPrefix(name, "Command")
	case "os":
		return name == "StartProcess"
	case "syscall":
		return name == "StartProcess" || name == "ForkExec" || name == "Exec"
	}
	return false
}

// linknames adds edges for //go:linkname, in both directions: one of the two has no body.
func (w *walker) linknames(file *ast.File) {
	for _, group := range file.Comments {
		for _, c := range group.List {
			fields := strings.Fields(c.Text)
			if len(fields) != 3 || fields[0] != "//go:linkname" {
				continue
			}
			slash := strings.LastIndexByte(fields[2], '/')
			dot := strings.IndexByte(fields[2][slash+1:], '.')
			if dot < 0 {
				continue
			}
			dot += slash + 1
			local, far := nodeOf(w.pkg.PkgPath, fields[1]), nodeOf(fields[2][:dot], strings.NewReplacer("(*", "", ")", "").Replace(fields[2][dot+1:]))
			w.add(local, far)
			w.add(far, local)
		}
	}
}

// assemblyName matches a name of the package in assembly.
var assemblyName = regexp.MustCompile(`·([\p{L}_][\p{L}\p{N}_]*)`)

// assembly adds edges from what runs at the start to everything that assembly names, as it may be called from there.
func (w *walker) assembly() {
	for _, name := range w.pkg.OtherFiles {
		if !strings.HasSuffix(name, ".s") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			continue // the package does not compile
		}
		for _, m := range assemblyName.FindAllSubmatch(text, -1) {
			w.add(nodeOf(w.pkg.PkgPath, initializers), nodeOf(w.pkg.PkgPath, string(m[1])))
		}
	}
}

// reached returns everything that is reached from some nodes.
func (g *graph) reached(from []node) map[node]bool {
	seen := map[node]bool{}
	var work []node
	visit := func(n node) {
		if !seen[n] {
			seen[n] = true
			work = append(work, n)
		}
	}
	for _, n := range from {
		visit(n)
	}
	for len(work) > 0 {
		n := work[len(work)-1]
		work = work[:len(work)-1]
		for to := range g.edges[n] {
			visit(to)
		}
		for _, name := range g.methods[n] {
			if g.called.dynamically(name) {
				visit(n + node("."+name))
			}
		}
	}
	return seen
}
