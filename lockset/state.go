package lockset

import "github.com/heisen-go/heisen"

// state is Eraser's state of a variable.
type state uint8

const (
	virgin state = iota
	exclusive
	shared
	sharedUnprotected // shared, and no candidate is left; candidates are the last
	sharedModified
	violated // reported
)

// location is who accessed a variable, and where.
type location struct {
	thread heisen.Thread
	site   heisen.Site
	ctx    heisen.Context
}

// variable is Eraser's state of a class of bytes or of an object: 32 bytes,
// without pointers.
type variable struct {
	candidates ID // once it is shared
	state      state
	lastOp     heisen.Op
	otherOp    heisen.Op
	last       location // of the last access
	other      location // of the last one by another thread than that
}

// recordAccess remembers r, an access by op, as the last one.
func (v *variable) recordAccess(r *heisen.Record, op heisen.Op) {
	if v.last.thread != r.Thread {
		v.other, v.otherOp = v.last, v.lastOp
	}
	v.last, v.lastOp = location{r.Thread, r.Site, r.Context}, op
}

// violation says what an access has done to a variable.
type violation struct {
	broken     bool
	readOnly   bool     // no candidate was left before, but nobody had written
	candidates ID       // the last; Empty if the first shared access had no lock
	earlier    location // of the last access by another thread
	op         heisen.Op

	// Set by the caller: violations that agree in this too are one.
	event  uint64
	object *object // nil if it is a variable's
}

// transition is the transition of v's state by r, an access by op.
func (d *Eraser) transition(v *variable, r *heisen.Record, op heisen.Op) (why violation) {
	switch {
	case v.state == violated:
		return why
	case v.state == virgin:
		v.state = exclusive
		fallthrough
	case v.state == exclusive && v.last.thread == r.Thread:
		v.last, v.lastOp = location{r.Thread, r.Site, r.Context}, op
		return why
	}
	locks := d.locksOf(r.Thread, op)
	last := v.candidates
	switch v.state {
	case exclusive: // so far all locks
		v.state, v.candidates = shared, locks
	case shared, sharedModified:
		if locks != last {
			v.candidates = d.table.Intersect(last, locks)
		}
	}
	write := op.IsWrite()
	switch empty := v.candidates == Empty; {
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
	v.state, v.candidates = violated, Empty
	return why
}

// locksOf returns the locks under which a thread now accesses something by op, as
// far as they protect it against accesses that conflict.
func (d *Eraser) locksOf(t heisen.Thread, op heisen.Op) ID {
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
