package atomicity

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/heisen-go/heisen/section"
)

// programs has a pattern for the output of each program, by directory. The bug makes the first
// number larger than the second, which is the same in all runs.
var programs = map[string]struct {
	output string
	right  int
}{
	"registry": {`^(\d+) names granted of (\d+)\n$`, 64},
	"lazy":     {`^(\d+) clients dialed for (\d+) shards, \d+ requests to lost clients\n$`, 16},
	"counter":  {`^(\d+) tickets sold of (\d+), \d+ left\n$`, 300}, // a sale may undo so many that there are tickets for all
	"closer":   {`^(\d+) slots free of (\d+)\n$`, 8},
	"queue":    {`^300 jobs of 300 done, 32 primes, (\d+) misses()\n$`, 0},
}

// build builds all programs into a directory and returns its path.
func build(t *testing.T, flags ...string) string {
	t.Helper()
	dir := t.TempDir() + string(filepath.Separator)
	args := append(append([]string{"build"}, flags...), "-o", dir, "./...")
	if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return dir
}

// damage runs a program and returns the error of the number that it prints.
func damage(t *testing.T, dir, name string, args ...string) int {
	t.Helper()
	var diagnosis strings.Builder
	cmd := exec.Command(filepath.Join(dir, name), args...)
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0") // the sleep is for goroutines that outlive main
	cmd.Stderr = &diagnosis
	out, err := cmd.Output()
	if err != nil || diagnosis.Len() > 0 {
		t.Fatalf("%s: %v\n%s", cmd, err, diagnosis.String())
	}
	want := programs[name]
	found := regexp.MustCompile(want.output).FindSubmatch(out)
	if found == nil {
		t.Fatalf("%s printed %q", cmd, out)
	}
	if second := string(found[2]); second != "" && second != fmt.Sprint(want.right) {
		t.Fatalf("%s printed %q, want %d", cmd, out, want.right)
	}
	got, err := strconv.Atoi(string(found[1]))
	if err != nil {
		t.Fatal(err)
	}
	return got - want.right
}

// TestPrograms: no run of a fixed program does damage. Runs of the others rarely do, and the error
// is never negative.
func TestPrograms(t *testing.T) {
	dir := build(t)
	for name := range programs {
		t.Run(name, func(t *testing.T) {
			hurt := 0
			for range 20 {
				if d := damage(t, dir, name, "-fixed"); d != 0 {
					t.Errorf("with -fixed it is wrong by %d", d)
				}
				switch d := damage(t, dir, name); {
				case d < 0:
					t.Errorf("it is wrong by %d", d)
				case d > 0:
					hurt++
				}
			}
			t.Logf("%d of 20 runs did damage", hurt)
		})
	}
}

// TestRaceDetector: Go's race detector reports nothing, because there is no data race.
func TestRaceDetector(t *testing.T) {
	if testing.Short() {
		t.Skip("builds with -race")
	}
	if out, err := exec.Command("go", "list", "-race", "runtime/race").CombinedOutput(); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("no race detector: %s", out)
		}
		t.Skipf("no race detector here: %s", out)
	}
	dir := build(t, "-race")
	for name := range programs {
		for range 3 {
			damage(t, dir, name)
			if d := damage(t, dir, name, "-fixed"); d != 0 {
				t.Errorf("%s -fixed is wrong by %d", name, d)
			}
		}
	}
}

// TestSections: each place in a sections file is an access to the section's variable, and entry and
// ends are in one function, unless the section ends in a caller.
func TestSections(t *testing.T) {
	for name := range programs {
		t.Run(name, func(t *testing.T) {
			file, err := os.Open(filepath.Join(name, "heisen.sections"))
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			sections, err := section.Decode(file)
			if err != nil {
				t.Fatal(err)
			}
			if len(sections) == 0 {
				t.Error("no sections")
			}
			for _, s := range sections {
				places := []section.Location{s.Entry}
				for _, e := range s.Ends {
					places = append(places, e.At)
				}
				in := map[string]bool{}
				for _, at := range places {
					accesses := accessesIn(t, filepath.Join(name, at.File))
					function, ok := accesses[access{at.Line, at.Mode, s.Variable}]
					if !ok {
						t.Errorf("%v is no access to %s", at, s.Variable)
					}
					in[function] = true
				}
				if len(in) > 1 != (s.Above > 0) {
					t.Errorf("section of %s at %v, above %d, is in %d functions", s.Variable, s.Entry, s.Above, len(in))
				}
			}
		})
	}
}

// access is an access in a source file.
type access struct {
	line     int
	mode     section.Modes
	variable string
}

// accessesIn returns the accesses in a file to fields, and to maps and atomics in
// fields, with the names of the functions.
func accessesIn(t *testing.T, file string) map[access]string {
	t.Helper()
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	found := map[access]string{}
	for _, d := range parsed.Decls {
		function, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		add := func(e ast.Expr, mode section.Modes) {
			found[access{fset.Position(e.Pos()).Line, mode, types.ExprString(e)}] = function.Name.Name
		}
		// stored are expressions that are written and not read.
		stored := map[ast.Expr]bool{}
		ast.Inspect(function, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for _, left := range n.Lhs {
					stored[left] = n.Tok == token.ASSIGN
					if element, ok := left.(*ast.IndexExpr); ok {
						left = element.X // of a map, which is written as a whole
					}
					add(left, section.Writes)
				}
			case *ast.IncDecStmt:
				add(n.X, section.Writes)
			case *ast.CallExpr:
				if method, ok := n.Fun.(*ast.SelectorExpr); ok {
					switch method.Sel.Name {
					case "Store", "Swap", "Add", "CompareAndSwap":
						add(method.X, section.Writes)
						stored[method.X] = true
					}
				}
			case *ast.SelectorExpr:
				if !stored[n] {
					add(n, section.Reads)
				}
			}
			return true
		})
	}
	return found
}
