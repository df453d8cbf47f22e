package enforce

import (
	"fmt"
	"go/ast"
	"go/types"

	"github.com/heisen-go/heisen/internal/static"
)

// addCaptured names the local variables that a function literal shares with the function around it. A variable of all calls of
// the function is one variable, as a field of all objects of a type is.
func (p *Program) addCaptured() {
	p.captured = map[*types.Var]*static.Function{}
	taken := map[string]bool{}
	for _, fn := range p.src.Functions {
		if fn.Parent == nil {
			continue
		}
		static.Own(fn.Body, func(n ast.Node) {
			id, ok := n.(*ast.Ident)
			if !ok {
				return
			}
			v, ok := fn.Info().Uses[id].(*types.Var)
			if !ok || v.IsField() || static.IsGlobal(v) || fn.Node.Pos() <= v.Pos() && v.Pos() < fn.Node.End() || p.captured[v] != nil {
				return
			}
			if synchronizes(v.Type()) || isAtomic(v.Type()) || p.structVariables(v.Type()) != nil {
				return
			}
			outer := fn.Parent
			for outer.Parent != nil && !(outer.Node.Pos() <= v.Pos() && v.Pos() < outer.Node.End()) {
				outer = outer.Parent
			}
			p.captured[v] = outer
			name := p.name(&unit{Function: fn}) + "." + v.Name()
			if taken[name] {
				name = fmt.Sprintf("%s@%d", name, p.lineOf(v.Pos()))
			}
			taken[name] = true
			p.fields[p.src.Key(v)] = name
		})
	}
}

// findCapturedSites finds the accesses that make local variables which literals share.
func (p *Program) findCapturedSites(add func(place, access)) {
	for v, fn := range p.captured {
		name := p.fields[p.src.Key(v)]
		for _, line := range []int{p.lineOf(v.Pos()), p.lineOf(fn.Node.Pos())} { // parameters are copied at the beginning
			for _, write := range []bool{false, true} {
				add(place{fn.Path, line}, access{variable: name, write: write, at: v.Pos(), made: true})
			}
		}
	}
}
