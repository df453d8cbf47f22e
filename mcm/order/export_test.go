package order

// Learned is a literal of a learned clause: Lit, or, if Rivals is not nil, the choice of a source
// for a read: the source comes before the read and no rival between them.
type Learned struct {
	Lit
	Read, Source Node // the source is negative if it is the initial value
	Rivals       []Node
	Not          bool // that it does not
}

// LogLearned calls f with each clause that s learns.
func LogLearned(s *Solver, f func(clause []Learned)) {
	s.logged = func(clause []lit) {
		out := make([]Learned, len(clause))
		for k, l := range clause {
			out[k].Lit = s.public(l)
			i, x := s.atoms.pairs[l>>1].chosen()
			if i < 0 {
				continue
			}
			n := &s.reads
			w := &n.sets[n.list[i].set]
			out[k] = Learned{Read: n.list[i].node, Source: n.writes[x].node, Rivals: []Node{}, Not: l&1 == 1}
			v := &n.variables[w.variable]
			for _, y := range n.writes[v.at[0]:v.at[s.width]] {
				if y.node != n.list[i].node && !w.accepts(y.value) {
					out[k].Rivals = append(out[k].Rivals, y.node)
				}
			}
		}
		f(out)
	}
}
