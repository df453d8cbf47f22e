package mcm

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/heisen-go/heisen"
)

// ErrReplay is what the error of Replay wraps: the witness is no order in which
// the window's events are known to be possible.
var ErrReplay = errors.New("mcm: witness does not replay")

// Replay checks a witness against the window that it is of: that each thread takes
// its steps, that locks exclude, that threads start after their Fork and are joined
// after their last event, that messages are received as they were, that reads see
// what they saw, or the same value, that lives and BarrierPairs keep their order,
// and that the last events are next to each other. It follows these definitions
// one event at a time and knows nothing of constraints. Of the options,
// ControlFlow and Reaches matter.
//
// It takes time in proportion to the events; if there are lives, BarrierPairs or
// objects with mixed uses, to these times the events that have changed places with
// them.
func (w *Window) Replay(x *Witness, options ...Option) error {
	s := defaults()
	for _, option := range options {
		if err := option(&s); err != nil {
			return err
		}
	}
	return newReplayer(w, s).replay(x)
}

// replayer is a machine whose state is where each thread stands and what it made of
// locks, messages and memory.
type replayer struct {
	window   *Window
	settings settings

	// What the window shows.
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

	// The state.
	done    []bool
	next    []int32 // by thread
	writer  []int32 // by piece
	held    map[heisen.Object][]grip
	taken   map[heisen.Object]int // how often a loose lock is held exclusively
	waiting map[heisen.Object]int // how many messages were sent
	spoilt  []int32               // by thread: the place of the first record that has read something else; with control flow
}

func newReplayer(w *Window, s settings) *replayer {
	p := &replayer{window: w, settings: s, dense: map[heisen.Thread]int32{}}
	n := len(w.Records)
	p.thread, p.place = make([]int32, n), make([]int32, n)
	p.forkOf, p.joins = make([]int32, n), make([]int32, n)
	p.from, p.to = make([]int32, n), make([]int32, n)
	p.owner = make([]heisen.Thread, n)
	forks := map[heisen.Thread]int32{}
	for i := range w.Records {
		r := &w.Records[i]
		t, ok := p.dense[r.TID]
		if !ok {
			t = int32(len(p.steps))
			p.dense[r.TID] = t
			p.steps = append(p.steps, nil)
		}
		p.thread[i], p.place[i] = t, int32(len(p.steps[t]))
		p.steps[t] = append(p.steps[t], int32(i))
		p.forkOf[i] = -1
		if f, ok := forks[r.TID]; ok {
			p.forkOf[i] = f
		}
		switch r.Code {
		case heisen.Fork:
			forks[r.Obj.Thread()] = int32(i)
		case heisen.Join:
			if joined, ok := p.dense[r.Obj.Thread()]; ok && joined != t {
				p.joins[i] = int32(len(p.steps[joined]))
			}
		}
	}
	p.findMixed()
	p.findPieces()
	p.findClashes()
	p.findSpecial()
	p.reset()
	p.observe()
	p.reset()
	return p
}

// findMixed finds the objects whose events are not those of one kind, or of a lock
// that is not used as one.
func (p *replayer) findMixed() {
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
		holders.apply(&heisen.Record{Code: code, Obj: h.Lock, TID: h.Thread})
	}
	for i := range p.window.Records {
		r := &p.window.Records[i]
		switch r.Code {
		case heisen.Acquire, heisen.AcquireShared:
			uses[r.Obj] |= asLock
			take(r.Obj, r.TID, r.Code == heisen.AcquireShared)
			if list := byOthers[hold{r.Obj, r.TID}]; len(list) > 0 {
				p.freed[i] = slices.Clone(list)
			}
			holders.apply(r)
		case heisen.Release, heisen.ReleaseShared:
			uses[r.Obj] |= asLock
			g, ok := holders.released(r)
			if !ok || g.thread != r.TID && g.times > 1 {
				p.mixed[r.Obj] = true
			}
			p.owner[i] = g.thread
			if ok && g.thread != r.TID && !g.shared {
				p.loose[r.Obj] = true
			}
			if ok && g.thread != r.TID {
				key := hold{r.Obj, g.thread}
				byOthers[key] = append(byOthers[key], i)
			}
			holders.apply(r)
		case heisen.Send, heisen.Receive, heisen.Change, heisen.Observe:
			uses[r.Obj] |= asMessage
			if isSent(r.Code) {
				p.sent[r.Obj] = append(p.sent[r.Obj], int32(i))
			}
		case heisen.AtomicRead, heisen.AtomicWrite, heisen.AtomicUpdate:
			uses[r.Obj] |= asAtomic
		}
	}
	for o, u := range uses {
		if u&(u-1) != 0 {
			p.mixed[o] = true
		}
	}
	for o := range p.loose {
		if again[o] || p.mixed[o] || p.settings.literal {
			delete(p.loose, o)
		}
	}
	for i, list := range p.freed { // of a loose lock only who reads ends his own hold
		if p.loose[p.window.Records[i].Obj] {
			p.freed[i] = slices.DeleteFunc(list, func(j int) bool { return p.window.Records[j].Code == heisen.Release })
		}
	}
}

// canTake reports whether a thread can take a lock that is held so.
func canTake(grips []grip, thread heisen.Thread, shared bool) bool {
	for _, g := range grips {
		if g.thread != thread && !(shared && g.shared) {
			return false
		}
	}
	return true
}

// findPieces cuts memory where an access starts or ends.
func (p *replayer) findPieces() {
	for i := range p.window.Records {
		if r := &p.window.Records[i]; r.Access() != heisen.Invalid {
			p.bounds = append(p.bounds, r.Obj, r.Obj+heisen.Object(extent(r).Len))
		}
		if r := &p.window.Records[i]; r.Code == heisen.Alloc || r.Code == heisen.Free {
			p.bounds = append(p.bounds, r.Obj, r.Obj+heisen.Object(max(r.Val, 1)))
		}
	}
	slices.Sort(p.bounds)
	p.bounds = slices.Compact(p.bounds)
	covered := make([]bool, len(p.bounds))
	for i := range p.window.Records {
		r := &p.window.Records[i]
		size := r.Size()
		switch {
		case r.Code.IsAccess():
		case r.Code == heisen.Alloc || r.Code == heisen.Free:
			size = max(r.Val, 1)
		default:
			continue
		}
		a, _ := slices.BinarySearch(p.bounds, r.Obj)
		z, _ := slices.BinarySearch(p.bounds, r.Obj+heisen.Object(size))
		if z < a { // around the end of all addresses
			z = len(p.bounds)
		}
		p.from[i], p.to[i] = int32(a), int32(z)
		for k := a; k < z && r.Code.IsAccess(); k++ {
			covered[k] = true
		}
	}
	for i := range p.window.Records {
		if r := &p.window.Records[i]; !r.Code.IsAccess() && r.Access() != heisen.Invalid {
			if a, _ := slices.BinarySearch(p.bounds, r.Obj); covered[a] { // a lock in memory that is accessed
				p.from[i], p.to[i] = int32(a), int32(a+1)
			}
		}
	}
}

// findClashes finds where locks are overwritten.
func (p *replayer) findClashes() {
	p.clashes = make([][]int32, len(p.bounds))
	locked, overwritten := make([]bool, len(p.bounds)), make([]bool, len(p.bounds))
	for i := range p.window.Records {
		for k := p.from[i]; k < p.to[i]; k++ {
			if p.overwrites(i) {
				overwritten[k] = true
			} else if !p.window.Records[i].Code.IsAccess() {
				locked[k] = true
			}
		}
	}
	for i := range p.window.Records {
		for k := p.from[i]; k < p.to[i]; k++ {
			if locked[k] && overwritten[k] && (p.overwrites(i) || !p.window.Records[i].Code.IsAccess()) {
				p.clashes[k] = append(p.clashes[k], int32(i))
			}
		}
	}
}

// overwrites reports whether a record writes memory, and not as an operation on a
// lock.
func (p *replayer) overwrites(i int) bool {
	switch r := &p.window.Records[i]; r.Code {
	case heisen.Alloc, heisen.Free:
		return true
	default:
		return r.Code.IsWrite()
	}
}

// clash reports whether one of two records overwrites a lock that the other operates
// on, given that both write the same memory.
func (p *replayer) clash(i, j int) bool { return p.overwrites(i) != p.overwrites(j) }

// findSpecial finds the records that keep an order with others for other reasons
// than what they see.
func (p *replayer) findSpecial() {
	p.is = make([]bool, len(p.window.Records))
	open := map[heisen.Thread][]*hidden{}
	enter := func(r *heisen.Record) {
		open[r.TID] = append(open[r.TID], &hidden{r.Obj, p.settings.reach(r), map[int]bool{}})
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
		any = any || p.window.Records[i].Code == heisen.Hide
	}
	if any {
		p.reaches = make([][]heisen.Objects, len(p.window.Records))
		p.heard = make([]map[int]bool, len(p.window.Records))
	}
	for i := range p.window.Records {
		r := &p.window.Records[i]
		after := -1
		switch r.Code {
		case heisen.Hide:
			enter(r)
		case heisen.Reveal:
			for k, h := range open[r.TID] {
				if h.call == r.Obj {
					after = k
				}
			}
		case heisen.Alloc, heisen.Free:
			p.is[i] = true
		}
		if r.Code != heisen.Alloc && r.Code != heisen.Free {
			for _, h := range open[r.TID] {
				p.reaches[i] = append(p.reaches[i], h.what)
				p.is[i] = true
			}
		}
		if any {
			p.hear(i, all())
		}
		if r.Code == heisen.End {
			after = 0
		}
		if after >= 0 {
			open[r.TID] = open[r.TID][:min(after, len(open[r.TID]))]
		}
		if p.mixed[r.Obj] && orders(r.Code) {
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
func (p *replayer) hear(i int, calls []*hidden) {
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
	if len(p.reaches[i]) == 0 && !r.Code.IsSync() && r.Code != heisen.Begin && r.Code != heisen.End {
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
	switch r.Code {
	case heisen.Fork, heisen.Join:
		return heisen.Span{Start: heisen.ThreadObject(r.Obj.Thread()), Len: 1}
	case heisen.Begin, heisen.End:
		return heisen.Span{Start: heisen.ThreadObject(r.TID), Len: 1}
	case heisen.Alloc, heisen.Free:
		return heisen.Span{Start: r.Obj, Len: max(r.Val, 1)}
	}
	if r.Code.IsAccess() {
		return heisen.Span{Start: r.Obj, Len: r.Size()}
	}
	if orders(r.Code) {
		return heisen.Span{Start: r.Obj, Len: 1}
	}
	return heisen.Span{}
}

// keeps reports whether record i, which was observed before j, has to come before
// it because of a life, a BarrierPair or an object with mixed uses.
func (p *replayer) keeps(i, j int) bool {
	a, b := &p.window.Records[i], &p.window.Records[j]
	if orders(a.Code) && orders(b.Code) && a.Obj == b.Obj && p.mixed[a.Obj] {
		return true
	}
	x, y := names(a), names(b)
	if a.Code == heisen.Alloc || a.Code == heisen.Free {
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

// reset goes back to the start of the window.
func (p *replayer) reset() {
	p.done = make([]bool, len(p.window.Records))
	p.next = make([]int32, len(p.steps))
	p.writer = make([]int32, len(p.bounds))
	for k := range p.writer {
		p.writer[k] = -1
	}
	p.held, p.taken = map[heisen.Object][]grip{}, map[heisen.Object]int{}
	for _, hold := range p.window.Held {
		code := heisen.Acquire
		if hold.Shared {
			code = heisen.AcquireShared
		}
		p.grip(&heisen.Record{Code: code, Obj: hold.Lock, TID: hold.Thread}, hold.Thread)
	}
	p.waiting = map[heisen.Object]int{}
	p.spoilt = make([]int32, len(p.steps))
	for t := range p.spoilt {
		p.spoilt[t] = math.MaxInt32
	}
}

// observe goes through the window as it is, to see what reads saw.
func (p *replayer) observe() {
	p.saw = make([][]int32, len(p.window.Records))
	p.initial = make([]int32, len(p.bounds))
	for k := range p.initial {
		p.initial[k] = -1
	}
	for i := range p.window.Records {
		if reads(&p.window.Records[i]) {
			p.saw[i] = slices.Clone(p.writer[p.from[i]:p.to[i]])
			for k := p.from[i]; k < p.to[i]; k++ {
				if p.writer[k] < 0 && p.initial[k] < 0 && known(&p.window.Records[i]) {
					p.initial[k] = int32(i)
				}
			}
		}
		p.step(i)
	}
}

// reads reports whether an event's effect depends on the memory that it accesses.
func reads(r *heisen.Record) bool {
	switch r.Code {
	case heisen.Read, heisen.AtomicRead, heisen.AtomicUpdate:
		return true
	}
	return false
}

// known reports whether the value that an event reads or writes is known.
func known(r *heisen.Record) bool {
	return r.Flags&heisen.HasValue != 0 && r.Code.IsAccess() && r.Code != heisen.AtomicUpdate
}

// equal reports whether a read has the value in a piece of memory that another
// access to it has.
func (p *replayer) equal(read, other int32) bool {
	a, b := &p.window.Records[read], &p.window.Records[other]
	return known(a) && known(b) && a.Obj == b.Obj && a.Size() == b.Size() && a.Val == b.Val
}

// sees reports whether a read sees in all its memory what it saw.
func (p *replayer) sees(i int) bool {
	for k := p.from[i]; k < p.to[i]; k++ {
		now, then := p.writer[k], p.saw[i][k-p.from[i]]
		if now >= 0 && p.spoilt[p.thread[now]] <= p.place[now] {
			return false // it was written by who has read something else
		}
		if now == then {
			continue
		}
		shows := now
		if now < 0 {
			shows = p.initial[k]
		}
		if shows < 0 || !p.equal(int32(i), shows) {
			return false
		}
	}
	return true
}

// next is the error of an event that is not the next of its thread, or cannot
// start: a condition for being next that does not depend on locks and values.
func (p *replayer) ready(i int) error {
	r := &p.window.Records[i]
	if p.next[p.thread[i]] != p.place[i] {
		return fmt.Errorf("%w: record %d is not the next of thread %d", ErrReplay, i, r.TID)
	}
	if f := p.forkOf[i]; f >= 0 && !p.done[f] {
		return fmt.Errorf("%w: record %d comes before the fork of thread %d", ErrReplay, i, r.TID)
	}
	if p.is[i] {
		for j := range i {
			if !p.done[j] && p.thread[j] != p.thread[i] && p.keeps(j, i) {
				return fmt.Errorf("%w: record %d comes before record %d", ErrReplay, i, j)
			}
		}
		return nil
	}
	for _, j := range p.special {
		if int(j) >= i {
			break
		}
		if !p.done[j] && p.thread[j] != p.thread[i] && p.keeps(int(j), i) {
			return fmt.Errorf("%w: record %d comes before record %d", ErrReplay, i, j)
		}
	}
	return nil
}

// can is the error of an event that cannot happen now.
func (p *replayer) can(i int) error {
	if err := p.ready(i); err != nil {
		return err
	}
	r := &p.window.Records[i]
	switch r.Code {
	case heisen.Acquire, heisen.AcquireShared:
		free := p.mixed[r.Obj] || canTake(p.held[r.Obj], r.TID, r.Code == heisen.AcquireShared)
		if p.loose[r.Obj] {
			free = p.taken[r.Obj] == 0 && (r.Code == heisen.AcquireShared || len(p.held[r.Obj]) == 0)
		}
		if !free {
			return fmt.Errorf("%w: record %d takes lock %d, which is held", ErrReplay, i, r.Obj)
		}
		for _, j := range p.freed[i] {
			if !p.done[j] && !p.mixed[r.Obj] {
				return fmt.Errorf("%w: record %d takes lock %d, which it still holds", ErrReplay, i, r.Obj)
			}
		}
	case heisen.Release, heisen.ReleaseShared:
		shared := r.Code == heisen.ReleaseShared
		if p.loose[r.Obj] && !shared {
			if p.taken[r.Obj] == 0 {
				return fmt.Errorf("%w: record %d releases lock %d, which nobody holds", ErrReplay, i, r.Obj)
			}
			break
		}
		if !p.mixed[r.Obj] && !slices.ContainsFunc(p.held[r.Obj], func(g grip) bool { return g.thread == p.owner[i] && g.shared == shared }) {
			return fmt.Errorf("%w: record %d releases lock %d, which thread %d does not hold", ErrReplay, i, r.Obj, p.owner[i])
		}
	case heisen.Join:
		if p.joins[i] > 0 && p.next[p.dense[r.Obj.Thread()]] < p.joins[i] {
			return fmt.Errorf("%w: record %d joins thread %d, which has not ended", ErrReplay, i, r.Obj)
		}
	case heisen.Send:
		for _, s := range p.sent[r.Obj] {
			if int(s) < i && !p.done[s] && p.window.Records[s].Code == heisen.Change && !p.mixed[r.Obj] {
				return fmt.Errorf("%w: record %d comes before the change %d", ErrReplay, i, s)
			}
		}
	case heisen.Receive, heisen.Observe:
		sends := p.sent[r.Obj]
		before, _ := slices.BinarySearch(sends, int32(i))
		for k, s := range sends {
			if p.done[s] != (k < before) && !p.mixed[r.Obj] {
				return fmt.Errorf("%w: record %d receives other messages than it did", ErrReplay, i)
			}
		}
	}
	for k := p.from[i]; k < p.to[i] && (p.overwrites(i) || !r.Code.IsAccess()); k++ {
		for _, j := range p.clashes[k] {
			if int(j) < i && !p.done[j] && p.clash(int(j), i) {
				return fmt.Errorf("%w: record %d overwrites a lock, or uses it, before record %d does", ErrReplay, i, j)
			}
		}
	}
	switch {
	case !p.settings.controlFlow:
		if reads(r) && !p.sees(i) {
			return fmt.Errorf("%w: record %d reads what it has not read", ErrReplay, i)
		}
	case p.decides(i):
		if p.spoilt[p.thread[i]] < p.place[i] || reads(r) && !p.sees(i) {
			return fmt.Errorf("%w: record %d decides on what its thread has not read", ErrReplay, i)
		}
	}
	return nil
}

// decides reports whether what a thread does after an event may depend on what it has
// read, with control flow.
func (p *replayer) decides(i int) bool {
	r := &p.window.Records[i]
	return r.Code == heisen.Branch || len(p.saw[i]) > 0 && r.Access() != heisen.Read
}

// step lets an event happen.
func (p *replayer) step(i int) {
	r := &p.window.Records[i]
	if t := p.thread[i]; p.settings.controlFlow && p.saw[i] != nil && p.spoilt[t] > p.place[i] && !p.sees(i) {
		p.spoilt[t] = p.place[i]
	}
	p.done[i] = true
	p.next[p.thread[i]]++
	p.grip(r, p.owner[i])
	if r.Access().IsWrite() || r.Code == heisen.Alloc || r.Code == heisen.Free {
		for k := p.from[i]; k < p.to[i]; k++ {
			p.writer[k] = int32(i)
		}
	}
}

// grip lets a lock be taken or given back, if r does so: owner's hold.
func (p *replayer) grip(r *heisen.Record, owner heisen.Thread) {
	h := holdings{held: p.held}
	switch {
	case r.Code == heisen.Acquire && p.loose[r.Obj]:
		p.taken[r.Obj]++
	case r.Code == heisen.Release && p.loose[r.Obj]:
		p.taken[r.Obj]--
	case r.Code == heisen.Acquire || r.Code == heisen.AcquireShared:
		h.apply(r)
	case r.Code == heisen.Release || r.Code == heisen.ReleaseShared:
		h.release(r.Obj, owner, r.Code == heisen.ReleaseShared)
	}
}

func (p *replayer) replay(x *Witness) error {
	p.reset()
	if x.Last > len(x.Order) || x.Last < 0 {
		return fmt.Errorf("%w: %d last events of %d", ErrReplay, x.Last, len(x.Order))
	}
	for _, i := range x.Order {
		if i < 0 || i >= len(p.window.Records) || p.done[i] {
			return fmt.Errorf("%w: there is no record %d to come", ErrReplay, i)
		}
	}
	count := len(x.Order) - x.Last
	for _, i := range x.Order[:count] {
		if err := p.can(i); err != nil {
			return err
		}
		p.step(i)
	}
	last := x.Order[count:]
	for k, i := range last {
		if err := p.ready(i); err != nil {
			return err
		}
		for _, j := range last[:k] {
			if p.thread[i] == p.thread[j] {
				return fmt.Errorf("%w: the last records %d and %d are by one thread", ErrReplay, j, i)
			}
		}
	}
	return nil
}
