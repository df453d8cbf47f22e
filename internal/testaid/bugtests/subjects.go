package main

import (
	"bytes"
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/heisen-go/heisen/corpus"
	"github.com/heisen-go/heisen/internal/build"
)

// subjects returns what the command line selects: the tests of the corpus, those of Go's race detector,
// or the programs of packages and the tests of the others.
func (o *options) subjects(ctx context.Context, programs []corpus.Program) (all []subject, err error) {
	switch {
	case o.goroot:
		return o.raceTests(ctx)
	case len(o.packages) > 0:
		return o.packageSubjects(ctx)
	}
	for i := range programs {
		p := &programs[i]
		for _, test := range []string{p.Test, p.Fixed} {
			all = append(all, subject{o.heisen.Corpus, "./" + p.Class, test})
		}
	}
	return all, nil
}

// raceTests copies the test data of Go's race detector into a module and returns its tests. Files that
// a module cannot have are left out: those with cgo, and those that import internal packages of Go.
func (o *options) raceTests(ctx context.Context) (all []subject, err error) {
	toolchain, err := build.FindToolchain(ctx, "")
	if err != nil {
		return nil, err
	}
	folder := filepath.Join(o.heisen.Work, "racetests")
	if err := os.MkdirAll(filepath.Join(folder, "races"), 0o777); err != nil {
		return nil, err
	}
	mod := []byte("module racetests\n\ngo 1.25\n")
	if err := os.WriteFile(filepath.Join(folder, "go.mod"), mod, 0o666); err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(toolchain.Root, "src", "runtime", "race", "testdata", "*_test.go"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s has no test data of the race detector", toolchain.Root)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if filepath.Base(file) == "cgo_test.go" || bytes.Contains(text, []byte("\"internal/")) {
			continue
		}
		copied := filepath.Join(folder, "races", filepath.Base(file))
		if err := os.WriteFile(copied, text, 0o666); err != nil {
			return nil, err
		}
		tests, err := testsIn(copied)
		if err != nil {
			return nil, err
		}
		for _, name := range tests {
			if o.selected.MatchString(name) {
				all = append(all, subject{folder, "./races", name})
			}
		}
	}
	return all, nil
}

// testsIn returns the names of the test functions in a file.
func testsIn(file string) (names []string, err error) {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, d := range parsed.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") && f.Name.Name != "TestMain" {
			names = append(names, f.Name.Name)
		}
	}
	return names, nil
}

// packageSubjects returns the programs among the packages of the command line, and the tests of the
// others.
func (o *options) packageSubjects(ctx context.Context) (all []subject, err error) {
	folder, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	format := "{{.Name}}\t{{.Dir}}{{range .TestGoFiles}}\t{{.}}{{end}}{{range .XTestGoFiles}}\t{{.}}{{end}}"
	list := exec.CommandContext(ctx, "go", append([]string{"list", "-f", format}, o.packages...)...)
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(out)) {
		fields := strings.Split(strings.TrimSpace(line), "\t")
		rel, err := filepath.Rel(folder, fields[1])
		if err != nil {
			return nil, err
		}
		pkg := "./" + filepath.ToSlash(rel)
		if fields[0] == "main" {
			if o.selected.MatchString(pkg) {
				all = append(all, subject{folder, pkg, ""})
			}
			continue
		}
		for _, file := range fields[2:] {
			tests, err := testsIn(filepath.Join(fields[1], file))
			if err != nil {
				return nil, err
			}
			tests = slices.DeleteFunc(tests, func(name string) bool { return !o.selected.MatchString(name) })
			for _, name := range tests {
				all = append(all, subject{folder, pkg, name})
			}
		}
	}
	return all, nil
}
