package enforce

import (
	"testing"

	"github.com/heisen-go/heisen"
)

// TestCalls: which calls of a function can call functions of the module, and which may wait.
func TestCalls(t *testing.T) {
	p := module(t, map[string]string{"main.go": `package main

import (
	"fmt"
	"unsafe"
)

func value() {}

func constants(b []byte) int {
	return len(b) + cap(b) + int(unsafe.Sizeof(b)) + (len)(b) + int(uintptr(unsafe.Pointer(unsafe.SliceData(b))))
}

func known() { value(); fmt.Sprint(1) }

func unknown(f func()) { f() }

func main() { unknown(value); known(); constants(nil) }
`})
	want := map[string][2]int{"constants": {0, 0}, "known": {1, 0}, "unknown": {1, 1}}
	for _, u := range p.units {
		name := u.Decl.Name.Name
		numbers, ok := want[name]
		if !ok {
			continue
		}
		delete(want, name)
		targets, waits := 0, 0
		for _, s := range u.flow.steps {
			for _, c := range s.calls {
				targets += len(c.Targets)
				if c.waits {
					waits++
				}
			}
		}
		if got := [2]int{targets, waits}; got != numbers {
			t.Errorf("%s may call %d functions of the module, and %d calls may wait; want %v", name, got[0], got[1], numbers)
		}
	}
	if len(want) > 0 {
		t.Errorf("not seen: %v", want)
	}
}

// TestCallsApart: a call is no access if the pair that it is an end of lies in two calls of its function. Nothing is held over it then,
// so that what it calls may acquire the lock.
func TestCallsApart(t *testing.T) {
	for name, test := range map[string]struct {
		body   string
		refuse bool
		call   Fate // of the pair of calls
	}{
		"once":      {"f() // c:", false, Apart},
		"in a loop": {"for range 2 {\n\t\tf() // c:\n\t}", true, LeftOut},
	} {
		t.Run(name, func(t *testing.T) {
			p := module(t, map[string]string{"main.go": `package main

type node struct{ n int }

func (v *node) add() {
	if v.n < 3 { // a:
		v.n++ // b:
	}
}

func each(f func()) {
	` + test.body + `
}

func main() {
	v := &node{}
	go each(v.add)
	each(func() { v.add() })
}
`})
			profile := pairsOf(t, p, "main.go", "example.com/m.node.n", [][3]string{{"ar", "bw", "exclusive"}, {"cc", "cc", "exclusive"}})
			pl := plan(t, p, profile)
			for _, pair := range profile.Atomic()[0].Pairs {
				want := Kept
				if pair.First.Op == heisen.Call {
					want = test.call
				}
				if got := pl.Fate("example.com/m.node.n", pair); got != want {
					t.Errorf("fate of %+v %d, want %d", pair, got, want)
				}
			}
			if len(pl.Variables) != 1 || len(pl.Refused) > 0 != test.refuse {
				t.Errorf("variables %+v, refused %q", pl.Variables, pl.Refused)
			}
			goWith(t, pl, "run", ".")
		})
	}
}
