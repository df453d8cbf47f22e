package heisen

import "math"

// Thread is the number of a goroutine. Numbers are dense and given in the order of creation: 0 is
// the first thread of the program. A trace uses no number twice.
type Thread uint32

// Object is what an event concerns: a variable, lock, message, transaction or thread. The object of a
// Fork or Join is the number of the thread that it starts or waits for. In recordings of real
// programs, variables and synchronization objects are addresses. Other sources choose
// numbers freely; multiples of 8 keep the detectors' shadow memory small, because a variable then
// has an 8-byte word to itself.
type Object uint64

// Thread returns o as a thread number, for the object of a Fork or Join event.
func (o Object) Thread() Thread { return Thread(o) }

// Site is a location in the program: an index into the site table of the source's Symbols. 0 is an
// unknown location.
type Site uint32

// Context is the calls that a thread is in and the locks that it holds, as a number: an index into
// the source's Symbols. Equal contexts mean equal call stacks and equal held locks. 0 is the empty
// context: a thread that is in no call and holds no lock, or of which nothing is known. If the
// records of a stream all have context 0, reports of races in it show neither callers nor held
// locks; Symbols.Context makes contexts.
type Context uint32

// Event is one step of an execution. Sources deliver events that Record.Event makes; a detector
// that needs more than these four answers gets the Record from AsRecord.
type Event interface {
	Op() Op         // what happened
	Thread() Thread // which thread did it
	Object() Object // what it happened to
	Site() Site     // where in the program
}

// Flags qualify a [Record].
type Flags uint8

const (
	// HasValue says that Value is the value that was read or written.
	HasValue Flags = 1 << iota
	// LockWord says that the lock which the record acquires or releases is memory of the program.
	// The operation changes the byte at Object like an AtomicUpdate, but the order is that of the
	// record's op. An unsynchronized copy of the lock, or a write over it, races with the
	// operation. Locks without this flag are mere names.
	LockWord
	// NoWait says that the operation that acquired the lock would have failed rather than waited,
	// as TryLock does.
	NoWait
	// Chance says that a Receive might as well have received other Sends than those before it, or
	// none, as when sync.Pool returns any of its elements. It orders like any other Receive, but a
	// detector that predicts other executions should not rely on it.
	Chance
	// Decides says that more than plain writes of the thread may depend on the value that the record
	// reads: which way it goes, an address, a message, or what it gives to code that is not traced.
	// It is for detectors that predict other executions. See Branch, which depends on all reads.
	Decides
)

// Record is the fixed-size form of an event (32 bytes), for streams and hot loops. Event turns a
// *Record into an Event without allocating; AsRecord turns any Event into a *Record.
//
// A plain access touches the Len bytes that start at Object. A Len of 0 counts as 1. The scalar
// accesses of recorded programs have it, because the compiler reports where a scalar starts and not
// how long it is. Two accesses overlap if they touch a common byte.
type Record struct {
	Object  Object  // what it happened to
	Value   uint64  // the value if HasValue is set; of Alloc and Free the length in bytes, of Hide the Reach
	Thread  Thread  // which thread did it
	Site    Site    // where in the program
	Context Context // calls and held locks just before the event took effect
	Len     uint16  // bytes touched by an access; 0 means 1, see above
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

// Reach returns the number of the set of objects that hidden code may touch, for a Hide event.
func (r *Record) Reach() Reach {
	if r.Value > math.MaxUint32 {
		return 0
	}
	return Reach(r.Value)
}

// Size returns how many bytes an access touches, at least 1.
func (r *Record) Size() uint64 { return max(uint64(r.Len), 1) }

// Access returns the op with which r takes part in data races: its own if that is an access,
// AtomicUpdate for an operation on a lock that is memory of the program (see LockWord), and
// otherwise Invalid.
func (r *Record) Access() Op {
	switch {
	case r.Op.IsAccess():
		return r.Op
	case r.Flags&LockWord != 0 && lockOps.has(r.Op):
		return AtomicUpdate
	}
	return Invalid
}

// AsRecord returns e as a *Record. If Record.Event has made e, that is the same Record, which is
// valid as long as e. Otherwise it is a new Record with the four answers that every Event gives.
// e must not be nil.
func AsRecord(e Event) *Record {
	if view, ok := e.(recordEvent); ok {
		return view.record
	}
	return &Record{Op: e.Op(), Thread: e.Thread(), Object: e.Object(), Site: e.Site()}
}
