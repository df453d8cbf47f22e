package ownership

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/heisen-go/heisen/internal/ssaload"
)

// The tests in this file compare plans with Go's race detector, which is independent of them: no access of a race that it
// reports may be on a line that the plan has for accesses of its kind.

// reported is a read or write that the race detector has reported.
type reported struct {
	file  string
	line  int
	write bool
}

var (
	accessHeader = regexp.MustCompile(`^(Previous )?(atomic )?([Rr]ead|[Ww]rite) at 0x`)
	framePlace   = regexp.MustCompile(`^\s+(/.*\.go):(\d+)`)
)

// mapCrash is what the runtime says when it notices a race of map operations by itself and ends the program.
const mapCrash = "fatal error: concurrent map"

// raceReports runs a command of go in a folder and returns the accesses of the races that it reports. What growslice
// reads counts where it is called. If the runtime ends the program, the command runs again, ten times at most.
func raceReports(t *testing.T, dir string, args ...string) map[reported]bool {
	t.Helper()
	var out []byte
	var err error
	for range 10 {
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "CGO_ENABLED=1", "GORACE=halt_on_error=0 exitcode=0 suppress_equal_stacks=0 suppress_equal_addresses=0")
		if out, err = cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), mapCrash) {
			break
		}
	}
	if err != nil && !strings.Contains(string(out), "FAIL") {
		t.Fatalf("%v: %v\n%s", args, err, out[max(0, len(out)-4000):])
	}
	found := map[reported]bool{}
	lines := strings.Split(string(out), "\n")
	for i, line := range lines {
		header := accessHeader.FindStringSubmatch(line)
		if header == nil || i+2 >= len(lines) {
			continue
		}
		at := i + 2
		if strings.HasPrefix(strings.TrimSpace(lines[i+1]), "runtime.growslice(") && i+4 < len(lines) {
			at = i + 4
		}
		if frame := framePlace.FindStringSubmatch(lines[at]); frame != nil {
			number, _ := strconv.Atoi(frame[2])
			found[reported{frame[1], number, strings.EqualFold(header[3], "write")}] = true
		}
	}
	return found
}

// checkReports fails if a reported access is on a line of the plan, or if there are fewer reports or lines than wanted.
func checkReports(t *testing.T, r *Result, races map[reported]bool, wantRaces, wantLines int) {
	t.Helper()
	root, err := filepath.EvalSymlinks(r.Root)
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	for name, file := range r.Plan.Files {
		for _, l := range file.Reads {
			lines += l.Last - l.First + 1
		}
		for _, l := range file.Writes {
			lines += l.Last - l.First + 1
		}
		for race := range races {
			needless := file.Reads
			if race.write {
				needless = file.Writes
			}
			if race.file == filepath.Join(root, filepath.FromSlash(name)) && needless.Contains(race.line) {
				t.Errorf("%s:%d is safe for the plan, and the race detector reports an access there, write %t", name, race.line, race.write)
			}
		}
	}
	if len(races) < wantRaces || lines < wantLines {
		t.Errorf("%d accesses that race, want at least %d; %d safe lines, want at least %d", len(races), wantRaces, lines, wantLines)
	}
}

// module writes a module into a temporary folder: files by name.
func module(t *testing.T, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	files["go.mod"] = "module example.com/racy\n\ngo 1.25\n"
	for name, text := range files {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestGoRaceTests is about the test data of Go's race detector.
func TestGoRaceTests(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs programs")
	}
	root, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(root)), "src", "runtime", "race", "testdata", "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), `"internal/`) && !strings.Contains(string(text), `import "C"`) && !strings.Contains(name, "cgo") {
			files[filepath.Base(name)] = string(text)
		}
	}
	dir := module(t, files)
	r, err := Analyze(t.Context(), ssaload.Source{Dir: dir, Tests: true})
	if err != nil {
		t.Fatal(err)
	}
	checkReports(t, r, raceReports(t, dir, "test", "-race", "-vet=off", "-count=1", "."), 300, 200)
}

// TestBugs is about the programs of the corpus of bugs.
func TestBugs(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs programs")
	}
	races := 0
	for _, class := range []string{"atomicity", "channelmisuse", "datarace", "library", "order", "waitgroupmisuse"} {
		dir := filepath.Join("..", "..", "corpus", "testdata", class)
		r, err := Analyze(t.Context(), ssaload.Source{Dir: dir, Tests: true})
		if err != nil {
			t.Fatal(err)
		}
		found := raceReports(t, dir, "test", "-race", "-vet=off", "-count=3", "-timeout=60s", ".")
		races += len(found)
		checkReports(t, r, found, 0, 10)
	}
	if races < 10 {
		t.Errorf("%d accesses that race, want at least 10", races)
	}
}

// TestRandomRaces is about random types with random methods, which several goroutines call at the same time.
func TestRandomRaces(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs programs")
	}
	for seed := range uint64(2) {
		dir := module(t, map[string]string{"main.go": randomProgram(rand.New(rand.NewPCG(seed, 1)), 250)})
		r, err := Analyze(t.Context(), ssaload.Source{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		checkReports(t, r, raceReports(t, dir, "run", "-race", "."), 100, 300)
	}
}

// randomProgram returns a program of so many types, each with goroutines of its own.
func randomProgram(random *rand.Rand, types int) string {
	var out strings.Builder
	out.WriteString("package main\n\nimport \"sync\"\n\nfunc main() {\n\tvar done sync.WaitGroup\n")
	for i := range types {
		fmt.Fprintf(&out, "\trun%d(&done)\n", i)
	}
	out.WriteString("\tdone.Wait()\n}\n")
	for i := range types {
		randomType(&out, random, i)
	}
	return out.String()
}

// statements access fields of s; %d is the number of the type.
var statements = []string{
	"s.a++", "s.b = s.a", "_ = s.c", "s.list[0]++", "s.list = append(s.list, s.b)", "_ = s.values[2]", "_ = len(s.values)",
	"s.next = &t%[1]d{a: 1, c: 2}", "if s.next != nil { s.next.a++ }", "if s.next != nil { _ = s.next.c }", "global%[1]d = s", "if global%[1]d != nil { _ = global%[1]d.c }",
	"s.part.x++", "func() { s.part.y++ }()", "t := *s; _ = t.b", "s.part = p%[1]d{1, 2}", "q := s.part; s.b = q.x", "for i := range s.list { s.list[i] = s.a }",
	"s.ch <- s.next", "select { case n := <-s.ch: if n != nil { n.b++ }; default: }", "s.helper()", "s.named = func() { s.a-- }", "if s.named != nil { s.named() }",
	"n := &t%[1]d{list: s.list}; n.c = 3; s.next = n", "any%[1]d = s", "if v, ok := any%[1]d.(*t%[1]d); ok { v.part.x = 1 }", "p := &s.part; p.y--", "s.array[1]++", "_ = s.array",
	"p := &s.a; if s.c > 3 { p = &s.b }; *p++", "p := &s.list; if s.a&1 == 0 { p = &s.other }; *p = append(*p, 3)", "p := &s.list; if s.a&1 == 0 { p = &s.other }; if len(*p) > 1 { (*p)[1]++ }",
	"p := &s.c; for i, n := 0, s; i < 3 && n != nil; i, n = i+1, n.next { *p++; p = &n.b }", "for i := range s.other { s.other[i]++ }",
	"s.parts[0].x++", "_ = s.parts[1].y", "p := &s.parts[0]; p.y--", "s.parts = append(s.parts, p%[1]d{})", "for i := range s.parts { s.parts[i].x-- }", "for _, p := range s.parts { s.a += p.y }",
	"p := &s.parts[0].x; if s.a&1 == 0 { p = &s.parts[1].y }; *p++", "if s.next != nil { s.parts = s.next.parts }", "s.next = &t%[1]d{parts: s.parts}", "if s.next != nil { s.next.parts[0].x++ }",
	"if n := s.next; n != nil { n.mu.Lock(); defer n.mu.Unlock(); n.parts[1].x++ }", "s.next = &t%[1]d{parts: make([]p%[1]d, 2)}",
}

func randomType(out *strings.Builder, random *rand.Rand, number int) {
	fmt.Fprintf(out, `
type t%[1]d struct {
	mu      sync.Mutex
	a, b, c int
	list    []int
	values  map[int]int
	next    *t%[1]d
	part    p%[1]d
	parts   []p%[1]d
	other   []int
	ch      chan *t%[1]d
	named   func()
	array   [3]int
}

type p%[1]d struct{ x, y int }

var global%[1]d *t%[1]d

var any%[1]d any

func (s *t%[1]d) helper() { s.a, s.c = s.c, s.c }
`, number)
	// Few fields of a type, so that some are always accessed under the lock.
	choice := make([]string, 3)
	for i := range choice {
		choice[i] = statements[random.IntN(len(statements))]
	}
	const methods = 3
	for m := range methods {
		fmt.Fprintf(out, "\nfunc (s *t%d) m%d() {\n", number, m)
		locked := random.IntN(6) > 0
		if locked {
			out.WriteString("\ts.mu.Lock()\n\tdefer s.mu.Unlock()\n")
		}
		for range 1 + random.IntN(3) {
			statement := choice[random.IntN(len(choice))]
			if strings.Contains(statement, "%") {
				statement = fmt.Sprintf(statement, number)
			}
			if strings.HasPrefix(statement, "s.ch <-") {
				statement = "select { case " + statement + ": default: }"
			}
			fmt.Fprintf(out, "\t{ %s }\n", statement)
		}
		out.WriteString("}\n")
	}
	fmt.Fprintf(out, `
func run%[1]d(done *sync.WaitGroup) {
	s := &t%[1]d{list: make([]int, 2), other: make([]int, 2), parts: make([]p%[1]d, 2), values: map[int]int{}, ch: make(chan *t%[1]d, 4)}
	s.c = 1
	for range 3 {
		done.Go(func() {
			for range 20 {
				for _, m := range []func(){s.m0, s.m1, s.m2} {
					func() {
						defer func() { recover() }() // a race may leave a nil pointer
						m()
					}()
				}
			}
		})
	}
}
`, number)
}
