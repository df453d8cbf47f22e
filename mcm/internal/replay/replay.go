package replay

import (
	"fmt"
	"math"
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/mcm/internal/window"
)

// Replayer executes schedules of a window. Its state is what has happened so far.
type Replayer struct {
	*Facts

	Done      []bool  // by record
	Next      []int32 // by thread: the position of its next record
	Writer    []int32 // by cell: the last writer in the window, or -1
	Held      map[heisen.Object][]window.Holder
	exclusive map[heisen.Object]int // unowned locks: how often they are held exclusively
	sent      map[heisen.Object]sent
	changed   map[heisen.Object]int // how many of the first changes are known to be done
	Deviated  []int32               // by thread, with ControlFlow: the position of its first read that saw no accepted value
}

// sent says which of the Sends of an object are done: if the last of count done ones is the count-th of all, the
// first ones.
type sent struct{ count, last int }

// New returns a replayer at the start of a window.
func New(w *window.Window, rules window.Rules) *Replayer { return newReplayer(NewFacts(w, rules)) }

func newReplayer(f *Facts) *Replayer {
	p := &Replayer{Facts: f}
	p.Reset()
	return p
}

// Reset returns to the start of the window.
func (p *Replayer) Reset() {
	p.Done = make([]bool, len(p.Window.Records))
	p.Next = make([]int32, len(p.Steps))
	p.Writer = make([]int32, len(p.Bounds))
	for k := range p.Writer {
		p.Writer[k] = -1
	}
	p.Held, p.exclusive = map[heisen.Object][]window.Holder{}, map[heisen.Object]int{}
	p.sent, p.changed = map[heisen.Object]sent{}, map[heisen.Object]int{}
	for _, hold := range p.Window.Held {
		op := heisen.Acquire
		if hold.Shared {
			op = heisen.AcquireShared
		}
		p.ApplyLock(&heisen.Record{Op: op, Object: hold.Lock, Thread: hold.Thread}, hold.Thread)
	}
	p.Deviated = make([]int32, len(p.Steps))
	for t := range p.Deviated {
		p.Deviated[t] = math.MaxInt32
	}
}

// observe executes the window as observed, to find what reads saw.
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
				if p.Writer[k] < 0 && p.Initial[k] < 0 && hasKnownValue(&p.Window.Records[i]) {
					p.Initial[k] = int32(i)
				}
			}
		}
		p.Step(i)
	}
}

// seesAccepted reports whether all cells that a read reads have accepted values now: the observed
// write, or one of the same value, by a thread that had not deviated.
func (p *Replayer) seesAccepted(i int) bool {
	for k := p.From[i]; k < p.To[i]; k++ {
		now, then := p.Writer[k], p.Saw[i][k-p.From[i]]
		if now >= 0 && p.Deviated[p.Thread[now]] <= p.Pos[now] {
			return false
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

// Ready returns an error unless a record is pending: the next of its thread, which has been forked,
// and after all records that keep their order with it. Locks and values do not matter.
func (p *Replayer) Ready(i int) error {
	r := &p.Window.Records[i]
	if p.Next[p.Thread[i]] != p.Pos[i] {
		return fmt.Errorf("record %d is not the next of thread %d", i, r.Thread)
	}
	if f := p.Fork[i]; f >= 0 && !p.Done[f] {
		return fmt.Errorf("record %d comes before the fork of thread %d", i, r.Thread)
	}
	var err error
	p.mayKeep(i, func(j int) bool {
		if !p.Done[j] && p.Thread[j] != p.Thread[i] && p.KeepsOrder(j, i) {
			err = fmt.Errorf("record %d comes before record %d", i, j)
		}
		return err == nil
	})
	return err
}

// Can returns an error unless a record can be executed now.
func (p *Replayer) Can(i int) error {
	if err := p.Ready(i); err != nil {
		return err
	}
	if err := p.canSynchronize(i); err != nil {
		return err
	}
	r := &p.Window.Records[i]
	for k := p.From[i]; k < p.To[i] && (p.overwrites(i) || !r.Op.IsAccess()); k++ {
		for _, j := range p.LockWords[k] {
			if int(j) < i && !p.Done[j] && p.OverwritesLock(int(j), i) {
				return fmt.Errorf("record %d overwrites a lock, or uses it, before record %d does", i, j)
			}
		}
	}
	switch {
	case !p.Rules.ControlFlow:
		if Reads(r) && !p.seesAccepted(i) {
			return fmt.Errorf("record %d reads another value than observed", i)
		}
	case p.DecidesOnAll(i):
		if p.Deviated[p.Thread[i]] < p.Pos[i] || Reads(r) && !p.seesAccepted(i) {
			return fmt.Errorf("record %d decides on another value than observed by its thread", i)
		}
	case r.Flags&heisen.Decides != 0:
		if Reads(r) && !p.seesAccepted(i) {
			return fmt.Errorf("record %d decides on another value than observed", i)
		}
	}
	return nil
}

// canSynchronize returns an error unless the lock operation, join or message of a record, if it is
// one, is possible now.
func (p *Replayer) canSynchronize(i int) error {
	r := &p.Window.Records[i]
	switch r.Op {
	case heisen.Acquire, heisen.AcquireShared:
		return p.canAcquire(i)
	case heisen.Release, heisen.ReleaseShared:
		return p.canRelease(i)
	case heisen.Join:
		if p.Joins[i] > 0 && p.Next[p.ThreadIndex[r.Object.Thread()]] < p.Joins[i] {
			return fmt.Errorf("record %d joins thread %d, which has not ended", i, r.Object)
		}
	case heisen.Send:
		if p.Mixed[r.Object] {
			return nil
		}
		changes := p.changes[r.Object]
		for k := p.changed[r.Object]; k < len(changes) && p.Done[changes[k]]; k++ {
			p.changed[r.Object] = k + 1
		}
		if k := p.changed[r.Object]; k < len(changes) && int(changes[k]) < i {
			return fmt.Errorf("record %d comes before the change %d", i, changes[k])
		}
	case heisen.Receive, heisen.Observe:
		before, _ := slices.BinarySearch(p.Sends[r.Object], int32(i))
		if sent := p.sent[r.Object]; (sent.count != before || sent.last > before) && !p.Mixed[r.Object] {
			return fmt.Errorf("record %d receives other messages than observed", i)
		}
	}
	return nil
}

func (p *Replayer) canAcquire(i int) error {
	r := &p.Window.Records[i]
	free := p.Mixed[r.Object] || window.CanAcquire(p.Held[r.Object], r.Thread, r.Op == heisen.AcquireShared)
	if p.Unowned[r.Object] {
		free = p.exclusive[r.Object] == 0 && (r.Op == heisen.AcquireShared || len(p.Held[r.Object]) == 0)
	}
	if !free {
		return fmt.Errorf("record %d acquires lock %d, which is held", i, r.Object)
	}
	for _, j := range p.EndedByOthers[i] {
		if !p.Done[j] && !p.Mixed[r.Object] {
			return fmt.Errorf("record %d acquires lock %d, which its thread still holds", i, r.Object)
		}
	}
	return nil
}

func (p *Replayer) canRelease(i int) error {
	r := &p.Window.Records[i]
	shared := r.Op == heisen.ReleaseShared
	if p.Unowned[r.Object] && !shared {
		if p.exclusive[r.Object] == 0 {
			return fmt.Errorf("record %d releases lock %d, which is not held", i, r.Object)
		}
		return nil
	}
	if !p.Mixed[r.Object] && !slices.ContainsFunc(p.Held[r.Object], func(g window.Holder) bool { return g.Thread == p.Owner[i] && g.Shared == shared }) {
		return fmt.Errorf("record %d releases lock %d, which thread %d does not hold", i, r.Object, p.Owner[i])
	}
	return nil
}

// DecidesOnAll reports whether a record is a decision with ControlFlow that may depend on all that its
// thread has read: one without the flag Decides, or of hidden code.
func (p *Facts) DecidesOnAll(i int) bool {
	r := &p.Window.Records[i]
	if p.reaches != nil && len(p.reaches[i]) > 0 && r.Op != heisen.Read && r.Op != heisen.Write {
		return true // of hidden code
	}
	return r.Op == heisen.Branch || len(p.Saw[i]) > 0 && r.Access() != heisen.Read && r.Flags&heisen.Decides == 0
}

// Step executes a record.
func (p *Replayer) Step(i int) {
	r := &p.Window.Records[i]
	if t := p.Thread[i]; p.Rules.ControlFlow && p.Saw[i] != nil && p.Deviated[t] > p.Pos[i] && !p.seesAccepted(i) {
		p.Deviated[t] = p.Pos[i]
	}
	p.Done[i] = true
	p.Next[p.Thread[i]]++
	p.ApplyLock(r, p.Owner[i])
	p.ApplyMessage(i)
	if r.Access().IsWrite() || r.Op == heisen.Alloc || r.Op == heisen.Free {
		for k := p.From[i]; k < p.To[i]; k++ {
			p.Writer[k] = int32(i)
		}
	}
}

// ApplyMessage notes that record i has happened, if it sends a message.
func (p *Replayer) ApplyMessage(i int) {
	r := &p.Window.Records[i]
	if !window.IsSend(r.Op) {
		return
	}
	k, _ := slices.BinarySearch(p.Sends[r.Object], int32(i))
	s := p.sent[r.Object]
	p.sent[r.Object] = sent{s.count + 1, max(s.last, k+1)}
}

// ApplyLock applies r to the holders of locks, if it acquires or releases one. A release ends the hold
// of owner.
func (p *Replayer) ApplyLock(r *heisen.Record, owner heisen.Thread) {
	h := window.Locks{Held: p.Held}
	switch {
	case r.Op == heisen.Acquire && p.Unowned[r.Object]:
		p.exclusive[r.Object]++
	case r.Op == heisen.Release && p.Unowned[r.Object]:
		p.exclusive[r.Object]--
	case r.Op == heisen.Acquire || r.Op == heisen.AcquireShared:
		h.Apply(r)
	case r.Op == heisen.Release || r.Op == heisen.ReleaseShared:
		h.Release(r.Object, owner, r.Op == heisen.ReleaseShared)
	}
}

// Replay executes a witness from the start of the window, and returns an error unless each of its
// records can be executed in turn and the last ones are pending together at the end. The error says
// which record breaks which rule.
func (p *Replayer) Replay(x *window.Witness) error {
	p.Reset()
	if x.Last > len(x.Order) || x.Last < 0 {
		return fmt.Errorf("%d last events of %d", x.Last, len(x.Order))
	}
	for _, i := range x.Order {
		if i < 0 || i >= len(p.Window.Records) {
			return fmt.Errorf("the window has no record %d", i)
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
				return fmt.Errorf("the last records %d and %d are by one thread", j, i)
			}
		}
	}
	return nil
}
