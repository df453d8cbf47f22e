package wire

// MaxPayload bounds the payload of a message with words, in bytes. It is the size of the buffer of a P.
const MaxPayload = 64 << 10

// A message is a header of four 32-bit words (kind, buffer, length of the payload in bytes,
// accesses left out since the buffer's last message) and the payload.
const (
	MsgHello        = 1 // payload: version, text start, text size, pid, 1 if a recorded program has started this one; the receiver answers with what it wants
	MsgWords        = 2 // payload: words of the buffer, in order
	MsgBarrier      = 3 // everything recorded before was sent
	MsgBye          = 4 // buffer: 1 if the program ends with another status than 0; payload: events lost, number of stamps; the receiver answers with the exit status
	MsgPlaces       = 5 // payload: parent<<32 | pc of the next places, numbered from 1; the parent has 24 bits, above which is the kind of node
	MsgTask         = 6 // buffer: its number; payload: its name, with zero bytes up to a whole word
	MsgOverlapStats = 7 // before the last: statistics of WantOverlaps; buffer: number of ends; payload: five kinds of losses, whether a location was reached, a bit for each end that was seen
	// Of deterministic runs, see sched.go.
	MsgExecution = 8  // before the last: steps, hash of the choices, time passed, 1 if a target was reached, choices that could not be followed, hash of the order of operations, delays, goroutines that had to yield, how often the clock has gone past the real one, the influence that could still answer the first time, with the text offset of a place, shifted by 32, the longest time for which a goroutine could go on and did not, and its number, and for each influence the count and the first one's text offset
	MsgStuck     = 9  // of other runs, too, if goroutines wait for ever, or may without having been found; buffer: why; payload: for each goroutine its number and, shifted by 32, the runtime's or 0, what it waits for, place, choices and ns of virtual time when it ran last, length of the reason, number of channels of its select statement and, shifted by 32, of those that it has used, the reason, padded with zeros to words, and these channels
	MsgMeeting   = 10 // payload: kind, step, and for both sides goroutine, op and place (as for an overlap), address and size
	MsgChoices   = 11 // payload: step and goroutine of each

	MsgRaces = 14 // before the last: statistics of WantRaces; payload: goroutines that shared slots, OutOfClocks and BeyondShadow, forgotten epochs of ended goroutines

	// Of quiet programs, see origins.go. Payload, for each goroutine: number<<32 | the starting
	// goroutine, goid, and the place of the go statement with OriginForked, if a goroutine
	// has started it; or OriginForgotten. Goroutines may be sent again.
	MsgOrigins = 15

	MsgCount    = 18 // buffer: CountRaces or CountLeaks; the receiver answers with the flag CountAnswer and
	CountRaces  = 0  // how many findings it has reported so far, without leaks
	CountLeaks  = 1  // how many of the leaked goroutines sent since the last such message it reports
	CountAnswer = 1 << 30
	MsgRefused  = 16 // instead of everything after the hello: this run is not recorded; payload: why, with zero bytes up to a whole word
	MsgReplaced = 17 // everything recorded before was sent; buffer: 1 if the program is about to become another one, 0 if it has not

	MsgInput = 19 // payload: name of the file with the input at which a fuzz test failed, with zero bytes up to a whole word

	MsgBehaviors = 20 // of a deterministic run, before the result: words, see behavior.go
	MsgSteps     = 21 // before the execution: the steps of Schedule.Explore, see explore.go

	// A word of it: what it is, in the upper four bits, and its argument.
	ExploreEnabled = 1 << 60 // a task that can continue
	ExploreChosen  = 2 << 60 // the task that does, and, shifted by 32, how many steps there were when it arrived
	ExploreUse     = 3 << 60 // an object, and, shifted by 56, the mode
	ExploreEnd     = 4 << 60 // the reasons for doubt, and, shifted by 32, 1 if a task could continue
	ExploreCase    = 5 << 60 // which of the ready cases a select statement takes, and, shifted by 32, their number, at least 2

	MsgMisuse = 22 // buffer: one of the next two; payload: goroutine and place

	// Of deterministic runs. Payload: the values that the program has measured of the runtime, see
	// measures.go.
	MsgMeasures = 23

	// Before all findings: a package that may synchronize unseen, see unseen.go. Buffer: one of the next two;
	// payload: its name, with zero bytes up to a whole word.
	MsgUnseen      = 24
	UnseenAssembly = 0
	UnseenLinked   = 1

	// Before the execution: where a deterministic run fails. Buffer: how, of the next two. Payload: the
	// goroutine and, shifted by 32, its task or 0; the offsets in the text of the calls in which it is, the innermost first, and,
	// shifted by 32, above the first of these, the number of its labels or 0.
	MsgFailing       = 25
	FailingByRuntime = 1 // a function of the runtime has noticed it, as an index out of range
	FailingAtEnd     = 2 // main, or the tests, have returned

	// Before a place with the set of labels. Buffer: its number. Payload: how many bytes follow; keys and
	// values, each after its length in two bytes; and zero bytes up to a whole word.
	MsgLabels = 26

	// With WantNames, before a message with the text offset of a return address. Buffer: the offset. Payload: the
	// functions there, as a symbolizer answers (symbolize.go), with zero bytes up to a whole word.
	MsgNames = 27

	// Of deterministic runs with a prologue, where it is over. Everything recorded before was sent. The receiver answers with the
	// schedule of the rest. Payload: why the process cannot be forked here, with zero bytes up to a whole word.
	MsgPrologue = 28
	// Of a process that is forked where its prologue is over: its answer to ForkWith. Payload: the number of the new process, or the
	// negated error.
	MsgForked = 29
	// ForkWith is sent to such a process as one byte, with descriptors: the connection, the standard output and the standard error
	// of a new process. With ForkAgain, another descriptor follows. If the new process can go back to the end of the prologue after its
	// execution, it sends the exit status there, as a word, and takes the next ForkWith.
	ForkWith  = 1
	ForkAgain = 2
	ForkFiles = 3

	MisuseFails = 1 // FailNow of a test is called by a goroutine that does not run the test
	MisuseSkips = 2 // SkipNow is
	MisuseLate  = 3 // a test is used after its end

	// The reasons why other executions may be possible than those that steps lead to.
	UnsureTime      = 1  // the program has read the clock or slept
	UnsureRandom    = 2  // it has drawn random numbers, for example to range over a map
	UnsureCount     = 4  // it has counted goroutines
	UnsureFinalizer = 16 // a finalizer or cleanup has run
	UnsureMain      = 32 // no such reason: code of the program, and not only package testing, synchronizes on the main goroutine

	OutOfClocks  = 1
	BeyondShadow = 2

	ByOrder  = 1 << 63   // in an overlap's last word
	UnknownG = 1<<32 - 1 // stands for a goroutine that is no longer known

	ExecutionWords = 12
	StuckWords     = 7 // of a goroutine, without the reason and the channels
	StuckChannels  = 8 // at most
	StuckUses      = 8 // of channels, at most
	UseSends       = 1 // with the address of a channel: the goroutine has sent to it, or has tried to
	UseReceives    = 2 // it has received from it, or has tried to
	UseWays        = UseSends | UseReceives
	StuckBehind    = 1 << 32 // with the length of the reason: it waits for ever only because others do
	OverlapWords   = 8
	OriginWords    = 3

	OriginForked    = 1 << 24
	OriginForgotten = 1 << 25

	// The kind of a node, above the number of its parent; see locksets.go and labels.go.
	NodeLow    = 1 << 24
	NodeHigh   = 2 << 24
	NodeTaken  = 3 << 24
	NodeAccess = 4 << 24
	NodeSite   = 5 << 24
	NodeLabels = 6 << 24
	NodeShared = 1 << 31   // in the pc of a NodeHigh or NodeSite
	ManyLocks  = 1<<55 + 1 // the address that stands for many locks
	LostLock   = 1<<55 + 2 // the address that stands for a lock of which only the site is known

	TaskPlace = 1 << 31 // in the pc of a place: the rest is the number of a task

	Version = 21
)
