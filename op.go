package heisen

import "strings"

// Op says what an event did. The comments on its constants define the happens-before order of the
// module; every detector follows them.
//
// Notation: t is the thread of the event, C(t) its vector clock, o the object of the event, and
// L(o) the release clock of o, which starts at zero.
//
//   - "Joins L(o)" means that C(t) becomes the pointwise maximum of C(t) and L(o).
//   - "Publishes to L(o)" means that L(o) becomes the pointwise maximum of L(o) and C(t). Then t's
//     component of C(t) is incremented, so that L(o) does not cover what t does later.
//
// An op whose comment says nothing about order has none beyond program order: the events of a
// thread are ordered as they come in the trace.
//
// Locks, messages and atomic variables share one name space: an address that is used both as a
// message and as an atomic variable has one release clock. A lock has a second release clock for
// readers, R(o). Plain variables have no release clock.
type Op uint8

const (
	// Invalid is the zero Op. No source delivers it.
	Invalid Op = iota

	// Read is a plain read of the variable o. The event comes just before the read takes place.
	Read
	// Write is a plain write of the variable o. The event comes just before the write takes place.
	Write
	// Done says that t's latest access to o has finished. Sources may leave it out.
	Done

	// AtomicRead is a load of package sync/atomic, or a compare-and-swap that failed. It joins
	// L(o). It conflicts with plain writes of o and never with another atomic operation.
	AtomicRead
	// AtomicWrite is a store of package sync/atomic. It publishes to L(o), but first resets L(o)
	// and R(o) to zero, because a later load observes this store only. It conflicts with plain
	// accesses to o and never with another atomic operation.
	AtomicWrite
	// AtomicUpdate is an atomic read-modify-write operation: add, swap, and, or, or a
	// compare-and-swap that succeeded. It joins L(o) and then publishes to it. It conflicts with
	// the same accesses as AtomicWrite.
	AtomicUpdate

	// Acquire takes the lock o for writing. It joins both L(o) and R(o): what earlier Release and
	// ReleaseShared events of o published.
	Acquire
	// Release ends a hold of the lock o for writing. It publishes to L(o), for later Acquire and
	// AcquireShared events.
	Release
	// AcquireShared takes the read-write lock o for reading. It joins L(o) only: what earlier
	// Release events of o published. Readers are not ordered with each other.
	AcquireShared
	// ReleaseShared ends a hold of the lock o for reading. It publishes to R(o), for later Acquire
	// events.
	ReleaseShared

	// Fork starts the thread o.Thread(). Everything that t has done so far happens before
	// everything that the new thread does.
	Fork
	// Begin is the first event of a thread.
	Begin
	// End is the last event of a thread. It orders nothing: a Go program learns of the end of a
	// goroutine only by a message.
	End
	// Join waits for the end of the thread o.Thread(). Everything that this thread did happens
	// before everything that t does next.
	Join

	// Send publishes to L(o) of the message object o. Several sends accumulate, as the Done calls
	// before one Wait of a WaitGroup do. Send and Receive express operations on channels,
	// WaitGroup, Once, Cond, timers and finalizers.
	Send
	// Receive joins L(o) of the message object o: what all earlier Send events of o published.
	Receive

	// Call enters a function. The event's site is that of the call.
	Call
	// Return leaves the function of the innermost open Call.
	Return

	// Enter begins a transaction, a section of code that is meant to be atomic.
	Enter
	// Exit ends the transaction of the innermost open Enter.
	Exit

	// Hide enters hidden code: code that is not traced. A Hide and the Reveal that ends it are a
	// BarrierPair (TREE and RDIT, section 4.2). The object o names the call. Record.Reach is the
	// number of the pair's set: the objects that the hidden code may access or synchronize on.
	// Pairs nest. Traced events of t between the two, as in a callback, belong to
	// the pair, and so do the Hide and the Reveal. Alloc and Free events belong to no pair.
	//
	// What hidden code does is unknown. It may have waited for any earlier event that concerns an
	// object in the pair's set, and any later one may wait for it. Therefore an event of a pair is
	// ordered, in the order of the trace, with every other event that may touch an object in the
	// pair's set. An event may touch
	//
	//   - what it is about: the bytes that it accesses, its lock or message, or the thread that a
	//     Fork, Join, Begin or End names (see ThreadObject);
	//   - the set of each pair that it belongs to.
	//
	// An event of a pair whose set is everything is therefore ordered with all events. Alloc and
	// Free end the life of their range: events that touched it before are not ordered with those
	// that touch it after.
	//
	// Hidden code may also pass on what it observes. Two open pairs are connected if their sets
	// have an object in common, directly or by way of other open pairs. The events that touch
	// objects in the sets of connected pairs are ordered with each other, in the order of the
	// trace, if each of them belongs to a pair, is a synchronization event (see IsSync), or is a
	// Begin or End. Plain accesses outside of pairs synchronize nothing.
	//
	// If the set is Synchronized, the synchronization of the hidden code is in the trace, as events of
	// the pair, and what the code accesses is not. The pair then orders nothing by itself. But the
	// hidden code may depend on whatever happened before, and what happens after may depend on it.
	// So a detector that predicts other executions keeps the events of the pair in their
	// happens-before order with all other events. That is sound if the hidden accesses have no races.
	//
	// These rules are part of happens-before only for detectors that declare that they support
	// BarrierPairs. To all others a Hide and a Reveal order nothing.
	Hide
	// Reveal returns from the hidden code that t's latest open Hide with the same o entered. It
	// ends the pairs within that one too, as a panic does. A Reveal without such a Hide belongs to
	// no pair. See Hide for the order.
	Reveal

	// Branch is a control-flow decision that may depend on earlier reads of t.
	Branch

	// Alloc begins the life of a range of memory that starts at o and is Value bytes long. What was
	// known of the variables and synchronization objects in the range concerns an earlier life and
	// is forgotten.
	Alloc
	// Free ends the life of a range of memory that starts at o and is Value bytes long.
	Free

	// Change alters the state of the synchronization object o, such as which elements a channel
	// holds or the count of a WaitGroup. It orders nothing; it is for detectors that predict other
	// executions. A detector that reorders events must keep a Receive or Observe of o after the
	// same Sends and Changes of o as in the trace, and a Send of o after the same Changes.
	Change
	// Observe says that what t does next depends on the state of the synchronization object o, as
	// when a select statement takes its default case. See Change.
	Observe

	numOps
)

// NumOps is one more than the largest Op, for tables that are indexed by Op.
const NumOps = int(numOps)

var opNames = [NumOps]string{
	Invalid: "invalid", Read: "read", Write: "write", Done: "done",
	AtomicRead: "atomic-read", AtomicWrite: "atomic-write", AtomicUpdate: "atomic-update",
	Acquire: "acquire", Release: "release",
	AcquireShared: "acquire-shared", ReleaseShared: "release-shared",
	Fork: "fork", Begin: "begin", End: "end", Join: "join",
	Send: "send", Receive: "receive", Call: "call", Return: "return",
	Enter: "enter", Exit: "exit", Hide: "hide", Reveal: "reveal",
	Branch: "branch", Alloc: "alloc", Free: "free",
	Change: "change", Observe: "observe",
}

// String returns the op's name in lower case, as in findings printed as JSON, such as
// "atomic-read".
func (op Op) String() string {
	if int(op) < NumOps {
		return opNames[op]
	}
	return "op?"
}

// Words returns the op's name as it stands in a sentence, such as "atomic read".
func (op Op) Words() string { return strings.ReplaceAll(op.String(), "-", " ") }

// Valid reports whether op is one of the constants of this package other than Invalid.
func (op Op) Valid() bool { return op > Invalid && op < numOps }

// opSet is a set of ops, one bit each, so that hot paths need one test instead of several.
type opSet uint64

func setOf(ops ...Op) (s opSet) {
	for _, op := range ops {
		s |= 1 << op
	}
	return s
}

func (s opSet) has(op Op) bool { return s>>op&1 != 0 }

var (
	accessOps = setOf(Read, Write, AtomicRead, AtomicWrite, AtomicUpdate)
	writeOps  = setOf(Write, AtomicWrite, AtomicUpdate)
	atomicOps = setOf(AtomicRead, AtomicWrite, AtomicUpdate)
	lockOps   = setOf(Acquire, Release, AcquireShared, ReleaseShared)
	syncOps   = setOf(AtomicRead, AtomicWrite, AtomicUpdate,
		Acquire, Release, AcquireShared, ReleaseShared,
		Fork, Join, Send, Receive)
)

// IsAccess reports whether op reads or writes a variable, plainly or atomically.
func (op Op) IsAccess() bool { return accessOps.has(op) }

// IsWrite reports whether op may change the variable's value.
func (op Op) IsWrite() bool { return writeOps.has(op) }

// IsAtomic reports whether op is a sync/atomic operation.
func (op Op) IsAtomic() bool { return atomicOps.has(op) }

// IsSync reports whether op can order events of different threads: atomic operations, lock
// operations, Fork, Join, Send and Receive. Atomic operations are both accesses and
// synchronization. Hide and Reveal are not among them.
func (op Op) IsSync() bool { return syncOps.has(op) }

// IsLock reports whether op acquires or releases a lock.
func (op Op) IsLock() bool { return lockOps.has(op) }

// Conflicts reports whether two accesses to the same variable, by op and by other, are a data race
// if they come from two threads and nothing orders them: one of them writes and one is plain.
func (op Op) Conflicts(other Op) bool {
	return op.IsAccess() && other.IsAccess() &&
		(op.IsWrite() || other.IsWrite()) &&
		!(op.IsAtomic() && other.IsAtomic())
}
