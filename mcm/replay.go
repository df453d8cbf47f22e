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
	p.reset()
	p.observe()
	p.reset()
	return p
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
		p.grip(&heisen.Record{Op: code, Object: hold.Lock, Thread: hold.Thread}, hold.Thread)
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
func (p *replayer) equal(read, other int32) bool {
	a, b := &p.window.Records[read], &p.window.Records[other]
	return known(a) && known(b) && a.Object == b.Object && a.Size() == b.Size() && a.Value == b.Value
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
		return fmt.Errorf("%w: record %d is not the next of thread %d", ErrReplay, i, r.Thread)
	}
	if f := p.forkOf[i]; f >= 0 && !p.done[f] {
		return fmt.Errorf("%w: record %d comes before the fork of thread %d", ErrReplay, i, r.Thread)
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
	switch r.Op {
	case heisen.Acquire, heisen.AcquireShared:
		free := p.mixed[r.Object] || canTake(p.held[r.Object], r.Thread, r.Op == heisen.AcquireShared)
		if p.loose[r.Object] {
			free = p.taken[r.Object] == 0 && (r.Op == heisen.AcquireShared || len(p.held[r.Object]) == 0)
		}
		if !free {
			return fmt.Errorf("%w: record %d takes lock %d, which is held", ErrReplay, i, r.Object)
		}
		for _, j := range p.freed[i] {
			if !p.done[j] && !p.mixed[r.Object] {
				return fmt.Errorf("%w: record %d takes lock %d, which it still holds", ErrReplay, i, r.Object)
			}
		}
	case heisen.Release, heisen.ReleaseShared:
		shared := r.Op == heisen.ReleaseShared
		if p.loose[r.Object] && !shared {
			if p.taken[r.Object] == 0 {
				return fmt.Errorf("%w: record %d releases lock %d, which nobody holds", ErrReplay, i, r.Object)
			}
			break
		}
		if !p.mixed[r.Object] && !slices.ContainsFunc(p.held[r.Object], func(g grip) bool { return g.thread == p.owner[i] && g.shared == shared }) {
			return fmt.Errorf("%w: record %d releases lock %d, which thread %d does not hold", ErrReplay, i, r.Object, p.owner[i])
		}
	case heisen.Join:
		if p.joins[i] > 0 && p.next[p.dense[r.Object.Thread()]] < p.joins[i] {
			return fmt.Errorf("%w: record %d joins thread %d, which has not ended", ErrReplay, i, r.Object)
		}
	case heisen.Send:
		for _, s := range p.sent[r.Object] {
			if int(s) < i && !p.done[s] && p.window.Records[s].Op == heisen.Change && !p.mixed[r.Object] {
				return fmt.Errorf("%w: record %d comes before the change %d", ErrReplay, i, s)
			}
		}
	case heisen.Receive, heisen.Observe:
		sends := p.sent[r.Object]
		before, _ := slices.BinarySearch(sends, int32(i))
		for k, s := range sends {
			if p.done[s] != (k < before) && !p.mixed[r.Object] {
				return fmt.Errorf("%w: record %d receives other messages than it did", ErrReplay, i)
			}
		}
	}
	for k := p.from[i]; k < p.to[i] && (p.overwrites(i) || !r.Op.IsAccess()); k++ {
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
	return r.Op == heisen.Branch || len(p.saw[i]) > 0 && r.Access() != heisen.Read
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
	if r.Access().IsWrite() || r.Op == heisen.Alloc || r.Op == heisen.Free {
		for k := p.from[i]; k < p.to[i]; k++ {
			p.writer[k] = int32(i)
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

// grip lets a lock be taken or given back, if r does so: owner's hold.
func (p *replayer) grip(r *heisen.Record, owner heisen.Thread) {
	h := holdings{held: p.held}
	switch {
	case r.Op == heisen.Acquire && p.loose[r.Object]:
		p.taken[r.Object]++
	case r.Op == heisen.Release && p.loose[r.Object]:
		p.taken[r.Object]--
	case r.Op == heisen.Acquire || r.Op == heisen.AcquireShared:
		h.apply(r)
	case r.Op == heisen.Release || r.Op == heisen.ReleaseShared:
		h.release(r.Object, owner, r.Op == heisen.ReleaseShared)
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
