package enforce

import (
	"strings"
	"testing"

	"github.com/heisen-go/heisen/heal"
)

// TestRefuseTests: if locks could be acquired in two orders, the pairs in tests are left out first, and the variable only if
// that does not help.
func TestRefuseTests(t *testing.T) {
	p := module(t, map[string]string{
		"main.go":      "package main\n\nvar x int\n\nfunc f() {\n\tx++\n\tx++\n}\n\nfunc main() {}\n",
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
	orders := Refusal{Variable: r.name, Reason: "two orders", orders: true, function: -1}
	pl := &Plan{p: p}
	left := pl.refuse([]*request{r}, []Refusal{orders})
	if len(left) != 1 || len(r.pairs[f]) != 1 || len(r.pairs[test])+len(r.calls[test]) > 0 {
		t.Errorf("left %d, pairs %v, calls %v", len(left), r.pairs, r.calls)
	}
	if len(pl.Refused) != 1 || !strings.Contains(pl.Refused[0].String(), "its pairs in tests are left out: two orders") {
		t.Errorf("refused %v", pl.Refused)
	}
	left = pl.refuse(left, []Refusal{orders})
	if len(left) != 0 || len(pl.Refused) != 1 || !strings.Contains(pl.Refused[0].String(), "gets no lock") {
		t.Errorf("left %d, refused %v", len(left), pl.Refused)
	}
}
