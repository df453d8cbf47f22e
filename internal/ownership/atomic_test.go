package ownership

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAtomic compares the atomicities of functions with comments where they begin:
//
//	func f() { // want compound: a part of the reason
func TestAtomic(t *testing.T) {
	a, r := analyze(t, filepath.Join("testdata", "atomic"))
	name := filepath.Join("testdata", "atomic", "main.go")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	checked := 0
	for _, f := range r.Functions {
		line := 0
		for _, g := range a.functions {
			if g.name == f.Name {
				line = a.position(g.fn.Pos()).Line
			}
		}
		_, want, _ := strings.Cut(lines[line-1], "// want ")
		basic, reason, _ := strings.Cut(want, ": ")
		if got := f.Atomicity.String(); got != basic || !strings.Contains(f.Reason.Text, reason) {
			t.Errorf("%s:%d: %s: %s (%s), want %s", name, line, f.Name, got, f.Reason, want)
		}
		if is := r.Plan.Functions[f.Name].Atomic; is != (basic != "compound") {
			t.Errorf("%s: atomic %t in the plan", f.Name, is)
		}
		checked++
	}
	if want := strings.Count(string(text), "// want "); checked != want {
		t.Errorf("%d functions, want %d", checked, want)
	}
}
