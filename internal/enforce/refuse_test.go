package enforce

import (
	"slices"
	"strings"
	"testing"

	"github.com/heisen-go/heisen/heal"
)

// TestRefuseTests: the pairs of a refused variable in tests are left out first, then those of the variables whose locks come into two orders
// with its lock, and the variable only if that does not help. If the function of the refusal has pairs, only these are left out.
func TestRefuseTests(t *testing.T) {
	p := module(t, map[string]string{
		"main.go":      "package main\n\nvar x, y int\n\nfunc f() {\n\tx++\n\tx++\n\ty++\n}\n\nfunc main() {}\n",
		"main_test.go": "package main\n\nimport \"testing\"\n\nfunc TestX(*testing.T) {\n\tf()\n\tf()\n}\n",
	})
	of := func(name string) int {
		for _, u := range p.units {
			if u.Decl.Name.Name == name {
				return u.Number
			}
		}
		t.Fatal(name)
		return 0
	}
	f, test := of("f"), of("TestX")
	r := &request{
		name:  "example.com/m.x",
		pairs: map[int][]heal.Pair{f: {{First: 1, Second: 2, Mode: heal.Exclusive}}, test: {{First: 1, Second: 2, Mode: heal.Exclusive}}},
		calls: map[int]map[int]bool{test: {1: true, 2: true}},
	}
	orders := Refusal{Variable: r.name, Reason: "two orders", function: -1}
	pl := &Plan{p: p}
	left := refuse(t, pl, []*request{r}, []Refusal{orders})
	if len(left) != 1 || len(r.pairs[f]) != 1 || len(r.pairs[test])+len(r.calls[test]) > 0 {
		t.Errorf("left %d, pairs %v, calls %v", len(left), r.pairs, r.calls)
	}
	if len(pl.Refused) != 1 || !strings.Contains(pl.Refused[0].String(), "its pairs in tests are left out: two orders") {
		t.Errorf("refused %v", pl.Refused)
	}
	left = refuse(t, pl, left, []Refusal{orders})
	if len(left) != 0 || len(pl.Refused) != 1 || !strings.Contains(pl.Refused[0].String(), "gets no lock") {
		t.Errorf("left %d, refused %v", len(left), pl.Refused)
	}

	pair := []heal.Pair{{First: 1, Second: 2, Mode: heal.Exclusive}}
	x := &request{name: "example.com/m.x", pairs: map[int][]heal.Pair{f: pair}}
	y := &request{name: "example.com/m.y", pairs: map[int][]heal.Pair{f: pair, test: pair}}
	z := &request{name: "example.com/m.z", pairs: map[int][]heal.Pair{f: pair, test: pair}}
	pl = &Plan{p: p, result: &heal.Resolution{Cycles: map[string][]string{x.name: {x.name, y.name}}}}
	left = refuse(t, pl, []*request{x, y, z}, []Refusal{orders})
	if len(left) != 3 || len(z.pairs[test]) != 1 || len(x.pairs) != 1 || len(y.pairs[test]) != 0 || len(y.pairs[f]) != 1 {
		t.Errorf("left %d, pairs of x %v, of y %v", len(left), x.pairs, y.pairs)
	}
	if left = refuse(t, pl, left, []Refusal{orders}); len(left) != 2 || slices.Contains(left, x) {
		t.Errorf("left %d", len(left))
	}
	y.pairs[test] = pair
	pl = &Plan{p: p}
	left = refuse(t, pl, []*request{y}, []Refusal{{Variable: y.name, Reason: "held", function: f}, {Variable: y.name, Reason: "held", function: -1}})
	if len(left) != 1 || len(y.pairs[test]) != 1 || len(y.pairs[f]) != 0 || len(pl.Refused) != 1 || pl.Refused[0].Function != "example.com/m.f" {
		t.Errorf("left %d, pairs %v, refused %v", len(left), y.pairs, pl.Refused)
	}
}

func refuse(t *testing.T, pl *Plan, requests []*request, refused []Refusal) []*request {
	t.Helper()
	left, err := pl.refuse(requests, refused)
	if err != nil {
		t.Fatal(err)
	}
	return left
}
