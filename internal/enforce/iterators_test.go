package enforce

import (
	"strings"
	"testing"
)

// TestLoopsOverFunctions: a body of a loop over a function keeps its pairs, and a lock is not held where the function may
// acquire it: between two iterations, or once the loop is left.
func TestLoopsOverFunctions(t *testing.T) {
	const before = `package main

import "slices"

type node struct {
	n, other int
	all      []int
}

func (v *node) each(yield func(int) bool) {
	for i := range v.other {
		if !yield(i) {
			return
		}
	}
}

func (v *node) counted(yield func(int) bool) {
	for i := range v.other {
		v.n++
		if !yield(i) {
			return
		}
	}
}

func (v *node) deferred(yield func(int) bool) {
	defer func() { v.n++ }()
	yield(1)
}

func main() { slices.Sort([]int{2, 1}) }

func f(v *node) {
`
	for name, test := range map[string]struct {
		source, refused string
		locked          bool // it gets a lock
	}{
		"in an iteration":        {"\tfor range v.each {\n\t\tif v.n > 0 { // a:\n\t\t\tv.n-- // b:\n\t\t}\n\t}", "", true},
		"before and in the loop": {"\tx := v.n // a:\n\tfor range v.each {\n\t\tv.n = x // b:\n\t}", "", true},
		"in the loop and after":  {"\tx := 0\n\tfor range slices.Values(v.all) {\n\t\tx = v.n // a:\n\t}\n\tv.n = x // b:", "", true},
		"leaving the loop":       {"\tx := v.n // a:\n\tfor range v.each {\n\t\tv.n = x // b:\n\t\treturn\n\t}", "", true},
		"in an iteration, which also counts": {"\tfor range v.counted {\n\t\tif v.n > 0 { // a:\n\t\t\tv.n-- // b:\n\t\t}\n\t}",
			"its pairs in example.com/m.f are left out: its lock would be held where the loop ends, over a function that may acquire it", true},
		"a loop over what counts": {"\tx := v.n // a:\n\tfor range v.counted {\n\t\tv.other++\n\t}\n\tv.n = x // b:",
			"its pairs in example.com/m.f are left out: its lock would be held in a call that may acquire it", true},
		"a function that defers": {"\tfor range v.deferred {\n\t\tv.n++ // c:\n\t}\n}\n\nfunc g(v *node) {\n\tx := v.n // a:\n\tv.n = x // b:",
			"gets no lock: its lock would be held where the loop ends, over a function that may acquire it", false},
	} {
		t.Run(name, func(t *testing.T) {
			p := module(t, map[string]string{"main.go": before + test.source + "\n}\n"})
			second := "bw"
			pl := plan(t, p, pairsOf(t, p, "main.go", "example.com/m.node.n", [][3]string{{"ar", second, "exclusive"}}))
			switch {
			case test.refused == "" && len(pl.Refused) > 0, test.refused != "" && (len(pl.Refused) != 1 || !strings.Contains(pl.Refused[0].String(), test.refused)):
				t.Errorf("refused %q, want %q", pl.Refused, test.refused)
			case len(pl.Variables) != 0 != test.locked:
				t.Errorf("variables %+v", pl.Variables)
			}
			if test.locked {
				goWith(t, pl, "vet", "./...")
			}
		})
	}
}
