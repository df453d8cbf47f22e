//go:build heisen_inject

package runtime

// The layout of what the recorder sends; internal/recorder/wire.go is its twin.
//
// A record is one to six words. The highest byte of the first is the op, the
// rest its argument: an address or a number. A place is the number of one that
// was defined before, see paths.go.
const (
	heisenOpShift = 56
	heisenArgMask = 1<<heisenOpShift - 1
	heisenOrphan  = 1 << 55 // in the argument of a begin record

	heisenOpSwitch = 1 // arg: goroutine; word 1: words of that goroutine before
	heisenOpBegin  = 2 // arg: goid
	heisenOpPoint  = 4 // the goroutine has come to another point; arg: or to so many accesses since; recorded on demand

	// word 1: place<<32 | size
	heisenOpRead  = 5
	heisenOpWrite = 6
	heisenOpAlloc = 7
	heisenOpFree  = 8

	// word 1: stamp; word 2: place
	heisenOpAtomicRead    = 9
	heisenOpAtomicWrite   = 10
	heisenOpAtomicUpdate  = 11
	heisenOpAcquire       = 12
	heisenOpRelease       = 13
	heisenOpAcquireShared = 14
	heisenOpReleaseShared = 15
	heisenOpSend          = 16
	heisenOpReceive       = 17
	heisenOpFork          = 18 // arg: goroutine
	heisenOpEnd           = 19
	heisenOpCollected     = 20 // what everyone did so far happened before

	// as 5 and 6, of accesses that would be skipped or kept back
	heisenOpReadAgain  = 21
	heisenOpWriteAgain = 22

	// as 12 and 14, but rather than wait they would have failed
	heisenOpTryAcquire       = 24
	heisenOpTryAcquireShared = 25
	heisenOpChanceReceive    = 26 // as 17, but from whoever happened to be before

	// accesses that overlap, see watch.go; arg: address; word 1: stamp; words 2 and 3:
	// who and the other, each goroutine<<32 | op<<24 | place, with the op as in package
	// heisen; word 4: size<<48 | the other's address; word 5: of a section, the low half
	// of who entered it <<32 | number of the end, among all, <<16 | its own; both from 1
	heisenOpOverlap = 28

	heisenOpHide   = 29 // arg: address of the function; words 1 and 2 as 9; word 3: number of a set of objects
	heisenOpReveal = 30 // as 9
	heisenOpShade  = 31 // arg: whether what comes next is of hidden code; it is recorded on demand

	// as 9, of states; see states.go
	heisenOpChange  = 32
	heisenOpObserve = 33
	heisenOpStep    = 34 // both: it depends on the steps before

	heisenOpRoot = 35 // arg: address of an object that the next hidden call begins with, if its set is heisenFollow
)

// A message is a header of four 32-bit words (kind, buffer, length of the
// payload in bytes, accesses skipped since the buffer's last message) and the
// payload.
const (
	heisenMsgHello        = 1 // payload: version, text start, text size, pid; the receiver answers with what it wants when it is ready
	heisenMsgWords        = 2 // payload: words of the buffer, in order
	heisenMsgBarrier      = 3 // everything recorded before has been sent
	heisenMsgBye          = 4 // payload: events lost, stamps given out; the receiver answers with the exit status
	heisenMsgPlaces       = 5 // payload: parent<<32 | pc of the places that come next in number, from 1; the parent has 24 bits, above which stands what else a place may be
	heisenMsgTask         = 6 // buffer: its number; payload: its name, with zero bytes up to a whole word
	heisenMsgOverlapStats = 7 // before the last: what came of heisenWantOverlaps; buffer: number of ends; payload: five kinds of losses, whether a location was met, a bit for each end that was seen
	// Of deterministic runs, see sched.go.
	heisenMsgExecution = 8  // before the last: steps, hash of the choices, time passed, 1 if a target was met, choices that could not be followed, and of each influence how many and the first one's text offset
	heisenMsgStuck     = 9  // buffer: why; payload: of each goroutine its number, what it waits for, place, length of the reason and the reason, with zero bytes up to a whole word
	heisenMsgMeeting   = 10 // payload: kind, step, and of both sides who (as for an overlap), address and size
	heisenMsgChoices   = 11 // payload: step and goroutine of each

	heisenMsgReach = 12 // buffer: number of a set of objects, from 1; payload: start and size of each, in no order; 0 is all objects

	// What objects point to, see trees.go. Payload: address, size and number of others that
	// it points to, and their addresses, of each object; or ^0, the stamp before which the
	// objects since the last were not so, and 0. The object at 0 is hidden packages.
	heisenMsgObjects = 13

	heisenMsgRaces = 14 // before the last: what came of heisenWantRaces; payload: goroutines that shared clocks, 1 if there was no memory

	// Of quiet programs, see descent.go. Payload: of each goroutine its number<<32 | that of who
	// has started it, goid, and the place of the go statement with heisenOriginForked, if
	// somebody has.
	heisenMsgOrigins = 15

	heisenByOrder  = 1 << 63   // in an overlap's last word
	heisenUnknownG = 1<<32 - 1 // the number of a goroutine that is not known any more

	heisenExecutionWords = 5
	heisenOverlapWords   = 6
	heisenOriginWords    = 3

	heisenOriginForked = 1 << 24

	// What a place is, above the number of its parent; see held.go.
	heisenNodeLow    = 1 << 24
	heisenNodeHigh   = 2 << 24
	heisenNodeTaken  = 3 << 24
	heisenNodeAccess = 4 << 24
	heisenNodeShared = 1 << 31   // in the pc of a heisenNodeHigh
	heisenManyLocks  = 1<<55 + 1 // the address of locks that are not told apart

	heisenTaskPlace = 1 << 31 // in the pc of a place: the rest is the number of a task

	heisenVersion = 8

	heisenHiddenShow = 1 // what hidden packages do is recorded, marked
	heisenHiddenOnce = 2 // see trees.go

	heisenWantFilter   = 1  // no access that is redundant
	heisenWantMarks    = 2  // with one of the others: rather mark them
	heisenWantRaces    = 4  // races by happens-before, found by the program itself
	heisenWantOverlaps = 8  // overlaps; after the answer comes the number of bytes that say what to watch, and these
	heisenWantNothing  = 16 // nothing else
	heisenWantSched    = 32 // a deterministic run; how comes as what to watch does, after that of hidden packages
	heisenWantHidden   = 64 // nothing of some packages; after the answer, and what heisenWantOverlaps adds, comes the number of bytes that say of which, and these
)
