package report

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/heisen-go/heisen"
)

// Bounds on what is read for the sake of one line. File names come from traces,
// which may be damaged or strange.
const (
	maxFileSize     = 8 << 20
	maxPackageFiles = 1000
)

// Sources is a cache of source files and of what their syntax says. A file that
// is missing, is no Go file or does not parse gives less, never an error: a
// report is still a report without the source.
//
// It keeps every package that it was asked about in memory. A Sources belongs
// to one goroutine; the nil Sources knows no file.
type Sources struct {
	fset     *token.FileSet
	files    map[string]*file
	packages map[packageID]*pkg
}

type file struct {
	lines  [][]byte
	syntax *ast.File // nil if the file does not parse
}

type packageID struct{ dir, name string }

// NewSources returns an empty cache.
func NewSources() *Sources {
	return &Sources{
		fset:     token.NewFileSet(),
		files:    map[string]*file{},
		packages: map[packageID]*pkg{},
	}
}

// Excerpt is what the source says of one access.
type Excerpt struct {
	Line      string // the source line, without the space around it
	Statement string // the innermost statement there, on one line

	candidates []candidate // expressions that the access may be, best first
}

// Variable returns the expression that is most likely the one accessed, or the
// empty string.
func (e *Excerpt) Variable() string {
	if len(e.candidates) == 0 {
		return ""
	}
	return e.candidates[0].text
}

// At returns what the source says of an op in a frame. The line is that of the
// frame, the function's name tells apart a function and the literals in it.
func (s *Sources) At(frame Frame, op heisen.Op) *Excerpt {
	excerpt := &Excerpt{}
	if s == nil || frame.Line <= 0 {
		return excerpt
	}
	f := s.file(frame.File)
	if f == nil || frame.Line > len(f.lines) {
		return excerpt
	}
	excerpt.Line = string(bytes.TrimSpace(f.lines[frame.Line-1]))
	if f.syntax == nil {
		return excerpt
	}
	p := s.pkg(frame.File, f.syntax)
	find := &finder{pkg: p, file: f, fset: s.fset, line: frame.Line}
	find.search()
	excerpt.candidates = find.best(op, literalDepth(frame.Func))
	excerpt.Statement = find.innermost
	if len(excerpt.candidates) > 0 {
		excerpt.Statement = excerpt.candidates[0].statement
	}
	return excerpt
}

// file returns the file of that name, or nil.
func (s *Sources) file(name string) *file {
	if f, ok := s.files[name]; ok {
		return f
	}
	text, err := readSource(name)
	if err != nil {
		s.files[name] = nil
		return nil
	}
	return s.parse(name, text)
}

// parse enters a file's text in the cache.
func (s *Sources) parse(name string, text []byte) *file {
	f := &file{lines: bytes.Split(text, []byte("\n"))}
	if tree, err := parser.ParseFile(s.fset, name, text, parser.ParseComments); err == nil {
		f.syntax = tree
	}
	s.files[name] = f
	return f
}

var errNoSource = errors.New("no Go source file")

func readSource(name string) ([]byte, error) {
	if !strings.HasSuffix(name, ".go") {
		return nil, errNoSource
	}
	info, err := os.Stat(name) // opening a pipe would wait
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxFileSize {
		return nil, errNoSource
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxFileSize))
}

// pkg returns the package that a file belongs to: the files of its directory
// with the same package clause that build for this machine.
func (s *Sources) pkg(name string, syntax *ast.File) *pkg {
	id := packageID{filepath.Dir(name), syntax.Name.Name}
	p, ok := s.packages[id]
	if !ok {
		p = &pkg{}
		s.packages[id] = p
		p.check(s.fset, s.siblings(id))
	}
	if !p.has(syntax) { // left out by its build constraints
		alone := packageID{name, syntax.Name.Name}
		if p, ok = s.packages[alone]; !ok {
			p = &pkg{}
			s.packages[alone] = p
			p.check(s.fset, []*ast.File{syntax})
		}
	}
	return p
}

func (s *Sources) siblings(id packageID) (out []*ast.File) {
	names, err := filepath.Glob(filepath.Join(escapeGlob(id.dir), "*.go"))
	if err != nil || len(names) > maxPackageFiles {
		return nil
	}
	for _, name := range names {
		if ok, err := build.Default.MatchFile(filepath.Split(name)); err != nil || !ok {
			continue
		}
		if f := s.file(name); f != nil && f.syntax != nil && f.syntax.Name.Name == id.name {
			out = append(out, f.syntax)
		}
	}
	return out
}

// escapeGlob takes the special meaning from the characters of a path.
func escapeGlob(dir string) string {
	return strings.NewReplacer(`[`, `\[`, `*`, `\*`, `?`, `\?`).Replace(dir)
}

// pkg is a package with the type information that its own files give. Imports
// stay unresolved: what has their types has no type.
type pkg struct {
	files    map[*ast.File]bool
	info     types.Info
	types    *types.Package
	captured map[types.Object]bool // local variables that other goroutines can reach
}

func (p *pkg) has(f *ast.File) bool { return p.files[f] }

func (p *pkg) check(fset *token.FileSet, files []*ast.File) {
	p.files = map[*ast.File]bool{}
	for _, f := range files {
		p.files[f] = true
	}
	p.info = types.Info{
		Types:      map[ast.Expr]types.TypeAndValue{},
		Defs:       map[*ast.Ident]types.Object{},
		Uses:       map[*ast.Ident]types.Object{},
		Selections: map[*ast.SelectorExpr]*types.Selection{},
	}
	config := types.Config{
		Importer:    noImporter{},
		Error:       func(error) {}, // collect what can be known
		FakeImportC: true,
	}
	p.types, _ = config.Check("p", fset, files, &p.info)
	p.captured = reachable(&p.info, files)
}

type noImporter struct{}

func (noImporter) Import(path string) (*types.Package, error) {
	return nil, fmt.Errorf("import %s: %w", path, errNoSource)
}
