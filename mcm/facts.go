package mcm

import (
	"slices"

	"github.com/heisen-go/heisen"
)

// facts are what a window shows by itself: whose steps are whose, how memory is cut in pieces,
// who holds which locks, what reads saw, and which records keep their order for other reasons.
type facts struct {
	window *Window
	rules  rules

	thread   []int32 // by record
	place    []int32 // by record: how many records of its thread are before it
	steps    [][]int32
	dense    map[heisen.Thread]int32
	forkOf   []int32                // by record: the fork of its thread before it, or -1
	owner    []heisen.Thread        // by release: whose hold it ends
	loose    map[heisen.Object]bool // locks that have no owner, for a thread ends another one's hold
	freed    map[int][]int          // by acquisition: the releases by others that ended former holds of its thread
	joins    []int32                // by Join: how many records of the thread come before it
	bounds   []heisen.Object
	from, to []int32   // by record: the pieces of memory that it accesses
	saw      [][]int32 // by record: the last writer of each piece, -1 if there is none in the window
	clashes  [][]int32 // by piece: what writes it, if locks are overwritten there
	initial  []int32   // by piece: a read that shows what was there before, or -1
	sent     map[heisen.Object][]int32
	mixed    map[heisen.Object]bool // objects whose events keep their order
	special  []int32                // records that keep an order with others
	is       []bool                 // by record: whether it is one of them
	heard    []map[int]bool         // by record: records that open BarrierPairs may have passed on to it
	reaches  [][]heisen.Objects     // by record: what the open BarrierPairs of its thread reach
}

func newFacts(w *Window, rules rules) *facts {
	p := &facts{window: w, rules: rules, dense: map[heisen.Thread]int32{}}
	n := len(w.Records)
	p.thread, p.place = make([]int32, n), make([]int32, n)
	p.forkOf, p.joins = make([]int32, n), make([]int32, n)
	p.from, p.to = make([]int32, n), make([]int32, n)
	p.owner = make([]heisen.Thread, n)
	forks := map[heisen.Thread]int32{}
	for i := range w.Records {
		r := &w.Records[i]
		t, ok := p.dense[r.Thread]
		if !ok {
			t = int32(len(p.steps))
			p.dense[r.Thread] = t
			p.steps = append(p.steps, nil)
		}
		p.thread[i], p.place[i] = t, int32(len(p.steps[t]))
		p.steps[t] = append(p.steps[t], int32(i))
		p.forkOf[i] = -1
		if f, ok := forks[r.Thread]; ok {
			p.forkOf[i] = f
		}
		switch r.Op {
		case heisen.Fork:
			forks[r.Object.Thread()] = int32(i)
		case heisen.Join:
			if joined, ok := p.dense[r.Object.Thread()]; ok && joined != t {
				p.joins[i] = int32(len(p.steps[joined]))
			}
		}
	}
	p.findMixed()
	p.findPieces()
	p.findClashes()
	p.findSpecial()
	newMachine(p).observe()
	return p
}

// reads reports whether an event's effect depends on the memory that it accesses.
func reads(r *heisen.Record) bool {
	switch r.Op {
	case heisen.Read, heisen.AtomicRead, heisen.AtomicUpdate:
		return true
	}
	return false
}

// known reports whether the value that an event reads or writes is known.
func known(r *heisen.Record) bool {
	return r.Flags&heisen.HasValue != 0 && r.Op.IsAccess() && r.Op != heisen.AtomicUpdate
}

// equal reports whether a read has the value in a piece of memory that another
// access to it has.
func (p *facts) equal(read, other int32) bool {
	a, b := &p.window.Records[read], &p.window.Records[other]
	return known(a) && known(b) && a.Object == b.Object && a.Size() == b.Size() && a.Value == b.Value
}

// findMixed finds the objects whose events are not those of one kind, or of a lock
// that is not used as one.
func (p *facts) findMixed() {
	const (
		asLock = 1 << iota
		asMessage
		asAtomic
	)
	uses := map[heisen.Object]int{}
	p.mixed = map[heisen.Object]bool{}
	p.sent = map[heisen.Object][]int32{}
	holders := newHoldings()
	type hold struct {
		lock   heisen.Object
		thread heisen.Thread
	}
	byOthers := map[hold][]int{}
	p.freed = map[int][]int{}
	p.loose = map[heisen.Object]bool{}
	again := map[heisen.Object]bool{} // taken by who holds it, as no lock of Go can be
	take := func(o heisen.Object, thread heisen.Thread, shared bool) {
		if !canTake(holders.held[o], thread, shared) {
			p.mixed[o] = true
		}
		for _, g := range holders.held[o] {
			again[o] = again[o] || g.thread == thread && !(g.shared && shared)
		}
	}
	for _, h := range p.window.Held {
		code := heisen.Acquire
		if h.Shared {
			code = heisen.AcquireShared
		}
		uses[h.Lock] |= asLock
		take(h.Lock, h.Thread, h.Shared)
		holders.apply(&heisen.Record{Op: code, Object: h.Lock, Thread: h.Thread})
	}
	for i := range p.window.Records {
		r := &p.window.Records[i]
		switch r.Op {
		case heisen.Acquire, heisen.AcquireShared:
			uses[r.Object] |= asLock
			take(r.Object, r.Thread, r.Op == heisen.AcquireShared)
			if list := byOthers[hold{r.Object, r.Thread}]; len(list) > 0 {
				p.freed[i] = slices.Clone(list)
			}
			holders.apply(r)
		case heisen.Release, heisen.ReleaseShared:
			uses[r.Object] |= asLock
			g, ok := holders.released(r)
			if !ok || g.thread != r.Thread && g.times > 1 {
				p.mixed[r.Object] = true
			}
			p.owner[i] = g.thread
			if ok && g.thread != r.Thread && !g.shared {
				p.loose[r.Object] = true
			}
			if ok && g.thread != r.Thread {
				key := hold{r.Object, g.thread}
				byOthers[key] = append(byOthers[key], i)
			}
			holders.apply(r)
		case heisen.Send, heisen.Receive, heisen.Change, heisen.Observe:
			uses[r.Object] |= asMessage
			if isSent(r.Op) {
				p.sent[r.Object] = append(p.sent[r.Object], int32(i))
			}
		case heisen.AtomicRead, heisen.AtomicWrite, heisen.AtomicUpdate:
			uses[r.Object] |= asAtomic
		}
	}
	for o, u := range uses {
		if u&(u-1) != 0 {
			p.mixed[o] = true
		}
	}
	for o := range p.loose {
		if again[o] || p.mixed[o] || p.rules.literal {
			delete(p.loose, o)
		}
	}
	for i, list := range p.freed { // of a loose lock only who reads ends his own hold
		if p.loose[p.window.Records[i].Object] {
			p.freed[i] = slices.DeleteFunc(list, func(j int) bool { return p.window.Records[j].Op == heisen.Release })
		}
	}
}

// findPieces cuts memory where an access starts or ends.
func (p *facts) findPieces() {
	for i := range p.window.Records {
		if r := &p.window.Records[i]; r.Access() != heisen.Invalid {
			p.bounds = append(p.bounds, r.Object, r.Object+heisen.Object(extent(r).Len))
		}
		if r := &p.window.Records[i]; r.Op == heisen.Alloc || r.Op == heisen.Free {
			p.bounds = append(p.bounds, r.Object, r.Object+heisen.Object(max(r.Value, 1)))
		}
	}
	slices.Sort(p.bounds)
	p.bounds = slices.Compact(p.bounds)
	covered := make([]bool, len(p.bounds))
	for i := range p.window.Records {
		r := &p.window.Records[i]
		size := r.Size()
		switch {
		case r.Op.IsAccess():
		case r.Op == heisen.Alloc || r.Op == heisen.Free:
			size = max(r.Value, 1)
		default:
			continue
		}
		a, _ := slices.BinarySearch(p.bounds, r.Object)
		z, _ := slices.BinarySearch(p.bounds, r.Object+heisen.Object(size))
		if z < a { // around the end of all addresses
			z = len(p.bounds)
		}
		p.from[i], p.to[i] = int32(a), int32(z)
		for k := a; k < z && r.Op.IsAccess(); k++ {
			covered[k] = true
		}
	}
	for i := range p.window.Records {
		if r := &p.window.Records[i]; !r.Op.IsAccess() && r.Access() != heisen.Invalid {
			if a, _ := slices.BinarySearch(p.bounds, r.Object); covered[a] { // a lock in memory that is accessed
				p.from[i], p.to[i] = int32(a), int32(a+1)
			}
		}
	}
}

// findClashes finds where locks are overwritten.
func (p *facts) findClashes() {
	p.clashes = make([][]int32, len(p.bounds))
	locked, overwritten := make([]bool, len(p.bounds)), make([]bool, len(p.bounds))
	for i := range p.window.Records {
		for k := p.from[i]; k < p.to[i]; k++ {
			if p.overwrites(i) {
				overwritten[k] = true
			} else if !p.window.Records[i].Op.IsAccess() {
				locked[k] = true
			}
		}
	}
	for i := range p.window.Records {
		for k := p.from[i]; k < p.to[i]; k++ {
			if locked[k] && overwritten[k] && (p.overwrites(i) || !p.window.Records[i].Op.IsAccess()) {
				p.clashes[k] = append(p.clashes[k], int32(i))
			}
		}
	}
}

// overwrites reports whether a record writes memory, and not as an operation on a
// lock.
func (p *facts) overwrites(i int) bool {
	switch r := &p.window.Records[i]; r.Op {
	case heisen.Alloc, heisen.Free:
		return true
	default:
		return r.Op.IsWrite()
	}
}

// clash reports whether one of two records overwrites a lock that the other operates
// on, given that both write the same memory.
func (p *facts) clash(i, j int) bool { return p.overwrites(i) != p.overwrites(j) }

// findSpecial finds the records that keep an order with others for other reasons
// than what they see.
func (p *facts) findSpecial() {
	p.is = make([]bool, len(p.window.Records))
	open := map[heisen.Thread][]*hidden{}
	enter := func(r *heisen.Record) {
		open[r.Thread] = append(open[r.Thread], &hidden{r.Object, p.rules.reach(r), map[int]bool{}})
	}
	all := func() (list []*hidden) {
		for _, calls := range open {
			list = append(list, calls...)
		}
		return list
	}
	for i := range p.window.Hidden {
		enter(&p.window.Hidden[i])
	}
	any := len(p.window.Hidden) > 0
	for i := range p.window.Records {
		any = any || p.window.Records[i].Op == heisen.Hide
	}
	if any {
		p.reaches = make([][]heisen.Objects, len(p.window.Records))
		p.heard = make([]map[int]bool, len(p.window.Records))
	}
	for i := range p.window.Records {
		r := &p.window.Records[i]
		after := -1
		switch r.Op {
		case heisen.Hide:
			enter(r)
		case heisen.Reveal:
			for k, h := range open[r.Thread] {
				if h.call == r.Object {
					after = k
				}
			}
		case heisen.Alloc, heisen.Free:
			p.is[i] = true
		}
		if r.Op != heisen.Alloc && r.Op != heisen.Free {
			for _, h := range open[r.Thread] {
				p.reaches[i] = append(p.reaches[i], h.what)
				p.is[i] = true
			}
		}
		if any {
			p.hear(i, all())
		}
		if r.Op == heisen.End {
			after = 0
		}
		if after >= 0 {
			open[r.Thread] = open[r.Thread][:min(after, len(open[r.Thread]))]
		}
		if p.mixed[r.Object] && orders(r.Op) {
			p.is[i] = true
		}
		if p.is[i] {
			p.special = append(p.special, int32(i))
		}
	}
}

// hidden is a call of code that is not traced, while it lasts.
type hidden struct {
	call  heisen.Object
	what  heisen.Objects
	heard map[int]bool // the records that it may know of
}

// hear notes which records the calls that last, all of them given, may have passed on
// to record i, and lets them know of it.
func (p *facts) hear(i int, calls []*hidden) {
	for changed := true; changed; { // what one knows those know that it has an object in common with
		changed = false
		for _, a := range calls {
			for _, b := range calls {
				if a == b || !a.what.Intersects(b.what) {
					continue
				}
				for k := range a.heard {
					changed = changed || !b.heard[k]
					b.heard[k] = true
				}
			}
		}
	}
	r := &p.window.Records[i]
	if len(p.reaches[i]) == 0 && !r.Op.IsSync() && r.Op != heisen.Begin && r.Op != heisen.End {
		return
	}
	own := names(r)
	for _, a := range calls {
		if !a.what.Meets(own.Start, own.Len) &&
			!slices.ContainsFunc(p.reaches[i], func(what heisen.Objects) bool { return what.Intersects(a.what) }) {
			continue
		}
		for k := range a.heard {
			if p.heard[i] == nil {
				p.heard[i] = map[int]bool{}
			}
			p.heard[i][k] = true
			p.is[i] = true
		}
		defer func() { a.heard[i] = true }()
	}
}

// orders reports whether an op uses its object to synchronise.
func orders(op heisen.Op) bool {
	switch op {
	case heisen.Acquire, heisen.AcquireShared, heisen.Release, heisen.ReleaseShared,
		heisen.Send, heisen.Receive, heisen.Change, heisen.Observe,
		heisen.AtomicRead, heisen.AtomicWrite, heisen.AtomicUpdate:
		return true
	}
	return false
}

// names returns the objects that an event names.
func names(r *heisen.Record) heisen.Span {
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
	if orders(r.Op) {
		return heisen.Span{Start: r.Object, Len: 1}
	}
	return heisen.Span{}
}

// keeps reports whether record i, which was observed before j, has to come before
// it because of a life, a BarrierPair or an object with mixed uses.
func (p *facts) keeps(i, j int) bool {
	a, b := &p.window.Records[i], &p.window.Records[j]
	if orders(a.Op) && orders(b.Op) && a.Object == b.Object && p.mixed[a.Object] {
		return true
	}
	x, y := names(a), names(b)
	if a.Op == heisen.Alloc || a.Op == heisen.Free {
		if (heisen.Objects{x}).Meets(y.Start, y.Len) {
			return true
		}
	}
	if p.reaches == nil {
		return false
	}
	if p.heard[j][i] {
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
