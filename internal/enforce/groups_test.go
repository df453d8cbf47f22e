package enforce

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/heal"
)

// crossesOf makes a profile of two variables that each function accesses together. Each pair is two places as in pairsOf, of
// which the first one is an access to the first variable.
func crossesOf(t *testing.T, p *Program, variables [2]string, pairs [][3]string) *heal.Profile {
	t.Helper()
	profile := pairsOf(t, p, "main.go", "pairs", pairs)
	var crosses, sections []any
	for _, pair := range profile.Variables()[0].Pairs {
		use := func(at heal.Location) jsonUse { return jsonUse{at.Func, at.File, at.Line, opWords[at.Op]} }
		crosses = append(crosses, map[string]any{"variables": variables, "first": use(pair.First), "second": use(pair.Second)})
		sections = append(sections, map[string]any{"at": use(pair.First), "accessed": variables, "written": variables, "count": 1})
	}
	text, err := json.Marshal(map[string]any{
		"format": "heisen profile", "version": 2, "sections": sections, "cross": crosses,
		"variables": []any{map[string]any{"name": variables[0], "pairs": []any{}}, map[string]any{"name": variables[1], "pairs": []any{}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if profile, err = heal.DecodeProfile(bytes.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	return profile
}

var opWords = map[heisen.Op]string{heisen.Read: "read", heisen.Write: "write", heisen.Call: "call"}

// groupShapes are functions that write two fields which belong together.
var groupShapes = map[string]struct {
	source  string
	objects bool   // with a lock for each object
	apart   string // why they are protected each for itself; empty if they are together
}{
	"two statements":      {"func set(v *node) {\n\tv.a = 1 // a:\n\tv.b = 2 // b:\n}", true, ""},
	"one statement":       {"func set(v *node) {\n\tv.a, // a:\n\t\tv.b = 1, 2 // b:\n}", true, ""},
	"a branch":            {"func set(v *node) {\n\tv.a = 1 // a:\n\tif v.c > 0 {\n\t\treturn\n\t}\n\tv.b = 2 // b:\n}", true, ""},
	"another field":       {"func set(v *node) {\n\tv.a = 1 // a:\n\tv.c++\n\tv.b = 2 // b:\n}", true, ""},
	"a path":              {"func set(v *node) {\n\tv.next.a = 1 // a:\n\tv.next.b = 2 // b:\n}", false, ""},
	"a call":              {"func put(v *node, n int) { v.b = n }\n\nfunc set(v *node) {\n\tv.a = 1 // a:\n\tput(v, 2)\n\tv.b = 1 // b:\n}", false, ""},
	"a deferred call":     {"func set(v *node) {\n\tdefer func() {\n\t\tv.b = 2 // b:\n\t}()\n\tv.a = 1 // a:\n}", false, ""},
	"a closure":           {"func set(v *node) func() {\n\tv.a = 1 // a:\n\treturn func() {\n\t\tv.b = 2 // b:\n\t}\n}", false, "main.go:13: example.com/m.node.{a,b}: pairs of two of these variables are left out, and each is protected for itself: the source does not show how control comes from here to main.go:15"},
	"an address":          {"func set(v *node) *int {\n\tv.a = 1 // a:\n\tv.b = 2 // b:\n\treturn &v.b\n}", false, "main.go:15: example.com/m.node.{a,b}: pairs of two of these variables are left out, and each is protected for itself: its address is taken"},
	"a loop with a label": {"func set(v *node) {\nagain:\n\tv.a = 1 // a:\n\tv.b = 2 // b:\n\tif v.c > 0 {\n\t\tgoto again\n\t}\n}", false, "main.go:17: example.com/m.node.{a,b}: pairs of two of these variables are left out, and each is protected for itself: it is accessed in a function with goto is not supported"},
}

// TestGroups: two fields that belong together have one lock, which is held from one to the other, or the plan says why not.
func TestGroups(t *testing.T) {
	const before = `package main

import "sync"

type node struct {
	a, b, c int
	next    *node
}

func main() { new(sync.WaitGroup).Wait() }

`
	for name, shape := range groupShapes {
		t.Run(name, func(t *testing.T) {
			p := module(t, map[string]string{"main.go": before + shape.source + "\n"})
			pl := plan(t, p, crossesOf(t, p, [2]string{"example.com/m.node.a", "example.com/m.node.b"}, [][3]string{{"aw", "bw", "exclusive"}}))
			if shape.apart != "" {
				if len(pl.Variables) > 0 || len(pl.Refused) != 1 || pl.Refused[0].String() != shape.apart {
					t.Errorf("%+v\n got %q\nwant %q", pl.Variables, pl.Refused, shape.apart)
				}
				return
			}
			if len(pl.Refused) > 0 || len(pl.Variables) != 1 {
				t.Fatal(pl.Variables, pl.Refused)
			}
			v := pl.Variables[0]
			if v.Name != "example.com/m.node.{a,b}" || v.Objects != shape.objects || !slices.Equal(v.Members, []string{"example.com/m.node.a", "example.com/m.node.b"}) {
				t.Errorf("%+v", v)
			}
			u := pl.p.units[slices.IndexFunc(pl.p.units, func(u *unit) bool { return pl.p.name(u) == "example.com/m.set" })]
			for _, s := range u.flow.steps { // held from the first access to the second one
				if line := lineOfStep(pl.p, s); line > 0 && between(t, p, line) && !pl.held[u.Number][s.id][v.Name] {
					t.Errorf("not held on line %d", line)
				}
			}
			goWith(t, pl, "vet", "./...")
		})
	}
}

func lineOfStep(p *Program, s *step) int {
	if len(s.parts) == 0 {
		return 0
	}
	return p.lineOf(s.parts[0].Pos())
}

// between reports whether a line of main.go is one from the mark a to the mark b, or the other way around, and no return.
func between(t *testing.T, p *Program, line int) bool {
	text, err := os.ReadFile(filepath.Join(p.root, "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	a := 1 + slices.IndexFunc(lines, func(l string) bool { return strings.HasSuffix(l, "// a:") })
	b := 1 + slices.IndexFunc(lines, func(l string) bool { return strings.HasSuffix(l, "// b:") })
	return a <= line && line <= b && !strings.Contains(lines[line-1], "return")
}

// TestGroupOfTypes: a group with fields of two struct types has one lock for all objects, since these have other addresses.
func TestGroupOfTypes(t *testing.T) {
	const source = `package main

type inner struct{ a int }

type outer struct {
	name string
	inner
	b int
}

func (i *inner) set() { i.a = 1 }

func set(v *outer) {
	v.a = 1 // a:
	v.b = 2 // b:
}

func main() {}
`
	p := module(t, map[string]string{"main.go": source})
	pl := plan(t, p, crossesOf(t, p, [2]string{"example.com/m.inner.a", "example.com/m.outer.b"}, [][3]string{{"aw", "bw", "exclusive"}}))
	if len(pl.Refused) > 0 || len(pl.Variables) != 1 || pl.Variables[0].Objects || pl.Variables[0].Name != "example.com/m.{inner.a,outer.b}" {
		t.Fatal(pl.Variables, pl.Refused)
	}
	goWith(t, pl, "vet", "./...")
}

// TestGroupKeepsPairs: a variable keeps the pairs that it has alone, also past accesses to other variables of its group.
func TestGroupKeepsPairs(t *testing.T) {
	const source = `package main

type node struct{ a, b int }

func set(v *node) {
	if v.a > 0 { // look:
		v.b = 2 // b:
		v.a = 1 // act:
	}
}

func both(v *node) {
	v.a = 1 // first:
	v.b = 2 // second:
}

func main() {}
`
	p := module(t, map[string]string{"main.go": source})
	profile := crossesOf(t, p, [2]string{"example.com/m.node.a", "example.com/m.node.b"}, [][3]string{{"firstw", "secondw", "exclusive"}})
	profile.Merge(pairsOf(t, p, "main.go", "example.com/m.node.a", [][3]string{{"lookr", "actw", "exclusive"}}))
	pl := plan(t, p, profile)
	if len(pl.Refused) > 0 || len(pl.Variables) != 1 || pl.Variables[0].Name != "example.com/m.node.{a,b}" {
		t.Fatal(pl.Variables, pl.Refused)
	}
	got := constraintsAt(t, pl, "example.com/m.node.{a,b}", "set", "b")
	if want := []string{"b-act exclusive", "look-b exclusive"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestSection: a section is the call of the innermost function, or of the method of the same type that leads to it; a function
// that another one defers is part of that.
func TestSection(t *testing.T) {
	const source = `package main

type node struct{ a, b int }

func (v *node) setA() { v.a = 1 } // setA:

func (v *node) set() {
	v.setA() // call:
	defer v.late()
	func() {
		v.b = 2 // literal:
	}()
}

func (v *node) late() { v.b = 1 } // late:

func use(v *node) {
	v.set() // use:
	v.a = 3 // direct:
}

func main() { use(new(node)) }
`
	p := module(t, map[string]string{"main.go": source})
	file := filepath.Join(p.root, "main.go")
	frame := func(label string) heisen.Frame {
		return heisen.Frame{Func: label, File: file, Line: strings.Count(source[:strings.Index(source, "// "+label+":")], "\n") + 1}
	}
	for _, test := range []struct {
		stack []string
		frame int
		name  string
	}{
		{[]string{"use", "call", "setA"}, 1, "example.com/m.(*node).set"},
		{[]string{"use", "literal"}, 1, "example.com/m.(*node).set"},
		{[]string{"use", "late"}, 1, "example.com/m.(*node).set"},
		{[]string{"direct"}, 0, "example.com/m.use"},
	} {
		var stack []heisen.Frame
		for _, label := range test.stack {
			stack = append(stack, frame(label))
		}
		if at, name := p.section(stack); at != test.frame || name != test.name {
			t.Errorf("%q: frame %d of %s, want %d of %s", test.stack, at, name, test.frame, test.name)
		}
	}
	for _, test := range []struct {
		first, second string
		again, want   bool
	}{
		{"use", "direct", false, true}, {"direct", "use", false, false}, {"direct", "direct", false, true}, {"direct", "direct", true, false},
		{"call", "literal", false, true},
	} {
		if got := p.follows(frame(test.first), frame(test.second), test.again); got != test.want {
			t.Errorf("%+v: %v", test, got)
		}
	}
}

// TestLayouts: the offsets of variables in objects, with embedded structs and type parameters.
func TestLayouts(t *testing.T) {
	p := module(t, map[string]string{"main.go": `package main

import "sync"

type inner struct{ x, y int32 }

type outer struct {
	mu sync.Mutex
	inner
	list []int
}

type generic[T any] struct {
	n, m  int
	value T
	after int
}

func main() {}
`})
	for name, want := range map[string][]heal.Field{
		"example.com/m.inner.x":       {{Variable: "example.com/m.inner.x", Size: 8}, {Variable: "example.com/m.inner.x", Offset: 8, Size: 40}},
		"example.com/m.inner.y":       {{Variable: "example.com/m.inner.y", Offset: 4, Size: 8}, {Variable: "example.com/m.inner.y", Offset: 12, Size: 40}},
		"example.com/m.outer.list":    {{Variable: "example.com/m.outer.list", Offset: 16, Size: 40, Refers: true}},
		"example.com/m.generic.m":     {{Variable: "example.com/m.generic.m", Offset: 8}},
		"example.com/m.generic.after": nil,
	} {
		if got := p.layouts[name]; !slices.Equal(got, want) {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}

// TestPolledApart: what a loop looks at until another goroutine changes it belongs to no group.
func TestPolledApart(t *testing.T) {
	for name, loop := range map[string]string{
		"a condition": "for !v.b.Load() {\n\t\truntime.Gosched()\n\t}",
		"a break":     "for {\n\t\tif v.b.Load() {\n\t\t\tbreak\n\t\t}\n\t\truntime.Gosched()\n\t}",
		"a call":      "for !v.is() {\n\t\truntime.Gosched()\n\t}",
	} {
		source := "package main\n\nimport (\n\t\"runtime\"\n\t\"sync/atomic\"\n)\n\ntype node struct {\n\ta int\n\tb atomic.Bool\n}\n\nfunc (v *node) is() bool { return v.b.Load() }\n\nfunc set(v *node) {\n\tv.a = 1 // a:\n\tv.b.Store(true) // b:\n}\n\nfunc wait(v *node) {\n\t" + loop + "\n\tv.a = 2\n}\n\nfunc main() {}\n"
		p := module(t, map[string]string{"main.go": source})
		profile := crossesOf(t, p, [2]string{"example.com/m.node.a", "example.com/m.node.b"}, [][3]string{{"aw", "bw", "exclusive"}})
		if got := p.groupsOf(profile); len(got) > 0 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
