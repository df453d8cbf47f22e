package enforce

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/heisen-go/heisen/heal"
)

var update = flag.Bool("update", false, "rewrite golden files")

// module writes a module to a folder of its own and loads it.
func module(t *testing.T, files map[string]string) *Program {
	t.Helper()
	dir := t.TempDir()
	if files["go.mod"] == "" {
		files["go.mod"] = "module example.com/m\n\ngo 1.25\n"
	}
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("GOWORK", "off")
	p, err := Load(context.Background(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

var mark = regexp.MustCompile(`//\s*([a-zA-Z0-9_]+):`)

// pairsOf makes a profile of one variable. Each pair is two places, as the comment that marks its line and r, w or c, and
// a mode.
func pairsOf(t *testing.T, p *Program, file, variable string, pairs [][3]string) *heal.Profile {
	t.Helper()
	name := filepath.Join(p.root, file)
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	lines := map[string]int{}
	for i, line := range strings.Split(string(text), "\n") {
		if m := mark.FindStringSubmatch(line); m != nil {
			lines[m[1]] = i + 1
		}
	}
	ops := map[byte]string{'r': "read", 'w': "write", 'c': "call"}
	var list []any
	for _, pair := range pairs {
		var uses [2]jsonUse
		for n := range uses {
			label, op := pair[n][:len(pair[n])-1], ops[pair[n][len(pair[n])-1]]
			if lines[label] == 0 {
				t.Fatalf("no line %s", label)
			}
			uses[n] = jsonUse{Func: "f", File: name, Line: lines[label], Op: op}
		}
		list = append(list, jsonPair{uses[0], uses[1], pair[2]})
	}
	return decodeProfile(t, map[string][]any{variable: list})
}

// jsonUse and jsonPair are parts of a profile, as heal.DecodeProfile reads it.
type (
	jsonUse struct {
		Func string `json:"func"`
		File string `json:"file"`
		Line int    `json:"line"`
		Op   string `json:"op"`
	}
	jsonPair struct {
		First  jsonUse `json:"first"`
		Second jsonUse `json:"second"`
		Atomic string  `json:"atomic"`
	}
)

// decodeProfile returns a profile of the pairs of variables.
func decodeProfile(t *testing.T, pairs map[string][]any) *heal.Profile {
	t.Helper()
	var variables []any
	for _, name := range slices.Sorted(maps.Keys(pairs)) {
		variables = append(variables, map[string]any{"name": name, "pairs": pairs[name]})
	}
	text, err := json.Marshal(map[string]any{"format": "heisen profile", "version": 2, "variables": variables})
	if err != nil {
		t.Fatal(err)
	}
	profile, err := heal.DecodeProfile(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return profile
}

func plan(t *testing.T, p *Program, profile *heal.Profile) *Plan {
	t.Helper()
	out, err := p.Plan(context.Background(), profile)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// golden compares a changed file with a golden one.
func golden(t *testing.T, pl *Plan, file, name string) {
	t.Helper()
	files, err := pl.Files()
	if err != nil {
		t.Fatal(err)
	}
	got := files[filepath.Join(pl.p.root, file)]
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("%s: got\n%s", name, got)
	}
}

// goWith runs a go command in the module with the overlay of a plan.
func goWith(t *testing.T, pl *Plan, args ...string) string {
	t.Helper()
	overlay, err := pl.Write(filepath.Join(t.TempDir(), "healed"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", slices.Insert(args, 1, "-overlay="+overlay)...)
	cmd.Dir = pl.p.root
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("go %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// TestFigure1 is the paper's figure 1: the write that no run has reached is protected, too.
func TestFigure1(t *testing.T) {
	p := module(t, map[string]string{"main.go": figure1})
	pl := plan(t, p, pairsOf(t, p, "main.go", "example.com/m.pointer", [][3]string{{"testr", "user", "read"}}))
	if len(pl.Refused) > 0 {
		t.Fatal(pl.Refused)
	}
	golden(t, pl, "main.go", "figure1.golden")
	goWith(t, pl, "vet", "./...")
	goWith(t, pl, "test", "-race", "./...")
}

const figure1 = `package main

import "fmt"

var pointer *int

func foo(condition bool) (sum int) {
	if condition {
		pointer = nil // clear:
	}
	if pointer != nil { // test:
		sum += *pointer // use:
	}
	return sum
}

func main() { fmt.Println(foo(false)) }
`

// TestFigure2 is the bug of MySQL, with the accesses in functions that are called.
func TestFigure2(t *testing.T) {
	text, err := os.ReadFile("testdata/figure2.go.txt")
	if err != nil {
		t.Fatal(err)
	}
	p := module(t, map[string]string{"main.go": string(text)})
	pl := plan(t, p, pairsOf(t, p, "main.go", "example.com/m.binlog.kind", [][3]string{
		{"L805c", "L830c", "read"}, {"L830c", "L834r", "read"}, {"L834r", "L867c", "read"}, {"L867c", "L870c", "exclusive"},
		{"L311c", "L1922c", "read"},
	}))
	if len(pl.Refused) > 0 {
		t.Fatal(pl.Refused)
	}
	golden(t, pl, "main.go", "figure2.golden")
	goWith(t, pl, "vet", "./...")
	goWith(t, pl, "run", "-race", ".")
	if len(pl.result.Hoists) == 0 {
		t.Error("nothing was hoisted")
	}
}

// TestFigure3 is the paper's figure 3: a store and a use of a pointer, each under a lock that another store lacks.
func TestFigure3(t *testing.T) {
	p := module(t, map[string]string{"main.go": figure3})
	pl := plan(t, p, pairsOf(t, p, "main.go", "example.com/m.p", [][3]string{{"Aw", "Cr", "exclusive"}}))
	if len(pl.Refused) > 0 {
		t.Fatal(pl.Refused)
	}
	golden(t, pl, "main.go", "figure3.golden")
	goWith(t, pl, "vet", "./...")
	goWith(t, pl, "run", "-race", ".")
}

const figure3 = `package main

import "sync"

var (
	mu sync.Mutex
	p  *int
)

func thread1() int {
	mu.Lock()
	p = new(int) // A:
	mu.Unlock()

	mu.Lock()
	defer mu.Unlock()
	return *p // C:
}

func thread2() {
	p = nil // B:
}

func main() {
	var working sync.WaitGroup
	for range 100 {
		working.Go(func() { thread1() })
		working.Go(thread2)
	}
	working.Wait()
}
`

// checked compares the changed file of a plan with a golden one, and runs it.
func checked(t *testing.T, pl *Plan, name string) {
	t.Helper()
	if len(pl.Refused) > 0 {
		t.Fatal(pl.Refused)
	}
	golden(t, pl, "main.go", name)
	goWith(t, pl, "vet", "./...")
	goWith(t, pl, "run", "-race", ".")
}

// constraintsAt returns the pairs for which the lock of a variable must be held when control comes to a line, as the
// paper's sets lc, with the comments that mark lines.
func constraintsAt(t *testing.T, pl *Plan, variable, function, label string) (out []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(pl.p.root, "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	labels := map[int]string{}
	for i, line := range strings.Split(string(text), "\n") {
		if m := mark.FindStringSubmatch(line); m != nil {
			labels[i+1] = m[1]
		}
	}
	u := pl.p.units[slices.IndexFunc(pl.p.units, func(u *unit) bool { return strings.HasSuffix(pl.p.name(u), "."+function) })]
	labelOf := func(s *step) string {
		if len(s.parts) == 0 {
			return ""
		}
		return labels[pl.p.lineOf(s.parts[0].Pos())]
	}
	for _, s := range u.flow.steps {
		if labelOf(s) != label {
			continue
		}
		for _, c := range pl.result.Placements[u.Number][variable].Constraints[s.id] {
			out = append(out, labelOf(u.flow.steps[c.First])+"-"+labelOf(u.flow.steps[c.Second])+" "+c.Mode.String())
		}
	}
	slices.Sort(out)
	return out
}

// TestFigure7 is the paper's figure 7: x is accessed at 2, 7, 9 and 12. The sets lc are those of the figure, the lock is
// degraded before 6, and there are no releases before 5 and after 7.
func TestFigure7(t *testing.T) {
	p := module(t, map[string]string{"main.go": figure7})
	pl := plan(t, p, pairsOf(t, p, "main.go", "example.com/m.x", [][3]string{
		{"n2r", "n12r", "exclusive"}, {"n2r", "n7r", "read"}, {"n7r", "n12r", "read"},
	}))
	for label, want := range map[string][]string{
		"n1": nil,
		"n2": {"n2-n12 exclusive", "n2-n7 shared"},
		"n3": nil,
		"n4": {"n2-n12 exclusive", "n2-n7 shared"},
		"n5": {"n2-n12 exclusive"},
		"n6": {"n2-n7 shared"},
		"n7": {"n2-n7 shared", "n7-n12 shared"},
		"n9": nil,
	} {
		if got := constraintsAt(t, pl, "example.com/m.x", "f", label); !slices.Equal(got, want) {
			t.Errorf("lc(%s) = %q, want %q", label, got, want)
		}
	}
	checked(t, pl, "figure7.golden")
}

const figure7 = `package main

import "sync"

var x, other int

func f(a, b, c bool) (sum int) {
	if a { // n1:
		sum += x // n2:
	} else {
		sum++ // n3:
	}
	if b { // n4:
		sum++ // n6:
		sum += x // n7:
	} else {
		sum-- // n5:
		if c { // n8:
			sum += x // n9:
			sum++ // n11:
			return sum // n13:
		}
	}
	sum++ // n10:
	sum += x // n12:
	return sum
}

func main() {
	var working sync.WaitGroup
	for i := range 8 {
		working.Go(func() { f(i&1 > 0, i&2 > 0, i&4 > 0) })
		working.Go(func() { x++ })
	}
	working.Wait()
}
`

// TestFigure8 is the paper's figure 8: the lock of y is wanted at 6 while that of x may be held since 2. Other functions
// want x while they hold y. So y is acquired before 2, given up where 6 cannot be reached any more, and not acquired
// before 3.
func TestFigure8(t *testing.T) {
	p := module(t, map[string]string{"main.go": figure8})
	profile := pairsOf(t, p, "main.go", "example.com/m.x", [][3]string{{"n2w", "n7w", "exclusive"}})
	profile.Merge(pairsOf(t, p, "main.go", "example.com/m.y", [][3]string{{"n6r", "n8r", "read"}, {"firstw", "lastr", "exclusive"}}))
	pl := plan(t, p, profile)
	checked(t, pl, "figure8.golden")
	for _, h := range pl.result.Hoists {
		if name := p.name(p.units[h.Function]); name != "example.com/m.f" || h.Variable != "example.com/m.y" || h.Before != "example.com/m.x" {
			t.Errorf("%s: %s is acquired before %s", name, h.Variable, h.Before)
		}
	}
	if len(pl.result.Hoists) == 0 {
		t.Error("nothing was hoisted")
	}
}

const figure8 = `package main

import "sync"

var x, y int

func f(a, b bool) (sum int) {
	if a { // n1:
		x = 1 // n2:
	} else {
		sum++ // n3:
	}
	if b { // n4:
		sum-- // n5:
	} else {
		sum += y // n6:
	}
	x = 2 // n7:
	sum += y // n8:
	return sum
}

func g(n int) {
	y = n // first:
	n++
	n *= 2
	n -= 3
	x = n // inner:
	n += y // last:
}

func main() {
	var working sync.WaitGroup
	for i := range 8 {
		working.Go(func() { f(i&1 > 0, i&2 > 0) })
		working.Go(func() { g(i) })
	}
	working.Wait()
}
`

// TestFigure10 is the bug 44402 of Apache: a list without locks, whose nodes come back. Another goroutine may take the
// first node between the two reads of its field next in one condition, and put it back.
func TestFigure10(t *testing.T) {
	p := module(t, map[string]string{"main.go": figure10})
	pl := plan(t, p, pairsOf(t, p, "main.go", "example.com/m.node.next", [][3]string{{"testr", "testr", "read"}}))
	checked(t, pl, "figure10.golden")
}

const figure10 = `package main

import (
	"sync"
	"sync/atomic"
)

type node struct {
	pool int
	next *node
}

var recycled atomic.Pointer[node]

func compareAndSwap(old, new *node) *node {
	if recycled.CompareAndSwap(old, new) {
		return old
	}
	return recycled.Load()
}

func setIdle(n *node) {
	for {
		n.next = recycled.Load() // link:
		if compareAndSwap(n.next, n) == n.next { // test:
			return
		}
	}
}

func take() *node {
	for {
		first := recycled.Load()
		if first == nil {
			return nil
		}
		if recycled.CompareAndSwap(first, first.next) { // unlink:
			first.next = nil // cut:
			return first
		}
	}
}

func main() {
	var working sync.WaitGroup
	for i := range 4 {
		setIdle(&node{pool: i})
	}
	for range 4 {
		working.Go(func() {
			for range 1000 {
				if n := take(); n != nil {
					setIdle(n)
				}
			}
		})
	}
	working.Wait()
}
`
