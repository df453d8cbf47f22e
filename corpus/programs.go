package corpus

import (
	"embed"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/heisen-go/heisen"
)

//go:embed testdata
var testdata embed.FS

// Files returns the sources of the programs, with a folder for each class. They import the standard
// library only. To run them, copy them into a module with [os.CopyFS].
func Files() fs.FS {
	files, err := fs.Sub(testdata, "testdata")
	if err != nil {
		panic(err) // it is embedded
	}
	return files
}

// Classes returns the classes of bugs: first those after which goroutines wait for ever.
func Classes() []string {
	return []string{"mutex", "rwmutex", "channel", "selects", "contexts", "waitgroup", "cond", "mixed",
		"datarace", "order", "atomicity", "channelmisuse", "waitgroupmisuse", "library"}
}

// A Program is a test with a bug. Its fixed twin is the test Fixed.
type Program struct {
	Class string // of the bug; the folder of the file
	File  string // name of the file in the folder
	Test  string // name of the test function with the bug
	Fixed string // name of the test function without
	Wants []Want // where what is expected of the test
}

// A Want is a kind of finding that is expected at a line.
type Want struct {
	Kind heisen.Kind
	Line int
	Text string // part of the message of a failure, which has no place
}

// kinds are those that a comment may name.
var kinds = []heisen.Kind{heisen.Race, heisen.Deadlock, heisen.Leak, heisen.Failure, heisen.Atomicity, heisen.Misuse}

// Programs returns the programs, by class in the order of [Classes], and by file.
func Programs() ([]Program, error) { return readPrograms(Files()) }

func readPrograms(files fs.FS) (all []Program, err error) {
	for _, class := range Classes() {
		names, err := fs.Glob(files, class+"/*_test.go")
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			text, err := fs.ReadFile(files, name)
			if err != nil {
				return nil, err
			}
			p, err := readProgram(name, text)
			if err != nil {
				return nil, err
			}
			p.Class = class
			all = append(all, p)
		}
	}
	return all, nil
}

// readProgram reads a file of the corpus.
func readProgram(name string, text []byte) (p Program, err error) {
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return p, err
	}
	p.File = path.Base(name)
	var tests []string
	for _, d := range parsed.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
			tests = append(tests, f.Name.Name)
		}
	}
	if len(tests) != 2 || tests[1] != tests[0]+"Fixed" {
		return p, fmt.Errorf("%s has the tests %q instead of one and its fixed twin", name, tests)
	}
	p.Test, p.Fixed = tests[0], tests[1]
	if p.Wants, err = ReadWants(fset, parsed.Comments); err != nil {
		return p, err
	}
	if len(p.Wants) == 0 {
		return p, fmt.Errorf("%s does not say what is expected", name)
	}
	return p, nil
}

// ReadWants reads what the comments of a file expect, for programs that are not in this package.
func ReadWants(fset *token.FileSet, comments []*ast.CommentGroup) (wants []Want, err error) {
	for _, group := range comments {
		for _, c := range group.List {
			list, is := strings.CutPrefix(c.Text, "// want ")
			if !is {
				continue
			}
			place := fset.Position(c.Pos())
			for item := range strings.SplitSeq(list, ", ") {
				want, err := readWant(item, place.Line)
				if err != nil {
					return nil, fmt.Errorf("%v: %w", place, err)
				}
				wants = append(wants, want)
			}
		}
	}
	return wants, nil
}

// readWant reads a kind, and for a failure also the text that its message contains, in quotes.
func readWant(item string, line int) (w Want, err error) {
	kind, text, quoted := strings.Cut(item, " ")
	w = Want{Kind: heisen.Kind(kind), Line: line}
	if !slices.Contains(kinds, w.Kind) {
		return w, fmt.Errorf("%q is no kind of finding", kind)
	}
	if quoted != (w.Kind == heisen.Failure) {
		return w, errors.New("a failure has a text, and nothing else has one")
	}
	if quoted {
		w.Text, err = strconv.Unquote(text)
	}
	return w, err
}
