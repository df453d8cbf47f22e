// Package leakprograms has the test data of Go's profile of leaked goroutines, and what is expected of it, as the Go installation at hand has
// them. Nothing of them is in this repository.
package leakprograms

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/report"
)

// A Program is one of the test data's programs and what is expected of it.
type Program struct {
	Name   string
	Folder string // relative to that of the test data
	Leaks  []Leak
}

// A Leak is a goroutine that waits for ever: Pattern matches its outermost function and why it waits.
type Leak struct {
	Pattern *regexp.Regexp
	Flaky   bool // Go's own test does not insist on it
}

// makers are the functions of Go's test that describe a program, and whether its leaks are flaky.
var makers = map[string]bool{"makeTest": false, "makeFlakyTest": true}

// Read reads Go's test of the profile in an installation, and copies the programs to a folder, as a module. Without profile, the programs write
// another profile than that of leaked goroutines.
func Read(root, to string, profile bool) ([]Program, error) {
	src := filepath.Join(root, "src", "runtime")
	programs, err := readExpectations(filepath.Join(src, "goroutineleakprofile_test.go"))
	if err == nil {
		err = copyPrograms(filepath.Join(src, "testdata", "testgoroutineleakprofile"), to, profile)
	}
	return programs, err
}

// readExpectations reads Go's test of the profile. The lists of programs whose names begin with goker are
// those of the subfolder.
func readExpectations(file string) (programs []Program, err error) {
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, file, nil, 0)
	if err != nil {
		return nil, err
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		list, ok := n.(*ast.AssignStmt)
		if !ok || len(list.Lhs) != 1 || len(list.Rhs) != 1 {
			return true
		}
		name, ok := list.Lhs[0].(*ast.Ident)
		if !ok {
			return true
		}
		cases, ok := list.Rhs[0].(*ast.CompositeLit)
		if !ok {
			return true
		}
		folder := "."
		if strings.HasPrefix(name.Name, "goker") {
			folder = "goker"
		}
		for _, e := range cases.Elts {
			if call, ok := e.(*ast.CallExpr); ok {
				if p, known, perr := readProgram(call); perr != nil {
					err = errors.Join(err, fmt.Errorf("%s: %w", fset.Position(call.Pos()), perr))
				} else if known {
					p.Folder = folder
					programs = append(programs, p)
				}
			}
		}
		return true
	})
	if err == nil && len(programs) == 0 {
		err = fmt.Errorf("%s describes no programs", file)
	}
	return programs, err
}

// readProgram reads the call that describes a program.
func readProgram(call *ast.CallExpr) (p Program, known bool, err error) {
	maker, ok := call.Fun.(*ast.Ident)
	if !ok {
		return p, false, nil
	}
	flaky, known := makers[maker.Name]
	if !known {
		return p, false, nil
	}
	for i, arg := range call.Args {
		text, ok := arg.(*ast.BasicLit)
		if !ok || text.Kind != token.STRING {
			return p, true, errors.New("an argument is no literal")
		}
		value, err := strconv.Unquote(text.Value)
		if err != nil {
			return p, true, err
		}
		if i == 0 {
			p.Name = value
			continue
		}
		pattern, err := regexp.Compile(value)
		if err != nil {
			return p, true, err
		}
		p.Leaks = append(p.Leaks, Leak{pattern, flaky})
	}
	return p, true, nil
}

// copyPrograms copies the test data to a folder, as a module.
func copyPrograms(from, to string, profile bool) error {
	err := filepath.WalkDir(from, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		copied := filepath.Join(to, rel)
		if err := os.MkdirAll(filepath.Dir(copied), 0o777); err != nil {
			return err
		}
		if profile {
			return os.WriteFile(copied, text, 0o666)
		}
		other := strings.ReplaceAll(string(text), `pprof.Lookup("goroutineleak")`, `pprof.Lookup("threadcreate")`)
		return os.WriteFile(copied, []byte(other), 0o666)
	})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(to, "go.mod"), []byte("module goleaktests\n\ngo 1.25\n"), 0o666)
}

// In returns the goroutines that wait for ever in findings, as in Go's test: the outermost function
// and why it waits.
func In(findings []report.Finding) (seen []string) {
	for i := range findings {
		f := &findings[i]
		if f.Kind == heisen.Leak {
			_, reason, _ := strings.Cut(f.Message, ": ")
			seen = append(seen, outermost(f.Accesses[0].Stack)+" ["+reason+"]")
		}
		for j := range f.Blocked { // of a deadlock, too
			seen = append(seen, outermost(f.Blocked[j].Stack)+" ["+f.Blocked[j].Reason+"]")
		}
	}
	slices.Sort(seen)
	return slices.Compact(seen)
}

// wrapper matches the functions that the compiler makes for go statements, which Go's tracebacks omit.
var wrapper = regexp.MustCompile(`\.gowrap\d+$`)

// outermost returns the outermost function of a stack as a call, without its package.
func outermost(stack []report.Frame) string {
	for i := len(stack) - 1; i >= 0; i-- {
		if !wrapper.MatchString(stack[i].Func) {
			return strings.TrimPrefix(stack[i].Func, "main.") + "()"
		}
	}
	return ""
}
