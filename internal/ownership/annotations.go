package ownership

import (
	"go/ast"
	"go/token"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/heisen-go/heisen/focus"
)

// Annotations are comments in the form of gVisor's analyzer checklocks. Those of fields and package-level variables
// are read: such a variable is safe only if the locks that its annotations name are held. Those of functions are not
// needed, because all calls are known, and a plan may not rest on them.
const (
	locksPrefix  = "// +checklocks:"
	readsPrefix  = "// +checklocksread:"
	atomicsLine  = "// +checkatomic"
	anyOfThem    = "// +check" // also those that are not read
	commentStart = "//"
)

// annotation says which lock guards a variable.
type annotation struct {
	Position
	lock string // a path from the struct that has the variable, or a package-level variable
}

// is reports whether the annotation of a variable names the lock of a candidate, or an object that has the lock: a
// mutex of a type with methods of its own.
func (n annotation) is(c candidate) bool {
	named := func(lock string) bool { return lock == n.lock || strings.HasPrefix(lock, n.lock+".") }
	if c.guard.SameObject {
		return named(c.guard.Path)
	}
	return c.guard.Variable.Type == "" && named(c.guard.Variable.Name) ||
		named(c.guard.Variable.Type+"."+c.guard.Variable.Name)
}

// declared is a field or package-level variable in the source.
type declared struct {
	file *ast.File
	name focus.Variable
	// within has the names of the fields around it, with a dot behind each, if its struct has no name.
	within  string
	doc     *ast.CommentGroup
	comment *ast.CommentGroup
	at      token.Pos // of the declaration
	// together is set if several variables are declared together, or fields before this one are. checklocks takes
	// such fields for one, and counts those behind them wrongly.
	together bool
}

// declarations calls visit for the package-level variables of a package, and for the fields of its package-level types
// and variables.
func declarations(pkg *packages.Package, visit func(declared)) {
	for _, file := range pkg.Syntax {
		for _, decl := range file.Decls {
			gen, ok := decl.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range gen.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					fields(file, spec.Type, focus.Variable{Package: pkg.PkgPath, Type: spec.Name.Name}, "", visit)
				case *ast.ValueSpec:
					if gen.Tok != token.VAR {
						continue
					}
					d := declared{file: file, doc: spec.Doc, comment: spec.Comment, at: spec.Pos(), together: len(spec.Names) > 1}
					if !gen.Lparen.IsValid() {
						d.doc, d.at = gen.Doc, gen.Pos()
					}
					for _, name := range spec.Names {
						d.name = focus.Variable{Package: pkg.PkgPath, Name: name.Name}
						visit(d)
						fields(file, spec.Type, focus.Variable{Package: pkg.PkgPath, Type: name.Name}, "", visit)
					}
				}
			}
		}
	}
}

// fields calls visit for the fields of a struct type.
func fields(file *ast.File, typ ast.Expr, of focus.Variable, within string, visit func(declared)) {
	st, ok := typ.(*ast.StructType)
	if !ok {
		return
	}
	together := false
	for _, field := range st.Fields.List {
		together = together || len(field.Names) > 1
		for _, name := range field.Names {
			d := declared{file: file, name: of, within: within, doc: field.Doc, comment: field.Comment, at: field.Pos(), together: together}
			d.name.Name = within + name.Name
			visit(d)
			fields(file, field.Type, of, d.name.Name+".", visit)
		}
	}
}

// annotated reports whether a declaration has any annotation, and the locks that its annotations name.
func (d *declared) annotated() (some bool, locks []*ast.Comment) {
	for _, group := range []*ast.CommentGroup{d.doc, d.comment} {
		if group == nil {
			continue
		}
		for _, c := range group.List {
			some = some || strings.HasPrefix(c.Text, anyOfThem)
			if strings.HasPrefix(c.Text, locksPrefix) {
				locks = append(locks, c)
			}
		}
	}
	return some, locks
}

// readAnnotations reads the annotations of a package.
func (a *analysis) readAnnotations(pkg *packages.Package) {
	declarations(pkg, func(d declared) {
		_, locks := d.annotated()
		for _, c := range locks {
			lock := strings.TrimSpace(strings.TrimPrefix(c.Text, locksPrefix))
			note := annotation{a.position(c.Pos()), lock}
			if d.within != "" && pkg.Types.Scope().Lookup(strings.SplitN(lock, ".", 2)[0]) == nil {
				note.lock = d.within + lock
			}
			known := a.annotations[d.name]
			if len(known) == 0 || known[len(known)-1] != note { // test variants have the files again
				a.annotations[d.name] = append(known, note)
			}
		}
	})
}
