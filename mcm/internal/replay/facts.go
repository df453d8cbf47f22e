package replay

import (
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/mcm/internal/window"
)

// Facts are what a window shows by itself: whose steps are whose, how memory is cut in pieces,
// who holds which locks, what reads saw, and which records keep their order for other reasons.
type Facts struct {
	Window *window.Window
	Rules  window.Rules

	Thread        []int32 // by record
	Place         []int32 // by record: how many records of its thread are before it
	Steps         [][]int32
	ThreadIndex   map[heisen.Thread]int32
	Fork          []int32                // by record: the fork of its thread before it, or -1
	Owner         []heisen.Thread        // by release: whose hold it ends
	Unowned       map[heisen.Object]bool // locks that have no owner, for a thread ends another one's hold
	EndedByOthers map[int][]int          // by acquisition: the releases by others that ended former holds of its thread
	Joins         []int32                // by Join: how many records of the thread come before it
	Bounds        []heisen.Object
	From, To      []int32   // by record: the pieces of memory that it accesses
	Saw           [][]int32 // by record: the last writer of each piece, -1 if there is none in the window
	Clashes       [][]int32 // by piece: what writes it, if locks are overwritten there
	Initial       []int32   // by piece: a read that shows what was there before, or -1
	Sends         map[heisen.Object][]int32
	Mixed         map[heisen.Object]bool // objects whose events keep their order
	ordered       []int32                // records that keep an order with others
	IsOrdered     []bool                 // by record: whether it is one of them
	heard         []map[int]bool         // by record: records that open BarrierPairs may have passed on to it
	reaches       [][]heisen.Objects     // by record: what the open BarrierPairs of its thread reach
}

func NewFacts(w *window.Window, rules window.Rules) *Facts {
	p := &Facts{Window: w, Rules: rules, ThreadIndex: map[heisen.Thread]int32{}}
	n := len(w.Records)
	p.Thread, p.Place = make([]int32, n), make([]int32, n)
	p.Fork, p.Joins = make([]int32, n), make([]int32, n)
	p.From, p.To = make([]int32, n), make([]int32, n)
	p.Owner = make([]heisen.Thread, n)
	forks := map[heisen.Thread]int32{}
	for i := range w.Records {
		r := &w.Records[i]
		t, ok := p.ThreadIndex[r.Thread]
		if !ok {
			t = int32(len(p.Steps))
			p.ThreadIndex[r.Thread] = t
			p.Steps = append(p.Steps, nil)
		}
		p.Thread[i], p.Place[i] = t, int32(len(p.Steps[t]))
		p.Steps[t] = append(p.Steps[t], int32(i))
		p.Fork[i] = -1
		if f, ok := forks[r.Thread]; ok {
			p.Fork[i] = f
		}
		switch r.Op {
		case heisen.Fork:
			forks[r.Object.Thread()] = int32(i)
		case heisen.Join:
			if joined, ok := p.ThreadIndex[r.Object.Thread()]; ok && joined != t {
				p.Joins[i] = int32(len(p.Steps[joined]))
			}
		}
	}
	p.findMixed()
	p.findPieces()
	p.findClashes()
	p.findSpecial()
	newReplayer(p).observe()
	return p
}

// Reads reports whether an event's effect depends on the memory that it accesses.
func Reads(r *heisen.Record) bool {
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

// Equal reports whether a read has the value in a piece of memory that another
// access to it has.
func (p *Facts) Equal(read, other int32) bool {
	a, b := &p.Window.Records[read], &p.Window.Records[other]
	return known(a) && known(b) && a.Object == b.Object && a.Size() == b.Size() && a.Value == b.Value
}

// findMixed finds the objects whose events are not those of one kind, or of a lock
// that is not used as one.
func (p *Facts) findMixed() {
	const (
		asLock = 1 << iota
		asMessage
		asAtomic
	)
	uses := map[heisen.Object]int{}
	p.Mixed = map[heisen.Object]bool{}
	p.Sends = map[heisen.Object][]int32{}
	holders := window.NewLocks()
	type hold struct {
		lock   heisen.Object
		thread heisen.Thread
	}
	byOthers := map[hold][]int{}
	p.EndedByOthers = map[int][]int{}
	p.Unowned = map[heisen.Object]bool{}
	again := map[heisen.Object]bool{} // taken by who holds it, as no lock of Go can be
	take := func(o heisen.Object, thread heisen.Thread, shared bool) {
		if !window.CanAcquire(holders.Held[o], thread, shared) {
			p.Mixed[o] = true
		}
		for _, g := range holders.Held[o] {
			again[o] = again[o] || g.Thread == thread && !(g.Shared && shared)
		}
	}
	for _, h := range p.Window.Held {
		code := heisen.Acquire
		if h.Shared {
			code = heisen.AcquireShared
		}
		uses[h.Lock] |= asLock
		take(h.Lock, h.Thread, h.Shared)
		holders.Apply(&heisen.Record{Op: code, Object: h.Lock, Thread: h.Thread})
	}
	for i := range p.Window.Records {
		r := &p.Window.Records[i]
		switch r.Op {
		case heisen.Acquire, heisen.AcquireShared:
			uses[r.Object] |= asLock
			take(r.Object, r.Thread, r.Op == heisen.AcquireShared)
			if list := byOthers[hold{r.Object, r.Thread}]; len(list) > 0 {
				p.EndedByOthers[i] = slices.Clone(list)
			}
			holders.Apply(r)
		case heisen.Release, heisen.ReleaseShared:
			uses[r.Object] |= asLock
			g, ok := holders.Released(r)
			if !ok || g.Thread != r.Thread && g.Times > 1 {
				p.Mixed[r.Object] = true
			}
			p.Owner[i] = g.Thread
			if ok && g.Thread != r.Thread && !g.Shared {
				p.Unowned[r.Object] = true
			}
			if ok && g.Thread != r.Thread {
				key := hold{r.Object, g.Thread}
				byOthers[key] = append(byOthers[key], i)
			}
			holders.Apply(r)
		case heisen.Send, heisen.Receive, heisen.Change, heisen.Observe:
			uses[r.Object] |= asMessage
			if window.IsSend(r.Op) {
				p.Sends[r.Object] = append(p.Sends[r.Object], int32(i))
			}
		case heisen.AtomicRead, heisen.AtomicWrite, heisen.AtomicUpdate:
			uses[r.Object] |= asAtomic
		}
	}
	for o, u := range uses {
		if u&(u-1) != 0 {
			p.Mixed[o] = true
		}
	}
	for o := range p.Unowned {
		if again[o] || p.Mixed[o] || p.Rules.Literal {
			delete(p.Unowned, o)
		}
	}
	for i, list := range p.EndedByOthers { // of a loose lock only who reads ends his own hold
		if p.Unowned[p.Window.Records[i].Object] {
			p.EndedByOthers[i] = slices.DeleteFunc(list, func(j int) bool { return p.Window.Records[j].Op == heisen.Release })
		}
	}
}

// findPieces cuts memory where an access starts or ends.
func (p *Facts) findPieces() {
	for i := range p.Window.Records {
		if r := &p.Window.Records[i]; r.Access() != heisen.Invalid {
			p.Bounds = append(p.Bounds, r.Object, r.Object+heisen.Object(window.Extent(r).Len))
		}
		if r := &p.Window.Records[i]; r.Op == heisen.Alloc || r.Op == heisen.Free {
			p.Bounds = append(p.Bounds, r.Object, r.Object+heisen.Object(max(r.Value, 1)))
		}
	}
	slices.Sort(p.Bounds)
	p.Bounds = slices.Compact(p.Bounds)
	covered := make([]bool, len(p.Bounds))
	for i := range p.Window.Records {
		r := &p.Window.Records[i]
		size := r.Size()
		switch {
		case r.Op.IsAccess():
		case r.Op == heisen.Alloc || r.Op == heisen.Free:
			size = max(r.Value, 1)
		default:
			continue
		}
		a, _ := slices.BinarySearch(p.Bounds, r.Object)
		z, _ := slices.BinarySearch(p.Bounds, r.Object+heisen.Object(size))
		if z < a { // around the end of all addresses
			z = len(p.Bounds)
		}
		p.From[i], p.To[i] = int32(a), int32(z)
		for k := a; k < z && r.Op.IsAccess(); k++ {
			covered[k] = true
		}
	}
	for i := range p.Window.Records {
		if r := &p.Window.Records[i]; !r.Op.IsAccess() && r.Access() != heisen.Invalid {
			if a, _ := slices.BinarySearch(p.Bounds, r.Object); covered[a] { // a lock in memory that is accessed
				p.From[i], p.To[i] = int32(a), int32(a+1)
			}
		}
	}
}

// findClashes finds where locks are overwritten.
func (p *Facts) findClashes() {
	p.Clashes = make([][]int32, len(p.Bounds))
	locked, overwritten := make([]bool, len(p.Bounds)), make([]bool, len(p.Bounds))
	for i := range p.Window.Records {
		for k := p.From[i]; k < p.To[i]; k++ {
			if p.overwrites(i) {
				overwritten[k] = true
			} else if !p.Window.Records[i].Op.IsAccess() {
				locked[k] = true
			}
		}
	}
	for i := range p.Window.Records {
		for k := p.From[i]; k < p.To[i]; k++ {
			if locked[k] && overwritten[k] && (p.overwrites(i) || !p.Window.Records[i].Op.IsAccess()) {
				p.Clashes[k] = append(p.Clashes[k], int32(i))
			}
		}
	}
}

// overwrites reports whether a record writes memory, and not as an operation on a
// lock.
func (p *Facts) overwrites(i int) bool {
	switch r := &p.Window.Records[i]; r.Op {
	case heisen.Alloc, heisen.Free:
		return true
	default:
		return r.Op.IsWrite()
	}
}

// Clash reports whether one of two records overwrites a lock that the other operates
// on, given that both write the same memory.
func (p *Facts) Clash(i, j int) bool { return p.overwrites(i) != p.overwrites(j) }

// findSpecial finds the records that keep an order with others for other reasons
// than what they see.
func (p *Facts) findSpecial() {
	p.IsOrdered = make([]bool, len(p.Window.Records))
	open := map[heisen.Thread][]*hidden{}
	enter := func(r *heisen.Record) {
		open[r.Thread] = append(open[r.Thread], &hidden{r.Object, p.Rules.Reach(r), map[int]bool{}})
	}
	all := func() (list []*hidden) {
		for _, calls := range open {
			list = append(list, calls...)
		}
		return list
	}
	for i := range p.Window.Hidden {
		enter(&p.Window.Hidden[i])
	}
	any := len(p.Window.Hidden) > 0
	for i := range p.Window.Records {
		any = any || p.Window.Records[i].Op == heisen.Hide
	}
	if any {
		p.reaches = make([][]heisen.Objects, len(p.Window.Records))
		p.heard = make([]map[int]bool, len(p.Window.Records))
	}
	for i := range p.Window.Records {
		r := &p.Window.Records[i]
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
			p.IsOrdered[i] = true
		}
		if r.Op != heisen.Alloc && r.Op != heisen.Free {
			for _, h := range open[r.Thread] {
				p.reaches[i] = append(p.reaches[i], h.what)
				p.IsOrdered[i] = true
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
		if p.Mixed[r.Object] && orders(r.Op) {
			p.IsOrdered[i] = true
		}
		if p.IsOrdered[i] {
			p.ordered = append(p.ordered, int32(i))
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
func (p *Facts) hear(i int, calls []*hidden) {
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
	r := &p.Window.Records[i]
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
			p.IsOrdered[i] = true
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

// KeepsOrder reports whether record i, which was observed before j, has to come before
// it because of a life, a BarrierPair or an object with mixed uses.
func (p *Facts) KeepsOrder(i, j int) bool {
	a, b := &p.Window.Records[i], &p.Window.Records[j]
	if orders(a.Op) && orders(b.Op) && a.Object == b.Object && p.Mixed[a.Object] {
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
