package build

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"slices"
	"strings"
)

// edit replaces the bytes [from, to) of a source file.
type edit struct {
	from, to int
	text     string
}

// source is a file of GOROOT that is being patched. Patches find their position by declaration and
// syntax, never by line, and keep every line where it is.
type source struct {
	path  string
	text  []byte
	fset  *token.FileSet
	file  *ast.File
	edits []edit
}

// readSource reads and parses a file of GOROOT.
func readSource(read func(string) ([]byte, error), path string) (*source, error) {
	text, err := read(path)
	if err != nil {
		return nil, err
	}
	return parseSource(path, text)
}

func parseSource(path string, text []byte) (*source, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	return &source{path: path, text: text, fset: fset, file: file}, nil
}

// patch makes edits to a source, or returns an error if the source does not look as expected.
type patch func(*source) error

// apply returns the text of the file at path with the patches made.
func apply(path string, text []byte, patches ...patch) ([]byte, error) {
	s, err := parseSource(path, text)
	if err != nil {
		return nil, err
	}
	for _, p := range patches {
		if err := p(s); err != nil {
			return nil, fmt.Errorf("%w GOROOT: %s: %w", ErrUnsupported, path, err)
		}
	}
	return s.result()
}

// result returns the text with all edits made.
func (s *source) result() ([]byte, error) {
	slices.SortStableFunc(s.edits, func(a, b edit) int { return a.from - b.from })
	var out bytes.Buffer
	at := 0
	for _, e := range s.edits {
		if e.from < at {
			return nil, fmt.Errorf("%s: overlapping edits at offset %d", s.path, e.from)
		}
		out.Write(s.text[at:e.from])
		out.WriteString(e.text)
		at = e.to
	}
	out.Write(s.text[at:])
	return out.Bytes(), nil
}

func (s *source) offset(p token.Pos) int { return s.fset.Position(p).Offset }

func (s *source) insert(p token.Pos, text string) {
	at := s.offset(p)
	s.edits = append(s.edits, edit{at, at, text})
}

func (s *source) replace(n ast.Node, text string) {
	s.edits = append(s.edits, edit{s.offset(n.Pos()), s.offset(n.End()), text})
}

// printed returns a node's source in gofmt's form.
func (s *source) printed(n ast.Node) string {
	var b bytes.Buffer
	if format.Node(&b, s.fset, n) != nil {
		return ""
	}
	return b.String()
}

// function returns the declaration of a function or method. name is "f", or "T.m" for methods with
// value and pointer receivers.
func (s *source) function(name string) (*ast.FuncDecl, error) {
	for _, d := range s.file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && s.functionName(f) == name {
			return f, nil
		}
	}
	return nil, fmt.Errorf("no function %s", name)
}

// functionName returns the name by which function finds a declaration.
func (s *source) functionName(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	return strings.TrimPrefix(s.printed(f.Recv.List[0].Type), "*") + "." + f.Name.Name
}

// body is function for a function that must have a body.
func (s *source) body(name string) (*ast.FuncDecl, error) {
	f, err := s.function(name)
	if err == nil && f.Body == nil {
		err = fmt.Errorf("function %s has no body", name)
	}
	return f, err
}

// ifAny applies a patch of a function that not all releases have.
func ifAny(name string, p patch) patch {
	return func(s *source) error {
		if _, err := s.body(name); err != nil {
			return nil
		}
		return p(s)
	}
}

// atStart inserts a statement at the start of a function.
func atStart(name, statement string) patch {
	return func(s *source) error {
		f, err := s.body(name)
		if err != nil {
			return err
		}
		s.insert(f.Body.Lbrace+1, " "+statement+";")
		return nil
	}
}

// delegated inserts a statement at the start of each function that has given parameters, in gofmt's form. There must be one
// at least.
func delegated(parameters, statement string) patch {
	return func(s *source) error {
		found := false
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Body == nil || s.parameters(f) != parameters {
				continue
			}
			s.insert(f.Body.Lbrace+1, " "+statement+";")
			found = true
		}
		if !found {
			return fmt.Errorf("no function with %s", parameters)
		}
		return nil
	}
}

// parameters returns the parameters of a function as they are written.
func (s *source) parameters(f *ast.FuncDecl) string {
	fields := f.Type.Params
	return string(s.text[s.offset(fields.Opening):s.offset(fields.End())])
}

// asOneStep makes a method one step of a deterministic run.
func asOneStep(name string) patch {
	return func(s *source) error {
		f, err := s.function(name)
		if err != nil {
			return err
		}
		on := f.Recv.List[0].Names[0].Name
		return atStart(name, "if race.Enabled { race.BeginStep(unsafe.Pointer("+on+")); defer race.EndStep() }")(s)
	}
}

// atEnd inserts a statement at the end of a function without results.
func atEnd(name, statement string) patch {
	return func(s *source) error {
		f, err := s.body(name)
		if err != nil {
			return err
		}
		s.insert(f.Body.Rbrace, "; "+statement)
		return nil
	}
}

// oneOf makes the first patch that can be made.
func oneOf(patches ...patch) patch {
	return func(s *source) (err error) {
		for _, p := range patches {
			if err = p(s); err == nil {
				return nil
			}
		}
		return err
	}
}

// variable makes a constant, which must be declared alone, a variable.
func variable(name string) patch {
	return func(s *source) error {
		for _, d := range s.file.Decls {
			decl, ok := d.(*ast.GenDecl)
			if !ok || decl.Tok != token.CONST || decl.Lparen.IsValid() {
				continue
			}
			if spec := decl.Specs[0].(*ast.ValueSpec); len(spec.Names) == 1 && spec.Names[0].Name == name {
				at := s.offset(decl.TokPos)
				s.edits = append(s.edits, edit{at, at + len("const"), "var"})
				return nil
			}
		}
		return fmt.Errorf("no constant %s", name)
	}
}

// inEndlessLoop inserts a statement at the start of the first "for {" directly in a function's
// body.
func inEndlessLoop(name, statement string) patch {
	return func(s *source) error {
		f, err := s.body(name)
		if err != nil {
			return err
		}
		for _, stmt := range f.Body.List {
			if loop, ok := stmt.(*ast.ForStmt); ok && loop.Init == nil && loop.Cond == nil && loop.Post == nil {
				s.insert(loop.Body.Lbrace+1, " "+statement+";")
				return nil
			}
		}
		return fmt.Errorf("no endless loop in %s", name)
	}
}

// inIf inserts a statement at the start of the bodies of if statements in a function whose
// condition is given in gofmt's form. There must be as many as expected.
func inIf(name, condition, statement string, expected int) patch {
	return func(s *source) error {
		f, err := s.body(name)
		if err != nil {
			return err
		}
		found := 0
		ast.Inspect(f.Body, func(n ast.Node) bool {
			if c, ok := n.(*ast.IfStmt); ok && s.printed(c.Cond) == condition {
				s.insert(c.Body.Lbrace+1, " "+statement+";")
				found++
			}
			return true
		})
		if found != expected {
			return fmt.Errorf("%d statements if %s in %s, not %d", found, condition, name, expected)
		}
		return nil
	}
}

// replaceCalls replaces a call in a function, given in gofmt's form. There must be as many as
// expected.
func replaceCalls(name, call, with string, expected int) patch {
	return replaceNodes[*ast.CallExpr](name, "calls of", call, with, expected)
}

// replaceExpressions replaces a binary expression in a function, given in gofmt's form. There must
// be as many as expected.
func replaceExpressions(name, expression, with string, expected int) patch {
	return replaceNodes[*ast.BinaryExpr](name, "expressions", expression, with, expected)
}

// replaceReturns replaces a return statement in a function, given in gofmt's form. There must be as many as
// expected.
func replaceReturns(name, statement, with string, expected int) patch {
	return replaceNodes[*ast.ReturnStmt](name, "statements", statement, with, expected)
}

// replaceNodes replaces nodes of one type in a function, given in gofmt's form. what is the name of
// such nodes in errors.
func replaceNodes[N ast.Node](name, what, text, with string, expected int) patch {
	return func(s *source) error {
		f, err := s.body(name)
		if err != nil {
			return err
		}
		found := 0
		ast.Inspect(f.Body, func(n ast.Node) bool {
			if x, ok := n.(N); ok && s.printed(x) == text {
				s.replace(x, with)
				found++
				return false
			}
			return true
		})
		if found != expected {
			return fmt.Errorf("%d %s %s in %s, not %d", found, what, text, name, expected)
		}
		return nil
	}
}

// addImport adds an import to a file.
func addImport(path string) patch {
	return func(s *source) error {
		for _, d := range s.file.Decls {
			if decl, ok := d.(*ast.GenDecl); ok && decl.Tok == token.IMPORT {
				s.insert(decl.Pos(), "import \""+path+"\"; ")
				return nil
			}
		}
		return errors.New("no imports")
	}
}

// replaceStatements replaces a statement that is a call, given in gofmt's form, in the whole file.
// There must be as many as expected.
func replaceStatements(call, with string, expected int) patch {
	return func(s *source) error {
		found := 0
		ast.Inspect(s.file, func(n ast.Node) bool {
			if stmt, ok := n.(*ast.ExprStmt); ok && s.printed(stmt) == call {
				s.replace(stmt, with)
				found++
				return false
			}
			return true
		})
		if found != expected {
			return fmt.Errorf("%d calls of %s, not %d", found, call, expected)
		}
		return nil
	}
}

// replaceSelectors replaces the selector expression from, such as pkg.F, everywhere in the file, at
// least once.
func replaceSelectors(from, to string) patch {
	return func(s *source) error {
		found := false
		ast.Inspect(s.file, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok && s.printed(sel) == from {
				s.replace(sel, to)
				found = true
				return false
			}
			return true
		})
		if !found {
			return fmt.Errorf("no %s", from)
		}
		return nil
	}
}

// directed gives a function a compiler directive, in place of the first line of its comment.
func directed(name, directive string) patch {
	return func(s *source) error {
		f, err := s.function(name)
		if err != nil {
			return err
		}
		if f.Doc == nil || strings.HasPrefix(f.Doc.List[0].Text, "//go:") {
			return fmt.Errorf("function %s has no comment", name)
		}
		s.replace(f.Doc.List[0], directive)
		return nil
	}
}

// dropImport removes an import that the patches have left unused.
func dropImport(path string) patch {
	return func(s *source) error {
		for _, d := range s.file.Decls {
			decl, ok := d.(*ast.GenDecl)
			if !ok || decl.Tok != token.IMPORT {
				continue
			}
			for _, spec := range decl.Specs {
				if spec.(*ast.ImportSpec).Path.Value != `"`+path+`"` {
					continue
				}
				if decl.Lparen.IsValid() {
					s.replace(spec, "")
				} else {
					s.replace(decl, "")
				}
				return nil
			}
		}
		return fmt.Errorf("no import of %s", path)
	}
}

// dropDeclaration removes a function with its directives.
func dropDeclaration(name string) patch {
	return func(s *source) error {
		f, err := s.function(name)
		if err != nil {
			return err
		}
		s.replace(f, "")
		if f.Doc != nil {
			for _, c := range f.Doc.List {
				s.replace(c, "//")
			}
		}
		return nil
	}
}
