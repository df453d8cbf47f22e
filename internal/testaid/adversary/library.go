package main

import (
	"embed"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"github.com/heisen-go/heisen/corpus"
)

// sources are the files that all programs have in common.
//
//go:embed testdata/program
var sources embed.FS

// A fragment is a function that uses a feature and checks it.
type fragment struct {
	name     string
	bubble   bool // it may run in a bubble of testing/synctest
	outside  bool // it needs something outside of the program
	subtests bool // it starts subtests
}

// A bug is a function with a planted bug.
type bug struct {
	name, class string
	file        string
	wants       []corpus.Want
}

// A library has all fragments and bugs, sorted by name.
type library struct {
	files     map[string]string
	fragments []fragment
	bugs      []bug
}

// loadLibrary reads the files of testdata/program.
func loadLibrary() (*library, error) {
	folder, err := fs.Sub(sources, "testdata/program")
	if err != nil {
		return nil, err
	}
	names, err := fs.Glob(folder, "*.go")
	if err != nil {
		return nil, err
	}
	l := &library{files: map[string]string{}}
	for _, name := range names {
		text, err := fs.ReadFile(folder, name)
		if err != nil {
			return nil, err
		}
		l.files[name] = string(text)
		if err := l.read(name, text); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(l.fragments, func(a, b fragment) int { return strings.Compare(a.name, b.name) })
	slices.SortFunc(l.bugs, func(a, b bug) int { return strings.Compare(a.name, b.name) })
	return l, nil
}

// read finds the fragments and bugs of a file.
func (l *library) read(name string, text []byte) error {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	wants, err := corpus.ReadWants(fset, file.Comments)
	if err != nil {
		return err
	}
	last := 0 // line of the end of the last bug; what a bug needs stands in front of it
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Doc == nil {
			continue
		}
		words := strings.Fields(directive(f.Doc))
		switch {
		case len(words) == 0:
		case words[0] == "fragment":
			made := fragment{name: f.Name.Name}
			for _, word := range words[1:] {
				switch word {
				case "bubble":
					made.bubble = true
				case "outside":
					made.outside = true
				case "subtests":
					made.subtests = true
				default:
					return fmt.Errorf("%v: unknown word %q", fset.Position(f.Pos()), word)
				}
			}
			l.fragments = append(l.fragments, made)
		case words[0] == "bug" && len(words) == 2:
			made := bug{name: f.Name.Name, class: words[1], file: name}
			end := fset.Position(f.End()).Line
			for _, w := range wants {
				if w.Line > last && w.Line <= end {
					made.wants = append(made.wants, w)
				}
			}
			if len(made.wants) == 0 {
				return fmt.Errorf("%v: nothing is expected of %s", fset.Position(f.Pos()), made.name)
			}
			last = end
			l.bugs = append(l.bugs, made)
		default:
			return fmt.Errorf("%v: want fragment or bug with a class", fset.Position(f.Pos()))
		}
	}
	return nil
}

// directive returns what follows //adversary: in a comment.
func directive(doc *ast.CommentGroup) string {
	for _, c := range doc.List {
		if rest, is := strings.CutPrefix(c.Text, "//adversary:"); is {
			return rest
		}
	}
	return ""
}

// restrict leaves only those fragments and bugs whose names match. If none of a kind matches, all of it stay.
func (l *library) restrict(only *regexp.Regexp) {
	fragments, bugs := l.fragments, l.bugs
	l.fragments = slices.DeleteFunc(slices.Clone(fragments), func(f fragment) bool { return !only.MatchString(f.name) })
	l.bugs = slices.DeleteFunc(slices.Clone(bugs), func(b bug) bool { return !only.MatchString(b.name) })
	if len(l.fragments) == 0 {
		l.fragments = fragments
	}
	if len(l.bugs) == 0 {
		l.bugs = bugs
	}
}
