package changed

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"

	"github.com/heisen-go/heisen/internal/source"
)

// What runs when a package is initialized has these keys: in its sources, and in its tests that are of the same package.
const (
	initializers     = "init"
	testInitializers = "init of tests"
)

// A version is the declarations of some files of a package, at one time.
type version struct {
	decls map[string]string // keys of declarations, and their texts
	runs  []string          // what runs at the start: init functions, initial values with effects, blank imports
	rest  []string          // what concerns the package as a whole: constraints, directives outside of declarations, dot imports
	uses  map[string]bool   // import paths
	cgo   bool
}

func newVersion() *version { return &version{decls: map[string]string{}, uses: map[string]bool{}} }

// add adds a file. Declarations of several files with the same key, as init and _, are one.
func (v *version) add(name string, text []byte) error {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	f := &fileDecls{version: v, fset: fset, file: file, text: text, paths: map[string]string{}}
	f.addImports(file)
	f.imports(name)
	for _, d := range file.Decls {
		f.declaration(d)
	}
	f.directives()
	return nil
}

// addImports adds what a file imports.
func (v *version) addImports(file *ast.File) {
	for _, spec := range file.Imports {
		if path, err := strconv.Unquote(spec.Path.Value); err == nil {
			v.uses[path] = true
		}
	}
}

// fileDecls is a file of which a version takes the declarations.
type fileDecls struct {
	*version
	fset  *token.FileSet
	file  *ast.File
	text  []byte
	paths map[string]string // what names of imports stand for
	taken []ast.Node        // declarations that have their directives
	moved string            // added to all declarations: two imports whose names cannot be told apart
}

// imports reads the imports. The name of a package need not be the last part of its path; then all declarations of the
// file have all such paths in their texts.
func (f *fileDecls) imports(name string) {
	for _, spec := range f.file.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		base := path[strings.LastIndexByte(path, '/')+1:]
		switch {
		case path == "C":
			f.cgo = true
		case spec.Name == nil && token.IsIdentifier(base) && !isVersion(base):
			f.paths[base] = path
		case spec.Name == nil:
			f.moved += " " + path
		case spec.Name.Name == "_":
			f.runs = append(f.runs, "import "+path)
		case spec.Name.Name == ".":
			f.rest = append(f.rest, "import . "+path+" in "+name)
		default:
			f.paths[spec.Name.Name] = path
		}
	}
}

// isVersion reports whether the last part of an import path is one as v2, before which the package's name stands.
func isVersion(base string) bool {
	digits := strings.TrimPrefix(base, "v")
	_, err := strconv.Atoi(digits)
	return err == nil && digits != base
}

func (f *fileDecls) declaration(d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		text := f.tokens(d, d.Doc)
		if d.Recv == nil && d.Name.Name == initializers {
			f.runs = append(f.runs, text)
		} else {
			f.put(funcKey(d), text)
		}
	case *ast.GenDecl:
		repeats := d.Tok == token.CONST && slices.ContainsFunc(d.Specs, func(s ast.Spec) bool { return len(s.(*ast.ValueSpec).Values) == 0 })
		for i, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				f.put(s.Name.Name, f.tokens(s, d.Doc, s.Doc))
			case *ast.ValueSpec:
				text := f.tokens(s, d.Doc, s.Doc)
				if d.Tok == token.CONST {
					text = fmt.Sprint(i, " ", text) // iota
					if repeats {
						text = fmt.Sprint(i, " ", f.tokens(d, d.Doc))
					}
				}
				for _, name := range s.Names {
					f.put(name.Name, text)
				}
				if d.Tok == token.VAR && !plainValues(s) {
					f.runs = append(f.runs, text)
				}
			}
		}
	}
}

func (f *fileDecls) put(key, text string) {
	if key != "_" {
		f.decls[key] += text + f.moved + "\n"
	}
}

// funcKey returns the key of a function or method.
func funcKey(d *ast.FuncDecl) string {
	if receiver, _ := source.ReceiverType(d); receiver != "" {
		return receiver + "." + d.Name.Name
	}
	return d.Name.Name
}

// plainValues reports whether the initial values of variables call nothing but what makes an error or a pattern of constants, or
// converts, and so have no other effect than their value.
func plainValues(s *ast.ValueSpec) bool {
	plain := true
	for _, value := range s.Values {
		ast.Inspect(value, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncLit:
				return false
			case *ast.UnaryExpr:
				plain = plain && n.Op != token.ARROW
			case *ast.CallExpr:
				plain = plain && isPlainCall(n)
			}
			return plain
		})
	}
	return plain
}

// isPlainCall reports whether a call is one of a function of the standard library, by its usual name, that only makes a value.
func isPlainCall(call *ast.CallExpr) bool {
	switch fun := call.Fun.(type) {
	case *ast.Ident:
		return fun.Name == "make" || fun.Name == "new" || fun.Name == "len" || fun.Name == "cap"
	case *ast.SelectorExpr:
		pkg, ok := fun.X.(*ast.Ident)
		return ok && slices.Contains([]string{"errors.New", "fmt.Errorf", "fmt.Sprintf", "regexp.MustCompile", "strings.NewReplacer"}, pkg.Name+"."+fun.Sel.Name)
	}
	return false
}

// tokens returns the tokens of a declaration without comments, and its directives. Names of imports are replaced by their
// paths.
func (f *fileDecls) tokens(n ast.Node, docs ...*ast.CommentGroup) string {
	f.taken = append(f.taken, n)
	var out strings.Builder
	for _, doc := range docs {
		if doc != nil {
			f.taken = append(f.taken, doc)
			for _, c := range doc.List {
				if isDirective(c.Text) {
					out.WriteString(c.Text + "\n")
				}
			}
		}
	}
	from, to := f.fset.PositionFor(n.Pos(), false).Offset, f.fset.PositionFor(n.End(), false).Offset
	text := f.text[from:min(to, len(f.text))]
	fset := token.NewFileSet()
	var s scanner.Scanner
	s.Init(fset.AddFile("", -1, len(text)), text, func(token.Position, string) {}, scanner.ScanComments)
	var (
		last string // an identifier, if the last token was one
		ends bool   // a statement ends at the end of a line, which makes no difference before a closing bracket
	)
	for {
		_, tok, lit := s.Scan()
		switch {
		case tok == token.EOF:
			return out.String() + last
		case tok == token.COMMENT:
			if isDirective(lit) {
				out.WriteString(lit + "\n")
			}
			continue
		case tok == token.SEMICOLON && lit == "\n":
			ends = true
			continue
		case lit == "":
			lit = tok.String()
		}
		if path, ok := f.paths[last]; ok && tok == token.PERIOD {
			last = strconv.Quote(path)
		}
		if last != "" {
			out.WriteString(last + " ")
		}
		if ends && tok != token.RBRACE && tok != token.RPAREN {
			out.WriteString("; ")
		}
		if last, ends = "", false; tok == token.IDENT {
			last = lit
		} else {
			out.WriteString(lit + " ")
		}
	}
}

// isDirective reports whether a comment means something to the compiler or the go command.
func isDirective(comment string) bool {
	for _, prefix := range []string{"//go:", "//export ", "//line ", "/*line ", "// +build"} {
		if strings.HasPrefix(comment, prefix) {
			return !strings.HasPrefix(comment, "//go:generate")
		}
	}
	return false
}

// directives takes those that stand outside of declarations.
func (f *fileDecls) directives() {
	for _, group := range f.file.Comments {
		for _, c := range group.List {
			inside := slices.ContainsFunc(f.taken, func(n ast.Node) bool { return n.Pos() <= c.Pos() && c.End() <= n.End() })
			if !inside && isDirective(c.Text) {
				f.rest = append(f.rest, c.Text)
			}
		}
	}
}

// difference returns the keys of the declarations that differ between two versions, the receivers of methods that only one has, and
// initializers if what runs at the start differs. Standard says which packages are of the standard library. Whole is set if the package as a whole may behave differently.
func difference(before, after *version, standard func(path string) bool) (keys []string, whole bool) {
	differ := map[string]bool{}
	for key, text := range before.decls {
		now, exists := after.decls[key]
		differ[key] = now != text
		if !exists {
			whole = whole || isPredeclared(key) // what named it names something else now
		}
		receiver, _, method := strings.Cut(key, ".")
		differ[receiver] = differ[receiver] || method && !exists
	}
	for key := range after.decls {
		_, existed := before.decls[key]
		differ[key] = differ[key] || !existed
		receiver, _, method := strings.Cut(key, ".")
		differ[receiver] = differ[receiver] || method && !existed
	}
	for key, is := range differ {
		if is {
			keys = append(keys, key)
		}
	}
	if !sameTexts(before.runs, after.runs) || registers(before.uses, after.uses, standard) || registers(after.uses, before.uses, standard) {
		keys = append(keys, initializers)
	}
	slices.Sort(keys)
	return keys, whole || before.cgo || after.cgo || !sameTexts(before.rest, after.rest)
}

// registers reports whether one of two sets has an import path that the other has not, of a package whose initialization may
// be noticed by others. Of the standard library, only these are: they register themselves.
func registers(some, others map[string]bool, standard func(path string) bool) bool {
	for path := range some {
		first, _, _ := strings.Cut(path, "/")
		if !others[path] && (!standard(path) || first == "crypto" || first == "image" || path == "expvar" || path == "net/http/pprof") {
			return true
		}
	}
	return false
}

// sameTexts reports whether two lists have the same texts. It does not matter in which file each stands.
func sameTexts(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// isPredeclared reports whether Go declares a name, too.
func isPredeclared(key string) bool { return types.Universe.Lookup(key) != nil }

// sameConstraints reports whether the go command builds two versions of a file under the same conditions.
func sameConstraints(before, after []byte) bool {
	return slices.Equal(constraints(before), constraints(after))
}

// constraints returns the lines above the package clause of a file that say when it is built.
func constraints(text []byte) (lines []string) {
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "package ") {
			break
		}
		if strings.HasPrefix(line, "//go:build") || strings.HasPrefix(line, "// +build") || strings.HasPrefix(line, "//+build") {
			lines = append(lines, line)
		}
	}
	return lines
}
