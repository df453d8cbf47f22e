package recorder

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/core/strategies"
	"github.com/heisen-go/heisen/internal/core/wire"
)

// Schedule makes a run deterministic: one goroutine of the program runs at a time, chosen by a
// strategy. Switches happen before synchronization, before accesses at targets, and where a
// goroutine blocks or ends. select, the order of maps and random numbers depend on the seed. Time
// is virtual: it passes when no goroutine can continue. The same program, arguments and Schedule
// make the same choices unless something from outside decides (Execution.Influences).
type Schedule struct {
	// Strategy is the strategy. Its Log is not used.
	Strategy strategies.Config
	// Targets are further places at which goroutines can be stopped.
	Targets []Target
	// Procs is the program's GOMAXPROCS and number of processors; 0 is 4.
	Procs int
	// Log requests the choices that differ from the default, see Execution.Choices.
	Log bool
	// Explore requests the steps, see Execution.Explored.
	Explore bool
	// Number requests operation numbers in events, see Numbered.
	Number bool
	// Values requests, after each access to a scalar, a Done event with the eight bytes at its address once
	// it has taken place. The mode must be one that records accesses. It also requests what TokenOf tells.
	Values bool
	// ToEnd lets goroutines go on that are left when main, or the tests of a test binary, have
	// returned: until they have ended or wait, or one minute of the program's time or 20,000 choices
	// are over. Execution.Leaked then has those that wait for ever.
	ToEnd bool
	// Start is the initial time; the zero time is the start of 2026.
	Start time.Time
	// MaxVirtual bounds the time that passes in the program, and MaxSteps the number of choices. A
	// program that reaches a bound is ended as by a deadlock. 0 is 24 hours, and no bound.
	MaxVirtual time.Duration
	MaxSteps   uint64
	// MaxTime bounds the real time, with the precision of some thousand choices. A program that
	// reaches it is ended as by MaxSteps with the number of choices until then. 0 is no bound.
	MaxTime time.Duration
	// Measures are values that the program gets where it measures the runtime, in the form of
	// Execution.Measures. Still gives it the first ones of each kind again and again. By default it
	// gets its own.
	Measures []uint64
	Still    bool
	// Slow lets operations take hardly any time. Then time passes only where no goroutine can continue.
	Slow bool
	// Prologue, if it is not 0, gives the run a prologue, which ends where the first test, example or fuzz test of a test binary
	// begins or, with AtMain, main.main. Until then the program runs by the default order, with random numbers that depend on
	// Prologue only. Steps, Turns and bounds on steps count from there. Without such an end, all of the run is a prologue.
	Prologue uint64
	AtMain   bool
	// Spin is the number of accesses that a goroutine may make, or of times in a row that it may be
	// chosen, before it yields; 0 is 10,000.
	Spin int
}

const (
	defaultProcs   = 4
	defaultVirtual = 24 * time.Hour
	defaultSpin    = 10_000
)

var defaultStart = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// Target is a place of the program at which the strategy can stop goroutines.
type Target struct {
	// File is as the compiler has recorded it: absolute, unless the build trims paths.
	File string
	Line int
	// Func is the function there, as in heisen.Frame: two of them may stand on one line. If it is empty, all
	// count.
	Func string
	// Mode is the set of operations there: accesses, including atomic ones, or calls that acquire a
	// lock.
	Mode TargetMode
	// Roles are the place's roles in the strategy.
	Roles strategies.Roles
	// Above is the number of calls above this one by which a section that is entered here ends at
	// the latest, as in section.Section; at most 255.
	Above int
}

// TargetMode is a set of operations.
type TargetMode uint8

const (
	OnRead  TargetMode = wire.LocationReads
	OnWrite TargetMode = wire.LocationWrites
	OnLock  TargetMode = wire.LocationLocks
)

// maxFollowed bounds the number of choices to follow, because of the size of a message.
const maxFollowed = 1 << 22

// maxAbove bounds Target.Above.
const maxAbove = 255

// MaxTargets is the largest number of targets of a Schedule.
const MaxTargets = 1<<16 - 1

// prologue returns the schedule of the prologue.
func (s *Schedule) prologue() *Schedule {
	return &Schedule{
		Strategy: strategies.Config{Strategy: strategies.Follow, Seed: s.Prologue, ByDefault: true},
		Procs:    s.Procs, Number: s.Number, Values: s.Values, ToEnd: s.ToEnd, Start: s.Start, MaxVirtual: s.MaxVirtual, MaxTime: s.MaxTime,
		Still: s.Still, Slow: s.Slow,
	}
}

// PrologueKey returns a text that two schedules with prologues share if these are the same.
func (s *Schedule) PrologueKey() string {
	of := *s
	of.MaxTime = 0
	text, _ := of.encodePrologue(true)
	return string(text)
}

// encodePrologue returns the message to the program if there is a prologue. With forks, its process is forked at the end.
func (s *Schedule) encodePrologue(forks bool) ([]byte, error) {
	flags := uint32(wire.SchedPrologue)
	if s.AtMain {
		flags |= wire.SchedAtMain
	}
	if forks {
		flags |= wire.SchedForks
	}
	return s.prologue().encodeWith(flags)
}

// encode returns the message to the program.
func (s *Schedule) encode() ([]byte, error) { return s.encodeWith(0) }

// encodeWith is encode with further flags.
func (s *Schedule) encodeWith(flags uint32) ([]byte, error) {
	if len(s.Targets) > MaxTargets {
		return nil, fmt.Errorf("%d targets are more than %d", len(s.Targets), MaxTargets)
	}
	or := func(v, otherwise int) uint32 {
		if v <= 0 {
			v = otherwise
		}
		return uint32(v)
	}
	start, virtual := s.Start, s.MaxVirtual
	if start.IsZero() {
		start = defaultStart
	}
	if virtual <= 0 {
		virtual = defaultVirtual
	}
	if s.Log {
		flags |= wire.SchedLog
	}
	if s.Strategy.ByDefault {
		flags |= wire.SchedByDefault
	}
	if s.Number {
		flags |= wire.SchedNumber
	}
	if s.ToEnd {
		flags |= wire.SchedToEnd
	}
	if s.Explore {
		flags |= wire.SchedExplore
	}
	if s.Still {
		flags |= wire.SchedStill
	}
	if s.Slow {
		flags |= wire.SchedSlow
	}
	if s.Values {
		flags |= wire.SchedValues
	}
	b := append32(nil, uint32(s.Strategy.Strategy), or(s.Procs, defaultProcs), or(s.Spin, defaultSpin), flags)
	b = append64(b, s.Strategy.Seed, s.MaxSteps, uint64(virtual), uint64(start.UnixNano()), uint64(max(s.MaxTime, 0)))
	b = append64(b, s.Strategy.PostponeLimit, s.Strategy.WaitLimit, s.Strategy.Depth, s.Strategy.Steps, s.Strategy.Variation,
		s.Strategy.Branch, s.Strategy.BranchSeed)
	if n := max(len(s.Strategy.Choices), len(s.Strategy.Turns)); n > maxFollowed {
		return nil, fmt.Errorf("a schedule of %d choices, at most %d", n, maxFollowed)
	}
	b = append32(b, uint32(len(s.Strategy.Choices)))
	for _, c := range s.Strategy.Choices {
		b = append32(append64(b, c.Step), c.ID, c.Case)
	}
	b = append32(b, uint32(len(s.Strategy.Turns)))
	for _, t := range s.Strategy.Turns {
		b = append64(append32(b, t.ID), t.Until)
	}
	b = append32(b, uint32(len(s.Strategy.Sleepers)))
	for _, x := range s.Strategy.Sleepers {
		b = append64(append32(b, x.ID), x.Mode, x.Object)
	}
	b = append64(append32(b, uint32(len(s.Measures))), s.Measures...)
	var at locations
	for _, t := range s.Targets {
		if t.Mode == 0 || t.Mode > OnRead|OnWrite|OnLock || t.Line <= 0 {
			return nil, fmt.Errorf("target %s:%d of mode %d", t.File, t.Line, t.Mode)
		}
		above := uint32(min(max(t.Above, 0), maxAbove))
		at.add(t.File, t.Func, t.Line, uint32(t.Mode)|uint32(t.Roles)<<wire.LocationRoles|above<<wire.LocationAbove)
	}
	return at.encode(b)
}

// Numbered is the flag of accesses and synchronization whose Value is the number of the thread's
// operation: the number of points it has reached (where it synchronizes, starts a goroutine or
// makes an atomic operation), times 1<<32, plus the number of accesses since. See strategies.Task,
// Seq. Schedule.Number requests it.
const Numbered heisen.Flags = 1 << 6

// Token is an operation on a channel that holds at most one element.
type Token uint8

const (
	NoToken      Token = iota
	Put                // a send
	Taken              // a receive by which nobody gets an element, or one of size 0
	TakenAndRead       // another receive
)

// TokenOf returns what the next events of the thread of a Done event are, if these are one operation on a channel, which is
// the Done event's object. See Schedule.Values. There are two, a Receive and a Send of the channel, or four if its elements
// have a size: a Receive of the slot in its buffer, an Observe and a Change of a state, and a Send of the slot.
func TokenOf(r *heisen.Record) (t Token, events int) {
	switch kind := r.Value &^ wire.TokenSlot; {
	case r.Op != heisen.Done || r.Flags&heisen.HasValue != 0:
		return NoToken, 0
	case kind == wire.TokenPut:
		t = Put
	case kind == wire.TokenTaken:
		t = Taken
	case kind == wire.TokenRead:
		t = TakenAndRead
	default:
		return NoToken, 0
	}
	if r.Value&wire.TokenSlot != 0 {
		return t, 4
	}
	return t, 2
}

// Meeting means that goroutines were at places of interest at the same time.
type Meeting struct {
	Kind strategies.MeetingKind
	Step uint64
	// Accesses are what they were about to do. The goroutine of the first access continued first.
	Accesses []heisen.Access
}

// OnMeeting sets the function that receives meetings as they happen, on the goroutine that reads
// the stream. Threads and sites are those of the stream's Symbols.
func (s *Stream) OnMeeting(receive func(Meeting)) { s.meeting = receive }

// Execution is the result of a Schedule.
type Execution struct {
	// Ended means that the program has reported its end: it has returned, exited, panicked or
	// failed, and was not killed.
	Ended bool
	Steps uint64
	// Hash is a hash of the sequence of choices. Order is a hash of the order of the operations on
	// each object; it is the same if only operations on different objects have changed places.
	Hash, Order uint64
	// Delays counts how often time has passed while goroutines that could continue were held back.
	Delays uint64
	// Starved is the goroutine that could continue for the longest time and did not.
	Starved Starved
	// Yielded counts how often a goroutine had to yield because of Schedule.Spin.
	Yielded uint64
	// Choices are the choices that differ from the default (strategies.Choice), by step, if the
	// Schedule requests them. If the program was killed, the last ones may be missing. Lost counts
	// those that were too many to keep.
	Choices []strategies.Choice
	Lost    uint64
	// Diverged counts the choices of the Schedule that could not be followed.
	Diverged uint64
	// Virtual is the time that has passed in the program.
	Virtual time.Duration
	// Reached means that a goroutine has reached a target.
	Reached bool
	// Influences are what came from outside, one for each kind.
	Influences []Influence
	// Overtaken says what outside of the program could still answer when its clock first went past the
	// real one nevertheless, and how often it did. The Count is 0 if it never did.
	Overtaken Influence
	// Measured says what the program has measured of the runtime.
	Measured Measured
	// Explored are the steps, if the Schedule requests them. It is nil if they were too many.
	Explored *Explored
	// Stuck is not nil if the program was ended because it could not continue.
	Stuck *Stuck
	// Behaviors are what the execution has done, each once and in no order, up to some thousands.
	Behaviors []Behavior
	// Leaked are the goroutines that wait for ever at the end: for a channel, lock, WaitGroup or
	// Cond that is in the heap and that nothing can reach that may still run. And those that timers wake again and again,
	// where nothing can reach what would stop them. Schedule.ToEnd requests them.
	Leaked []Blocked
	// LookFailed means that not all of these may have been found: there was not enough time or memory to look.
	LookFailed bool
	// Misuses are calls that package testing forbids, in order, up to 100.
	Misuses []Misuse
	// Failing is where a goroutine has ended the program: by a panic that nobody has recovered, a fatal error, or an exit with a
	// status that is not 0. It is nil if that is not known.
	Failing *Failing
}

// Failing is a place at which a goroutine ends the program.
type Failing struct {
	// ByRuntime is set if a function of the runtime has noticed the failure, such as an index that is out of range.
	ByRuntime bool
	// AtEnd is set if main, or the tests of a test binary, have returned. Without Schedule.ToEnd, the program may be over by then.
	AtEnd   bool
	Thread  heisen.Thread
	Site    heisen.Site // of the innermost call, or where the panic has begun; runtime functions do not count
	Context heisen.Context
	Labels  heisen.Labels
}

// Starved is a goroutine that could continue and did not, because others did. Time is the program's, since the goroutine had to wait
// for something else. It is 0 if the program has not looked at the clock, and no timer has fired.
type Starved struct {
	Time   time.Duration
	Thread heisen.Thread
}

// Misuse is a wrong use of a test. A goroutine that does not run the test has called FailNow or SkipNow of it, which
// ends the goroutine, and not the test. Or one has used the test after its end.
type Misuse struct {
	Skips   bool // the call is SkipNow
	Late    bool // the test has ended
	Thread  heisen.Thread
	Site    heisen.Site // the innermost place in the program, in package testing
	Context heisen.Context
	Labels  heisen.Labels
}

// Replayable reports whether nothing from outside has decided what the program did: another run
// with the same Schedule would be the same if the files that it reads are the same.
func (e *Execution) Replayable() bool {
	for _, in := range e.Influences {
		if in.Kind != Input {
			return false
		}
	}
	return e.Ended
}

// Influence is the effect of something outside of the program.
type Influence struct {
	Kind  InfluenceKind
	Count uint64
	Site  heisen.Site // place of the first; 0 if not known
}

// InfluenceKind is a way in which something outside can decide what a program does.
type InfluenceKind uint8

const (
	// Input: the program read a file, a pipe or a connection.
	Input InfluenceKind = iota
	// Network: a connection or pipe that it waited for became ready.
	Network
	// Syscall: a system call took so long that other goroutines continued.
	Syscall
	// Signal: a signal arrived for which it listens.
	Signal
	// Cgo: it called C.
	Cgo
	// Thread: a goroutine requested a thread of its own.
	Thread
	// Process: it has started a process.
	Process

	numInfluences
)

var influenceNames = [numInfluences]string{"input", "network", "system call", "signal", "cgo", "thread", "child process"}

// String returns the name of the kind.
func (k InfluenceKind) String() string {
	if k < numInfluences {
		return influenceNames[k]
	}
	return fmt.Sprintf("influence %d", k)
}

// Stuck describes a program that did not continue.
type Stuck struct {
	Why        StuckReason
	Goroutines []Blocked
}

// StuckReason is the reason why a program was ended.
type StuckReason uint8

const (
	// Deadlock: no goroutine could ever continue.
	Deadlock StuckReason = 1 + iota
	// OutOfTime and OutOfSteps: a bound of the Schedule was reached, MaxVirtual, or MaxSteps or MaxTime.
	OutOfTime
	OutOfSteps
	// leaked: the goroutines wait for ever, and the program or a test has ended.
	leaked
	// unstoppable: they wait for timers again and again, and nothing can stop them.
	unstoppable
	// notLooked: there was not enough time or memory to look for these two kinds.
	notLooked

	numStuck
)

// Blocked is a goroutine of a program that did not continue.
type Blocked struct {
	Thread heisen.Thread
	// Reason is the runtime's wait reason, such as "sync.Mutex.Lock", or "runnable".
	Reason string
	// Object is the object of its last synchronization, which is usually what it waits for; 0 if
	// there is none, or several.
	Object heisen.Object
	// Channels are those for which it waits in a select statement, up to 8. If it is unstoppable, they are what it looks at to
	// see whether it should stop, channels and contexts.
	Channels []heisen.Object
	// Uses are the channels that it has used last, up to some, with what it waits for.
	Uses []ChannelUse
	// Unstoppable means that it does not wait for ever: timers wake it again and again, and nothing can stop it.
	Unstoppable bool
	// Behind means that it waits for ever only because others do that wait for ever.
	Behind bool
	// Step is the number of choices that were made when it ran last, and Clock the virtual time that had
	// passed since the start of the program; 0 in other runs than those of a Schedule.
	Step  uint64
	Clock time.Duration
	// Site is the innermost place in the program, and Context the calls that led there.
	Site    heisen.Site
	Context heisen.Context
	Labels  heisen.Labels
}

// ChannelUse says in which ways a goroutine has used a channel, or has tried to.
type ChannelUse struct {
	Channel         heisen.Object
	Sends, Receives bool
}

// Execution returns the result of the Schedule, once the stream has ended.
func (s *Stream) Execution() *Execution { return &s.execution }

func (s *Stream) setExecution(words []uint64) error {
	if len(words) != wire.ExecutionWords+2*int(numInfluences) {
		return s.corrupt("execution of %d words", len(words))
	}
	e := &s.execution
	if e.Ended {
		return s.corrupt("the execution ends again")
	}
	e.Ended, e.Steps, e.Hash, e.Virtual, e.Reached, e.Diverged = true, words[0], words[1], time.Duration(words[2]), words[3] != 0, words[4]
	e.Order, e.Delays, e.Yielded = words[5], words[6], words[7]
	if words[10] > math.MaxInt64 || words[11] >= wire.UnknownG {
		return s.corrupt("goroutine %d was held back for %d", words[11], words[10])
	}
	e.Starved = Starved{time.Duration(words[10]), heisen.Thread(words[11])}
	if count, by, place := words[8], uint32(words[9]), words[9]>>32; count > 0 {
		if by >= uint32(numInfluences) || place > s.hello.size {
			return s.corrupt("overtaken by %d at %#x", by, place)
		}
		e.Overtaken = Influence{InfluenceKind(by), count, s.site(uint32(place))}
	}
	for kind := range numInfluences {
		count, first := words[wire.ExecutionWords+2*kind], words[wire.ExecutionWords+2*kind+1]
		if first > s.hello.size {
			return s.corrupt("influence at %#x", first)
		}
		if count > 0 {
			e.Influences = append(e.Influences, Influence{kind, count, s.site(uint32(first))})
		}
	}
	return nil
}

// maxChoices is the number of choices kept of an execution.
const maxChoices = 1 << 22

func (s *Stream) addChoices(words []uint64) error {
	if len(words)%2 != 0 {
		return s.corrupt("choices in %d words", len(words))
	}
	e := &s.execution
	for i := 0; i < len(words); i += 2 {
		c := strategies.Choice{Step: words[i], ID: uint32(words[i+1]), Case: uint32(words[i+1] >> 32)}
		last := len(e.Choices) - 1
		if last >= 0 && c.Step == e.Choices[last].Step && c.ID == e.Choices[last].ID && c.Case > 0 && e.Choices[last].Case == 0 {
			e.Choices[last].Case = c.Case // the choice had been sent before its select statement was reached
			continue
		}
		if last >= 0 && c.Step <= e.Choices[last].Step || c.Case > 0 && c.ID == strategies.NoTask {
			return s.corrupt("choice of goroutine %d at step %d", c.ID, c.Step)
		}
		if last+1 == maxChoices {
			e.Lost += uint64(len(words)-i) / 2
			break
		}
		e.Choices = append(e.Choices, c)
	}
	return nil
}

func (s *Stream) addMeeting(words []uint64) error {
	if len(words) != 8 || words[0] > uint64(strategies.Violation) {
		return s.corrupt("meeting in %d words", len(words))
	}
	m := Meeting{Kind: strategies.MeetingKind(words[0]), Step: words[1]}
	for side := range slices.Chunk(words[2:], 3) {
		a, err := s.merge.access(side[0], side[1], side[2])
		if err != nil {
			return err
		}
		m.Accesses = append(m.Accesses, a)
	}
	if s.meeting != nil {
		s.meetings = append(s.meetings, m) // until its sites have names
	}
	return nil
}

// addMisuse adds a call to Execution.Misuses.
func (s *Stream) addMisuse(how uint32, words []uint64) error {
	if how == 0 || how > wire.MisuseLate || len(words) != 2 || words[0] >= wire.UnknownG {
		return s.corrupt("misuse %d in %d words", how, len(words))
	}
	p, err := s.place(words[1])
	if err != nil {
		return err
	}
	s.execution.Misuses = append(s.execution.Misuses, Misuse{
		Skips: how == wire.MisuseSkips, Late: how == wire.MisuseLate, Thread: heisen.Thread(words[0]),
		Site: p.site, Context: s.syms.Context(heisen.Cursor{Calls: p.calls, Locks: p.locks}), Labels: p.labels,
	})
	return nil
}

// setFailing takes where the program fails.
func (s *Stream) setFailing(how uint32, words []uint64) error {
	if how > wire.FailingByRuntime|wire.FailingAtEnd || len(words) < 2 || uint32(words[0]) == wire.UnknownG || s.execution.Failing != nil {
		return s.corrupt("failing in %d words", len(words))
	}
	var at heisen.Cursor
	if task := words[0] >> 32; task != 0 {
		site, known := s.tasks[uint32(task)]
		if !known {
			return s.corrupt("failing in the unknown task %d", task)
		}
		at = s.syms.Call(at, site)
	}
	labels := s.labels[uint32(words[1]>>32)]
	if words[1]>>32 != 0 && labels == 0 {
		return s.corrupt("failing with the unknown labels %d", words[1]>>32)
	}
	for _, pc := range slices.Backward(words[2:]) {
		at = s.syms.Call(at, s.site(uint32(pc)))
	}
	s.execution.Failing = &Failing{ByRuntime: how&wire.FailingByRuntime != 0, AtEnd: how&wire.FailingAtEnd != 0, Thread: heisen.Thread(uint32(words[0])), Site: s.site(uint32(words[1])), Context: s.syms.Context(at), Labels: labels}
	return nil
}

// maxReason bounds the length of Blocked.Reason.
const maxReason = 64

// addStuck adds goroutines to Execution.Stuck or Execution.Leaked.
func (s *Stream) addStuck(why uint32, words []uint64) error {
	if why == 0 || why >= uint32(numStuck) {
		return s.corrupt("stuck for reason %d", why)
	}
	var into *[]Blocked
	switch {
	case StuckReason(why) == notLooked:
		s.execution.LookFailed = true
		return nil
	case StuckReason(why) >= leaked:
		into = &s.execution.Leaked
	case s.execution.Stuck == nil:
		s.execution.Stuck = &Stuck{Why: StuckReason(why)}
		fallthrough
	default:
		into = &s.execution.Stuck.Goroutines
	}
	for len(words) > 0 {
		if len(words) < wire.StuckWords {
			return s.corrupt("%d words of a goroutine", len(words))
		}
		channels, uses := words[6]&(1<<32-1), words[6]>>32
		if words[5]&^wire.StuckBehind > maxReason || channels > wire.StuckChannels || uses > wire.StuckUses || uint64(len(words)) < wire.StuckWords+(words[5]&^wire.StuckBehind+7)/8+channels+uses {
			return s.corrupt("%d words of a goroutine", len(words))
		}
		id, goid, object, place := words[0]&(1<<32-1), words[0]>>32, words[1], words[2]
		size, behind := words[5]&^wire.StuckBehind, words[5]&wire.StuckBehind != 0
		if id >= wire.UnknownG {
			return s.corrupt("goroutine %d", id)
		}
		if info := s.syms.Thread(heisen.Thread(id)); info.Name == "" && goid != 0 { // it waits, and has sent no event
			info.Name = threadName(heisen.Thread(id), goid)
			s.syms.SetThread(heisen.Thread(id), info)
		}
		p, err := s.place(place)
		if err != nil {
			return err
		}
		n := wire.StuckWords + (size+7)/8
		var reason []byte
		for _, w := range words[wire.StuckWords:n] {
			reason = binary.LittleEndian.AppendUint64(reason, w)
		}
		blocked := Blocked{
			Thread: heisen.Thread(id), Reason: string(reason[:size]), Object: heisen.Object(object),
			Behind: behind, Step: words[3], Clock: time.Duration(words[4]), Unstoppable: StuckReason(why) == unstoppable,
			Site: p.site, Context: s.syms.Context(heisen.Cursor{Calls: p.calls, Locks: p.locks}), Labels: p.labels,
		}
		words = words[n:]
		for _, c := range words[:channels] {
			blocked.Channels = append(blocked.Channels, heisen.Object(c))
		}
		for _, w := range words[channels : channels+uses] {
			blocked.Uses = append(blocked.Uses, ChannelUse{heisen.Object(w &^ wire.UseWays), w&wire.UseSends != 0, w&wire.UseReceives != 0})
		}
		*into = append(*into, blocked)
		words = words[channels+uses:]
	}
	return nil
}
