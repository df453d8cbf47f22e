package enforce

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"strings"

	"github.com/heisen-go/heisen/heal"
	"github.com/heisen-go/heisen/internal/ssaload"
	"github.com/heisen-go/heisen/internal/static"
)

// ErrSource is wrapped by errors of Load about source that does not compile.
var ErrSource = errors.New("the source cannot be analyzed")

// Program is the source of a module.
type Program struct {
	root    string
	version string // of the language, in go.mod
	src     *static.Program
	units   []*unit           // of the functions of src
	graph   *static.CallGraph // its nodes are the targets of calls
	locks   *static.Locks
	waits   *static.Waits
	fields  map[static.Key]string

	sites     map[place]map[bool][]string // variables that are accessed on a line, by whether they are written
	known     map[place]map[bool][]string // the same without variables that are only made there
	addressed map[string]token.Pos        // variables whose address is taken
	written   map[string]bool             // variables that are written other than where they are made

	looping   map[*types.Var]bool             // see findLooping
	iterating []int                           // functions with loops over functions
	loopers   map[int][]int                   // those that loop over each function
	deferrers map[*unit][]*unit               // functions that defer calls of a function
	captured  map[*types.Var]*static.Function // local variables that have names, and where they are declared

	layouts map[string][]heal.Field // where variables are in objects, by their names
	sizes   []uint64                // of these objects

	groups  map[string][]string // variables of groups, by the names of these; see grouped
	groupBy map[string]string   // names of groups, by variable

	reach map[string][]reaching // by variable and target; made when it is wanted
}

// place is a line of a file.
type place struct {
	file string
	line int
}

// unit is a function or function literal with a body.
type unit struct {
	*static.Function
	flow *flow
	// outline has what is the same for all plans; nil until it is wanted.
	outline *heal.Function
	direct  map[string]bool // variables that it accesses, and whether it writes them
}

// Load type-checks the module in the folder root, with its tests. tags are build tags besides race.
func Load(ctx context.Context, root string, tags []string) (*Program, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	if real, err := filepath.EvalSymlinks(root); err == nil {
		root = real
	}
	l, err := ssaload.Source{Dir: root, Packages: []string{"./..."}, Tags: tags, Tests: true}.LoadAll(ctx)
	if err == nil {
		err = l.Err
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSource, err)
	}
	p := &Program{
		root: root, src: static.NewProgram(l.Fset, l.Packages), fields: map[static.Key]string{},
		sites: map[place]map[bool][]string{}, addressed: map[string]token.Pos{},
		known: map[place]map[bool][]string{}, written: map[string]bool{},
		reach: map[string][]reaching{},
	}
	for _, pkg := range l.Packages {
		if pkg.Module != nil {
			p.version = pkg.Module.GoVersion
		}
	}
	if p.version == "" {
		p.version = "1.16" // as the go command does
	}
	for _, f := range p.src.Files() {
		p.addTypes(f)
	}
	p.addCaptured()
	for _, fn := range p.src.Functions {
		p.units = append(p.units, &unit{Function: fn})
	}
	p.graph = static.NewCallGraph(p.src)
	p.locks = static.NewLocks(p.graph)
	p.waits = static.FindWaits(p.graph)
	p.findLooping()
	p.findIterating()
	for _, u := range p.units {
		u.flow = p.flowOf(u)
		u.direct = map[string]bool{}
		for _, s := range u.flow.steps {
			for _, a := range s.accesses {
				if !a.made {
					u.direct[a.variable] = u.direct[a.variable] || a.write
				}
			}
		}
	}
	p.findSites()
	p.findDeferrers()
	p.findLayouts()
	return p, nil
}

// foreign reports whether a file is not part of the module as it is read: cgo or another generator has made it.
func (p *Program) foreign(f *static.File) bool {
	rel, err := filepath.Rel(p.root, f.Path)
	return err != nil || !filepath.IsLocal(rel) || f.Source != f.Path
}

// addTypes names the package-level variables of a file and the fields of its struct types.
func (p *Program) addTypes(f *static.File) {
	pkg := strings.TrimSuffix(f.Package.PkgPath, ".test")
	for _, d := range f.Syntax.Decls {
		d, ok := d.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.ValueSpec:
				for _, name := range s.Names {
					if v, ok := f.Info().Defs[name].(*types.Var); ok {
						p.fields[p.src.Key(v)] = pkg + "." + v.Name()
						p.addStruct(f, pkg+"."+v.Name(), s.Type)
					}
				}
			case *ast.TypeSpec:
				p.addStruct(f, pkg+"."+s.Name.Name, s.Type)
			}
		}
	}
	ast.Inspect(f.Syntax, func(n ast.Node) bool { // types within functions, and without names
		switch n := n.(type) {
		case *ast.TypeSpec:
			p.addStruct(f, pkg+"."+n.Name.Name, n.Type)
		case *ast.StructType:
			at := p.src.Fset.PositionFor(n.Pos(), false)
			p.addStruct(f, fmt.Sprintf("%s.struct@%s:%d", pkg, filepath.Base(at.Filename), at.Line), n)
		}
		return true
	})
}

// addStruct names the fields of a struct type.
func (p *Program) addStruct(f *static.File, name string, typ ast.Expr) {
	st, ok := typ.(*ast.StructType)
	if !ok {
		return
	}
	for _, field := range st.Fields.List {
		names := field.Names
		if len(names) == 0 {
			if id := embeddedName(field.Type); id != nil {
				names = []*ast.Ident{id}
			}
		}
		for _, id := range names {
			v, ok := f.Info().Defs[id].(*types.Var)
			if !ok {
				if v, ok = embeddedField(f.Info(), st, id); !ok {
					continue
				}
			}
			if k := p.src.Key(v); p.fields[k] == "" {
				p.fields[k] = name + "." + v.Name()
				p.addStruct(f, name+"."+v.Name(), field.Type)
			}
		}
	}
}

func embeddedName(e ast.Expr) *ast.Ident {
	switch e := e.(type) {
	case *ast.Ident:
		return e
	case *ast.StarExpr:
		return embeddedName(e.X)
	case *ast.SelectorExpr:
		return e.Sel
	case *ast.IndexExpr:
		return embeddedName(e.X)
	case *ast.IndexListExpr:
		return embeddedName(e.X)
	}
	return nil
}

// embeddedField returns the embedded field with the name id.
func embeddedField(info *types.Info, st *ast.StructType, id *ast.Ident) (*types.Var, bool) {
	t, ok := info.TypeOf(st).(*types.Struct)
	if !ok {
		return nil, false
	}
	for i := range t.NumFields() {
		if v := t.Field(i); v.Embedded() && v.Name() == id.Name {
			return v, true
		}
	}
	return nil, false
}

func (p *Program) relative(name string) string {
	if rel, err := filepath.Rel(p.root, name); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return name
}
