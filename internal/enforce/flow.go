package enforce

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/heisen-go/heisen/internal/static"
)

// flow is the control flow of a function in steps, which become the nodes of a heal.Graph.
type flow struct {
	steps []*step
	edges [][2]int
	succs [][]int // the same, by step
	// refused says why the control flow is not known; empty if it is.
	refused   string
	refusedAt token.Pos
	// defers has the statements after which held locks must be released before the deferred call.
	defers []*ast.DeferStmt
}

// step is a node: a part of the function that is done as a whole.
type step struct {
	id       int
	parts    []ast.Node // what it evaluates
	before   spot
	accesses []access
	waits    bool // it may wait for another goroutine, apart from its calls
	waitsAt  token.Pos
	polls    token.Pos // of what waits for another goroutine by coming here again and again; token.NoPos if nothing does
	lock     *lockOp
	further  []static.Key // the classes of the locks of further operations
	calls    []*call
	deferred *ast.DeferStmt // whose call it is; nil for other steps
	around   []*iteration   // the loops over functions that it is in
}

// lockOp is an operation on a lock of the program.
type lockOp struct {
	*static.LockCall
	name string
}

// spot is where operations just before a step are written.
type spot struct {
	kind  spotKind
	pos   token.Pos
	end   token.Pos // of a condition or an else branch
	expr  ast.Expr  // of a condition
	jumps []spot    // of spotKind jumps
}

type spotKind uint8

const (
	nowhere   spotKind = iota
	statement          // before a statement
	start              // after an opening brace
	ending             // before a closing brace
	condition          // around a condition
	elseIf             // around an if statement that is an else branch
	jumps              // before all statements that lead to the step
	deferred           // done by deferred calls
)

// flowBuilder makes a flow.
type flowBuilder struct {
	p        *Program
	u        *unit
	f        *flow
	dangling []int // steps whose successor comes next
	loops    []*loop
	label    *ast.LabeledStmt // of the next statement
	exits    []int            // steps that return
	around   []*iteration     // the loops over functions that the next statement is in
}

// loop is a statement that break and continue can name.
type loop struct {
	label     string
	breaks    []int
	continues []int
	jumps     []spot // of the continue statements
	loops     bool   // continue is possible
	block     bool   // only a break with a label is possible
}

func (p *Program) flowOf(u *unit) *flow {
	b := &flowBuilder{p: p, u: u, f: &flow{}}
	b.step(spot{kind: start, pos: u.Body.Lbrace + 1})
	b.list(u.Body.List)
	b.exits = append(b.exits, b.dangling...)
	b.deferredCalls()
	b.f.succs = make([][]int, len(b.f.steps))
	for _, e := range b.f.edges {
		b.f.succs[e[0]] = append(b.f.succs[e[0]], e[1])
	}
	return b.f
}

// step adds a step.
func (b *flowBuilder) step(before spot, parts ...ast.Node) *step {
	s := &step{id: len(b.f.steps), before: before, around: b.around}
	b.f.steps = append(b.f.steps, s)
	for _, from := range b.dangling {
		b.edge(from, s.id)
	}
	b.dangling = []int{s.id}
	b.evaluate(s, parts...)
	return s
}

// evaluate adds parts to a step.
func (b *flowBuilder) evaluate(s *step, parts ...ast.Node) {
	for _, part := range parts {
		if part == nil {
			continue
		}
		s.parts = append(s.parts, part)
		s.accesses = append(s.accesses, b.p.accessesIn(b.u.Info(), part)...)
		b.p.operations(b.u, s, part)
	}
}

func (b *flowBuilder) edge(from, to int) { b.f.edges = append(b.f.edges, [2]int{from, to}) }

func (b *flowBuilder) refuse(at token.Pos, why string) {
	if b.f.refused == "" {
		b.f.refused, b.f.refusedAt = why, at
	}
}

// at returns the spot before a statement, with its label.
func (b *flowBuilder) at(s ast.Stmt) spot {
	pos := s.Pos()
	if b.label != nil {
		pos = b.label.Pos()
	}
	return spot{kind: statement, pos: pos}
}

func (b *flowBuilder) list(list []ast.Stmt) {
	for _, s := range list {
		b.stmt(s)
	}
}

// stmt adds a statement. It is one long switch: a case for each kind of statement.
func (b *flowBuilder) stmt(s ast.Stmt) {
	at := b.at(s)
	label := b.label
	b.label = nil
	switch s := s.(type) {
	case *ast.BlockStmt:
		if label == nil {
			b.list(s.List)
			break
		}
		l := b.push(label, false)
		l.block = true
		b.list(s.List)
		b.pop(l)
	case *ast.LabeledStmt:
		if label != nil {
			b.refuse(s.Pos(), "a label of a label")
		}
		b.label = s
		b.stmt(s.Stmt)
		b.label = nil
	case *ast.EmptyStmt:
	case *ast.IfStmt:
		b.ifStmt(s, at)
	case *ast.ForStmt:
		b.forStmt(s, at, label)
	case *ast.RangeStmt:
		b.rangeStmt(s, at, label)
	case *ast.SwitchStmt:
		head := b.step(at, nodes(s.Init, s.Tag)...)
		for _, c := range s.Body.List {
			for _, e := range c.(*ast.CaseClause).List {
				b.evaluate(head, e)
			}
		}
		b.clauses(s.Body, head, label)
	case *ast.TypeSwitchStmt:
		b.clauses(s.Body, b.step(at, nodes(s.Init, s.Assign)...), label)
	case *ast.SelectStmt:
		head := b.step(at)
		for _, c := range s.Body.List {
			if comm := c.(*ast.CommClause).Comm; comm != nil {
				b.evaluate(head, comm)
			}
		}
		if b.p.waits.Operation(b.u.Info(), s) != "" {
			head.waits, head.waitsAt = true, s.Pos()
		}
		b.clauses(s.Body, head, label)
	case *ast.ReturnStmt:
		b.step(at, s)
		b.exits = append(b.exits, b.dangling...)
		b.dangling = nil
	case *ast.BranchStmt:
		b.branch(s, at)
	case *ast.DeferStmt:
		b.step(at, deferArguments(s)...)
		b.f.defers = append(b.f.defers, s)
	case *ast.GoStmt:
		b.step(at, deferArguments(&ast.DeferStmt{Call: s.Call})...)
	default:
		step := b.step(at, s)
		if e, ok := s.(*ast.ExprStmt); ok {
			if call, ok := ast.Unparen(e.X).(*ast.CallExpr); ok && !static.MayReturn(b.u.Info(), call) {
				b.exits = append(b.exits, step.id)
				b.dangling = nil
			}
		}
	}
}

// nodes returns the nodes that are not nil.
func nodes(all ...ast.Node) (out []ast.Node) {
	for _, n := range all {
		switch n := n.(type) {
		case ast.Stmt:
			if n != nil {
				out = append(out, n)
			}
		case ast.Expr:
			if n != nil {
				out = append(out, n)
			}
		}
	}
	return out
}

// deferArguments returns what a defer or go statement evaluates itself.
func deferArguments(s *ast.DeferStmt) (out []ast.Node) {
	if sel, ok := ast.Unparen(s.Call.Fun).(*ast.SelectorExpr); ok {
		out = append(out, sel.X)
	}
	for _, arg := range s.Call.Args {
		out = append(out, arg)
	}
	return out
}

func (b *flowBuilder) ifStmt(s *ast.IfStmt, at spot) {
	cond := at
	if s.Init != nil {
		b.step(at, s.Init)
		cond = spot{kind: condition, pos: s.Cond.Pos(), end: s.Cond.End(), expr: s.Cond}
	} else if at.kind == elseIf {
		cond = spot{kind: condition, pos: s.Cond.Pos(), end: s.Cond.End(), expr: s.Cond}
	}
	head := b.step(cond, s.Cond)
	b.list(s.Body.List)
	after := b.dangling
	b.dangling = []int{head.id}
	switch e := s.Else.(type) {
	case *ast.BlockStmt:
		b.list(e.List)
	case *ast.IfStmt:
		b.ifStmt(e, spot{kind: elseIf, pos: e.Pos(), end: e.End()})
	}
	b.dangling = append(after, b.dangling...)
}

// push begins a statement that break can end.
func (b *flowBuilder) push(label *ast.LabeledStmt, loops bool) *loop {
	l := &loop{loops: loops}
	if label != nil {
		l.label = label.Label.Name
	}
	b.loops = append(b.loops, l)
	return l
}

func (b *flowBuilder) pop(l *loop) {
	b.loops = b.loops[:len(b.loops)-1]
	b.dangling = append(b.dangling, l.breaks...)
}

func (b *flowBuilder) forStmt(s *ast.ForStmt, at spot, label *ast.LabeledStmt) {
	if s.Init != nil {
		b.step(at, s.Init)
	}
	var head *step
	if s.Cond != nil {
		head = b.step(spot{kind: condition, pos: s.Cond.Pos(), end: s.Cond.End(), expr: s.Cond}, s.Cond)
	} else {
		head = b.step(spot{kind: start, pos: s.Body.Lbrace + 1})
	}
	b.polls(head, s)
	l := b.push(label, true)
	b.list(s.Body.List)
	b.again(l, s.Body, head, s.Post)
	b.dangling = nil
	if s.Cond != nil {
		b.dangling = []int{head.id}
	}
	b.pop(l)
}

// polls notes that a step is in a statement that waits by coming to it again and again, if it does.
func (b *flowBuilder) polls(s *step, n ast.Node) {
	if b.p.waits.Polls(n) {
		s.polls = n.Pos()
	}
}

// again adds the edges from the end of a loop and its continue statements to the statement post, and from there, or if
// there is none, to the head.
func (b *flowBuilder) again(l *loop, body *ast.BlockStmt, head *step, post ast.Stmt) {
	back := l.jumps
	if len(b.dangling) > 0 {
		back = append(back, spot{kind: ending, pos: body.Rbrace})
	}
	b.dangling = append(b.dangling, l.continues...)
	if len(b.dangling) == 0 {
		return
	}
	if post != nil {
		b.step(spot{kind: jumps, jumps: back}, post)
	}
	for _, from := range b.dangling {
		b.edge(from, head.id)
	}
	if head.before.kind == jumps {
		head.before.jumps = append(head.before.jumps, back...)
	}
}

func (b *flowBuilder) rangeStmt(s *ast.RangeStmt, at spot, label *ast.LabeledStmt) {
	b.step(at, s.X)
	head := b.step(spot{kind: jumps, jumps: []spot{at}}, nodes(s.Key, s.Value)...)
	b.polls(head, s)
	switch underlying(b.u.Info().TypeOf(s.X)).(type) {
	case *types.Chan:
		head.waits, head.waitsAt = true, s.Pos()
	case *types.Signature:
		i := b.p.iterate(b.u, s)
		head.waits, head.waitsAt = i.call.waits, s.Pos()
		head.calls = append(head.calls, i.call)
		b.around = append(b.around[:len(b.around):len(b.around)], i)
		defer func() { b.around = b.around[:len(b.around)-1] }()
	case *types.Map, *types.Slice, *types.Array, *types.Pointer: // its elements are read
		for _, name := range b.p.named(b.u.Info(), ast.Unparen(s.X)) {
			head.accesses = append(head.accesses, access{
				variable: name, at: s.X.Pos(), object: b.p.object(b.u.Info(), ast.Unparen(s.X), name), parts: true,
			})
		}
		if s.Value != nil {
			for _, name := range b.p.structVariables(b.u.Info().TypeOf(s.Value)) {
				head.accesses = append(head.accesses, access{variable: name, at: s.X.Pos()})
			}
		}
		if len(head.parts) == 0 {
			head.parts = append(head.parts, s.X)
		}
	}
	l := b.push(label, true)
	b.list(s.Body.List)
	b.again(l, s.Body, head, nil)
	b.dangling = []int{head.id}
	b.pop(l)
}

func underlying(t types.Type) types.Type {
	if t == nil {
		return nil
	}
	return t.Underlying()
}

// clauses adds the clauses of a switch or select.
func (b *flowBuilder) clauses(body *ast.BlockStmt, head *step, label *ast.LabeledStmt) {
	l := b.push(label, false)
	var after, fall []int
	complete := false // one of the clauses is taken
	for _, c := range body.List {
		var list []ast.Stmt
		switch c := c.(type) {
		case *ast.CaseClause:
			list = c.Body
			complete = complete || c.List == nil
		case *ast.CommClause:
			list = c.Body
			complete = true
		}
		b.dangling = append([]int{head.id}, fall...)
		fall = nil
		if n := len(list); n > 0 {
			if br, ok := list[n-1].(*ast.BranchStmt); ok && br.Tok == token.FALLTHROUGH {
				b.list(list[:n-1])
				b.step(b.at(br))
				fall, b.dangling = b.dangling, nil
				continue
			}
		}
		b.list(list)
		after = append(after, b.dangling...)
	}
	b.dangling = after
	if !complete {
		b.dangling = append(b.dangling, head.id)
	}
	b.pop(l)
}

func (b *flowBuilder) branch(s *ast.BranchStmt, at spot) {
	step := b.step(at)
	b.polls(step, s)
	b.dangling = nil
	for i := len(b.loops) - 1; i >= 0; i-- {
		l := b.loops[i]
		if s.Label != nil && l.label != s.Label.Name || s.Tok == token.CONTINUE && !l.loops || s.Label == nil && l.block {
			continue
		}
		switch s.Tok {
		case token.BREAK:
			l.breaks = append(l.breaks, step.id)
			return
		case token.CONTINUE:
			l.continues = append(l.continues, step.id)
			l.jumps = append(l.jumps, at)
			return
		}
	}
	b.refuse(s.Pos(), s.Tok.String()+" is not supported")
}

// deferredCalls adds steps for the deferred calls, the latest first. Each may have been deferred or not.
func (b *flowBuilder) deferredCalls() {
	if len(b.f.defers) == 0 || len(b.exits) == 0 {
		return
	}
	b.dangling = b.exits
	for i := len(b.f.defers) - 1; i >= 0; i-- {
		s := b.step(spot{kind: deferred})
		s.deferred = b.f.defers[i]
		b.p.operation(b.u, s, b.f.defers[i].Call)
	}
}
