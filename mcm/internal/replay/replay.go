package replay

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/mcm/internal/window"
)

// ErrReplay is what the error of Replay wraps: the witness is no order in which
// the window's events are known to be possible.
var ErrReplay = errors.New("mcm: witness does not replay")

// Replayer is a machine whose state is where each thread stands and what it made of
// locks, messages and memory.
type Replayer struct {
	*Facts

	Done     []bool
	Next     []int32 // by thread
	Writer   []int32 // by piece
	Held     map[heisen.Object][]window.Holder
	taken    map[heisen.Object]int // how often a loose lock is held exclusively
	waiting  map[heisen.Object]int // how many messages were sent
	Deviated []int32               // by thread: the place of the first record that has read something else; with control flow
}

func New(w *window.Window, rules window.Rules) *Replayer { return newReplayer(NewFacts(w, rules)) }

func newReplayer(f *Facts) *Replayer {
	p := &Replayer{Facts: f}
	p.Reset()
	return p
}

// Reset goes back to the start of the window.
func (p *Replayer) Reset() {
	p.Done = make([]bool, len(p.Window.Records))
	p.Next = make([]int32, len(p.Steps))
	p.Writer = make([]int32, len(p.Bounds))
	for k := range p.Writer {
		p.Writer[k] = -1
	}
	p.Held, p.taken = map[heisen.Object][]window.Holder{}, map[heisen.Object]int{}
	for _, hold := range p.Window.Held {
		code := heisen.Acquire
		if hold.Shared {
			code = heisen.AcquireShared
		}
		p.Grip(&heisen.Record{Op: code, Object: hold.Lock, Thread: hold.Thread}, hold.Thread)
	}
	p.waiting = map[heisen.Object]int{}
	p.Deviated = make([]int32, len(p.Steps))
	for t := range p.Deviated {
		p.Deviated[t] = math.MaxInt32
	}
}

// observe goes through the window as it is, to see what reads saw.
func (p *Replayer) observe() {
	p.Saw = make([][]int32, len(p.Window.Records))
	p.Initial = make([]int32, len(p.Bounds))
	for k := range p.Initial {
		p.Initial[k] = -1
	}
	for i := range p.Window.Records {
		if Reads(&p.Window.Records[i]) {
			p.Saw[i] = slices.Clone(p.Writer[p.From[i]:p.To[i]])
			for k := p.From[i]; k < p.To[i]; k++ {
				if p.Writer[k] < 0 && p.Initial[k] < 0 && known(&p.Window.Records[i]) {
					p.Initial[k] = int32(i)
				}
			}
		}
		p.Step(i)
	}
}

// sees reports whether a read sees in all its memory what it saw.
func (p *Replayer) sees(i int) bool {
	for k := p.From[i]; k < p.To[i]; k++ {
		now, then := p.Writer[k], p.Saw[i][k-p.From[i]]
		if now >= 0 && p.Deviated[p.Thread[now]] <= p.Place[now] {
			return false // it was written by who has read something else
		}
		if now == then {
			continue
		}
		shows := now
		if now < 0 {
			shows = p.Initial[k]
		}
		if shows < 0 || !p.Equal(int32(i), shows) {
			return false
		}
	}
	return true
}

// next is the error of an event that is not the next of its thread, or cannot
// start: a condition for being next that does not depend on locks and values.
func (p *Replayer) Ready(i int) error {
	r := &p.Window.Records[i]
	if p.Next[p.Thread[i]] != p.Place[i] {
		return fmt.Errorf("%w: record %d is not the next of thread %d", ErrReplay, i, r.Thread)
	}
	if f := p.Fork[i]; f >= 0 && !p.Done[f] {
		return fmt.Errorf("%w: record %d comes before the fork of thread %d", ErrReplay, i, r.Thread)
	}
	if p.IsOrdered[i] {
		for j := range i {
			if !p.Done[j] && p.Thread[j] != p.Thread[i] && p.KeepsOrder(j, i) {
				return fmt.Errorf("%w: record %d comes before record %d", ErrReplay, i, j)
			}
		}
		return nil
	}
	for _, j := range p.ordered {
		if int(j) >= i {
			break
		}
		if !p.Done[j] && p.Thread[j] != p.Thread[i] && p.KeepsOrder(int(j), i) {
			return fmt.Errorf("%w: record %d comes before record %d", ErrReplay, i, j)
		}
	}
	return nil
}

// Can is the error of an event that cannot happen now.
func (p *Replayer) Can(i int) error {
	if err := p.Ready(i); err != nil {
		return err
	}
	r := &p.Window.Records[i]
	switch r.Op {
	case heisen.Acquire, heisen.AcquireShared:
		free := p.Mixed[r.Object] || window.CanAcquire(p.Held[r.Object], r.Thread, r.Op == heisen.AcquireShared)
		if p.Unowned[r.Object] {
			free = p.taken[r.Object] == 0 && (r.Op == heisen.AcquireShared || len(p.Held[r.Object]) == 0)
		}
		if !free {
			return fmt.Errorf("%w: record %d takes lock %d, which is held", ErrReplay, i, r.Object)
		}
		for _, j := range p.EndedByOthers[i] {
			if !p.Done[j] && !p.Mixed[r.Object] {
				return fmt.Errorf("%w: record %d takes lock %d, which it still holds", ErrReplay, i, r.Object)
			}
		}
	case heisen.Release, heisen.ReleaseShared:
		shared := r.Op == heisen.ReleaseShared
		if p.Unowned[r.Object] && !shared {
			if p.taken[r.Object] == 0 {
				return fmt.Errorf("%w: record %d releases lock %d, which nobody holds", ErrReplay, i, r.Object)
			}
			break
		}
		if !p.Mixed[r.Object] && !slices.ContainsFunc(p.Held[r.Object], func(g window.Holder) bool { return g.Thread == p.Owner[i] && g.Shared == shared }) {
			return fmt.Errorf("%w: record %d releases lock %d, which thread %d does not hold", ErrReplay, i, r.Object, p.Owner[i])
		}
	case heisen.Join:
		if p.Joins[i] > 0 && p.Next[p.ThreadIndex[r.Object.Thread()]] < p.Joins[i] {
			return fmt.Errorf("%w: record %d joins thread %d, which has not ended", ErrReplay, i, r.Object)
		}
	case heisen.Send:
		for _, s := range p.Sends[r.Object] {
			if int(s) < i && !p.Done[s] && p.Window.Records[s].Op == heisen.Change && !p.Mixed[r.Object] {
				return fmt.Errorf("%w: record %d comes before the change %d", ErrReplay, i, s)
			}
		}
	case heisen.Receive, heisen.Observe:
		sends := p.Sends[r.Object]
		before, _ := slices.BinarySearch(sends, int32(i))
		for k, s := range sends {
			if p.Done[s] != (k < before) && !p.Mixed[r.Object] {
				return fmt.Errorf("%w: record %d receives other messages than it did", ErrReplay, i)
			}
		}
	}
	for k := p.From[i]; k < p.To[i] && (p.overwrites(i) || !r.Op.IsAccess()); k++ {
		for _, j := range p.Clashes[k] {
			if int(j) < i && !p.Done[j] && p.Clash(int(j), i) {
				return fmt.Errorf("%w: record %d overwrites a lock, or uses it, before record %d does", ErrReplay, i, j)
			}
		}
	}
	switch {
	case !p.Rules.ControlFlow:
		if Reads(r) && !p.sees(i) {
			return fmt.Errorf("%w: record %d reads what it has not read", ErrReplay, i)
		}
	case p.decides(i):
		if p.Deviated[p.Thread[i]] < p.Place[i] || Reads(r) && !p.sees(i) {
			return fmt.Errorf("%w: record %d decides on what its thread has not read", ErrReplay, i)
		}
	}
	return nil
}

// decides reports whether what a thread does after an event may depend on what it has
// read, with control flow.
func (p *Replayer) decides(i int) bool {
	r := &p.Window.Records[i]
	return r.Op == heisen.Branch || len(p.Saw[i]) > 0 && r.Access() != heisen.Read
}

// Step lets an event happen.
func (p *Replayer) Step(i int) {
	r := &p.Window.Records[i]
	if t := p.Thread[i]; p.Rules.ControlFlow && p.Saw[i] != nil && p.Deviated[t] > p.Place[i] && !p.sees(i) {
		p.Deviated[t] = p.Place[i]
	}
	p.Done[i] = true
	p.Next[p.Thread[i]]++
	p.Grip(r, p.Owner[i])
	if r.Access().IsWrite() || r.Op == heisen.Alloc || r.Op == heisen.Free {
		for k := p.From[i]; k < p.To[i]; k++ {
			p.Writer[k] = int32(i)
		}
	}
}

// Grip lets a lock be taken or given back, if r does so: owner's hold.
func (p *Replayer) Grip(r *heisen.Record, owner heisen.Thread) {
	h := window.Locks{Held: p.Held}
	switch {
	case r.Op == heisen.Acquire && p.Unowned[r.Object]:
		p.taken[r.Object]++
	case r.Op == heisen.Release && p.Unowned[r.Object]:
		p.taken[r.Object]--
	case r.Op == heisen.Acquire || r.Op == heisen.AcquireShared:
		h.Apply(r)
	case r.Op == heisen.Release || r.Op == heisen.ReleaseShared:
		h.Release(r.Object, owner, r.Op == heisen.ReleaseShared)
	}
}

func (p *Replayer) Replay(x *window.Witness) error {
	p.Reset()
	if x.Last > len(x.Order) || x.Last < 0 {
		return fmt.Errorf("%w: %d last events of %d", ErrReplay, x.Last, len(x.Order))
	}
	for _, i := range x.Order {
		if i < 0 || i >= len(p.Window.Records) || p.Done[i] {
			return fmt.Errorf("%w: there is no record %d to come", ErrReplay, i)
		}
	}
	count := len(x.Order) - x.Last
	for _, i := range x.Order[:count] {
		if err := p.Can(i); err != nil {
			return err
		}
		p.Step(i)
	}
	last := x.Order[count:]
	for k, i := range last {
		if err := p.Ready(i); err != nil {
			return err
		}
		for _, j := range last[:k] {
			if p.Thread[i] == p.Thread[j] {
				return fmt.Errorf("%w: the last records %d and %d are by one thread", ErrReplay, j, i)
			}
		}
	}
	return nil
}
