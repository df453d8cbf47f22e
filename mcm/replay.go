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

// replayer is a machine whose state is where each thread stands and what it made of
// locks, messages and memory.
type replayer struct {
	*facts

	done    []bool
	next    []int32 // by thread
	writer  []int32 // by piece
	held    map[heisen.Object][]grip
	taken   map[heisen.Object]int // how often a loose lock is held exclusively
	waiting map[heisen.Object]int // how many messages were sent
	spoilt  []int32               // by thread: the place of the first record that has read something else; with control flow
}

func newReplayer(w *Window, rules rules) *replayer { return newMachine(newFacts(w, rules)) }

func newMachine(f *facts) *replayer {
	p := &replayer{facts: f}
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
	case !p.rules.controlFlow:
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
	if t := p.thread[i]; p.rules.controlFlow && p.saw[i] != nil && p.spoilt[t] > p.place[i] && !p.sees(i) {
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
