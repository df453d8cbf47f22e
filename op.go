package heisen

// Op says what an event did. Its doc comment is the one place where the
// happens-before meaning of an event is written; every detector follows it.
//
// Notation: t is the event's thread and C(t) its vector clock, o the event's
// object. "Joins" is the pointwise maximum. An op that "publishes" makes
// everything t did so far available through o and then advances t's own
// component of C(t), so that what t does later is not covered.
//
// Locks, messages and atomic variables share one name space of
// synchronisation objects: an address that is used both as a message and
// atomically orders both uses. Plain variables are a name space of their own.
type Op uint8

const (
	// Invalid is the zero Op; no source delivers it.
	Invalid Op = iota

	// Read is a plain read of the variable o that is about to happen. No
	// ordering.
	Read
	// Write is a plain write of the variable o that is about to happen. No
	// ordering.
	Write
	// Done says that t's latest access to o has finished. Optional; no
	// ordering.
	Done

	// AtomicRead is a sync/atomic load, or a compare-and-swap that failed: C(t)
	// joins what was published through o. It conflicts with plain writes of o,
	// never with other atomic operations.
	AtomicRead
	// AtomicWrite is a sync/atomic store: it publishes C(t) through o,
	// replacing what was published before, for a later load sees this store
	// only. It conflicts with plain accesses to o, never with other atomic
	// operations.
	AtomicWrite
	// AtomicUpdate is an atomic read-modify-write (add, swap, and, or, a
	// compare-and-swap that succeeded): C(t) joins what was published through
	// o, then is published through it. It conflicts like AtomicWrite.
	AtomicUpdate

	// Acquire takes the lock o exclusively: C(t) joins what every earlier
	// Release and ReleaseShared of o published.
	Acquire
	// Release ends an exclusive hold of o and publishes C(t) to later Acquire
	// and AcquireShared events.
	Release
	// AcquireShared takes a read-write lock for reading: C(t) joins what
	// earlier Release events published, but not what readers did.
	AcquireShared
	// ReleaseShared ends a shared hold and publishes C(t), merged with what
	// other readers published, to later Acquire events only.
	ReleaseShared

	// Fork starts the thread whose number is o (see Object.Thread): everything
	// t did so far happens before everything that thread does.
	Fork
	// Begin is the first event of a thread. No ordering beyond its Fork.
	Begin
	// End is the last event of a thread. It orders nothing by itself: a Go
	// program learns of a goroutine's end only through a message.
	End
	// Join waits for the thread whose number is o: everything that thread did
	// happens before what t does next.
	Join

	// Send publishes C(t) through the message object o, merged with what
	// earlier senders published (the k Done calls before one Wait). Channel
	// operations, WaitGroup, Once, Cond, timers and finalizers are expressed as
	// Send and Receive.
	Send
	// Receive joins C(t) with everything that was sent to o so far.
	Receive

	// Call enters a function at the event's site. No ordering.
	Call
	// Return leaves the innermost Call. No ordering.
	Return

	// Enter begins a transaction or atomic section. No ordering.
	Enter
	// Exit ends the innermost Enter. No ordering.
	Exit

	// Hide enters code that is not traced: it and the Reveal that ends it are a
	// BarrierPair (TREE and RDIT, section 4.2). o names the call, and the
	// record's Reach is the set of objects that the code may touch or
	// synchronise on. Pairs nest. Between a Hide and its Reveal t may do what
	// is traced, as in a callback; those events, and the two themselves, are
	// the pair's. Alloc and Free are no pair's.
	//
	// What the code does is unknown, so it may have waited for anything that
	// happened before to what it reaches. An event of a pair is therefore ordered
	// with every other event of the trace, in the order of the trace, if both may
	// touch the same object: the pair's event whatever the pair reaches, an
	// event of another pair whatever that reaches, and any event what it is
	// about: the bytes accessed, the lock or message, or the thread that a Fork,
	// Join, Begin or End names (see ThreadObject). A pair that reaches everything
	// is ordered with all events. Alloc and Free forget: what touched their range
	// before does not meet what touches it after.
	//
	// The code may also pass on what it sees. As long as a pair is open, events
	// that touch what it reaches are ordered with each other, in the order of the
	// trace, if they are a pair's, or IsSync, or Begin or End. (A plain access
	// synchronises nothing.) The same holds of events that touch what other pairs
	// reach that are open then, if these have an object in common, and so on from
	// pair to pair.
	//
	// This order is part of happens-before for a detector that says that it
	// accepts BarrierPairs; others take no ordering from it.
	Hide
	// Reveal returns from the code that t's latest open Hide with the same o
	// entered, and from what was hidden within, as a panic does. One that matches
	// no Hide belongs to no pair. See Hide for the ordering.
	Reveal

	// Branch is a control-flow decision that may depend on t's earlier reads.
	// No ordering.
	Branch

	// Alloc begins the life of the address range that starts at o and is Val
	// bytes long: what is known of the variables and synchronisation objects in
	// it belongs to a former life and is forgotten.
	Alloc
	// Free ends the life of the address range that starts at o and is Val bytes
	// long.
	Free

	// Change alters the state of the synchronisation object o, such as which
	// elements a channel has or the count of a WaitGroup. It orders nothing: it
	// is for those who ask what else could have happened. In every order that
	// the program can show, a Receive or Observe of o comes after the Sends and
	// Changes of o that it came after and before those that it came before, and a
	// Send of o after the Changes that it came after.
	Change
	// Observe says that what t does next depends on the state of o, as when a
	// select statement takes its default case. It orders nothing; see Change.
	Observe

	numOps
)

// NumOps is one more than the largest Op, for tables indexed by Op.
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

// String returns the op's name in lower case, as it stands in JSON findings.
func (op Op) String() string {
	if int(op) < NumOps {
		return opNames[op]
	}
	return "op?"
}

// Valid reports whether op is one of the constants of this package other than
// Invalid.
func (op Op) Valid() bool { return op > Invalid && op < numOps }

// A set of ops, one bit each: one test instead of a chain of comparisons on the
// hot paths.
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

// IsAccess reports whether op reads or writes a variable, plainly or
// atomically.
func (op Op) IsAccess() bool { return accessOps.has(op) }

// IsWrite reports whether op may change the variable's value.
func (op Op) IsWrite() bool { return writeOps.has(op) }

// IsAtomic reports whether op is a sync/atomic operation.
func (op Op) IsAtomic() bool { return atomicOps.has(op) }

// IsSync reports whether op takes part in the happens-before order between
// threads. Atomic operations are both accesses and synchronisation.
func (op Op) IsSync() bool { return syncOps.has(op) }

// Conflicts reports whether accesses by op and other to the same variable from
// two unordered threads are a data race: one writes and one is plain.
func (op Op) Conflicts(other Op) bool {
	return op.IsAccess() && other.IsAccess() &&
		(op.IsWrite() || other.IsWrite()) &&
		!(op.IsAtomic() && other.IsAtomic())
}
