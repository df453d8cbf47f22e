package tracewindow

import (
	"fmt"
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/report"
)

// names says which goroutines and objects a query names.
type names struct {
	q       *Query
	symbols *heisen.Symbols // of the whole trace
	uses    map[use]bool    // whether the query names the expression of a use
}

// use is what decides which expression an event is about.
type use struct {
	site heisen.Site
	op   heisen.Op
	size uint64
}

func newNames(q *Query, symbols *heisen.Symbols) *names {
	return &names{q: q, symbols: symbols, uses: map[use]bool{}}
}

// goroutine reports whether the query is about a goroutine, by symbols that know it.
func (n *names) goroutine(t heisen.Thread, symbols *heisen.Symbols) bool {
	if len(n.q.Goroutines) == 0 {
		return true
	}
	name := symbols.Thread(t).Name
	if name == "" {
		name = fmt.Sprintf("goroutine %d", t)
		if t == 0 {
			name = "main goroutine"
		}
	}
	return slices.ContainsFunc(n.q.Goroutines, func(wanted string) bool {
		return wanted == name || "goroutine "+wanted == name || wanted+" goroutine" == name
	})
}

// object reports whether the query names the object of an event.
func (n *names) object(r *heisen.Record, symbols *heisen.Symbols) bool {
	if r.Op == heisen.Fork || r.Op == heisen.Join || r.Op == heisen.Begin || r.Op == heisen.End {
		return false // a goroutine
	}
	if n.named(r.Object, symbols) {
		return true
	}
	if r.Site == 0 || len(n.symbols.Site(r.Site).Frames) == 0 {
		return false
	}
	u := use{r.Site, r.Op, r.Size()}
	named, known := n.uses[u]
	if !known {
		f := n.q.Resolver.Resolve(heisen.Finding{Witness: []heisen.Record{{Op: r.Op, Object: r.Object, Site: r.Site, Len: r.Len}}}, n.symbols)
		named = n.wants(f.Witness[0].Variable)
		n.uses[u] = named
	}
	return named
}

// named reports whether the query has the name or the address of an object.
func (n *names) named(o heisen.Object, symbols *heisen.Symbols) bool {
	return n.wants(symbols.Name(o)) || n.wants(fmt.Sprintf("%#x", uint64(o)))
}

func (n *names) wants(name string) bool { return name != "" && slices.Contains(n.q.Objects, name) }

// about reports whether the query names an object of a finding.
func (n *names) about(f *heisen.Finding) bool {
	resolved := n.q.Resolver.Resolve(heisen.Finding{Kind: f.Kind, Accesses: f.Accesses}, n.symbols)
	return slices.ContainsFunc(resolved.Accesses, func(a report.Access) bool { return n.wants(a.Variable) || n.wants(a.Object) }) ||
		slices.ContainsFunc(f.Accesses, func(a heisen.Access) bool { return n.named(a.Object, n.symbols) })
}
