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

// A function is a test function of the data. Its name states whether it has a race.
type function struct {
	name string
	file string
	racy bool
}

// An exception is a reason why the verdict on a function does not affect the exit status.
type exception struct {
	class  string
	reason string
}

// exceptions has all functions that are out of scope.
var exceptions = map[string]exception{
	"TestRaceRangeFuncIterator":   {"skipped", "Go skips it: golang.org/issue/72925"},
	"TestNoRaceRangeFuncIterator": {"skipped", "Go skips it: golang.org/issue/72925"},

	"TestNoRaceCgoSync": {"cgo", "C code synchronizes, in another program, which the test starts with go run -race"},
}

// apart has the functions whose racing accesses are never next to each other in any execution.
// Between them is an operation that creates no happens-before edge, yet depends on what the other
// goroutine has done: a select statement that takes its default case, for instance, or the passing
// of time in a synctest bubble, which requires that all its goroutines are blocked. A predictive
// detector, which looks for executions with adjacent accesses, is right not to report them.
var apart = map[string]bool{
	"TestRaceChanSendLen":    true,
	"TestRaceChanRecvLen":    true,
	"TestRaceChanSendSend":   true,
	"TestRaceChanCloseClose": true,

	"TestRaceSynctestGoroutinesSleep": true,
	"TestRaceSynctestTimers":          true,
}

// scheduled has the functions whose race is not in each execution: in another order of their goroutines, locks order
// the accesses. A detector of happens-before races is right not to report them then, so that they are run until
// the race is reported, at most maxTries times.
var scheduled = map[string]bool{
	"TestRaceAsFunc3": true, // the read comes before the goroutine's critical section, the write is in main's
}

const maxTries = 20

// functions returns the test functions in a folder, ordered by file and position.
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

// testFiles returns the sorted paths of the test data's files.
func testFiles(dir string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("no test data in %s; use -testdata to name the folder of another Go installation", dir)
	}
	slices.Sort(files)
	return files, err
}
