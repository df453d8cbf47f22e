//go:build heisen_inject

package runtime

// The format of what the recorder sends; internal/recorder/wire.go is its counterpart.
//
// A record has one to six words. The highest byte of the first is the op. The rest is its argument:
// an address or a number. A place is the number of one that was sent before, see places.go.
const (
	heisenOpShift = 56
	heisenArgMask = 1<<heisenOpShift - 1
	heisenOrphan  = 1 << 55 // in the argument of a begin record

	heisenOpSwitch = 1 // arg: goroutine; word 1: words of that goroutine before
	heisenOpBegin  = 2 // arg: goid
	heisenOpPoint  = 4 // the goroutine has reached another point; arg: point, or number of accesses since; recorded on demand

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
	heisenOpCollected     = 20 // everything so far happened before

	// as 5 and 6, of accesses that would be left out
	heisenOpReadAgain  = 21
	heisenOpWriteAgain = 22

	// as 12 and 14, but would fail rather than wait
	heisenOpTryAcquire       = 24
	heisenOpTryAcquireShared = 25
	heisenOpChanceReceive    = 26 // as 17, but from goroutines that happened to be earlier

	// overlapping accesses, see overlaps.go; arg: address; word 1: stamp; words 2 and 3: the access
	// and the other one, each goroutine<<32 | op<<24 | place, with the op as in package heisen;
	// word 4: size<<48 | the other one's address; word 5: of a section, the low half of the access
	// at which it was entered <<32 | number of the end among all <<16 | number of the section; both
	// from 1
	heisenOpOverlap = 28

	heisenOpHide   = 29 // arg: address of the function; words 1 and 2 as 9; word 3: number of a set of objects
	heisenOpReveal = 30 // as 9
	heisenOpShade  = 31 // arg: whether the next events are of hidden code; recorded on demand

	// as 9, of states; see states.go
	heisenOpChange  = 32
	heisenOpObserve = 33
	heisenOpStep    = 34 // both: depends on the steps before

	heisenOpRoot = 35 // arg: address of a root of the next hidden call, if its set is heisenFollow

	heisenOpEntered = 36 // arg: how many of the goroutine's calls are those of its last record; recorded on demand
)

// A message is a header of four 32-bit words (kind, buffer, length of the payload in bytes,
// accesses left out since the buffer's last message) and the payload.
const (
	heisenMsgHello        = 1 // payload: version, text start, text size, pid, 1 if a recorded program has started this one; the receiver answers with what it wants
	heisenMsgWords        = 2 // payload: words of the buffer, in order
	heisenMsgBarrier      = 3 // everything recorded before was sent
	heisenMsgBye          = 4 // payload: events lost, number of stamps; the receiver answers with the exit status
	heisenMsgPlaces       = 5 // payload: parent<<32 | pc of the next places, numbered from 1; the parent has 24 bits, above which is the kind of node
	heisenMsgTask         = 6 // buffer: its number; payload: its name, with zero bytes up to a whole word
	heisenMsgOverlapStats = 7 // before the last: statistics of heisenWantOverlaps; buffer: number of ends; payload: five kinds of losses, whether a location was reached, a bit for each end that was seen
	// Of deterministic runs, see sched.go.
	heisenMsgExecution = 8  // before the last: steps, hash of the choices, time passed, 1 if a target was reached, choices that could not be followed, hash of the order of operations, delays, goroutines that had to yield, how often the clock has gone past the real one, the influence that could still answer the first time, with the text offset of a place, shifted by 32, the longest time for which a goroutine could go on and did not, and its number, and for each influence the count and the first one's text offset
	heisenMsgStuck     = 9  // of other runs, too, if goroutines wait for ever; buffer: why; payload: for each goroutine its number and, shifted by 32, the runtime's or 0, what it waits for, place, choices and ns of virtual time when it ran last, length of the reason, number of channels of its select statement, the reason, padded with zeros to words, and these channels
	heisenMsgMeeting   = 10 // payload: kind, step, and for both sides goroutine, op and place (as for an overlap), address and size
	heisenMsgChoices   = 11 // payload: step and goroutine of each

	heisenMsgReach = 12 // buffer: number of a set of objects, from 1; payload: start and size of each, in no order; 0 is all objects

	// What objects point to, see objectgraph.go. Payload, for each object: address, size and number
	// of its targets, and their addresses; or ^0, the stamp before which the objects since the last
	// stamp were not so, and 0. The object at 0 is hidden packages.
	heisenMsgObjects = 13

	heisenMsgRaces = 14 // before the last: statistics of heisenWantRaces; payload: goroutines that shared slots, heisenOutOfClocks and heisenBeyondShadow, forgotten epochs of ended goroutines

	// Of quiet programs, see origins.go. Payload, for each goroutine: number<<32 | the starting
	// goroutine, goid, and the place of the go statement with heisenOriginForked, if a goroutine
	// has started it; or heisenOriginForgotten. Goroutines may be sent again.
	heisenMsgOrigins = 15

	heisenMsgCount    = 18 // buffer: heisenCountRaces or heisenCountLeaks; the receiver answers with the flag heisenCountAnswer and
	heisenCountRaces  = 0  // how many findings it has reported so far, without leaks
	heisenCountLeaks  = 1  // how many of the leaked goroutines sent since the last such message it reports
	heisenCountAnswer = 1 << 30
	heisenMsgRefused  = 16 // instead of everything after the hello: this run is not recorded; payload: why, with zero bytes up to a whole word
	heisenMsgReplaced = 17 // everything recorded before was sent; buffer: 1 if the program is about to become another one, 0 if it has not

	heisenMsgInput = 19 // payload: name of the file with the input at which a fuzz test failed, with zero bytes up to a whole word

	heisenMsgBehaviors = 20 // of a deterministic run, before the result: words, see behavior.go
	heisenMsgSteps     = 21 // before the execution: the steps of Schedule.Explore, see explore.go

	// A word of it: what it is, in the upper four bits, and its argument.
	heisenExploreEnabled = 1 << 60 // a task that can continue
	heisenExploreChosen  = 2 << 60 // the task that does, and, shifted by 32, how many steps there were when it arrived
	heisenExploreUse     = 3 << 60 // an object, and, shifted by 56, the mode
	heisenExploreEnd     = 4 << 60 // the reasons for doubt, and, shifted by 32, 1 if a task could continue
	heisenExploreCase    = 5 << 60 // which of the ready cases a select statement takes, and, shifted by 32, their number, at least 2

	heisenMsgMisuse = 22 // buffer: one of the next two; payload: goroutine and place

	// Of deterministic runs. Payload: the values that the program has measured of the runtime, see
	// measures.go.
	heisenMsgMeasures = 23

	// Before all findings: a package that may synchronize unseen, see unseen.go. Buffer: one of the next two;
	// payload: its name, with zero bytes up to a whole word.
	heisenMsgUnseen      = 24
	heisenUnseenAssembly = 0
	heisenUnseenLinked   = 1

	// Before the execution: where a deterministic run fails. Buffer: how, of the next two. Payload: the
	// goroutine and, shifted by 32, its task or 0; the offsets in the text of the calls in which it is, the innermost first, and,
	// shifted by 32, above the first of these, the number of its labels or 0.
	heisenMsgFailing       = 25
	heisenFailingByRuntime = 1 // a function of the runtime has noticed it, as an index out of range
	heisenFailingAtEnd     = 2 // main, or the tests, have returned

	// Before a place with the set of labels. Buffer: its number. Payload: how many bytes follow; keys and
	// values, each after its length in two bytes; and zero bytes up to a whole word.
	heisenMsgLabels = 26

	// With heisenWantNames, before a message with the text offset of a return address. Buffer: the offset. Payload: the
	// functions there, as a symbolizer answers (symbolize.go), with zero bytes up to a whole word.
	heisenMsgNames = 27

	heisenMisuseFails = 1 // FailNow of a test is called by a goroutine that does not run the test
	heisenMisuseSkips = 2 // SkipNow is
	heisenMisuseLate  = 3 // a test is used after its end

	// The reasons why other executions may be possible than those that steps lead to.
	heisenUnsureTime      = 1  // the program has read the clock or slept
	heisenUnsureRandom    = 2  // it has drawn random numbers, for example to range over a map
	heisenUnsureCount     = 4  // it has counted goroutines
	heisenUnsureFinalizer = 16 // a finalizer or cleanup has run
	heisenUnsureMain      = 32 // no such reason: code of the program, and not only package testing, synchronizes on the main goroutine

	heisenOutOfClocks  = 1
	heisenBeyondShadow = 2

	heisenByOrder  = 1 << 63   // in an overlap's last word
	heisenUnknownG = 1<<32 - 1 // stands for a goroutine that is no longer known

	heisenExecutionWords = 12
	heisenStuckWords     = 7 // of a goroutine, without the reason and the channels
	heisenStuckChannels  = 8 // at most
	heisenOverlapWords   = 8
	heisenOriginWords    = 3

	heisenOriginForked    = 1 << 24
	heisenOriginForgotten = 1 << 25

	// The kind of a node, above the number of its parent; see locksets.go and labels.go.
	heisenNodeLow    = 1 << 24
	heisenNodeHigh   = 2 << 24
	heisenNodeTaken  = 3 << 24
	heisenNodeAccess = 4 << 24
	heisenNodeSite   = 5 << 24
	heisenNodeLabels = 6 << 24
	heisenNodeShared = 1 << 31   // in the pc of a heisenNodeHigh or heisenNodeSite
	heisenManyLocks  = 1<<55 + 1 // the address that stands for many locks
	heisenLostLock   = 1<<55 + 2 // the address that stands for a lock of which only the site is known

	heisenTaskPlace = 1 << 31 // in the pc of a place: the rest is the number of a task

	heisenVersion = 17

	heisenHealPlaces   = 1 // goroutines are kept apart at the places with heisenLocationHeal
	heisenHealFindings = 2 // and at what findings name, from then on

	heisenHiddenShow = 1 // what hidden packages do is recorded, marked
	heisenHiddenOnce = 2 // see objectgraph.go

	heisenWantFilter   = 1   // leave out redundant accesses
	heisenWantMarks    = 2   // with one of the others: rather mark them
	heisenWantRaces    = 4   // races, found by the program itself
	heisenWantOverlaps = 8   // overlaps; the answer is followed by the number of bytes that say what to look for, and these
	heisenWantNothing  = 16  // nothing else
	heisenWantSched    = 32  // a deterministic run; followed by how, in the same way, after hidden packages
	heisenWantHidden   = 64  // hidden packages; followed by which, in the same way, after overlaps
	heisenWantLeaks    = 128 // goroutines that wait for ever
	heisenWantCalls    = 256 // which calls are new
	heisenWantNames    = 512 // the functions at all text offsets that are sent
)
