package patch_test

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heisen-go/heisen/internal/cli"
	"github.com/heisen-go/heisen/internal/testaid/tier"
)

// heal runs a command of heisen in the working directory.
func heal(t *testing.T, args ...string) (status int, out, messages string) {
	t.Helper()
	var printed, said bytes.Buffer
	status = cli.Main(context.Background(), cli.Tool{}, args, cli.Streams{In: strings.NewReader(""), Out: &printed, Err: &said})
	return status, printed.String(), said.String()
}

const fieldsSource = `package main

import (
	"fmt"
	"reflect"
	"sync"
)

type counter struct{ n int }

func (c *counter) inc() { c.n++ }

func fields(v any) int { return reflect.TypeOf(v).Elem().NumField() }

func main() {
	c := &counter{}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(c.inc)
	}
	wg.Wait()
	fmt.Println("fields:", fields(c))
}
`

// TestTried: a patch by which a test fails is not printed, and the reason is said. Without the trial it is, and that nothing was
// tried is said, too.
func TestTried(t *testing.T) {
	tier.Need(t, tier.CI)
	dir := t.TempDir()
	write(t, dir, map[string]string{"go.mod": "module example.com/m\n\ngo 1.25\n", "main.go": fieldsSource, "main_test.go": `package main

import "testing"

func TestMain1(t *testing.T) {
	main()
	if n := fields(&counter{}); n != 1 {
		t.Fatalf("%d fields", n)
	}
}
`})
	t.Chdir(dir)
	status, diff, said := heal(t, "heal", "-patch", ".")
	if status != cli.Findings || diff != "" || !strings.Contains(said, "the patch was tried, and is not printed") || !strings.Contains(said, "FAIL") {
		t.Errorf("exit status %d\n%s\n%s", status, diff, said)
	}
	status, diff, said = heal(t, "heal", "-patch", "-try=false", ".")
	if status != cli.Clean || !strings.Contains(diff, "sync.Mutex") || !strings.Contains(said, "nothing was tried") {
		t.Errorf("with -try=false: exit status %d\n%s\n%s", status, diff, said)
	}
}

const listSource = `package main

import (
	"reflect"
	"sync"
)

type node struct {
	v    int
	next *node
}

type list struct{ head *node }

func (l *list) push() { l.head = &node{next: l.head} }

func (l *list) add() {
	if l.head != nil {
		l.head.v++
	}
}

type counter struct{ n int }

func (c *counter) inc() { c.n++ }

func fields(v any) int { return reflect.TypeOf(v).Elem().NumField() }

func main() {
	l, c := &list{}, &counter{}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 100 {
				l.push()
				c.inc()
			}
			for range 100 {
				l.add()
			}
		})
	}
	wg.Wait()
}
`

// TestTriedTogether: a race for which no patch passes by itself is repaired if the lock of another repair guards its variable. A test that
// fails by one repair is noticed, whatever race makes it fail besides.
func TestTriedTogether(t *testing.T) {
	tier.Need(t, tier.CI)
	dir := t.TempDir()
	write(t, dir, map[string]string{"go.mod": "module example.com/m\n\ngo 1.25\n", "main.go": listSource, "main_test.go": `package main

import "testing"

func TestMain1(t *testing.T) {
	main()
	if fields(&node{}) != 2 || fields(&counter{}) != 1 {
		t.Fatal("a type has more fields")
	}
}
`})
	t.Chdir(dir)
	status, diff, said := heal(t, "heal", "-patch", ".")
	if status != cli.Findings || !strings.Contains(diff, "l.mu.Lock()") || strings.Contains(diff, "c.mu") || strings.Count(said, "is not repaired") != 1 {
		t.Errorf("exit status %d\n%s\n%s", status, diff, said)
	}
}

// TestProgram: what a program shows is repaired, also from a recorded trace and from a report. Without tests, heal says how to do
// that.
func TestProgram(t *testing.T) {
	tier.Need(t, tier.CI)
	dir := t.TempDir()
	write(t, dir, map[string]string{"go.mod": "module example.com/m\n\ngo 1.25\n", "main.go": fieldsSource})
	t.Chdir(dir)
	status, _, said := heal(t, "heal", "-patch", "./...")
	if status != cli.Failed || !strings.Contains(said, "heisen heal -patch run") {
		t.Errorf("without tests: exit status %d\n%s", status, said)
	}
	status, diff, said := heal(t, "heal", "-patch", "run", ".")
	if status != cli.Clean || !strings.Contains(diff, "c.mu.Lock()") {
		t.Fatalf("exit status %d\n%s\n%s", status, diff, said)
	}
	if status, _, said := heal(t, "record", "-o", "p.heisen", "run", "."); status != cli.Clean {
		t.Fatalf("record: exit status %d\n%s", status, said)
	}
	if status, again, said := heal(t, "heal", "-patch", "-try=false", "-findings", "p.heisen"); status != cli.Clean || again != diff {
		t.Errorf("from a trace: exit status %d\n%s\n%s", status, again, said)
	}
	command(t, diff, "git", "apply")
	if status, _, said := heal(t, "run", "."); status != cli.Clean {
		t.Errorf("after the patch: exit status %d\n%s", status, said)
	}
}

// TestElsewhere: a file for another system that names the variable is said not to have been looked at.
func TestElsewhere(t *testing.T) {
	dir := t.TempDir()
	source := "package c\n\ntype c struct{ n int }\n\nfunc (x *c) inc() { x.n++ } // race: x.n\n"
	write(t, dir, map[string]string{
		"go.mod": "module example.com/c\n\ngo 1.25\n", "c.go": source, "c_plan9.go": "package c\n\nfunc (x *c) dec() { x.n-- }\n",
		"other/o_plan9.go": "package other\n\nvar n int\n", "tagged.go": "//go:build never\n\npackage c\n\nvar y = (&c{}).n\n",
		"testdata/d.go": "package d\n\nvar n int\n",
	})
	result := madeFor(t, dir, map[string]string{"c.go": source})
	want := "c_plan9.go:3 names n, and is not built here: it was not looked at\ntagged.go:5 names n, and is not built here: it was not looked at"
	if got := strings.Join(result.Notes, "\n"); got != want || len(result.Repaired) != 1 {
		t.Errorf("repaired %v, notes\n%s", result.Repaired, got)
	}
}

// TestOtherModules: what other modules of the folder and of the workspace access, vendored copies, and generated files that change,
// are named.
func TestOtherModules(t *testing.T) {
	t.Setenv("GOWORK", "")
	dir := t.TempDir()
	source := "package c\n\ntype C struct{ N, m int }\n\nfunc (x *C) inc() { x.N++ } // race: x.N\n\nfunc (x *C) dec() { x.m++ } // race: x.m\n"
	user := "package u\n\nimport \"example.com/c\"\n\nfunc use(x *c.C) { x.N++ }\n"
	write(t, dir, map[string]string{
		"go.work":                   "go 1.25\n\nuse (\n\t./c\n\t./other\n)\n",
		"c/go.mod":                  "module example.com/c\n\ngo 1.25\n",
		"c/c.go":                    source,
		"c/g.go":                    "// Code generated by hand. DO NOT EDIT.\n\npackage c\n\nfunc (x *C) get() int { return x.N }\n",
		"c/nested/go.mod":           "module example.com/nested\n\ngo 1.25\n",
		"c/nested/u.go":             user,
		"c/nested/plain.go":         "package u\n\nvar N, m int\n",
		"other/go.mod":              "module example.com/other\n\ngo 1.25\n",
		"other/u.go":                user,
		"vendor/modules.txt":        "## workspace\n",
		"vendor/example.com/c/c.go": source,
	})
	result := madeFor(t, filepath.Join(dir, "c"), map[string]string{"c.go": source})
	want := []string{
		"g.go is generated: what generates it has to be changed, too",
		"nested/u.go:5 names N, and is in another module, nested: it was not looked at",
		"../other/u.go:5 names N, and is in another module, ../other: it was not looked at",
		"../vendor/example.com/c/c.go:3 names N, and is in a vendored copy: it is not changed",
		"../vendor/example.com/c/c.go:3 names m, and is in a vendored copy: it is not changed",
	}
	if diff := cmp.Diff(want, result.Notes); diff != "" || len(result.Repaired) != 1 {
		t.Errorf("repaired %v, refused %v, notes (-want +got)\n%s", result.Repaired, result.Refused, diff)
	}
}

// TestWorkspace: in a workspace, the module of the working directory is patched.
func TestWorkspace(t *testing.T) {
	tier.Need(t, tier.CI)
	t.Setenv("GOWORK", "")
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"go.work":  "go 1.25\n\nuse (\n\t./m\n\t./other\n)\n",
		"m/go.mod": "module example.com/m\n\ngo 1.25\n", "m/main.go": fieldsSource,
		"other/go.mod": "module example.com/other\n\ngo 1.25\n", "other/o.go": "package other\n",
	})
	t.Chdir(filepath.Join(dir, "m"))
	status, diff, said := heal(t, "heal", "-patch", "run", ".")
	if status != cli.Clean || !strings.Contains(diff, "c.mu.Lock()") {
		t.Fatalf("exit status %d\n%s\n%s", status, diff, said)
	}
	command(t, diff, "git", "apply")
	if status, _, said := heal(t, "run", "."); status != cli.Clean {
		t.Errorf("after the patch: exit status %d\n%s", status, said)
	}
}
