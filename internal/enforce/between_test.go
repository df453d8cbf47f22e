package enforce

import (
	"fmt"
	"go/token"
	"go/types"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestBetweenRandom follows random paths through random graphs, in which names are bound to objects where they are
// defined, and accesses without a name are to any object. Between two accesses to one object without another one of it,
// each two successive accesses must be a pair that ways.between returns. All that it returns is on such a path.
func TestBetweenRandom(t *testing.T) {
	var names []*types.Var
	for _, name := range []string{"v", "w"} {
		names = append(names, types.NewVar(token.NoPos, nil, name, types.Typ[types.Int]))
	}
	returned, seen := 0, 0
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 33))
		n := 4 + r.IntN(4)
		f := &flow{succs: make([][]int, n), steps: make([]*step, n)}
		for i := range n {
			for range 1 + r.IntN(2) {
				if to := r.IntN(n); !slices.Contains(f.succs[i], to) {
					f.succs[i] = append(f.succs[i], to)
				}
			}
		}
		w := &ways{flow: f, accesses: map[int]bool{}, objects: map[int]*types.Var{}, definitions: map[*types.Var]int{}}
		defined := map[int]*types.Var{}
		for _, v := range names {
			w.definitions[v] = -1
			if at := r.IntN(n + n/2); at < n && defined[at] == nil {
				w.definitions[v], defined[at] = at, v
			}
		}
		for i := range n {
			if defined[i] != nil || r.IntN(3) == 0 {
				continue // a definition accesses no object by its new value
			}
			w.accesses[i] = true
			if k := r.IntN(3); k < len(names) {
				w.objects[i] = names[k]
			}
		}
		found := map[[2]int]map[[2]int]bool{}
		for range 3000 {
			bound := map[*types.Var]int{}
			for _, v := range names {
				bound[v] = r.IntN(2)
			}
			type visit struct{ at, object int }
			var visits []visit
			at := r.IntN(n)
			for range 16 {
				if v := defined[at]; v != nil {
					bound[v] = r.IntN(2)
				}
				if w.accesses[at] {
					object := r.IntN(2)
					if v := w.objects[at]; v != nil {
						object = bound[v]
					}
					visits = append(visits, visit{at, object})
				}
				at = f.succs[at][r.IntN(len(f.succs[at]))]
			}
			for i, first := range visits {
				k := slices.IndexFunc(visits[i+1:], func(v visit) bool { return v.object == first.object })
				if k < 0 {
					continue
				}
				pair := [2]int{first.at, visits[i+1+k].at}
				if found[pair] == nil {
					found[pair] = map[[2]int]bool{}
				}
				for j := i; j <= i+k; j++ {
					found[pair][[2]int{visits[j].at, visits[j+1].at}] = true
				}
			}
		}
		for pair, want := range found {
			got := w.between(pair[0], pair[1])
			returned += len(got)
			for step := range want {
				if !slices.Contains(got, step) {
					t.Fatalf("seed %d: between %v: %v without %v\n%v, accesses %v, objects %v, definitions %v", seed, pair, got, step, f.succs, w.accesses, w.objects, w.definitions)
				}
				seen++
			}
		}
	}
	if seen < 3000 || returned-seen > seen/20 {
		t.Errorf("%d pairs on paths, and %d that are returned", seen, returned)
	}
}

// TestSeveralObjects: a pair stays atomic past accesses to other objects, unless others came between in the profile.
func TestSeveralObjects(t *testing.T) {
	const before = "package main\n\ntype node struct{ n int }\n\nfunc main() {}\n\n"
	for name, test := range map[string]struct {
		source string
		pairs  [][3]string
		held   string // labels of lines where control comes with the lock held
		said   string // part of a refusal
	}{
		"one object": {
			"func f(v *node) {\n\t_ = v.n // a:\n\tv.n = 0 // c:\n\tv.n++ // b:\n}",
			[][3]string{{"ar", "cw", "exclusive"}}, "c", "",
		},
		"two objects": {
			"func f(v, w *node) {\n\t_ = v.n // a:\n\tw.n = 0 // c:\n\tv.n++ // b:\n}",
			[][3]string{{"ar", "br", "exclusive"}}, "c b", "",
		},
		"two ways": {
			"func f(v, w *node) {\n\tif v.n > 0 { // a:\n\t\tw.n = 0 // c:\n\t}\n\tv.n++ // b:\n}",
			[][3]string{{"ar", "br", "exclusive"}}, "c b", "",
		},
		"others came between": {
			"func f(v, w *node) {\n\tif v.n > 0 { // a:\n\t\tw.n = 0 // c:\n\t}\n\tv.n++ // b:\n}",
			[][3]string{{"ar", "br", "exclusive"}, {"cw", "br", "none"}}, "b", "some pairs in example.com/m.f are left out",
		},
		"each iteration": {
			"func f(all []*node) {\n\tfor _, v := range all { // head:\n\t\t_ = v.n // a:\n\t\tv.n++ // b:\n\t}\n}",
			[][3]string{{"ar", "br", "exclusive"}}, "b", "",
		},
		"two iterations": {
			"func f(all []*node) {\n\tfor _, v := range all {\n\t\t_ = v.n // a:\n\t\tv.n++ // b:\n\t}\n}",
			[][3]string{{"bw", "ar", "exclusive"}}, "a b", "",
		},
		"elements": {
			"var all []int\n\nfunc f(i, j int) {\n\tall[i]++ // a:\n\tall[j]++ // c:\n\tall[i]++ // b:\n}",
			[][3]string{{"aw", "br", "exclusive"}}, "c b", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := module(t, map[string]string{"main.go": before + test.source + "\n"})
			variable := "example.com/m.node.n"
			if name == "elements" {
				variable = "example.com/m.all"
			}
			pl := plan(t, p, pairsOf(t, p, "main.go", variable, test.pairs))
			if said := fmt.Sprint(pl.Refused); len(pl.Refused) > 0 != (test.said != "") || !strings.Contains(said, test.said) {
				t.Errorf("refused %s", said)
			}
			var held []string
			for _, u := range p.units {
				if pl.before[u.Number] == nil {
					continue
				}
				for _, s := range u.flow.steps {
					if len(s.parts) == 0 || len(pl.before[u.Number][s.id]) == 0 {
						continue
					}
					if m := mark.FindStringSubmatch(lineOf(t, p, s)); m != nil && !slices.Contains(held, m[1]) {
						held = append(held, m[1])
					}
				}
			}
			if got := strings.Join(held, " "); got != test.held {
				t.Errorf("held at %q, want %q", got, test.held)
			}
			for _, v := range pl.Variables {
				if v.Name == variable && v.Pairs == 0 {
					t.Errorf("no pairs: %+v", v)
				}
			}
		})
	}
}

// lineOf returns the line of the source on which a step begins.
func lineOf(t *testing.T, p *Program, s *step) string {
	t.Helper()
	at := p.src.Fset.PositionFor(s.parts[0].Pos(), false)
	w := &writer{p: p, texts: map[string][]byte{}}
	return strings.Split(string(w.text(at.Filename)), "\n")[at.Line-1]
}

// TestArgument: an access to a variable and a call that accesses it, in one statement, are a pair in it.
func TestArgument(t *testing.T) {
	p := module(t, map[string]string{"main.go": `package main

var x int

func f(n int) int {
	x += n
	return n
}

func g() int {
	return f(x) // a:
}

func main() { g() }
`})
	pl := plan(t, p, pairsOf(t, p, "main.go", "example.com/m.x", [][3]string{{"ar", "ac", "exclusive"}}))
	if len(pl.Refused) > 0 || len(pl.Variables) != 1 || pl.Variables[0].Pairs != 1 {
		t.Fatal(pl.Variables, pl.Refused)
	}
	files, err := pl.Files()
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range files {
		if !strings.Contains(string(text), "heisenlock.Exclusive, 1); return f_heisenHeld(&heisenHeld0, x) // a:") {
			t.Errorf("the lock is not held:\n%s", text)
		}
	}
	goWith(t, pl, "vet", "./...")
}
