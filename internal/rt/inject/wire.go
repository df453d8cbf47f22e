//go:build heisen_inject

package runtime

// The layout of what the recorder sends; internal/rt/wire.go is its twin.
//
// A record is one to three words. The highest byte of the first is the op, the
// rest its argument: an address, a number or a program counter, the latter
// always as an offset into the program's text.
const (
	heisenOpShift = 56
	heisenArgMask = 1<<heisenOpShift - 1
	heisenOrphan  = 1 << 55 // in the argument of a begin record

	heisenOpSwitch = 1 // arg: goroutine; word 1: words of that goroutine before
	heisenOpBegin  = 2 // arg: goid
	heisenOpReturn = 3 // arg: how many calls are left
	heisenOpCall   = 4 // arg: pc of the call

	// word 1: pc<<32 | size
	heisenOpRead  = 5
	heisenOpWrite = 6
	heisenOpAlloc = 7
	heisenOpFree  = 8

	// word 1: stamp; word 2: pc
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

	// as 5 and 6, of accesses that would be skipped
	heisenOpReadAgain  = 21
	heisenOpWriteAgain = 22

	// arg: seven bytes of a task's name, the first lowest. As many follow each other
	// as it takes for the last to end with a zero byte. No name at all ends the task.
	heisenOpTask = 23

	// as 12 and 14, but rather than wait they would have failed
	heisenOpTryAcquire       = 24
	heisenOpTryAcquireShared = 25
	heisenOpChanceReceive    = 26 // as 17, but from whoever happened to be before
)

// A message is a header of four 32-bit words (kind, buffer, length of the
// payload in bytes, accesses skipped since the buffer's last message) and the
// payload.
const (
	heisenMsgHello   = 1 // payload: version, text start, text size, pid; the receiver answers with what it wants when it is ready
	heisenMsgWords   = 2 // payload: words of the buffer, in order
	heisenMsgBarrier = 3 // everything recorded before has been sent
	heisenMsgBye     = 4 // payload: events lost; the receiver answers with the exit status

	heisenVersion = 2

	heisenWantFilter = 1 // no access that is redundant
	heisenWantMarks  = 2 // with the above: rather mark them
)
