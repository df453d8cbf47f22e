package static

import (
	"go/ast"
	"testing"
)

// TestLocalFunctions: a call by the name of a local variable is one of its literal if it has no other value. Names begin with a
// letter that says what a call of them is: o for one of a literal only, u for one that is not known.
func TestLocalFunctions(t *testing.T) {
	p := load(t, `package p

func f(uParameter func(), all []func()) func() {
	oPlain := func() {}
	var oVar = func() {}
	var oLater func()
	oLater = func() { oLater() }
	oPassed := func() {}
	uTwice := func() {}
	uTwice = func() {}
	uAddress := func() {}
	_ = &uAddress
	uOther := uParameter
	uFirst, uSecond := two()
	oUsed := func() {}
	_ = oUsed
	var uNever func()
	oPlain()
	oVar()
	go oLater()
	defer oPassed()
	uTwice()
	uAddress()
	uOther()
	uFirst()
	uSecond()
	oUsed()
	uNever()
	uParameter()
	for _, uElement := range all {
		uElement()
	}
	func() { oPlain() }()
	return oPassed
}

func two() (func(), func()) { return nil, nil }
`)
	g := NewCallGraph(p)
	calls := 0
	for _, fn := range p.Functions {
		for _, c := range g.Calls(fn) {
			id, ok := c.Expr.Fun.(*ast.Ident)
			if !ok || id.Name == "two" {
				continue
			}
			calls++
			if known := c.Bound != nil; known != (id.Name[0] == 'o') || known == c.Open || known && (c.Only() != c.Bound || c.Callee != nil || len(c.Targets) != 1) {
				t.Errorf("%s: literal %v, open %v, targets %v", id.Name, c.Bound, c.Open, c.Targets)
			}
			if known := c.Bound; known != nil && g.IsValue(known) != (id.Name == "oPassed" || id.Name == "oUsed") {
				t.Errorf("%s: used as a value: %v", id.Name, g.IsValue(known))
			}
		}
	}
	if calls != 15 {
		t.Errorf("%d calls", calls)
	}
}
