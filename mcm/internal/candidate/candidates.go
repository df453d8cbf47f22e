package candidate

import (
	"cmp"
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/mcm/internal/model"
	"github.com/heisen-go/heisen/mcm/internal/window"
	"github.com/heisen-go/heisen/mcm/order"
)

// Place is a place of a finding: a site and an op.
type Place uint64

func placeOf(r *heisen.Record, op heisen.Op) Place { return Place(r.Site)<<8 | Place(op) }

// Places are what findings are told apart by: two, or more in a deadlock.
type Places [4]Place

func placesOf(spots ...Place) (p Places) {
	slices.Sort(spots)
	copy(p[:], spots)
	return p
}

// access is that a node accesses a cell.
type access struct {
	node order.Node
	op   heisen.Op
}

// accesses returns, by cell and life, who accesses it, as observed.
func accesses(m *model.Model) [][]access {
	list := make([][]access, len(m.Cells))
	for _, n := range m.Observed[1:] {
		r := &m.Records[m.Event[n]]
		op := r.Access()
		switch {
		case window.IsAllocation(r.Op):
			for _, t := range m.Accesses[m.AccessAt[n]:m.AccessAt[n+1]] {
				list = append(list, list[t.Cell])
				list[t.Cell] = nil
			}
			continue
		case op == heisen.Invalid:
			continue
		}
		for _, t := range m.Accesses[m.AccessAt[n]:m.AccessAt[n+1]] {
			list[t.Cell] = append(list[t.Cell], access{n, op})
		}
	}
	return list
}

// ordered reports whether a comes before b can be next.
func ordered(m *model.Model, a, b order.Node) bool {
	if p := m.Prev(b); p != model.None && m.Before(a, p) {
		return true
	}
	for i := m.EnablerAt[b]; i < m.EnablerAt[b+1]; i++ {
		if m.Before(a, m.Edges[i].From) {
			return true
		}
	}
	return false
}

// Candidate is a question to ask.
type Candidate struct {
	Places  Places
	Records []int32 // records, in stream order
	Query   model.Query
	Else    *model.Query // to ask if the answer to q is no; may be nil
}

// Races calls ask for pairs of accesses that may race: that conflict, are not
// excluded by a common lock and not ordered in any case. wanted says of which places
// there are to be more.
func Races(m *model.Model, wanted func(Places) bool, ask func(Candidate)) {
	masks := m.HeldLocks()
	for _, list := range accesses(m) {
		for j := range list {
			b := list[j]
			rb := &m.Records[m.Event[b.node]]
			for i := j - 1; i >= 0; i-- {
				a := list[i]
				if m.Chain[a.node] == m.Chain[b.node] || !a.op.Conflicts(b.op) || masks[a.node].Excludes(masks[b.node]) {
					continue
				}
				key := placesOf(placeOf(&m.Records[m.Event[a.node]], a.op), placeOf(rb, b.op))
				if !wanted(key) || ordered(m, a.node, b.node) {
					continue
				}
				ask(Candidate{
					Places:  key,
					Records: []int32{m.Event[a.node], m.Event[b.node]},
					Query:   model.Query{Pending: []order.Node{a.node, b.node}},
				})
			}
		}
	}
}

// pendingAcquire is an acquisition by a thread that holds another lock.
type pendingAcquire struct {
	node order.Node
	held int32 // section
	lock int32
	mask model.LockMask
}

// maxCycle bounds how many threads a deadlock has.
const maxCycle = 4

// Deadlocks calls ask for acquisitions that may wait for each other in a circle.
func Deadlocks(m *model.Model, wanted func(Places) bool, ask func(Candidate)) {
	masks := m.HeldLocks()
	open := make([][]int32, len(m.Base)-1)
	for i := range m.Sections {
		if x := &m.Sections[i]; x.Acquire == model.None && x.Chain >= 0 {
			open[x.Chain] = append(open[x.Chain], int32(i))
		}
	}
	byHeld := make([][]pendingAcquire, len(m.Locks))
	var all []pendingAcquire
	for _, n := range m.Observed[1:] {
		k := m.Chain[n]
		if id := m.Begins[n]; id >= 0 {
			r := &m.Records[m.Event[n]]
			for _, h := range open[k] {
				if m.Sections[h].Lock != m.Sections[id].Lock && r.Flags&heisen.NoWait == 0 {
					w := pendingAcquire{n, h, m.Sections[id].Lock, masks[n]}
					all = append(all, w)
					byHeld[m.Sections[h].Lock] = append(byHeld[m.Sections[h].Lock], w)
				}
			}
			open[k] = append(open[k], id)
		}
		if id := m.Ends[n]; id >= 0 {
			c := m.Sections[id].Chain
			if c >= 0 {
				open[c] = slices.DeleteFunc(open[c], func(o int32) bool { return o == id })
			}
		}
	}
	var path []pendingAcquire
	var extend func()
	extend = func() {
		last := path[len(path)-1]
		for _, w := range byHeld[last.lock] {
			x := &m.Sections[m.Begins[last.node]]
			if x.Shared && m.Sections[w.held].Shared {
				continue // readers do not wait for readers
			}
			if m.Chain[w.node] < m.Chain[path[0].node] || slices.ContainsFunc(path, func(o pendingAcquire) bool {
				return m.Chain[o.node] == m.Chain[w.node] || o.mask.Excludes(w.mask) ||
					ordered(m, o.node, w.node) || ordered(m, w.node, o.node)
			}) {
				continue
			}
			path = append(path, w)
			first := &path[0]
			closes := w.lock == m.Sections[first.held].Lock && !(m.Sections[m.Begins[w.node]].Shared && m.Sections[first.held].Shared)
			if closes {
				lockCycle(m, path, wanted, ask)
			} else if len(path) < maxCycle {
				extend()
			}
			path = path[:len(path)-1]
		}
	}
	for _, w := range all {
		path = append(path[:0], w)
		extend()
	}
}

// lockCycle asks whether the acquisitions of path can wait for each other.
func lockCycle(m *model.Model, path []pendingAcquire, wanted func(Places) bool, ask func(Candidate)) {
	var spots []Place
	for _, w := range path {
		r := &m.Records[m.Event[w.node]]
		spots = append(spots, placeOf(r, r.Op))
	}
	key := placesOf(spots...)
	if !wanted(key) {
		return
	}
	// As in other findings of deadlocks each wants what the next one holds, and the
	// last one is the latest.
	c := Candidate{Places: key}
	latest := 0
	for i, w := range path {
		if m.Event[w.node] > m.Event[path[latest].node] {
			latest = i
		}
	}
	for i := range path {
		w := path[(latest+1+i)%len(path)]
		c.Records = append(c.Records, m.Event[w.node])
		c.Query.Pending = append(c.Query.Pending, w.node)
	}
	ask(c)
}

// Unserializable reports whether no serial order explains that remote comes between first and
// second, accesses of one transaction.
func Unserializable(first, remote, second heisen.Op) bool {
	if !remote.IsWrite() {
		return first.IsWrite() && second.IsWrite() // it sees what was never meant to be seen
	}
	// Only if both write without looking, the remote write may as well have come first.
	return first != heisen.Write && first != heisen.AtomicWrite ||
		second != heisen.Write && second != heisen.AtomicWrite
}

// transactions returns, by record, the transaction that it is in, from 1, or 0.
func transactions(m *model.Model) []int32 {
	in := make([]int32, len(m.Records))
	type state struct{ depth, id int32 }
	states := map[heisen.Thread]*state{}
	count := int32(0)
	for i := range m.Records {
		r := &m.Records[i]
		s := states[r.Thread]
		if s == nil {
			s = new(state)
			states[r.Thread] = s
		}
		switch r.Op {
		case heisen.Enter:
			if s.depth++; s.depth == 1 {
				count++
				s.id = count
			}
		case heisen.Exit:
			if s.depth > 0 {
				s.depth--
			}
		}
		if s.depth > 0 {
			in[i] = s.id
		}
	}
	return in
}

// Violations calls ask for accesses that may come between two successive ones of a
// transaction to the same memory, so that no serial order explains it.
func Violations(m *model.Model, wanted func(Places) bool, ask func(Candidate)) {
	in := transactions(m)
	if !slices.ContainsFunc(in, func(id int32) bool { return id > 0 }) {
		return
	}
	for _, list := range accesses(m) {
		last := map[int32]access{} // by chain
		for _, b := range list {
			a, ok := last[m.Chain[b.node]]
			last[m.Chain[b.node]] = b
			id := in[m.Event[b.node]]
			if !ok || id == 0 || in[m.Event[a.node]] != id {
				continue
			}
			for _, r := range list {
				if m.Chain[r.node] == m.Chain[b.node] || !Unserializable(a.op, r.op, b.op) ||
					ordered(m, b.node, r.node) || ordered(m, r.node, a.node) {
					continue
				}
				spots := [3]Place{}
				for i, x := range [3]access{a, r, b} {
					spots[i] = placeOf(&m.Records[m.Event[x.node]], x.op)
				}
				key := Places{spots[0], spots[1], spots[2]}
				if !wanted(key) {
					continue
				}
				ask(Candidate{
					Places:  key,
					Records: []int32{m.Event[a.node], m.Event[r.node], m.Event[b.node]},
					Query:   Together(r.node, b.node),
					Else:    Between(a.node, r.node, b.node),
				})
			}
		}
	}
}

// SectionViolations calls ask for accesses that may come into a thread's passage through an
// atomic section, which does not allow them.
func SectionViolations(m *model.Model, wanted func(Places) bool, ask func(Candidate)) {
	if len(m.Window.Executions) == 0 {
		return
	}
	lists := accesses(m)
	of := map[order.Node][]int{} // by node: the lists that it is in, one for each life of a cell
	for i, list := range lists {
		for _, x := range list {
			of[x.node] = append(of[x.node], i)
		}
	}
	for _, p := range m.Window.Executions {
		a, b := m.Node[p.Entry], m.Node[p.End]
		if a == model.None || b == model.None {
			continue
		}
		first, last := placeAt(m, a), placeAt(m, b)
		for _, i := range of[a] {
			if !slices.Contains(of[b], i) {
				continue
			}
			for _, r := range lists[i] {
				if m.Chain[r.node] == m.Chain[a] || p.Allows(r.op) {
					continue
				}
				key := Places{first, placeAt(m, r.node), last, Place(p.Section) + 1}
				if !wanted(key) || ordered(m, b, r.node) || ordered(m, r.node, a) {
					continue
				}
				ask(Candidate{
					Places:  key,
					Records: []int32{m.Event[a], m.Event[r.node], m.Event[b]},
					Query:   Together(r.node, b),
					Else:    Between(a, r.node, b),
				})
			}
		}
	}
}

// placeAt returns the place of the access that is a node.
func placeAt(m *model.Model, n order.Node) Place {
	r := &m.Records[m.Event[n]]
	return placeOf(r, r.Access())
}

// Together asks whether r and b can be next at the same time; then r can come before
// b, and after what b's thread has done.
func Together(r, b order.Node) model.Query { return model.Query{Pending: []order.Node{r, b}} }

// Between asks whether r can come after a, its thread go on, and then b be next.
func Between(a, r, b order.Node) *model.Query {
	return &model.Query{Pending: []order.Node{b}, Past: []order.Node{r}, Order: []model.Edge{{From: a, To: r}}}
}

// ByPosition compares records: by the last, then by the one before it.
func ByPosition(a, b []int32) int {
	for i := 1; i <= min(len(a), len(b)); i++ {
		if c := cmp.Compare(a[len(a)-i], b[len(b)-i]); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(a), len(b))
}
