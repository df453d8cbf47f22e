package arch

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite testdata/api.txt")

// TestAPI compares the exported declarations of all public packages with a golden file, so that a
// change of the API is a decision.
func TestAPI(t *testing.T) {
	touchTree(t)
	got := strings.Join(publicAPI(t), "\n") + "\n"
	golden := filepath.Join("testdata", "api.txt")
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	old, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	want := string(old)
	if got == want {
		return
	}
	before, after := strings.Split(want, "\n"), strings.Split(got, "\n")
	var diff strings.Builder
	for _, line := range before {
		if !slices.Contains(after, line) {
			fmt.Fprintln(&diff, "-", line)
		}
	}
	for _, line := range after {
		if !slices.Contains(before, line) {
			fmt.Fprintln(&diff, "+", line)
		}
	}
	t.Errorf("the public API is not that of internal/arch/testdata/api.txt:\n%s"+
		"If the change is intended, run\n\n\tgo test ./internal/arch -run TestAPI -update\n\n"+
		"commit the file, and describe the change in CHANGELOG.md.", &diff)
}

// TestNoAliases checks that no exported type is an alias of a type of another package. Documentation
// shows neither the fields nor the methods behind an alias, and the package may be internal.
func TestNoAliases(t *testing.T) {
	touchTree(t)
	types := 0
	for _, line := range publicAPI(t) {
		_, declaration, isType := strings.Cut(line, ": type ")
		if !isType {
			continue
		}
		types++
		if _, other, isAlias := strings.Cut(declaration, " = "); isAlias && strings.Contains(other, ".") {
			t.Errorf("%s: define the type here", line)
		}
	}
	if types < 100 {
		t.Errorf("%d types, the public API was not found", types)
	}
}

// publicAPI returns the exported declarations of all packages that users of the module can import,
// one a line, sorted.
func publicAPI(t *testing.T) (lines []string) {
	cmd := exec.Command("go", "list", "-json=ImportPath,Name,Dir,GoFiles", module+"/...")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath, Name, Dir string
			GoFiles               []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("go list: %v", err)
		}
		rel, _ := below(p.ImportPath)
		if !isPublic(rel, p.Name) {
			continue
		}
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range declarations(file) {
				lines = append(lines, rel+": "+d)
			}
		}
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

func isPublic(rel, name string) bool {
	if name == "main" {
		return false
	}
	for _, element := range strings.Split(rel, "/") {
		if element == "internal" || element == "bench" || element == "examples" || element == "docs" {
			return false
		}
	}
	return true
}

// declarations returns the exported declarations of a file, one line each. The fields of structs and
// the methods of interfaces have lines of their own.
func declarations(file *ast.File) (lines []string) {
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && (d.Recv == nil || isExported(d.Recv.List[0].Type)) {
				lines = append(lines, function(d))
			}
		case *ast.GenDecl:
			var kind, value string // of the constant before, which the next one repeats
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					if s.Name.IsExported() {
						lines = append(lines, typeLines(s)...)
					}
				case *ast.ValueSpec:
					if d.Tok == token.CONST && (s.Type != nil || len(s.Values) > 0) {
						kind, value = text(s.Type), ""
						if len(s.Values) == 1 {
							value = text(s.Values[0])
						}
					}
					for i, name := range s.Names {
						if !name.IsExported() {
							continue
						}
						line := d.Tok.String() + " " + name.Name
						switch {
						case d.Tok == token.CONST:
							if kind != "" {
								line += " " + kind
							}
							if len(s.Values) > i && !strings.Contains(value, "iota") {
								line += " = " + text(s.Values[i])
							}
						case s.Type != nil:
							line += " " + text(s.Type)
						}
						lines = append(lines, line)
					}
				}
			}
		}
	}
	return lines
}

func function(d *ast.FuncDecl) string {
	line := "func "
	if d.Recv != nil {
		line += "(" + text(d.Recv.List[0].Type) + ") "
	}
	return line + d.Name.Name + strings.TrimPrefix(text(d.Type), "func")
}

func typeLines(s *ast.TypeSpec) (lines []string) {
	head := "type " + s.Name.Name
	if s.TypeParams != nil {
		var params []string
		for _, f := range s.TypeParams.List {
			for _, name := range f.Names {
				params = append(params, name.Name+" "+text(f.Type))
			}
		}
		head += "[" + strings.Join(params, ", ") + "]"
	}
	var members *ast.FieldList
	switch typ := s.Type.(type) {
	case *ast.StructType:
		lines, members = append(lines, head+" struct"), typ.Fields
	case *ast.InterfaceType:
		lines, members = append(lines, head+" interface"), typ.Methods
	default:
		if s.Assign.IsValid() {
			head += " ="
		}
		return append(lines, head+" "+text(s.Type))
	}
	for _, f := range members.List {
		if len(f.Names) == 0 {
			lines = append(lines, head+", embedded "+text(f.Type))
		}
		for _, name := range f.Names {
			if !name.IsExported() {
				continue
			}
			if typ, isMethod := f.Type.(*ast.FuncType); isMethod && members != nil {
				if _, inInterface := s.Type.(*ast.InterfaceType); inInterface {
					lines = append(lines, head+", "+name.Name+strings.TrimPrefix(text(typ), "func"))
					continue
				}
			}
			lines = append(lines, head+", "+name.Name+" "+text(f.Type))
		}
	}
	return lines
}

// isExported reports whether the type of a receiver is exported.
func isExported(typ ast.Expr) bool {
	for {
		switch t := typ.(type) {
		case *ast.StarExpr:
			typ = t.X
		case *ast.IndexExpr:
			typ = t.X
		case *ast.IndexListExpr:
			typ = t.X
		case *ast.Ident:
			return t.IsExported()
		default:
			return false
		}
	}
}

// text returns an expression in one line.
func text(node ast.Expr) string {
	if node == nil {
		return ""
	}
	var b bytes.Buffer
	if err := printer.Fprint(&b, token.NewFileSet(), node); err != nil {
		return err.Error()
	}
	return strings.Join(strings.Fields(b.String()), " ")
}
