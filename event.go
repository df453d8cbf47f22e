package heisen

import "math"

// Thread is a dense goroutine number; 0 is the first thread of the program.
// Numbers are given in order of creation and are not reused within a trace.
type Thread uint32

// Object is what an event happened to: a variable, lock, message, transaction
// or thread. In recordings of real programs variables and synchronisation
// objects are addresses; other sources choose numbers freely (multiples of 8
// make the densest shadow memory, see Record).
type Object uint64

// Thread reads o as a thread number: the object of a Fork or Join event.
func (o Object) Thread() Thread { return Thread(o) }

// Site is a program location: an index into the source's site table. 0 is an
// unknown location.
type Site uint32

// Context is where a thread stands apart from its site: the calls it is in and
// the locks it holds, an index into the source's Symbols. Equal contexts mean
// equal call stacks and equal held locks. 0 is the empty context.
type Context uint32

// Event is one step of an execution as detectors see it. Every event that the
// sources of this module deliver is a *Record, so a detector that wants more
// than these four answers may assert that type.
type Event interface {
	Op() Op         // what happened
	Thread() Thread // who did it
	Object() Object // what it happened to
	Site() Site     // where in the program
}

// Flags qualify a Record.
type Flags uint8

const (
	// HasValue says that Val is the value read or written.
	HasValue Flags = 1 << iota
	// LockWord says that the lock that the record acquires or releases is memory
	// of the program: the operation changes the byte at Obj like an AtomicUpdate
	// of it, apart from ordering, which is that of the op. Who overwrites or copies
	// the lock meanwhile races with it. Locks of other streams are mere names.
	LockWord
	// NoWait says that the lock was acquired by an operation that would have
	// failed rather than waited, as TryLock does.
	NoWait
	// Chance says that a Receive might as well have come after other Sends than
	// those before it, or before them all, as when a sync.Pool hands out whatever
	// it has. It orders like any other; but who asks what else could have happened
	// had better not rely on it.
	Chance
)

// Record is the fixed-size event (32 bytes) that streams and hot loops carry. Event turns a
// *Record into an Event without allocating, AsRecord turns any Event into a *Record.
//
// A plain access touches the Len bytes that start at Object; Len 0 counts as 1,
// which is how the scalar accesses of real programs come (the compiler reports
// where a scalar starts, not how long it is). Two accesses meet if they share a
// byte.
type Record struct {
	Object  Object  // what it happened to
	Value   uint64  // value if HasValue is set; for Alloc and Free the length in bytes, for Hide the Reach
	Thread  Thread  // which thread did it
	Site    Site    // where in the program
	Context Context // calls and held locks just before the event took effect
	Len     uint16  // bytes touched by an access; 0 means 1
	Op      Op      // what happened
	Flags   Flags
}

// Event returns a view of r as an Event. It does not allocate.
func (r *Record) Event() Event { return recordEvent{r} }

// recordEvent holds one pointer, so that an interface carries it without an allocation.
type recordEvent struct{ record *Record }

func (e recordEvent) Op() Op         { return e.record.Op }
func (e recordEvent) Thread() Thread { return e.record.Thread }
func (e recordEvent) Object() Object { return e.record.Object }
func (e recordEvent) Site() Site     { return e.record.Site }

// Reach returns the set of objects that the code which a Hide enters may touch.
func (r *Record) Reach() Reach {
	if r.Value > math.MaxUint32 {
		return 0
	}
	return Reach(r.Value)
}

// Size returns how many bytes an access touches, at least 1.
func (r *Record) Size() uint64 { return max(uint64(r.Len), 1) }

// Access returns the op by which r takes part in data races: its own if that is
// an access, AtomicUpdate for an operation on a lock that is memory of the
// program (see LockWord), and Invalid for all else.
func (r *Record) Access() Op {
	switch {
	case r.Op.IsAccess():
		return r.Op
	case r.Flags&LockWord != 0 && lockOps.has(r.Op):
		return AtomicUpdate
	}
	return Invalid
}

// AsRecord returns e as a *Record: the Record behind e where e comes from Record.Event, otherwise
// a new Record with the four answers that every Event gives.
func AsRecord(e Event) *Record {
	if view, ok := e.(recordEvent); ok {
		return view.record
	}
	return &Record{Op: e.Op(), Thread: e.Thread(), Object: e.Object(), Site: e.Site()}
}
