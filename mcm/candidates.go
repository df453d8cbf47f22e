package mcm

import (
	"cmp"
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/mcm/internal/window"
	"github.com/heisen-go/heisen/mcm/order"
)

// spot is a place of a finding: a site and an op.
type spot uint64

func spotOf(r *heisen.Record, op heisen.Op) spot { return spot(r.Site)<<8 | spot(op) }

// places are what findings are told apart by: two, or more in a deadlock.
type places [4]spot

func placesOf(spots ...spot) (p places) {
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
func accesses(m *causal) [][]access {
	list := make([][]access, len(m.cells))
	for _, n := range m.hint[1:] {
		r := &m.records[m.event[n]]
		op := r.Access()
		switch {
		case window.IsAllocation(r.Op):
			for _, t := range m.touches[m.touchAt[n]:m.touchAt[n+1]] {
				list = append(list, list[t.cell])
				list[t.cell] = nil
			}
			continue
		case op == heisen.Invalid:
			continue
		}
		for _, t := range m.touches[m.touchAt[n]:m.touchAt[n+1]] {
			list[t.cell] = append(list[t.cell], access{n, op})
		}
	}
	return list
}

// ordered reports whether a comes before b can be next.
func ordered(m *causal, a, b order.Node) bool {
	if p := m.prev(b); p != none && m.before(a, p) {
		return true
	}
	for i := m.intoAt[b]; i < m.intoAt[b+1]; i++ {
		if m.before(a, m.edges[i].from) {
			return true
		}
	}
	return false
}

// candidate is a question to ask.
type candidate struct {
	key places
	at  []int32 // records, in stream order
	q   query
	or  *query // to ask if the answer to q is no; may be nil
}

// racePairs calls ask for pairs of accesses that may race: that conflict, are not
// excluded by a common lock and not ordered in any case. wanted says of which places
// there are to be more.
func racePairs(m *causal, wanted func(places) bool, ask func(candidate)) {
	masks := m.masks()
	for _, list := range accesses(m) {
		for j := range list {
			b := list[j]
			rb := &m.records[m.event[b.node]]
			for i := j - 1; i >= 0; i-- {
				a := list[i]
				if m.chain[a.node] == m.chain[b.node] || !a.op.Conflicts(b.op) || masks[a.node].excludes(masks[b.node]) {
					continue
				}
				key := placesOf(spotOf(&m.records[m.event[a.node]], a.op), spotOf(rb, b.op))
				if !wanted(key) || ordered(m, a.node, b.node) {
					continue
				}
				ask(candidate{
					key: key,
					at:  []int32{m.event[a.node], m.event[b.node]},
					q:   query{next: []order.Node{a.node, b.node}},
				})
			}
		}
	}
}

// want is an acquisition by a thread that holds another lock.
type want struct {
	node order.Node
	held int32 // section
	lock int32
	mask heldMask
}

// maxCycle bounds how many threads a deadlock has.
const maxCycle = 4

// deadlocks calls ask for acquisitions that may wait for each other in a circle.
func deadlocks(m *causal, wanted func(places) bool, ask func(candidate)) {
	masks := m.masks()
	open := make([][]int32, len(m.base)-1)
	for i := range m.sections {
		if x := &m.sections[i]; x.acquire == none && x.chain >= 0 {
			open[x.chain] = append(open[x.chain], int32(i))
		}
	}
	byHeld := make([][]want, len(m.locks))
	var all []want
	for _, n := range m.hint[1:] {
		k := m.chain[n]
		if id := m.begins[n]; id >= 0 {
			r := &m.records[m.event[n]]
			for _, h := range open[k] {
				if m.sections[h].lock != m.sections[id].lock && r.Flags&heisen.NoWait == 0 {
					w := want{n, h, m.sections[id].lock, masks[n]}
					all = append(all, w)
					byHeld[m.sections[h].lock] = append(byHeld[m.sections[h].lock], w)
				}
			}
			open[k] = append(open[k], id)
		}
		if id := m.ends[n]; id >= 0 {
			c := m.sections[id].chain
			if c >= 0 {
				open[c] = slices.DeleteFunc(open[c], func(o int32) bool { return o == id })
			}
		}
	}
	var path []want
	var extend func()
	extend = func() {
		last := path[len(path)-1]
		for _, w := range byHeld[last.lock] {
			x := &m.sections[m.begins[last.node]]
			if x.shared && m.sections[w.held].shared {
				continue // readers do not wait for readers
			}
			if m.chain[w.node] < m.chain[path[0].node] || slices.ContainsFunc(path, func(o want) bool {
				return m.chain[o.node] == m.chain[w.node] || o.mask.excludes(w.mask) ||
					ordered(m, o.node, w.node) || ordered(m, w.node, o.node)
			}) {
				continue
			}
			path = append(path, w)
			first := &path[0]
			closes := w.lock == m.sections[first.held].lock && !(m.sections[m.begins[w.node]].shared && m.sections[first.held].shared)
			if closes {
				circle(m, path, wanted, ask)
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

// circle asks whether the acquisitions of path can wait for each other.
func circle(m *causal, path []want, wanted func(places) bool, ask func(candidate)) {
	var spots []spot
	for _, w := range path {
		r := &m.records[m.event[w.node]]
		spots = append(spots, spotOf(r, r.Op))
	}
	key := placesOf(spots...)
	if !wanted(key) {
		return
	}
	// As in other findings of deadlocks each wants what the next one holds, and the
	// last one is the latest.
	c := candidate{key: key}
	latest := 0
	for i, w := range path {
		if m.event[w.node] > m.event[path[latest].node] {
			latest = i
		}
	}
	for i := range path {
		w := path[(latest+1+i)%len(path)]
		c.at = append(c.at, m.event[w.node])
		c.q.next = append(c.q.next, w.node)
	}
	ask(c)
}

// torn reports whether no serial order explains that remote comes between first and
// second, accesses of one transaction.
func torn(first, remote, second heisen.Op) bool {
	if !remote.IsWrite() {
		return first.IsWrite() && second.IsWrite() // it sees what was never meant to be seen
	}
	// Only if both write without looking, the remote write may as well have come first.
	return first != heisen.Write && first != heisen.AtomicWrite ||
		second != heisen.Write && second != heisen.AtomicWrite
}

// transactions returns, by record, the transaction that it is in, from 1, or 0.
func transactions(m *causal) []int32 {
	in := make([]int32, len(m.records))
	type state struct{ depth, id int32 }
	states := map[heisen.Thread]*state{}
	count := int32(0)
	for i := range m.records {
		r := &m.records[i]
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

// violations calls ask for accesses that may come between two successive ones of a
// transaction to the same memory, so that no serial order explains it.
func violations(m *causal, wanted func(places) bool, ask func(candidate)) {
	in := transactions(m)
	if !slices.ContainsFunc(in, func(id int32) bool { return id > 0 }) {
		return
	}
	for _, list := range accesses(m) {
		last := map[int32]access{} // by chain
		for _, b := range list {
			a, ok := last[m.chain[b.node]]
			last[m.chain[b.node]] = b
			id := in[m.event[b.node]]
			if !ok || id == 0 || in[m.event[a.node]] != id {
				continue
			}
			for _, r := range list {
				if m.chain[r.node] == m.chain[b.node] || !torn(a.op, r.op, b.op) ||
					ordered(m, b.node, r.node) || ordered(m, r.node, a.node) {
					continue
				}
				spots := [3]spot{}
				for i, x := range [3]access{a, r, b} {
					spots[i] = spotOf(&m.records[m.event[x.node]], x.op)
				}
				key := places{spots[0], spots[1], spots[2]}
				if !wanted(key) {
					continue
				}
				ask(candidate{
					key: key,
					at:  []int32{m.event[a.node], m.event[r.node], m.event[b.node]},
					q:   meanwhile(r.node, b.node),
					or:  between(a.node, r.node, b.node),
				})
			}
		}
	}
}

// intrusions calls ask for accesses that may come into a thread's passage through an
// atomic section, which does not allow them.
func intrusions(m *causal, wanted func(places) bool, ask func(candidate)) {
	if len(m.window.Passages) == 0 {
		return
	}
	lists := accesses(m)
	of := map[order.Node][]int{} // by node: the lists that it is in, one for each life of a cell
	for i, list := range lists {
		for _, x := range list {
			of[x.node] = append(of[x.node], i)
		}
	}
	for _, p := range m.window.Passages {
		a, b := m.node[p.Entry], m.node[p.End]
		if a == none || b == none {
			continue
		}
		first, last := spotAt(m, a), spotAt(m, b)
		for _, i := range of[a] {
			if !slices.Contains(of[b], i) {
				continue
			}
			for _, r := range lists[i] {
				if m.chain[r.node] == m.chain[a] || p.Allows(r.op) {
					continue
				}
				key := places{first, spotAt(m, r.node), last, spot(p.Section) + 1}
				if !wanted(key) || ordered(m, b, r.node) || ordered(m, r.node, a) {
					continue
				}
				ask(candidate{
					key: key,
					at:  []int32{m.event[a], m.event[r.node], m.event[b]},
					q:   meanwhile(r.node, b),
					or:  between(a, r.node, b),
				})
			}
		}
	}
}

// spotAt returns the place of the access that is a node.
func spotAt(m *causal, n order.Node) spot {
	r := &m.records[m.event[n]]
	return spotOf(r, r.Access())
}

// meanwhile asks whether r and b can be next at the same time; then r can come before
// b, and after what b's thread has done.
func meanwhile(r, b order.Node) query { return query{next: []order.Node{r, b}} }

// between asks whether r can come after a, its thread go on, and then b be next.
func between(a, r, b order.Node) *query {
	return &query{next: []order.Node{b}, past: []order.Node{r}, order: []edge{{a, r}}}
}

// byPosition compares records: by the last, then by the one before it.
func byPosition(a, b []int32) int {
	for i := 1; i <= min(len(a), len(b)); i++ {
		if c := cmp.Compare(a[len(a)-i], b[len(b)-i]); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(a), len(b))
}
