package enforce

import (
	"fmt"
	"go/ast"
	"path/filepath"

	"github.com/heisen-go/heisen/internal/static"
)

// call is a call in a step, in the same goroutine. If it has a Callee, that can be given what its caller holds.
type call struct {
	*static.Call
	waits    bool  // it may wait in code that is not of the module
	iterates bool  // it is the call of a function by a loop over it
	yields   bool  // it may be the call of the body of a loop
	bodies   []int // functions with loops whose bodies it may call
}

// mayCall returns the targets of a call, with those of which it calls the bodies of loops.
func (c *call) mayCall() []int { return append(c.Targets[:len(c.Targets):len(c.Targets)], c.bodies...) }

// operations adds to a step what its part does besides accesses: calls, operations on locks and channels.
func (p *Program) operations(u *unit, s *step, part ast.Node) {
	static.Own(part, func(n ast.Node) {
		if p.waits.Operation(u.Info(), n) != "" {
			s.waits, s.waitsAt = true, n.Pos()
		}
		if expr, ok := n.(*ast.CallExpr); ok {
			p.operation(u, s, expr)
		}
	})
}

// operation adds a call to a step.
func (p *Program) operation(u *unit, s *step, expr *ast.CallExpr) {
	if op := p.src.LockCall(u.Info(), expr); op != nil && !op.Abstract {
		if s.lock == nil {
			s.lock = &lockOp{op, p.nameOfLock(op)}
			return
		}
		s.waits, s.waitsAt = s.waits || !op.Releases() && !op.Tries(), expr.Pos()
		s.further = append(s.further, op.Class)
		return
	}
	c := &call{Call: p.graph.Call(expr)}
	if len(p.iterating) > 0 && c.Open && c.Outside == nil && isYield(u.Info().TypeOf(expr.Fun)) {
		c.Call, c.yields, c.bodies = p.yield(c.Call), true, p.bodies(u, c.Call)
	}
	if p.waits.Polls(expr) {
		s.polls = expr.Pos()
	}
	c.waits = p.waits.Delay(c.Call) == static.AnyDelay
	if len(c.Targets) > 0 || c.waits {
		s.calls = append(s.calls, c)
	}
}

// nameOfLock names the lock of an operation: its field or variable. Locks of other objects of a type have one name, and so do
// all locks that no field or variable names.
func (p *Program) nameOfLock(op *static.LockCall) string {
	switch name := p.fields[op.Class]; {
	case !hasLock(op.Variable):
		return "?"
	case name != "":
		return name
	}
	return fmt.Sprintf("%s@%s:%d", op.Class.Name, filepath.Base(op.Class.File), op.Class.Line)
}
