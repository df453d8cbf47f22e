package cli_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/heisen-go/heisen/internal/cli"
)

// sales loses updates: a sale loads the number of sales and stores it increased, and it lets others run in between.
const sales = `package main

import (
	"fmt"
	"runtime"
	"sync"
)

type store struct{ sold int }

func (s *store) sell() { // it is inlined, and a call within the section returns
	n := s.sold
	work()
	s.sold = n + 1
}

//go:noinline
func work() { runtime.Gosched() }

func main() {
	var s store
	go func() {
		for range 5 { // a collection gives up no section
			runtime.GC()
		}
	}()
	var working sync.WaitGroup
	for range 8 {
		working.Go(func() {
			for range 250 {
				s.sell()
			}
		})
	}
	working.Wait()
	fmt.Println(s.sold)
}
`

const salesSections = `heisen sections 1

section main.go:12 read
	variable s.sold
	end main.go:14 write {read}
`

// TestBuildHeal: a program that heals alone has the right result in each of 50 runs. The same program without that
// loses updates.
func TestBuildHeal(t *testing.T) {
	if testing.Short() {
		t.Skip("builds instrumented programs")
	}
	dir := writeFiles(t, map[string]string{"go.mod": "module example.com/m\n\ngo 1.25\n", "main.go": sales, "s.sections": salesSections})
	t.Chdir(dir)
	for name, args := range map[string][]string{"plain": nil, "healed": {"-heal", "s.sections"}} {
		if status, _, stderr := heisenCommand(append([]string{"build", "-o", name}, args...)...); status != cli.Clean {
			t.Fatalf("build of %s: exit status %d\n%s", name, status, stderr)
		}
	}
	lost := map[string]int{}
	const runs = 50
	for i := range runs {
		for _, name := range []string{"plain", "healed"}[min(i, 5)/5:] {
			cmd := exec.CommandContext(context.Background(), filepath.Join(dir, name))
			cmd.Env = append(os.Environ(), "GOMAXPROCS=4")
			out, err := cmd.Output()
			if name == "healed" && err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if strings.TrimSpace(string(out)) != "2000" {
				lost[name]++
			}
		}
	}
	if lost["healed"] != 0 || lost["plain"] == 0 {
		t.Errorf("of %d runs, %d lost updates with -heal; of 5 without, %d", runs, lost["healed"], lost["plain"])
	}
}

// parts runs four parts, one after the other. Each prints how many of 2000 updates were lost.
const parts = `package main

import (
	"fmt"
	"runtime"
	"sync"
)

type store struct{ sold, returned int }

func (s *store) sell() {
	n := s.sold
	runtime.Gosched()
	s.sold = n + 1
}

func (s *store) cancel() {
	n := s.sold
	runtime.Gosched()
	s.sold = n - 1
}

func (s *store) refund() {
	n := s.returned
	runtime.Gosched()
	s.returned = n + 1
}

func part(name string, update func(), result *int) {
	before := *result
	var working sync.WaitGroup
	for range 8 {
		working.Go(func() {
			for range 250 {
				update()
			}
		})
	}
	working.Wait()
	fmt.Printf("%s %d\n", name, 2000-max(*result-before, before-*result))
}

func main() {
	first, second := new(store), new(store)
	part("first", first.sell, &first.sold)
	part("second", second.sell, &second.sold)
	part("cancel", first.cancel, &first.sold)
	part("refund", first.refund, &first.returned)
}
`

const partsSections = `heisen sections 1

section main.go:12 read
	end main.go:14 write {read}

section main.go:18 read
	end main.go:20 write {read}

section main.go:24 read
	end main.go:26 write {read}
`

// TestHealAuto: the first part loses updates until the first finding. From then on the variable is healed: in the same
// function for other values of the type, and in another function for the same value. Another variable is not, until
// a finding names it.
func TestHealAuto(t *testing.T) {
	if testing.Short() {
		t.Skip("builds instrumented programs")
	}
	t.Chdir(writeFiles(t, map[string]string{"go.mod": "module example.com/m\n\ngo 1.25\n", "main.go": parts, "s.sections": partsSections}))
	t.Setenv("GOMAXPROCS", "4")
	for _, heal := range []bool{false, true} {
		args := []string{"run", "-detect", "atomrace", "-sections", "s.sections", "-pkgs", "work", "."}
		if heal {
			args = slices.Insert(args, 1, "-heal", "auto")
		}
		status, stdout, stderr := heisenCommand(args...)
		if status != cli.Findings || strings.Contains(stderr, "held up") {
			t.Fatalf("exit status %d\n%s", status, stderr)
		}
		lost := map[string]int{}
		for line := range strings.Lines(stdout) {
			var name string
			var n int
			if _, err := fmt.Sscan(line, &name, &n); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			lost[name] = n
		}
		for _, name := range []string{"first", "second", "cancel", "refund"} {
			n, ok := lost[name]
			switch {
			case !ok, n == 0 && !heal, n > 0 && heal && (name == "second" || name == "cancel"):
				t.Errorf("-heal auto %v: %s has lost %d updates", heal, name, n)
			}
		}
		if !strings.Contains(stderr, "s.sold: ") || !strings.Contains(stderr, "s.returned: ") {
			t.Errorf("-heal auto %v: not all findings are reported\n%s", heal, stderr)
		}
	}
}
