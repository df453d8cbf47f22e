package enforce

import (
	"go/ast"
	"go/types"
	"maps"
	"slices"

	"github.com/heisen-go/heisen/internal/static"
)

// A loop over a function calls it, and the function calls the body of the loop, in the same goroutine. The steps of the body
// are those of the function that has the loop. What is between two of its iterations is a call at the head of the loop. What
// the function does once the loop is left, or while the body panics, comes before deferred calls of the function with the
// loop could release anything.

// iteration is a loop over a function.
type iteration struct {
	loop *ast.RangeStmt
	call *call // of the function
}

// iterate returns the iteration of a loop over a function.
func (p *Program) iterate(u *unit, loop *ast.RangeStmt) *iteration {
	expr := &ast.CallExpr{Fun: loop.X, Lparen: loop.X.End(), Rparen: loop.X.End()}
	c := &static.Call{In: u.Function, Expr: expr, Open: true, Targets: p.iterated(u.Info(), loop.X, 0)}
	return &iteration{loop, &call{Call: c, waits: !ofStandardLibrary(u.Info(), loop.X), iterates: true}}
}

// ofStandardLibrary reports whether an expression is the call of a function such as slices.Values, whose results call nothing
// but the bodies of loops.
func ofStandardLibrary(info *types.Info, e ast.Expr) bool {
	expr, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok {
		return false
	}
	fn := static.Callee(info, expr)
	return fn != nil && fn.Pkg() != nil && slices.Contains([]string{"bytes", "maps", "slices", "strings"}, fn.Pkg().Path())
}

// iterated returns the functions of the program that an expression may be over which a loop goes.
func (p *Program) iterated(info *types.Info, e ast.Expr, depth int) (targets []int) {
	if ofStandardLibrary(info, e) {
		return nil
	}
	if expr, ok := ast.Unparen(e).(*ast.CallExpr); ok && depth < 10 {
		if named := static.Callee(info, expr); named != nil && p.src.Declared(named) != nil {
			fn, known := p.src.Declared(named), true
			static.Own(fn.Body, func(n ast.Node) {
				if r, ok := n.(*ast.ReturnStmt); ok && len(r.Results) == 1 {
					targets = append(targets, p.iterated(fn.Info(), r.Results[0], depth+1)...)
				} else if ok {
					known = false
				}
			})
			if known {
				return targets
			}
		}
	}
	targets = nil
	for _, fn := range p.graph.Function(info, e) {
		if s := signature(fn); s != nil && s.Results().Len() == 0 && s.Params().Len() == 1 && isYield(s.Params().At(0).Type()) {
			targets = append(targets, fn.Number)
		}
	}
	return targets
}

// findIterating finds the functions with loops over functions, and which loop over each function.
func (p *Program) findIterating() {
	p.loopers = map[int][]int{}
	for _, u := range p.units {
		static.Own(u.Body, func(n ast.Node) {
			loop, ok := n.(*ast.RangeStmt)
			if !ok {
				return
			}
			if _, over := underlying(u.Info().TypeOf(loop.X)).(*types.Signature); !over {
				return
			}
			p.iterating = append(p.iterating, u.Number)
			for _, target := range p.iterated(u.Info(), loop.X, 0) {
				p.loopers[target] = append(p.loopers[target], u.Number)
			}
		})
	}
}

// bodies returns the functions whose loops a call may call the bodies of.
func (p *Program) bodies(u *unit, c *static.Call) []int {
	if id, ok := ast.Unparen(c.Expr.Fun).(*ast.Ident); ok {
		if v, ok := u.Info().Uses[id].(*types.Var); ok {
			for fn := u.Function; fn != nil; fn = fn.Parent {
				if params := fn.Type.Params; params.Pos() <= v.Pos() && v.Pos() < params.End() {
					return p.loopers[fn.Number]
				}
			}
		}
	}
	return p.iterating
}

// yield returns the call of what may be the body of a loop, with the function values of a fitting type as its targets.
func (p *Program) yield(c *static.Call) *static.Call {
	out := *c
	out.Targets = nil
	params := underlying(c.In.Info().TypeOf(c.Expr.Fun)).(*types.Signature).Params().Len()
	for _, fn := range p.graph.May(c.Targets) {
		if s := signature(fn); s != nil && isYield(s) && s.Params().Len() == params {
			out.Targets = append(out.Targets, fn.Number)
		}
	}
	return &out
}

// signature returns the type of a function, or nil.
func signature(fn *static.Function) *types.Signature {
	if decl, ok := fn.Node.(*ast.FuncDecl); ok {
		if of, ok := fn.Info().Defs[decl.Name].(*types.Func); ok {
			return of.Signature()
		}
		return nil
	}
	s, _ := underlying(fn.Info().TypeOf(fn.Type)).(*types.Signature)
	return s
}

// isYield reports whether a type is one of bodies of loops over functions.
func isYield(t types.Type) bool {
	s, ok := underlying(t).(*types.Signature)
	if !ok || s.Results().Len() != 1 || s.Params().Len() > 2 {
		return false
	}
	b, ok := underlying(s.Results().At(0).Type()).(*types.Basic)
	return ok && b.Kind() == types.Bool
}

// spread adds what each function and group needs to those that call it. targets has those of calls of bodies of loops, and of
// functions by loops over them; the call graph knows the others.
func (plan *Plan) spread(needs []map[string]bool, targets func(*call) []int) {
	p := plan.p
	callers := make([][]int, len(needs))
	add := func(caller int, targets []int) {
		for _, target := range targets {
			callers[target] = append(callers[target], caller)
		}
	}
	var work []int
	for node := range needs {
		work = append(work, node)
		if node >= len(p.units) {
			add(node, p.graph.Members(node))
			continue
		}
		special := map[*ast.CallExpr]bool{}
		for _, s := range p.units[node].flow.steps {
			for _, c := range s.calls {
				if c.iterates || c.yields {
					special[c.Expr] = true
					add(node, targets(c))
				}
			}
		}
		for _, c := range p.graph.Calls(p.units[node].Function) {
			if !c.Started && !special[c.Expr] {
				add(node, c.Targets)
			}
		}
	}
	for len(work) > 0 {
		at := work[len(work)-1]
		work = work[:len(work)-1]
		for _, caller := range callers[at] {
			before := len(needs[caller])
			maps.Copy(needs[caller], needs[at])
			if len(needs[caller]) > before {
				work = append(work, caller)
			}
		}
	}
}

// isInLoop reports whether a step is in the body of a loop over a function that begins on a line.
func (p *Program) isInLoop(s *step, line int) bool {
	return slices.ContainsFunc(s.around, func(i *iteration) bool { return p.lineOf(i.loop.Pos()) == line })
}

// acquiredAround reports whether a function over which a step loops may acquire a lock while it is held in the step: because
// the step leaves the loop, or in a deferred call if the step panics.
func (plan *Plan) acquiredAround(function int, s *step, variable string) bool {
	before := false
	if plan.before[function] != nil {
		for r := range plan.before[function][s.id] {
			before = before || r.variable == variable
		}
	}
	leaves := false
	for _, part := range s.parts {
		_, returns := part.(*ast.ReturnStmt)
		leaves = leaves || returns
	}
	return slices.ContainsFunc(s.around, func(i *iteration) bool {
		return slices.ContainsFunc(i.call.Targets, func(target int) bool {
			needs := plan.alone[target]
			return needs[variable] && (before || leaves || needs[deferring])
		})
	})
}
