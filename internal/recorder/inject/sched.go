//go:build heisen_inject

package runtime

import (
	"internal/runtime/atomic"
	"unsafe"
)

// The scheduler of deterministic runs. One goroutine of the program runs at a time, on one P. Those
// that can continue are in a pool, each with what it does next. The strategies of package
// internal/core/strategies, which is injected with the recorder, choose among them. They do so
// whenever the running one blocks, ends, or reaches a point: before it synchronizes or makes an
// access at a target. Goroutines of the runtime have the ordinary queues and go first.
//
// Synchronization is not simulated. The runtime puts a runnable goroutine into the run queues, as
// always; from there it goes to the pool. The thread that has the P owns all of this: the functions
// run on its system stack, in schedule or from a point, and take sched.lock only briefly.

var heisenSched heisenScheduler

type heisenScheduler struct {
	on bool

	picker    heisenStrategiesScheduler
	locations heisenLocations // the targets

	procs     int32  // the program's GOMAXPROCS
	spin      uint32 // after so many hooks, or choices in a row, a goroutine yields
	maxSteps  uint64
	maxClock  int64
	maxTime   int64 // of nanotime1; 0 for no bound
	logging   bool
	passes    bool // an access at which nothing stops needs no call of heisenPointAccess
	placing   bool // events are recorded with the operation they belong to
	values    heisenValues
	clock     int64 // what nanotime returns
	slow      bool  // ticks take hardly any time
	ticks     int   // short ones, since the clock has advanced to a timer
	ticking   heisenTicking
	wallStart int64 // the wall clock, in ns, when clock is heisenClockStart

	tries  bool // the program may try to lock, so releasing one is a point
	counts bool // the program has counted goroutines, so the end of one is a point

	// The pool: tasks[:count] and their goroutines.
	tasks  uintptr // room heisenStrategiesTasks
	gs     uintptr // room guintptrs
	count  int
	room   int
	system gQueue   // goroutines of the runtime
	stay   guintptr // continues without a choice
	chosen guintptr // chosen, and about to continue

	// If until is not 0, no goroutine continues before the clock reaches it or more than standing
	// goroutines are in the pool.
	until    int64
	standing int

	comparing int // compare-and-swaps at targets in the pool
	older     int // the first tasks of the pool that were there at the last choice

	running uint32 // the goroutine chosen last
	last    *heisenG
	turn    uint32 // how often in a row
	yielded uint64 // how often a goroutine had to yield because of spin

	meetings int // that were sent

	waited   int64 // ns of waiting for the outside, in a row
	outside  heisenOutsideWorld
	starved  heisenStarvation
	measures heisenMeasures
	retake   heisenRetaking
	ending   heisenEnding
	ended    bool // the results were sent

	exploring heisenExploring
	decidedAt uint64 // the number of choices when the ready cases of a select statement were last looked at

	influences [heisenInfluences]heisenInfluence
	behaviors  heisenBehaviors
}

// heisenSchedG is the scheduler's state of a goroutine, and that of the search for leaks, which other
// runs have, too.
type heisenSchedG struct {
	// at numbers its last operation (see heisenStrategiesTask.Seq): in the high half the points it
	// has reached, in the low half the accesses since.
	at   uint64
	next heisenStrategiesTask // what it does next, while it is not in the pool
	on   uint64               // the lock or channel of its last point
	// place is the text offset of its last point, where the program asked for the operation.
	place uint32
	// deepest is the largest number of calls in which it has entered a section.
	deepest uint32
	// expects is the value that its compare-and-swap compares with.
	expects       uint64
	hooks         uint32 // since its last point
	within        uint32 // in how many operations it is that are one step
	first         uint32 // the channel of its select statement that is tried first, from 1, without nil channels; 0 if not decided
	decided       bool   // no random number decides in its select statement
	wide          uint8  // width of the compare-and-swap in bytes, 0 if there is none
	kind          uint8  // whose goroutine it is, once known
	resumes       bool   // it continues without a choice
	fromSyscall   bool   // it returns from a system call that took long
	inRuntimeWait bool   // and the call was a wait, in the runtime, for something that is no goroutine
	stranded      bool   // it may be waiting for ever; see leaks.go
	behind        heisenBehind
	leaked        bool    // it was reported to wait for ever
	queued        uint32  // in how many queues it was found; see leaks.go
	runs          uintptr // the test that it runs; see misuse.go
	rounds        heisenRoundsOf
	uses          heisenChannelUses
	inBubble      uintptr // the semaphore for which it has waited last in a bubble; see bubbles.go
	bubbleSince   int64   // and since when
	// waitsFor is the semaphore or condition variable for which it has waited last.
	waitsFor uintptr
	// ranAt is the number of choices when it was chosen last, and ranClock the clock. readyClock is the clock when it came
	// to the pool.
	ranAt      uint64
	ranClock   int64
	readyClock int64
	held       int64 // ns in the pool since it had to wait for something
}

const (
	heisenIsProgram = 1
	heisenIsRuntime = 2
)

// heisenQuiescent reports whether the runtime's own scheduler has nothing to do before a choice.
func heisenQuiescent(pp *p) bool {
	when := pp.timers.wakeTime()
	return (when == 0 || when > heisenSched.clock) && !netpollAnyWaiters() && !sched.gcwaiting.Load() &&
		pp.runSafePointFn == 0 && fingStatus.Load()&(fingWait|fingWake) != fingWait|fingWake &&
		!gcCleanups.needsWake() && !traceEnabled()
}

// heisenRunqget takes the place of the runtime's runqget where a P needs work.
//
// Callers of schedule without a P must not have write barriers, but this is only called with one.
//
//go:yeswritebarrierrec
func heisenRunqget(pp *p) (gp *g, inheritTime bool) {
	s := &heisenSched
	if !s.on {
		return runqget(pp)
	}
	for {
		s.gather(pp)
		if !s.system.empty() {
			return s.system.pop(), false
		}
		if sched.disable.user {
			return nil, false // the collector is at work
		}
		if gp := s.stay.ptr(); gp != nil {
			s.stay = 0
			return gp, false
		}
		if gp := s.chosen.ptr(); gp != nil {
			s.chosen = 0
			return gp, false
		}
		if gp := s.ending.woken(s); gp != nil {
			return gp, false
		}
		if netpollAnyWaiters() && s.pollNetwork(0) {
			continue
		}
		if s.until <= s.clock || s.count > s.standing {
			s.until = 0
		}
		if s.count > 0 && s.until == 0 {
			if gp := s.choose(pp); gp != nil {
				return gp, false
			}
		}
		s.idle(pp)
	}
}

// heisenGlobrunqget takes the place of globrunqget where it would bypass the local queue.
func heisenGlobrunqget() *g {
	if heisenSched.on {
		return nil
	}
	return globrunqget()
}

// heisenGosched is called where gp goes to the run queue, by itself or, preempted, for the runtime.
func heisenGosched(gp *g, preempted bool) {
	h := (*heisenG)(unsafe.Pointer(gp.racectx))
	if !heisenSched.on || h == nil {
		return
	}
	if preempted {
		h.task.resumes = true
	} else if !h.task.resumes {
		h.task.next.Kind = heisenStrategiesYield
	}
}

// heisenStay takes the place of Gosched where the runtime stops a goroutine for its own purposes.
func heisenStay() {
	if h := (*heisenG)(unsafe.Pointer(getg().racectx)); heisenSched.on && h != nil {
		h.task.resumes = true
	}
	Gosched()
}

// gather empties the run queues.
func (s *heisenScheduler) gather(pp *p) {
	for {
		gp, _ := runqget(pp)
		if gp == nil {
			break
		}
		s.route(gp)
	}
	for !sched.runq.empty() {
		lock(&sched.lock)
		gp := globrunqget()
		unlock(&sched.lock)
		if gp == nil {
			break
		}
		s.route(gp)
	}
}

// route puts a goroutine into the queue or pool where it belongs.
func (s *heisenScheduler) route(gp *g) {
	h := (*heisenG)(unsafe.Pointer(gp.racectx))
	switch {
	case h == nil || !heisenInProgram(gp, h):
		s.system.pushBack(gp)
	case h.task.resumes && s.stay == 0:
		h.task.resumes = false
		s.stay.set(gp)
	default:
		h.task.resumes = false
		if h.task.fromSyscall {
			h.task.fromSyscall = false
			pc := heisenOutermost(gp, gp.sched.bp)
			if in := &s.influences[heisenBySyscall]; h.task.inRuntimeWait {
				heisenInfluenced(heisenBySyscall, pc)
			} else if in.first == 0 {
				in.first = uint32(heisenPC(pc))
			}
			h.task.inRuntimeWait = false
		}
		s.add(gp, h)
	}
}

// heisenInProgram reports whether gp belongs to the program rather than to the runtime.
func heisenInProgram(gp *g, h *heisenG) bool {
	if h.task.kind == 0 {
		h.task.kind = heisenIsProgram
		if isSystemGoroutine(gp, true) {
			h.task.kind = heisenIsRuntime
		}
	}
	return h.task.kind == heisenIsProgram
}

// add puts gp into the pool.
func (s *heisenScheduler) add(gp *g, h *heisenG) {
	if s.count == s.room {
		s.grow()
	}
	t := &h.task.next
	if t.Kind == heisenStrategiesResume && !h.task.fromSyscall {
		s.behaviors.waited(gp, h)
		h.task.held = 0
	}
	t.ID, t.Since, t.Seq = h.id, s.picker.Steps(), h.task.at
	h.task.readyClock = s.clock
	*s.task(s.count) = *t
	*s.g(s.count) = 0
	s.g(s.count).set(gp)
	s.count++
}

func (s *heisenScheduler) task(i int) *heisenStrategiesTask {
	return (*heisenStrategiesTask)(unsafe.Pointer(s.tasks + uintptr(i)*unsafe.Sizeof(heisenStrategiesTask{})))
}

func (s *heisenScheduler) g(i int) *guintptr {
	return (*guintptr)(unsafe.Pointer(s.gs + uintptr(i)*unsafe.Sizeof(guintptr(0))))
}

// grow doubles the room of the pool.
func (s *heisenScheduler) grow() {
	room := max(2*s.room, 1024)
	larger := func(old, size uintptr) uintptr {
		p := sysAlloc(alignUp(uintptr(room)*size, physPageSize), &memstats.other_sys, "heisen scheduler")
		if p == nil {
			throw("heisen: no memory for the scheduler")
		}
		if s.room > 0 {
			memmove(p, unsafe.Pointer(old), uintptr(s.room)*size)
			sysFree(unsafe.Pointer(old), alignUp(uintptr(s.room)*size, physPageSize), &memstats.other_sys)
		}
		return uintptr(p)
	}
	s.tasks = larger(s.tasks, unsafe.Sizeof(heisenStrategiesTask{}))
	s.gs = larger(s.gs, unsafe.Sizeof(guintptr(0)))
	s.room = room
}

// choose removes the goroutine that continues from the pool. It returns nil if time must pass
// first.
func (s *heisenScheduler) choose(pp *p) *g {
	s.picker.Timer = 0
	if when := heisenNextTimer(&pp.timers); when > s.clock {
		s.picker.Timer = uint64(when - s.clock)
	}
	if s.comparing > 0 {
		s.compare()
	}
	s.picker.LastSeq = heisenStrategiesAlways
	if last := s.last; last != nil && last.id == s.running {
		s.picker.LastSeq = last.task.at
	} // else it has ended
	s.picker.Fresh = s.older
	if s.exploring.on {
		s.beforeChoice()
	}
	i := s.picker.Next(unsafe.Slice(s.task(0), s.count), s.running)
	if i == heisenStrategiesWait {
		s.afterChoice()
		s.until, s.standing, s.older = heisenNextTimer(&pp.timers), s.count, s.count
		return nil
	}
	gp := s.g(i).ptr()
	h := (*heisenG)(unsafe.Pointer(gp.racectx))
	t := &h.task.next
	*t = *s.task(i)
	s.behaviors.operation(t, h.task.place)
	if s.exploring.on {
		s.exploring.chose(t)
	}
	if t.Atomic && h.task.wide != 0 {
		s.comparing--
	}
	if t.Roles&heisenStrategiesEntry != 0 {
		h.task.deepest = max(h.task.deepest, t.Depth)
	}
	t.Kind, t.Write, t.Atomic, t.Roles, t.Place, t.Addr, t.Size, t.Key, t.OpState = heisenStrategiesResume, false, false, 0, 0, 0, 0, 0, 0
	s.count--
	*s.task(i), *s.g(i) = *s.task(s.count), *s.g(s.count)
	s.older = s.count

	if h.id == s.running {
		s.turn++
	} else {
		s.turn = 0
	}
	s.running, s.last = h.id, h
	s.noteStarved(h)
	h.task.ranAt, h.task.ranClock = s.picker.Steps(), s.clock-heisenClockStart
	s.afterChoice()
	return gp
}

// heisenLeaveSections is called when h has returned from a call in which it entered a section.
//
//go:nosplit
func heisenLeaveSections(h *heisenG) {
	systemstack(func() {
		depth := h.depth()
		heisenSched.picker.LeaveCalls(h.id, depth)
		h.task.deepest = depth
	})
}

// below returns the number of calls below which a section ends that is entered at the location,
// depth calls deep.
//
//go:nosplit
func (l *heisenLocation) below(depth uint32) uint32 {
	return depth - min(l.flags>>heisenLocationAbove, depth)
}

// compare finds out which compare-and-swaps in the pool would write at the moment.
func (s *heisenScheduler) compare() {
	for i := range s.count {
		t := s.task(i)
		if !t.Atomic {
			continue
		}
		h := (*heisenG)(unsafe.Pointer(s.g(i).ptr().racectx))
		switch at := unsafe.Pointer(uintptr(t.Addr)); h.task.wide {
		case 0:
			continue
		case 4:
			t.Write = uint64(*(*uint32)(at)) == h.task.expects
		case 8:
			t.Write = *(*uint64)(at) == h.task.expects
		}
		t.Op = heisenAtomicRead
		if t.Write {
			t.Op = heisenAtomicUpdate
		}
	}
}

// heisenTimeCheck is the number of choices after which the real time is looked at again.
const heisenTimeCheck = 1 << 10

// afterChoice is called after each choice.
func (s *heisenScheduler) afterChoice() {
	s.tick()
	if s.ticks >= heisenShortTicks && s.picker.Steps()%heisenTimeCheck == 0 {
		s.pace()
	}
	if s.picker.NumMeetings > 0 {
		s.sendMeetings()
	}
	if s.logging && s.picker.NumLog == heisenLogged {
		s.sendLog()
	}
	if steps := s.picker.Steps(); s.maxSteps > 0 && steps >= s.maxSteps || s.maxTime > 0 && steps%heisenTimeCheck == 0 && !s.ending.begun && nanotime1() >= s.maxTime {
		s.cannotGoOn(heisenStuckSteps, "heisen: the program has reached the bound on its steps or its time")
	}
}

// heisenMaxMeetings is how many meetings are sent of an execution of which only findings are. Each takes a system call,
// and the receiver keeps a hundred.
const heisenMaxMeetings = 1 << 10

// sendMeetings sends meetings.
func (s *heisenScheduler) sendMeetings() {
	n := s.picker.NumMeetings
	s.picker.NumMeetings = 0
	if !heisen.quiet {
		heisenFlushAll(0) // the receiver must know the goroutines
	} else if s.meetings >= heisenMaxMeetings {
		return
	}
	s.meetings += n
	b := heisenBufOfP()
	for i := range n {
		m := &s.picker.Meetings[i]
		heisenSendAncestry(m.First.ID)
		heisenSendAncestry(m.Second.ID)
		words := [8]uint64{uint64(m.Kind), m.Step,
			heisenNameLatestLabels(b, m.First.accessID()), m.First.Addr, m.First.Size,
			heisenNameLatestLabels(b, m.Second.accessID()), m.Second.Addr, m.Second.Size}
		heisenSend(heisenMsgMeeting, 0, 0, unsafe.Pointer(&words), unsafe.Sizeof(words))
	}
}

// accessID returns the first word of a side, as in a record of an overlap.
func (s *heisenStrategiesSide) accessID() uint64 {
	return uint64(s.ID)<<32 | uint64(s.Op)<<heisenPlaceBits | uint64(s.Place)
}

// sendLog sends the latest choices.
func (s *heisenScheduler) sendLog() {
	if s.picker.NumLog > 0 {
		heisenSend(heisenMsgChoices, 0, 0, unsafe.Pointer(&s.picker.Log[0]), uintptr(s.picker.NumLog)*unsafe.Sizeof(heisenStrategiesChoice{}))
	}
	s.picker.NumLog = 0
}

// heisenSendExecution sends the result of the run.
func heisenSendExecution() {
	s := &heisenSched
	if !s.on || s.ended {
		return
	}
	s.ended = true
	for i := range s.count { // they can go on
		if h := (*heisenG)(unsafe.Pointer(s.g(i).ptr().racectx)); h != nil {
			s.noteStarved(h)
		}
	}
	s.sendLog()
	s.behaviors.send()
	s.sendSteps()
	s.measures.send()
	words := [heisenExecutionWords + 2*heisenInfluences]uint64{s.picker.Steps(), s.picker.Hash,
		uint64(s.clock - heisenClockStart), uint64(s.locations.met), s.picker.Diverged + s.picker.TurnsLeft(), s.picker.Order, s.picker.Delays, s.yielded,
		s.outside.overtaken, s.outside.first, 0, 0}
	if s.starved.clock != 0 { // otherwise the program cannot know
		words[10], words[11] = uint64(min(s.starved.time, s.starved.clock-heisenClockStart)), uint64(s.starved.id)
	}
	for i := range s.influences {
		at := heisenExecutionWords + 2*i
		words[at], words[at+1] = atomic.Load64(&s.influences[i].count), uint64(s.influences[i].first)
		heisenTellName(s.influences[i].first)
	}
	heisenTellName(uint32(s.outside.first >> 32))
	heisenSend(heisenMsgExecution, 0, 0, unsafe.Pointer(&words), unsafe.Sizeof(words))
}
