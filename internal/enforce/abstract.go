package enforce

import (
	"github.com/heisen-go/heisen/heal"
)

// outline makes what the abstract function of a unit has whatever is requested.
func (p *Program) outline(u *unit) (f heal.Function, err error) {
	if u.outline != nil {
		return *u.outline, nil
	}
	if f.Graph, err = heal.NewGraph(len(u.flow.steps)); err != nil {
		return f, err
	}
	for _, e := range u.flow.edges {
		if err := f.Graph.AddEdge(e[0], e[1]); err != nil {
			return f, err
		}
	}
	for _, s := range u.flow.steps {
		if op := s.lock; op != nil {
			mode := heal.Exclusive
			if op.Shared() {
				mode = heal.Shared
			}
			f.Locks = append(f.Locks, heal.LockOp{Node: s.id, Lock: op.name, Mode: mode, Release: op.Releases(), Try: op.Tries()})
		}
		for _, c := range s.calls {
			if targets := c.mayCall(); len(targets) > 0 {
				f.Calls = append(f.Calls, heal.FunctionCall{Node: s.id, Callees: targets})
			}
		}
		for _, i := range s.around { // when the step returns or panics
			if len(i.call.Targets) > 0 {
				f.Calls = append(f.Calls, heal.FunctionCall{Node: s.id, Callees: i.call.Targets})
			}
		}
	}
	u.outline = &f
	return f, nil
}

// function makes the abstract function of a unit.
func (p *Program) function(u *unit, requests []*request) (f heal.Function, refused []Refusal, err error) {
	if f, err = p.outline(u); err != nil {
		return f, nil, err
	}
	f.Variables = map[string]heal.Variable{}
	for _, r := range requests {
		if _, direct := u.direct[r.name]; !direct && r.whole[u.Number] == nil && r.calls[u.Number] == nil {
			continue
		}
		v := heal.Variable{Pairs: r.pairs[u.Number]}
		for _, s := range u.flow.steps {
			a := heal.Access{Node: s.id}
			accessed := false
			for _, of := range s.accesses {
				if of.variable == r.name && !of.made {
					accessed, a.Write = true, a.Write || of.write
				}
			}
			if exclusive, ok := r.whole[u.Number][s.id]; ok {
				accessed, a.Write = true, a.Write || exclusive
			}
			if write, ok := r.calls[u.Number][s.id]; ok {
				accessed, a.Write = true, a.Write || write
			}
			if !accessed {
				continue
			}
			v.Accesses = append(v.Accesses, a)
			switch {
			case u.flow.refused != "":
				refused = append(refused, *p.refusal(r.name, u.flow.refusedAt, "it is accessed in a function with %s", u.flow.refused))
			case p.foreign(u.File):
				refused = append(refused, *p.refusal(r.name, u.Node.Pos(), "it is accessed in a file that is generated or uses cgo"))
			}
		}
		if len(v.Accesses) > 0 {
			f.Variables[r.name] = v
		}
	}
	return f, refused, nil
}

// groupFunctions returns the abstract functions of the groups: each calls one of its members. They have no end, so that
// what one member leaves locked is not taken to be locked after all calls of unknown functions: these locks stall.
func (p *Program) groupFunctions() (out []heal.Function, err error) {
	g, err := heal.NewGraph(2)
	for from := range 2 {
		if err == nil {
			err = g.AddEdge(from, 1)
		}
	}
	for _, members := range p.graph.Groups() {
		out = append(out, heal.Function{Graph: g, Variables: map[string]heal.Variable{}, Calls: []heal.FunctionCall{{Node: 0, Callees: members}}})
	}
	return out, err
}
