package recorder

import "github.com/heisen-go/heisen"

// The format of what the recorder sends. inject/wire.go is its counterpart and explains it; a test
// compares the two.
const (
	opShift = 56
	argMask = 1<<opShift - 1
	orphan  = 1 << 55
	goidMax = orphan - 1

	opSwitch        = 1
	opBegin         = 2
	opPoint         = 4
	opRead          = 5
	opWrite         = 6
	opAlloc         = 7
	opFree          = 8
	opAtomicRead    = 9
	opAtomicWrite   = 10
	opAtomicUpdate  = 11
	opAcquire       = 12
	opRelease       = 13
	opAcquireShared = 14
	opReleaseShared = 15
	opSend          = 16
	opReceive       = 17
	opFork          = 18
	opEnd           = 19
	opCollected     = 20
	opReadAgain     = 21
	opWriteAgain    = 22

	opTryAcquire       = 24
	opTryAcquireShared = 25
	opChanceReceive    = 26
	opOverlap          = 28
	opHide             = 29
	opReveal           = 30
	opShade            = 31
	opChange           = 32
	opObserve          = 33
	opStep             = 34
	opRoot             = 35
	opEntered          = 36

	numOps = 37
)

const (
	msgHello        = 1
	msgWords        = 2
	msgBarrier      = 3
	msgBye          = 4
	msgPlaces       = 5
	msgTask         = 6
	msgOverlapStats = 7
	msgExecution    = 8
	msgStuck        = 9
	msgMeeting      = 10
	msgChoices      = 11
	msgReach        = 12
	msgObjects      = 13
	msgRaces        = 14
	msgOrigins      = 15
	msgCount        = 18

	countRaces   = 0
	countLeaks   = 1
	countAnswer  = 1 << 30
	msgRefused   = 16
	msgReplaced  = 17
	msgInput     = 19
	msgBehaviors = 20

	msgSteps = 21

	msgMisuse   = 22
	misuseFails = 1
	misuseSkips = 2
	misuseLate  = 3

	msgMeasures = 23

	msgFailing       = 25
	failingByRuntime = 1
	failingAtEnd     = 2

	msgUnseen      = 24
	unseenAssembly = 0
	unseenLinked   = 1

	msgLabels = 26
	msgNames  = 27

	exploreEnabled = 1 << 60
	exploreChosen  = 2 << 60
	exploreUse     = 3 << 60
	exploreEnd     = 4 << 60
	exploreCase    = 5 << 60

	unsureTime      = 1
	unsureRandom    = 2
	unsureCount     = 4
	unsureFinalizer = 16
	unsureMain      = 32

	outOfClocks  = 1
	beyondShadow = 2

	byOrder  = 1 << 63
	unknownG = 1<<32 - 1

	executionWords = 12

	stuckWords    = 7
	stuckChannels = 8

	overlapWords = 8

	originWords     = 3
	originForked    = 1 << 24
	originForgotten = 1 << 25

	taskPlace  = 1 << 31
	nodeParent = 1<<24 - 1
	nodeLow    = 1 << 24
	nodeHigh   = 2 << 24
	nodeTaken  = 3 << 24
	nodeAccess = 4 << 24
	nodeSite   = 5 << 24
	nodeLabels = 6 << 24
	nodeShared = 1 << 31
	manyLocks  = 1<<55 + 1
	lostLock   = 1<<55 + 2

	healPlaces   = 1
	healFindings = 2

	hiddenShow = 1
	hiddenOnce = 2

	graphMore  = 1 << 63
	graphUntil = ^uint64(0)
	follow     = 1<<32 - 1 // instead of the number of a set

	version      = 17
	wantFilter   = 1
	wantMarks    = 2
	wantRaces    = 4
	wantOverlaps = 8
	wantNothing  = 16
	wantSched    = 32
	wantHidden   = 64
	wantLeaks    = 128
	wantCalls    = 256
	wantNames    = 512
	headerBytes  = 16
	helloBytes   = 40
	byeBytes     = 16
	// maxPayload is the size of a P's buffer.
	maxPayload = 64 << 10
)

// The environment variables that the recorder reads.
const (
	socketEnv    = "HEISEN_SOCKET"
	childEnv     = "HEISEN_CHILD_SOCKET"
	symbolizeEnv = "HEISEN_SYMBOLIZE"
)

// recordWords has the length of records by op; 0 is no op.
var recordWords = [256]uint8{
	opSwitch: 2, opBegin: 1, opPoint: 1,
	opRead: 2, opWrite: 2, opAlloc: 2, opFree: 2,
	opAtomicRead: 3, opAtomicWrite: 3, opAtomicUpdate: 3,
	opAcquire: 3, opRelease: 3, opAcquireShared: 3, opReleaseShared: 3,
	opSend: 3, opReceive: 3, opFork: 3, opEnd: 3, opCollected: 3,
	opReadAgain: 2, opWriteAgain: 2,
	opTryAcquire: 3, opTryAcquireShared: 3, opChanceReceive: 3,
	opOverlap: 6, opHide: 4, opReveal: 3, opShade: 1, opRoot: 1, opEntered: 1,
	opChange: 3, opObserve: 3, opStep: 3,
}

// eventOps maps the recorder's ops to those of events.
var eventOps = [numOps]heisen.Op{
	opBegin: heisen.Begin,
	opRead:  heisen.Read, opWrite: heisen.Write,
	opReadAgain: heisen.Read, opWriteAgain: heisen.Write,
	opAlloc: heisen.Alloc, opFree: heisen.Free,
	opAtomicRead: heisen.AtomicRead, opAtomicWrite: heisen.AtomicWrite, opAtomicUpdate: heisen.AtomicUpdate,
	opAcquire: heisen.Acquire, opRelease: heisen.Release,
	opAcquireShared: heisen.AcquireShared, opReleaseShared: heisen.ReleaseShared,
	opTryAcquire: heisen.Acquire, opTryAcquireShared: heisen.AcquireShared,
	opChanceReceive: heisen.Receive,
	opSend:          heisen.Send, opReceive: heisen.Receive,
	opFork: heisen.Fork, opEnd: heisen.End,
	opHide: heisen.Hide, opReveal: heisen.Reveal,
	opChange: heisen.Change, opObserve: heisen.Observe, opStep: heisen.Change,
}
