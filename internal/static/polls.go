package static

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/heisen-go/heisen/internal/scc"
)

// findPolls returns the places of which Waits.Polls is true, and with which of them a goroutine does not go on unless another one
// lets it.
func findPolls(g *CallGraph) map[ast.Node]poll {
	f := &polls{g: g, found: map[ast.Node]poll{}, shared: sharedVariables(g.Program)}
	f.summarize()
	for _, fn := range g.Program.Functions {
		Own(fn.Body, func(n ast.Node) {
			switch n := n.(type) {
			case *ast.ForStmt:
				f.found[n] = poll{f.loops(fn, n), !f.ends(fn, n) && f.lasts(fn, n)}
			case *ast.RangeStmt:
				f.found[n] = poll{polls: f.ranges(fn, n)}
			case *ast.BranchStmt:
				if n.Tok == token.GOTO {
					f.found[n] = poll{f.looks(fn, fn.Body, fn.Body).any(), f.lasts(fn, fn.Body)}
				}
			}
		})
	}
	f.recursion()
	return f.found
}

// A poll is what is known of a place.
type poll struct{ polls, lasts bool }

// polls finds places that poll.
type polls struct {
	g         *CallGraph
	found     map[ast.Node]poll
	shared    map[*types.Var]bool // local variables that others may access
	summaries []map[glance]bool   // by node of the call graph: what a function looks at, itself and in calls
}

// glance is a way to look at what others change.
type glance uint8

const (
	memory glance = iota // plain reads
	state                // locks, atomic variables, channels, the clock, the system
	delay                // it lets time pass
	flag                 // beside state: what only another goroutine changes
	change               // it may change memory itself
)

// glances is what a loop looks at. Things that are others in each iteration are only in moving.
type glances struct{ fixed, moving map[glance]bool }

func newGlances() glances { return glances{map[glance]bool{}, map[glance]bool{}} }

func (g glances) add(how glance, moves bool) {
	if moves || how == change {
		g.moving[how] = true
	} else {
		g.fixed[how] = true
	}
}

// any reports whether a loop that does not come to an end by itself waits for what it looks at: all but plain reads of other
// memory in each iteration.
func (g glances) any() bool { return len(g.fixed) > 0 || g.moving[state] || g.moving[delay] }

// anew reports whether each iteration looks at the same thing, or takes time.
func (g glances) anew() bool { return g.fixed[state] || g.fixed[delay] || g.moving[delay] }

// sharedVariables returns the local variables that another goroutine may access: those whose address is taken, and those
// that a literal names which they are not declared in.
func sharedVariables(p *Program) map[*types.Var]bool {
	out := map[*types.Var]bool{}
	for _, fn := range p.Functions {
		info := fn.Info()
		address := func(e ast.Expr) {
			if v, ok := rootOf(info, e); ok {
				out[v] = true
			}
		}
		Own(fn.Body, func(n ast.Node) {
			switch n := n.(type) {
			case *ast.Ident:
				if v, ok := info.Uses[n].(*types.Var); ok && !v.IsField() && !IsGlobal(v) && (v.Pos() < fn.Node.Pos() || v.Pos() >= fn.Node.End()) {
					out[v] = true
				}
			case *ast.UnaryExpr:
				if n.Op == token.AND {
					address(n.X)
				}
			case *ast.SliceExpr:
				if t := info.TypeOf(n.X); t != nil {
					if _, array := t.Underlying().(*types.Array); array {
						address(n.X)
					}
				}
			case *ast.SelectorExpr:
				if s := info.Selections[n]; s != nil && s.Kind() == types.MethodVal {
					_, pointer := s.Obj().(*types.Func).Signature().Recv().Type().(*types.Pointer)
					if _, already := info.TypeOf(n.X).Underlying().(*types.Pointer); pointer && !already {
						address(n.X)
					}
				}
			}
		})
	}
	return out
}

// rootOf returns the local variable of which an expression is a part in place.
func rootOf(info *types.Info, e ast.Expr) (*types.Var, bool) {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		v, ok := info.ObjectOf(e).(*types.Var)
		return v, ok && !IsGlobal(v)
	case *ast.SelectorExpr:
		if s := info.Selections[e]; s != nil && !s.Indirect() {
			return rootOf(info, e.X)
		}
	case *ast.IndexExpr:
		if t := info.TypeOf(e.X); t != nil {
			if _, array := t.Underlying().(*types.Array); array {
				return rootOf(info, e.X)
			}
		}
	}
	return nil, false
}

// summarize finds out what each function looks at.
func (f *polls) summarize() {
	f.summaries = make([]map[glance]bool, f.g.Len())
	for i := range f.summaries {
		f.summaries[i] = map[glance]bool{}
	}
	for _, fn := range f.g.Program.Functions {
		all := f.looks(fn, fn.Body, fn.Body)
		for _, some := range []map[glance]bool{all.fixed, all.moving} {
			for how := range some {
				f.summaries[fn.Number][how] = true
			}
		}
	}
	Upwards(f.g, f.summaries)
}

// loops reports whether a for statement polls.
func (f *polls) loops(fn *Function, loop *ast.ForStmt) bool {
	all := f.looks(fn, loop, loop)
	if !f.ends(fn, loop) {
		return all.any()
	}
	conditions := conjuncts(loop.Cond)
	return (len(conditions) > 1 || endsEarly(loop.Body)) && all.anew()
}

// ranges reports whether a range statement over other things than channels and functions polls.
func (f *polls) ranges(fn *Function, loop *ast.RangeStmt) bool {
	if t := fn.Info().TypeOf(loop.X); t != nil {
		switch t.Underlying().(type) {
		case *types.Chan, *types.Signature:
			return false // operations of their own
		}
	}
	return endsEarly(loop.Body) && f.looks(fn, loop, loop.Body).anew()
}

// endsEarly reports whether control may leave the body of a loop other than at its end.
func endsEarly(body *ast.BlockStmt) (found bool) {
	var walk func(n ast.Node, inner bool)
	walk = func(root ast.Node, inner bool) {
		ast.Inspect(root, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncLit:
				return false
			case *ast.ReturnStmt:
				found = true
			case *ast.BranchStmt:
				found = found || n.Tok == token.GOTO || n.Label != nil || n.Tok == token.BREAK && !inner
			case *ast.ForStmt, *ast.RangeStmt, *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.SelectStmt:
				if n != root && !inner {
					walk(n, true)
					return false
				}
			}
			return !found
		})
	}
	walk(body, false)
	return found
}

// conjuncts returns the conditions that must all be true; none of nil.
func conjuncts(e ast.Expr) []ast.Expr {
	if e == nil {
		return nil
	}
	if b, ok := ast.Unparen(e).(*ast.BinaryExpr); ok && b.Op == token.LAND {
		return append(conjuncts(b.X), conjuncts(b.Y)...)
	}
	return []ast.Expr{ast.Unparen(e)}
}

// looks returns what the nodes of root look at, which are in a loop, or in a function that is called again. Operations that
// wait by themselves are not considered.
func (f *polls) looks(fn *Function, loop, root ast.Node) glances {
	info := fn.Info()
	all := newGlances()
	moves := f.movesIn(fn, loop)
	Own(root, func(n ast.Node) {
		switch n := n.(type) {
		case *ast.SelectStmt:
			for _, c := range n.Body.List {
				if c.(*ast.CommClause).Comm == nil {
					all.add(state, false)
					all.add(flag, false)
				}
			}
		case *ast.CallExpr:
			f.call(info, n, moves(n), all)
		case *ast.AssignStmt:
			if n.Tok != token.DEFINE && slices.ContainsFunc(n.Lhs, func(e ast.Expr) bool { return !f.isLocal(info, e) }) {
				all.add(change, false)
			}
		case *ast.IncDecStmt:
			if !f.isLocal(info, n.X) {
				all.add(change, false)
			}
		case *ast.Ident:
			if v, ok := info.Uses[n].(*types.Var); ok && !v.IsField() && (IsGlobal(v) || f.shared[v]) && f.read(n) {
				all.add(memory, moves(n))
			}
		case *ast.SelectorExpr:
			if s := info.Selections[n]; s != nil && s.Kind() == types.FieldVal && f.read(n) {
				if v, local := rootOf(info, n); !local || f.shared[v] {
					all.add(memory, moves(n))
				}
			}
		case *ast.StarExpr:
			if info.Types[n].IsValue() && f.read(n) {
				all.add(memory, moves(n))
			}
		case *ast.IndexExpr:
			if t := info.TypeOf(n.X); t == nil || !info.Types[n.X].IsValue() || !f.read(n) {
				return
			} else if b, basic := t.Underlying().(*types.Basic); basic && b.Info()&types.IsString != 0 {
				return
			}
			if v, local := rootOf(info, n); !local || f.shared[v] {
				all.add(memory, moves(n))
			}
		}
	})
	return all
}

// read reports whether what an expression names is read, and not only written or part of a longer name.
func (f *polls) read(e ast.Expr) bool {
	switch outer := f.g.Program.Parent(e).(type) {
	case *ast.AssignStmt:
		if outer.Tok == token.ASSIGN || outer.Tok == token.DEFINE {
			return !slices.Contains(outer.Lhs, e)
		}
	case *ast.UnaryExpr:
		return outer.Op != token.AND
	case *ast.ParenExpr:
		return f.read(outer)
	}
	return true
}

// call adds what a call looks at.
func (f *polls) call(info *types.Info, expr *ast.CallExpr, moves bool, all glances) {
	if id, ok := ast.Unparen(expr.Fun).(*ast.Ident); ok && len(expr.Args) == 1 {
		if _, builtin := info.Uses[id].(*types.Builtin); builtin && (id.Name == "len" || id.Name == "cap") {
			if t := info.TypeOf(expr.Args[0]); t != nil {
				if _, channel := t.Underlying().(*types.Chan); channel {
					all.add(state, moves)
					all.add(flag, moves)
				}
			}
		}
	}
	c := f.g.Call(expr)
	if c == nil || c.Started {
		return
	}
	if isFlag(info, expr) {
		all.add(state, moves)
		all.add(flag, moves)
	}
	if c.Open {
		all.add(change, false)
		return
	}
	for _, target := range c.Targets {
		for how := range f.summaries[target] {
			all.add(how, moves)
		}
	}
	switch {
	case c.Outside == nil:
	case LockOpOf(c.Outside) != NoLockOp:
		all.add(state, moves)
		if LockOpOf(c.Outside).Tries() {
			all.add(flag, moves)
		}
	default:
		for _, how := range looksOutside(c.Outside) {
			all.add(how, moves)
		}
		if !Known(c.Outside).Has(Prompt) && len(looksOutside(c.Outside)) == 0 || ReleasesWhileWaiting(c.Outside) {
			all.add(change, false)
		}
		if !moves && !Known(c.Outside).Has(Prints) && slices.ContainsFunc(expr.Args, func(arg ast.Expr) bool { return leadsElsewhere(info.TypeOf(arg)) }) {
			all.add(memory, false)
		}
	}
}

// leadsElsewhere reports whether a value of a type may lead to memory that others write.
func leadsElsewhere(t types.Type) bool {
	if t == nil {
		return false
	}
	switch t.Underlying().(type) {
	case *types.Pointer, *types.Slice, *types.Map, *types.Interface, *types.Chan:
		return true
	}
	return false
}

// looksOutside returns what a function outside of the program looks at, apart from its arguments.
func looksOutside(fn *types.Func) []glance {
	facts := Known(fn)
	switch {
	case facts.Has(Prints), facts.Has(WritesTo), facts.Has(Wraps), facts.Has(NeverReturns), facts.Has(OnlyLooks), fn.Pkg() == nil:
		return nil
	}
	switch fn.FullName() {
	case "time.Sleep", "runtime.Gosched":
		return []glance{delay}
	case "runtime.KeepAlive":
		return nil
	}
	switch fn.Pkg().Path() {
	case "context", "os", "runtime", "sync", "sync/atomic", "time":
		return []glance{state}
	}
	return nil
}

// isFlag reports whether a call of a function outside of the program looks at what only another goroutine changes: the value of an
// atomic variable, or whether a context has ended. A compare-and-swap from what was read before is none: it fails only if
// another goroutine has got on.
func isFlag(info *types.Info, expr *ast.CallExpr) bool {
	fn := Callee(info, expr)
	if fn == nil || fn.Pkg() == nil {
		return false
	}
	switch fn.Pkg().Path() {
	case "context":
		return fn.Name() == "Err"
	case "sync":
		return fn.FullName() == "(*sync.Map).Load"
	case "sync/atomic":
		return strings.HasPrefix(fn.Name(), "Load") || swapsFixed(info, expr, fn)
	}
	return false
}

// swapsFixed reports whether a call is a compare-and-swap that compares with a constant.
func swapsFixed(info *types.Info, expr *ast.CallExpr, fn *types.Func) bool {
	old := len(expr.Args) - 2
	if !strings.HasPrefix(fn.Name(), "CompareAndSwap") || old < 0 {
		return false
	}
	t := info.Types[expr.Args[old]]
	return t.Value != nil || t.IsNil()
}

// lasts reports whether a loop, or the body of a function that is called again, does not end unless another goroutine changes
// what it looks at. A loop that retries an atomic operation does, and so does one that changes memory and looks at memory only. A
// wait that releases a lock is a place of its own.
func (f *polls) lasts(fn *Function, loop ast.Node) bool {
	all := f.looks(fn, loop, loop)
	passes := false
	Own(loop, func(n ast.Node) {
		if expr, ok := n.(*ast.CallExpr); ok {
			callee := Callee(fn.Info(), expr)
			retries := callee != nil && strings.HasPrefix(callee.Name(), "CompareAndSwap") && !swapsFixed(fn.Info(), expr, callee)
			passes = passes || retries || ReleasesWhileWaiting(callee)
		}
	})
	return !passes && (all.fixed[flag] || all.fixed[memory] && !all.moving[change])
}

// isLocal reports whether an expression is a variable that no other goroutine may access.
func (f *polls) isLocal(info *types.Info, e ast.Expr) bool {
	if id, ok := ast.Unparen(e).(*ast.Ident); ok && id.Name == "_" {
		return true
	}
	v, ok := rootOf(info, e)
	return ok && !f.shared[v]
}

// movesIn returns a function that reports whether an expression may stand for something else in each iteration of a loop: it
// names a local variable that the loop assigns, or is itself assigned in the loop.
func (f *polls) movesIn(fn *Function, loop ast.Node) func(ast.Expr) bool {
	info, p := fn.Info(), f.g.Program
	assigned := map[*types.Var]bool{}
	paths := map[Path]bool{}
	note := func(e ast.Expr) {
		if e == nil {
			return
		}
		if id, ok := ast.Unparen(e).(*ast.Ident); ok {
			if v, ok := info.ObjectOf(id).(*types.Var); ok && !IsGlobal(v) {
				assigned[v] = true
			}
		}
		if path := p.PathOf(info, e); path.Valid() {
			paths[path] = true
		}
	}
	look := func(n ast.Node) {
		if init, ok := loop.(*ast.ForStmt); ok && n == init.Init {
			return
		}
		switch n := n.(type) {
		case *ast.AssignStmt:
			for i, left := range n.Lhs {
				// what is defined by something fixed is the same thing in each iteration
				if n.Tok == token.DEFINE && len(n.Lhs) == len(n.Rhs) && !slices.ContainsFunc(namesIn(info, n.Rhs[i]), func(v *types.Var) bool { return assigned[v] }) {
					continue
				}
				note(left)
			}
		case *ast.IncDecStmt:
			note(n.X)
		case *ast.RangeStmt:
			note(n.Key)
			note(n.Value)
		}
	}
	for range 2 { // what is defined by what is assigned further below
		Own(loop, look)
	}
	return func(e ast.Expr) bool {
		if path := p.PathOf(info, e); path.Valid() && paths[path] {
			return true
		}
		return slices.ContainsFunc(namesIn(info, e), func(v *types.Var) bool { return assigned[v] && !f.shared[v] })
	}
}

// namesIn returns the local variables that an expression names.
func namesIn(info *types.Info, e ast.Expr) (out []*types.Var) {
	Own(e, func(n ast.Node) {
		if id, ok := n.(*ast.Ident); ok {
			if v, ok := info.ObjectOf(id).(*types.Var); ok && !v.IsField() && !IsGlobal(v) {
				out = append(out, v)
			}
		}
	})
	return out
}

// ends reports whether a for statement comes to an end by itself: one of its conditions becomes false because each iteration
// counts towards it, or goes on to another element of a list.
func (f *polls) ends(fn *Function, loop *ast.ForStmt) bool {
	for _, cond := range conjuncts(loop.Cond) {
		b, ok := cond.(*ast.BinaryExpr)
		if !ok {
			continue
		}
		switch b.Op {
		case token.LSS, token.LEQ:
			ok = f.counts(fn, loop, b.X, b.Y, token.INC) || f.counts(fn, loop, b.Y, b.X, token.DEC)
		case token.GTR, token.GEQ:
			ok = f.counts(fn, loop, b.X, b.Y, token.DEC) || f.counts(fn, loop, b.Y, b.X, token.INC)
		case token.NEQ:
			ok = f.counts(fn, loop, b.X, b.Y, token.INC) || f.counts(fn, loop, b.X, b.Y, token.DEC) || f.follows(fn, loop, b.X)
		default:
			ok = false
		}
		if ok {
			return true
		}
	}
	return false
}

// step is how an assignment changes what it assigns.
type step struct {
	to  token.Token // INC, DEC; ASSIGN for another way
	rhs ast.Expr
}

// steps returns the assignments to a path in a loop, and whether one of them is made in each iteration.
func (f *polls) steps(fn *Function, loop *ast.ForStmt, path Path) (all []step, always bool) {
	info, p := fn.Info(), f.g.Program
	note := func(at ast.Node, left ast.Expr, s step) {
		if to := p.PathOf(info, left); to.Valid() && (to == path || path.DependsOn(to)) {
			if to != path {
				s = step{to: token.ASSIGN}
			}
			all = append(all, s)
			always = always || at == loop.Post || slices.Contains(loop.Body.List, at.(ast.Stmt)) && !continues(loop.Body)
		}
	}
	look := func(n ast.Node) {
		switch n := n.(type) {
		case *ast.IncDecStmt:
			note(n, n.X, step{to: n.Tok})
		case *ast.AssignStmt:
			for i, left := range n.Lhs {
				s := step{to: token.ASSIGN}
				if len(n.Lhs) == len(n.Rhs) {
					s.rhs = n.Rhs[i]
				}
				if len(n.Rhs) == 1 && positive(info, n.Rhs[0]) {
					switch n.Tok {
					case token.ADD_ASSIGN:
						s.to = token.INC
					case token.SUB_ASSIGN:
						s.to = token.DEC
					}
				}
				note(n, left, s)
			}
		case *ast.RangeStmt:
			for _, left := range []ast.Expr{n.Key, n.Value} {
				if left != nil && n.Tok == token.ASSIGN {
					note(n, left, step{to: token.ASSIGN})
				}
			}
		}
	}
	Own(loop.Body, look)
	if loop.Post != nil {
		Own(loop.Post, look)
	}
	return all, always
}

// positive reports whether an expression is a constant above 0.
func positive(info *types.Info, e ast.Expr) bool {
	v := info.Types[e].Value
	return v != nil && v.String() != "0" && v.String()[0] != '-'
}

// continues reports whether the body of a loop has a continue statement, which may be about the loop.
func continues(body *ast.BlockStmt) (found bool) {
	Own(body, func(n ast.Node) {
		b, ok := n.(*ast.BranchStmt)
		found = found || ok && b.Tok == token.CONTINUE
	})
	return found
}

// counts reports whether each iteration of a loop changes counter in one direction, and nothing in the loop moves what it
// is compared with away from it.
func (f *polls) counts(fn *Function, loop *ast.ForStmt, counter, bound ast.Expr, to token.Token) bool {
	info, p := fn.Info(), f.g.Program
	path := p.PathOf(info, counter)
	if v, ok := f.root(info, counter); !ok || f.shared[v] || !path.Valid() {
		return false
	}
	all, always := f.steps(fn, loop, path)
	if !always || slices.ContainsFunc(all, func(s step) bool { return s.to != to }) {
		return false
	}
	away := false
	Own(bound, func(n ast.Node) {
		if e, ok := n.(ast.Expr); ok {
			if path := p.PathOf(info, e); path.Valid() {
				all, _ := f.steps(fn, loop, path)
				away = away || slices.ContainsFunc(all, func(s step) bool { return s.to == to || s.to == token.ASSIGN })
			}
		}
	})
	return !away
}

// root returns the local variable from which a name leads on.
func (f *polls) root(info *types.Info, e ast.Expr) (*types.Var, bool) {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		v, ok := info.ObjectOf(e).(*types.Var)
		return v, ok && !IsGlobal(v)
	case *ast.SelectorExpr:
		if info.Selections[e] != nil {
			return f.root(info, e.X)
		}
	}
	return nil, false
}

// follows reports whether each iteration of a loop goes on from a local variable to something that it leads to.
func (f *polls) follows(fn *Function, loop *ast.ForStmt, e ast.Expr) bool {
	info, p := fn.Info(), f.g.Program
	id, ok := ast.Unparen(e).(*ast.Ident)
	if !ok {
		return false
	}
	v, ok := info.ObjectOf(id).(*types.Var)
	if !ok || IsGlobal(v) || f.shared[v] {
		return false
	}
	path := p.PathOf(info, id)
	all, always := f.steps(fn, loop, path)
	return always && !slices.ContainsFunc(all, func(s step) bool {
		sel, ok := ast.Unparen(s.rhs).(*ast.SelectorExpr)
		return s.rhs == nil || !ok || !p.PathOf(info, sel).HasPrefix(path)
	})
}

// recursion finds the calls by which functions call themselves, directly or through others, and look at what others change.
func (f *polls) recursion() {
	for _, component := range f.components() {
		in := map[*Function]bool{}
		for _, fn := range component {
			in[fn] = true
		}
		for _, fn := range component {
			for _, c := range f.g.Calls(fn) {
				if to := c.Only(); to != nil && in[to] && !c.Started {
					facts := f.summaries[to.Number]
					f.found[c.Expr] = poll{facts[state] || facts[delay] || facts[memory] && f.unchanged(c), facts[flag]}
				}
			}
		}
	}
}

// unchanged reports whether a call has no operands but parameters and receivers of its function that are not assigned.
func (f *polls) unchanged(c *Call) bool {
	info := c.In.Info()
	operands := slices.Clone(c.Expr.Args)
	if sel, ok := ast.Unparen(c.Expr.Fun).(*ast.SelectorExpr); ok && info.Selections[sel] != nil {
		operands = append(operands, sel.X)
	}
	moves := f.movesIn(c.In, c.In.Body)
	return !slices.ContainsFunc(operands, func(e ast.Expr) bool {
		id, ok := ast.Unparen(e).(*ast.Ident)
		return !ok && info.Types[e].Value == nil || ok && moves(id)
	})
}

// components returns the functions that call each other by name, in groups.
func (f *polls) components() (out [][]*Function) {
	next := func(n int) (to []int) {
		for _, c := range f.g.calls[n] {
			if c.Only() != nil && !c.Started {
				to = append(to, c.Only().Number)
			}
		}
		return to
	}
	for _, numbers := range scc.Components(len(f.g.calls), next) {
		if len(numbers) == 1 && !slices.Contains(next(numbers[0]), numbers[0]) {
			continue
		}
		var component []*Function
		for _, n := range numbers {
			component = append(component, f.g.Program.Functions[n])
		}
		out = append(out, component)
	}
	return out
}
