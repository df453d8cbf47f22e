package enforce

import (
	"context"
	"flag"
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
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
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
	var b strings.Builder
	b.WriteString(`{"format":"heisen profile","version":2,"variables":[{"name":"` + variable + `","pairs":[`)
	for i, pair := range pairs {
		if i > 0 {
			b.WriteString(",")
		}
		b.WriteString("{")
		for n, key := range []string{"first", "second"} {
			label, op := pair[n][:len(pair[n])-1], ops[pair[n][len(pair[n])-1]]
			if lines[label] == 0 {
				t.Fatalf("no line %s", label)
			}
			b.WriteString(`"` + key + `":{"func":"f","file":` + quote(name) + `,"line":` + itoa(lines[label]) + `,"op":"` + op + `"},`)
		}
		b.WriteString(`"atomic":"` + pair[2] + `"}`)
	}
	b.WriteString("]}]}")
	profile, err := heal.DecodeProfile(strings.NewReader(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	return profile
}

func quote(s string) string { return `"` + strings.ReplaceAll(s, `\`, `\\`) + `"` }

func itoa(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + string(rune('0'+n%10))
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
