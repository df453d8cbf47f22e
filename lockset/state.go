package lockset

import (
	"github.com/heisen-go/heisen"

	"github.com/heisen-go/heisen/internal/locksets"
)

// state is the state of a variable, as in figure 4 of the Eraser paper.
type state uint8

const (
	virgin state = iota
	exclusive
	shared
	sharedUnprotected // shared, but the candidate set is empty; candidates is the last set that was not
	sharedModified
	violated // reported, and ignored since
)

// location is the thread, site and context of an access.
type location struct {
	thread heisen.Thread
	site   heisen.Site
	ctx    heisen.Context
}

// variable is Eraser's shadow cell of a class of bytes, or of an object: 32 bytes, without pointers.
type variable struct {
	candidates locksets.ID // if shared or shared-modified
	state      state
	lastOp     heisen.Op
	otherOp    heisen.Op
	last       location // of the last access
	other      location // the last access by another thread than that of last; if exclusive, see handOver.own
}

// recordAccess records r, an access by op, as the last one.
func (v *variable) recordAccess(r *heisen.Record, op heisen.Op) {
	if v.last.thread != r.Thread {
		v.other, v.otherOp = v.last, v.lastOp
	}
	v.last, v.lastOp = location{r.Thread, r.Site, r.Context}, op
}

// violation is the result of a transition.
type violation struct {
	broken     bool
	readOnly   bool        // the candidate set was already empty, but there was no write
	candidates locksets.ID // the last candidates; Empty if the first shared access had no lock
	earlier    location    // the last access by another thread
	op         heisen.Op

	// Set by the caller. Equal violations are reported once.
	event  uint64
	object *object // nil for a variable
}

// transition changes v's state by r, an access by op.
func (d *Eraser) transition(v *variable, r *heisen.Record, op heisen.Op) (why violation) {
	switch {
	case v.state == violated:
		return why
	case v.state == virgin:
		v.state = exclusive
		fallthrough
	case v.state == exclusive && (v.last.thread == r.Thread || d.handOver != nil && d.handOver.to(r.Thread, v)):
		v.last, v.lastOp = location{r.Thread, r.Site, r.Context}, op
		if d.handOver != nil {
			d.handOver.own(v, r.Thread)
		}
		return why
	}
	locks := d.locksOf(r.Thread, op)
	last := v.candidates
	switch v.state {
	case exclusive: // the candidates so far are all locks
		v.state, v.candidates = shared, locks
	case shared, sharedModified:
		if locks != last {
			v.candidates = d.table.Intersect(last, locks)
		}
	}
	write := op.IsWrite()
	switch empty := v.candidates == locksets.Empty; {
	case v.state == sharedUnprotected && write:
		why.broken, why.readOnly = true, true
	case empty && (write || v.state == sharedModified):
		why.broken = true
	case empty:
		v.state, v.candidates = sharedUnprotected, last
	case write && v.state == shared:
		v.state = sharedModified
	}
	if !why.broken {
		v.recordAccess(r, op)
		return why
	}
	why.candidates = last
	why.earlier, why.op = v.other, v.otherOp
	if v.last.thread != r.Thread {
		why.earlier, why.op = v.last, v.lastOp
	}
	v.state, v.candidates = violated, locksets.Empty
	return why
}

// locksOf returns the locks of a thread that protect its present access, by op, against conflicting
// accesses.
func (d *Eraser) locksOf(t heisen.Thread, op heisen.Op) locksets.ID {
	held := d.locks.HeldBy(t)
	locks := held.Any
	if op.IsWrite() {
		locks = held.Exclusive
	}
	if op.IsAtomic() {
		locks = d.table.With(locks, d.atomic)
	}
	return locks
}
