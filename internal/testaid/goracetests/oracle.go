package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
)

// function is a test function of the data. Its name is the oracle.
type function struct {
	name string
	file string
	racy bool
}

// exception says of a function that its verdict does not decide the exit status.
type exception struct {
	class  string
	reason string
}

// exceptions are all functions that are not in scope.
var exceptions = map[string]exception{
	"TestRaceRangeFuncIterator":   {"skipped", "Go skips it: golang.org/issue/72925"},
	"TestNoRaceRangeFuncIterator": {"skipped", "Go skips it: golang.org/issue/72925"},

	"TestNoRaceCgoSync": {"cgo", "what synchronises is C code, in another program, which it starts by go run -race"},

	"TestRaceIssue5567":  {"library", "hash/crc32 reads, and the standard library's accesses are not instrumented"},
	"TestRaceIssue51618": {"library", "hash/crc32 reads, and the standard library's accesses are not instrumented"},
}

// apart are functions with a race that no execution shows as two accesses at the same
// time: between them comes an operation that orders nothing and yet tells one goroutine
// what the other has done, such as a select statement that takes its default case, or
// time passes in a bubble of package synctest, which it does when all have blocked. A
// detector that predicts what can come next to each other is right to miss them.
var apart = map[string]bool{
	"TestRaceChanSendLen":    true,
	"TestRaceChanRecvLen":    true,
	"TestRaceChanSendSend":   true,
	"TestRaceChanCloseClose": true,

	"TestRaceSynctestGoroutinesSleep": true,
	"TestRaceSynctestTimers":          true,
}

// functions returns the test functions in a folder, by file and position.
func functions(dir string) ([]function, error) {
	files, err := testFiles(dir)
	if err != nil {
		return nil, err
	}
	var all []function
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv != nil {
				continue
			}
			racy := strings.HasPrefix(f.Name.Name, "TestRace")
			if racy || strings.HasPrefix(f.Name.Name, "TestNoRace") {
				all = append(all, function{f.Name.Name, filepath.Base(path), racy})
			}
		}
	}
	return all, nil
}

// testFiles returns the paths of the data's files, in order.
func testFiles(dir string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("no test data in %s; that of another Go installation can be named with -testdata", dir)
	}
	slices.Sort(files)
	return files, err
}
