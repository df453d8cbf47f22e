package bugcorpus

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/heisen-go/heisen"
)

// Blocking and NonBlocking are the classes of bugs.
var (
	Blocking    = []string{"mutex", "rwmutex", "channel", "selects", "contexts", "waitgroup", "cond", "mixed"}
	NonBlocking = []string{"datarace", "order", "atomicity", "channelmisuse", "waitgroupmisuse", "library"}
)

// A Program is a test with a bug. Its fixed twin is the test Fixed.
type Program struct {
	Class   string
	Test    string // name of the test function with the bug
	Fixed   string // name of the test function without
	Package string // folder of the package, relative to that of the corpus
	File    string // name of the file in the folder
	Wants   []Want // where what is expected of the test
}

// A Want is a kind of finding that is expected at a line.
type Want struct {
	Kind heisen.Kind
	Line int
	Text string // part of the message of a failure, which has no place
}

// kinds are those that a comment may name.
var kinds = []heisen.Kind{heisen.Race, heisen.Deadlock, heisen.Leak, heisen.Failure, heisen.Atomicity, heisen.Misuse}

// Programs reads the corpus in a folder: the testdata of this package. The programs are sorted by class,
// in the order of Blocking and NonBlocking, and by file.
func Programs(folder string) (all []Program, err error) {
	for _, class := range slices.Concat(Blocking, NonBlocking) {
		files, err := filepath.Glob(filepath.Join(folder, class, "*_test.go"))
		if err != nil {
			return nil, err
		}
		if len(files) == 0 {
			return nil, fmt.Errorf("no programs in %s", filepath.Join(folder, class))
		}
		for _, file := range files {
			p, err := readProgram(file)
			if err != nil {
				return nil, err
			}
			p.Class, p.Package = class, class
			all = append(all, p)
		}
	}
	return all, nil
}

// readProgram reads a file of the corpus.
func readProgram(file string) (p Program, err error) {
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, file, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return p, err
	}
	p.File = filepath.Base(file)
	var tests []string
	for _, d := range parsed.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
			tests = append(tests, f.Name.Name)
		}
	}
	if len(tests) != 2 || tests[1] != tests[0]+"Fixed" {
		return p, fmt.Errorf("%s has the tests %q instead of one and its fixed twin", file, tests)
	}
	p.Test, p.Fixed = tests[0], tests[1]
	if p.Wants, err = ReadWants(fset, parsed.Comments); err != nil {
		return p, err
	}
	if len(p.Wants) == 0 {
		return p, fmt.Errorf("%s does not say what is expected", file)
	}
	return p, nil
}

// ReadWants reads what the comments of a file expect.
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
