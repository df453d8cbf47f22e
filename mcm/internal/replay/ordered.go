package replay

import (
	"slices"

	"github.com/heisen-go/heisen"
)

// hiddenCall is a call of hidden code that has not returned: an open BarrierPair.
type hiddenCall struct {
	call         heisen.Object
	reach        heisen.Objects
	learned      map[int]bool // the records that the hidden code may know of
	synchronized bool
}

// findOrdered finds the records that keep their order with others because of allocations,
// BarrierPairs or mixed objects; see KeepsOrder.
func (p *Facts) findOrdered() {
	p.IsOrdered = make([]bool, len(p.Window.Records))
	open := map[heisen.Thread][]*hiddenCall{}
	enter := func(r *heisen.Record) {
		h := &hiddenCall{call: r.Object, learned: map[int]bool{}, synchronized: r.Reach() == heisen.Synchronized}
		if !h.synchronized {
			h.reach = p.Rules.Reach(r)
		}
		open[r.Thread] = append(open[r.Thread], h)
	}
	all := func() (list []*hiddenCall) {
		for _, calls := range open {
			list = append(list, calls...)
		}
		return list
	}
	for i := range p.Window.Hidden {
		enter(&p.Window.Hidden[i])
	}
	hasHidden := len(p.Window.Hidden) > 0
	for i := range p.Window.Records {
		hasHidden = hasHidden || p.Window.Records[i].Op == heisen.Hide
	}
	if hasHidden {
		p.reaches = make([][]heisen.Objects, len(p.Window.Records))
		p.learned = make([]map[int]bool, len(p.Window.Records))
		p.hidden = make([]bool, len(p.Window.Records))
	}
	for i := range p.Window.Records {
		r := &p.Window.Records[i]
		returned := -1 // the first call of the thread that is over after the record
		switch r.Op {
		case heisen.Hide:
			enter(r)
		case heisen.Reveal:
			for k, h := range open[r.Thread] {
				if h.call == r.Object {
					returned = k
				}
			}
		case heisen.Alloc, heisen.Free:
			p.IsOrdered[i] = true
		}
		if r.Op != heisen.Alloc && r.Op != heisen.Free {
			for _, h := range open[r.Thread] {
				p.reaches[i] = append(p.reaches[i], h.reach)
				p.IsOrdered[i] = true
				p.hidden[i] = p.hidden[i] || h.synchronized
			}
		}
		if hasHidden {
			p.passOn(i, all())
		}
		if r.Op == heisen.End {
			returned = 0
		}
		if returned >= 0 {
			open[r.Thread] = open[r.Thread][:min(returned, len(open[r.Thread]))]
		}
		if p.Mixed[r.Object] && usesObject(r.Op) {
			p.IsOrdered[i] = true
		}
		p.touching.add(i, touched(r))
		if p.IsOrdered[i] {
			p.ordered = append(p.ordered, int32(i))
			p.keeping.add(i, touched(r))
		}
	}
}

// mayKeep calls visit with records before i, until it returns false: with all that may keep their order with i.
func (p *Facts) mayKeep(i int, visit func(j int) bool) {
	var list []int32
	switch s := touched(&p.Window.Records[i]); {
	case p.reaches == nil && p.IsOrdered[i]:
		list = p.touching.before(i, s)
	case p.reaches == nil:
		list = p.keeping.before(i, s)
	case p.IsOrdered[i]:
		for j := range i {
			if !visit(j) {
				return
			}
		}
		return
	default:
		k, _ := slices.BinarySearch(p.ordered, int32(i))
		list = p.ordered[:k]
	}
	for _, j := range list {
		if !visit(int(j)) {
			return
		}
	}
	if slices.Contains(p.hidden, true) {
		p.findBefore()
	}
}

// findBefore finds what happened before each record, by the rules of package heisen.
func (p *Facts) findBefore() {
	p.before = make([][]int32, len(p.Window.Records))
	written, readers := map[heisen.Object][]int32{}, map[heisen.Object][]int32{}
	publish := func(to map[heisen.Object][]int32, o heisen.Object, i int) {
		to[o] = maxima(to[o], p.before[i])
	}
	for i := range p.Window.Records {
		r := &p.Window.Records[i]
		own := make([]int32, len(p.Steps))
		own[p.Thread[i]] = p.Pos[i] + 1
		if k := p.Pos[i]; k > 0 {
			own = maxima(own, p.before[p.Steps[p.Thread[i]][k-1]])
		}
		if f := p.Fork[i]; f >= 0 {
			own = maxima(own, p.before[f])
		}
		switch r.Op {
		case heisen.Join:
			if n := p.Joins[i]; n > 0 {
				own = maxima(own, p.before[p.Steps[p.ThreadIndex[r.Object.Thread()]][n-1]])
			}
		case heisen.Acquire:
			own = maxima(maxima(own, written[r.Object]), readers[r.Object])
		case heisen.AcquireShared, heisen.Receive, heisen.AtomicRead, heisen.AtomicUpdate:
			own = maxima(own, written[r.Object])
		}
		p.before[i] = own
		switch r.Op {
		case heisen.ReleaseShared:
			publish(readers, r.Object, i)
		case heisen.Release, heisen.Send, heisen.AtomicUpdate:
			publish(written, r.Object, i)
		case heisen.AtomicWrite:
			delete(written, r.Object)
			publish(written, r.Object, i)
		}
	}
}

// maxima returns the larger of each two numbers.
func maxima(a, b []int32) []int32 {
	out := slices.Clone(a)
	if out == nil {
		out = make([]int32, len(b))
	}
	for k, v := range b {
		out[k] = max(out[k], v)
	}
	return out
}

// passOn finds the records that open calls of hidden code may pass on to record i, and passes record i
// on to the calls that may learn of it. Calls with an object in common may know the same records.
func (p *Facts) passOn(i int, calls []*hiddenCall) {
	for changed := true; changed; {
		changed = false
		for _, a := range calls {
			for _, b := range calls {
				if a == b || !a.reach.Intersects(b.reach) {
					continue
				}
				for k := range a.learned {
					changed = changed || !b.learned[k]
					b.learned[k] = true
				}
			}
		}
	}
	r := &p.Window.Records[i]
	if len(p.reaches[i]) == 0 && !r.Op.IsSync() && r.Op != heisen.Begin && r.Op != heisen.End {
		return
	}
	own := touched(r)
	var touching []*hiddenCall // the calls that share an object with record i
	for _, a := range calls {
		if a.reach.Meets(own.Start, own.Len) ||
			slices.ContainsFunc(p.reaches[i], func(reach heisen.Objects) bool { return reach.Intersects(a.reach) }) {
			touching = append(touching, a)
		}
	}
	for _, a := range touching {
		for k := range a.learned {
			if p.learned[i] == nil {
				p.learned[i] = map[int]bool{}
			}
			p.learned[i][k] = true
			p.IsOrdered[i] = true
		}
	}
	for _, a := range touching {
		a.learned[i] = true
	}
}

// usesObject reports whether an op uses its object as a lock, a message or an atomic variable.
func usesObject(op heisen.Op) bool {
	switch op {
	case heisen.Acquire, heisen.AcquireShared, heisen.Release, heisen.ReleaseShared,
		heisen.Send, heisen.Receive, heisen.Change, heisen.Observe,
		heisen.AtomicRead, heisen.AtomicWrite, heisen.AtomicUpdate:
		return true
	}
	return false
}

// touched returns the objects that an event touches.
func touched(r *heisen.Record) heisen.Span {
	switch r.Op {
	case heisen.Fork, heisen.Join:
		return heisen.Span{Start: heisen.ThreadObject(r.Object.Thread()), Len: 1}
	case heisen.Begin, heisen.End:
		return heisen.Span{Start: heisen.ThreadObject(r.Thread), Len: 1}
	case heisen.Alloc, heisen.Free:
		return heisen.Span{Start: r.Object, Len: max(r.Value, 1)}
	}
	if r.Op.IsAccess() {
		return heisen.Span{Start: r.Object, Len: r.Size()}
	}
	if usesObject(r.Op) {
		return heisen.Span{Start: r.Object, Len: 1}
	}
	return heisen.Span{}
}

// KeepsOrder reports whether record i, which was observed before record j, must come before it in
// every feasible reordering because of an allocation, a BarrierPair or a mixed object.
func (p *Facts) KeepsOrder(i, j int) bool {
	a, b := &p.Window.Records[i], &p.Window.Records[j]
	if usesObject(a.Op) && usesObject(b.Op) && a.Object == b.Object && p.Mixed[a.Object] {
		return true
	}
	x, y := touched(a), touched(b)
	if a.Op == heisen.Alloc || a.Op == heisen.Free {
		if (heisen.Objects{x}).Meets(y.Start, y.Len) {
			return true
		}
	}
	if p.reaches == nil {
		return false
	}
	if p.before != nil && (p.hidden[i] || p.hidden[j]) && p.before[j][p.Thread[i]] > p.Pos[i] {
		return true
	}
	if p.learned[j][i] {
		return true
	}
	for _, ra := range p.reaches[i] {
		if ra.Meets(y.Start, y.Len) {
			return true
		}
		for _, rb := range p.reaches[j] {
			if ra.Intersects(rb) {
				return true
			}
		}
	}
	for _, rb := range p.reaches[j] {
		if rb.Meets(x.Start, x.Len) {
			return true
		}
	}
	return false
}
