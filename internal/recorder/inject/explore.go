//go:build heisen_inject

package runtime

import (
	"internal/goarch"
	"internal/stringslite"
	"unsafe"
)

// The steps of a deterministic run, for the enumeration of all executions (package internal/dpor). For
// each choice the tasks that could continue are logged, then the one that does, then the objects that
// its step uses, and which of several ready cases of a select statement it takes. A step lasts until the next choice. Objects are what goroutines synchronize by, known
// by their addresses. Plain accesses are not logged.

// heisenExploring is the log.
type heisenExploring struct {
	on     bool
	lost   bool    // there was no room
	words  uintptr // room for heisenExploreRoom
	count  int     // words in it
	step   int     // index of the first use of the current step; 0 before the first choice
	told   int     // uses before this index were told to the strategy
	unsure uint64  // reasons why other executions may be possible than those that steps lead to
}

const (
	heisenExploreRoom = 1 << 15 // words
	heisenExploreSent = 1 << 12 // in a message

	// An object that is not in memory.
	heisenNumbersOfG = 1 // the numbers of goroutines, which depend on the order in which they are created
)

func (e *heisenExploring) init() {
	e.on = true
	e.words = uintptr(persistentalloc(heisenExploreRoom*8, 8, &memstats.other_sys))
}

//go:nosplit
func (e *heisenExploring) word(i int) *uint64 {
	return (*uint64)(unsafe.Pointer(e.words + uintptr(i)*8))
}

//go:nosplit
func (e *heisenExploring) add(word uint64) {
	if e.count == heisenExploreRoom-1 { // the last one is for the end
		e.lost = true
		return
	}
	*e.word(e.count) = word
	e.count++
}

// heisenUse notes that the current step uses an object.
//
//go:nosplit
func heisenUse(object, mode uint64) {
	e := &heisenSched.exploring
	if !e.on || e.step == 0 {
		return
	}
	if heisenSched.running == 0 {
		heisenUnsureHere(heisenUnsureMain)
	}
	word := heisenExploreUse | mode<<56 | object
	for i := e.step; i < e.count; i++ {
		if *e.word(i) == word {
			return
		}
	}
	e.add(word)
}

// heisenUseBySync notes a synchronization, if steps are logged. How a WaitGroup is used was noted at the point before.
//
//go:nosplit
func heisenUseBySync(op uint64, object uint64) {
	e := &heisenSched.exploring
	for i := e.step; i < e.count; i++ {
		if w := *e.word(i); w&(1<<56-1) == object && w>>56&15 >= heisenStrategiesModeRaise {
			return
		}
	}
	mode := uint64(heisenStrategiesModeWrite)
	switch op {
	case heisenOpReceive, heisenOpAcquireShared, heisenOpTryAcquireShared, heisenOpReleaseShared:
		mode = heisenStrategiesModeRead
	}
	heisenUse(object, mode)
}

// heisenUnsure notes that code of the program has done something by which other executions may be
// possible. What package testing does for itself does not count. fp leads to the place.
//
//go:nosplit
func heisenUnsure(why uint64, fp uintptr) {
	e := &heisenSched.exploring
	if !e.on || e.unsure&why != 0 || getg() != getg().m.curg {
		return
	}
	pc := heisenCaller(fp)
	if pc == 0 || heisenLayer(pc) != heisenProgram {
		return
	}
	systemstack(func() {
		if why == heisenUnsureRandom && heisenNoChoice(fp) {
			return
		}
		f := findfunc(pc)
		file, _ := funcline(f, pc-1)
		if !stringslite.HasSuffix(file, "_testmain.go") {
			e.unsure |= why
		}
	})
}

// heisenNoChoice reports whether a random number, drawn in a call with the frame pointer fp, decides nothing
// that a program can see: it is the seed of a new map, or decides what a sync.Pool keeps.
func heisenNoChoice(fp uintptr) bool {
	const drawn = "runtime.rand"
	for i := 0; i < 8 && fp != 0; i++ {
		pc := *(*uintptr)(unsafe.Pointer(fp + goarch.PtrSize))
		f := findfunc(pc)
		if !f.valid() {
			return false
		}
		name := funcname(f)
		switch {
		case heisenNameLayer(name) == heisenProgram: // the compiler has inserted the call, to make a map
			return true
		case stringslite.HasPrefix(name, "runtime.makemap"), stringslite.HasPrefix(name, "internal/runtime/maps.New"), stringslite.HasPrefix(name, "internal/runtime/maps.(*Map).Clear"),
			stringslite.HasPrefix(name, "sync.(*Pool)."):
			return true
		case !stringslite.HasPrefix(name, drawn) && !stringslite.HasPrefix(name, "runtime.maps_rand") && !stringslite.HasPrefix(name, "runtime.heisen") && !stringslite.HasPrefix(name, "internal/runtime/maps.rand") && !stringslite.HasPrefix(name, "sync.runtime_rand"):
			return false
		}
		fp = *(*uintptr)(unsafe.Pointer(fp))
	}
	return false
}

// beforeChoice tells the strategy what the last step has used, and logs the tasks.
func (s *heisenScheduler) beforeChoice() {
	e := &s.exploring
	for i := e.told; i < e.count; i++ {
		if w := *e.word(i); w>>60 == heisenExploreUse>>60 {
			s.picker.Uses(w&(1<<56-1), w>>56&15)
		}
	}
	for i := range s.count {
		e.add(heisenExploreEnabled | uint64(s.task(i).ID))
	}
}

// chose logs the task that continues.
func (e *heisenExploring) chose(t *heisenStrategiesTask) {
	e.add(heisenExploreChosen | t.Since<<32 | uint64(t.ID))
	e.step, e.told = e.count, e.count
}

// sendSteps sends the log.
func (s *heisenScheduler) sendSteps() {
	e := &s.exploring
	if !e.on || e.lost {
		return
	}
	left := uint64(0)
	if s.count > 0 {
		left = 1 << 32
	}
	e.add(heisenExploreEnd | left | e.unsure)
	for at := 0; at < e.count; at += heisenExploreSent {
		heisenSend(heisenMsgSteps, 0, 0, unsafe.Pointer(e.word(at)), uintptr(min(e.count-at, heisenExploreSent))*8)
	}
}

// heisenTriesAgain notes that the current goroutine was woken because a Mutex was released. Another one may
// have acquired it since.
func heisenTriesAgain() {
	if h := (*heisenG)(unsafe.Pointer(getg().racectx)); heisenSched.on && h != nil && h.task.on != 0 {
		heisenUse(h.task.on, heisenStrategiesModeWrite)
	}
}

// heisenPointLength is the point before the program reads the length of a channel.
func heisenPointLength(c *hchan) {
	if heisenSched.on && c != nil {
		heisenPointAt(heisenStrategiesSync, unsafe.Pointer(c), 0, 0)
		heisenUse(uint64(uintptr(unsafe.Pointer(c))), heisenStrategiesModeRead)
	}
}

// heisenPointCount is the point before goroutines are counted.
func heisenPointCount() {
	if s := &heisenSched; s.on && heisenLayer(heisenCaller(getcallerfp())) == heisenProgram {
		s.counts = true
		heisenUnsureHere(heisenUnsureCount)
		heisenPoint(nil)
	}
}

// heisenPointEnd is the point before a goroutine ends, in programs that count goroutines.
func heisenPointEnd() {
	if heisenSched.counts {
		heisenPoint(nil)
	}
}

// heisenPointChannel is the point before an operation on a channel.
func heisenPointChannel(c *hchan) {
	heisenPoint(unsafe.Pointer(c))
	if c != nil && heisenSched.exploring.on {
		heisenUseWaiting(c)
	}
}

// heisenUseWaiting notes that an operation on a channel may end select statements that wait for it. Then
// these no longer wait for their other channels, so these are used, too.
func heisenUseWaiting(c *hchan) {
	for _, q := range [...]*waitq{&c.recvq, &c.sendq} {
		for w := q.first; w != nil; w = w.next {
			if !heisenStillWaits(w) || !w.isSelect {
				continue
			}
			for other := w.g.waiting; other != nil; other = other.waitlink {
				heisenUse(uint64(heisenChannelOf(other)), heisenStrategiesModeWrite)
			}
		}
	}
}

// heisenStillWaits reports whether no other case has woken the goroutine of an entry of a channel's queue.
func heisenStillWaits(w *sudog) bool { return !w.isSelect || w.g.selectDone.Load() == 0 }

// heisenPointSelect is the point before a select statement. If the schedule decides which of several
// ready cases is taken, it is decided here. Until the statement is executed, no other goroutine runs.
func heisenPointSelect(first *scase, sends, receives int) {
	heisenPoint(nil)
	s := &heisenSched
	h := (*heisenG)(unsafe.Pointer(getg().racectx))
	if !s.on || h == nil {
		return
	}
	h.task.first, h.task.decided = 0, false
	cases := unsafe.Slice(first, sends+receives)
	if s.exploring.on {
		for _, x := range cases {
			if x.c != nil {
				heisenUse(uint64(uintptr(unsafe.Pointer(x.c))), heisenStrategiesModeWrite)
				heisenUseWaiting(x.c)
			}
		}
	}
	if h.id == s.running && s.picker.Decides() {
		s.decide(h, cases, sends)
	}
}

// heisenSelectDecided is the largest number of cases of a select statement that a schedule decides.
const heisenSelectDecided = 64

// decide decides which of the ready cases h takes.
func (s *heisenScheduler) decide(h *heisenG, cases []scase, sends int) {
	if len(cases) > heisenSelectDecided || s.decidedAt == s.picker.Steps() {
		return
	}
	s.decidedAt = s.picker.Steps()
	ready, twice := uint32(0), false
	for i := range cases {
		c := cases[i].c
		if c == nil {
			continue
		}
		if c.timer != nil {
			return
		}
		for k := range i {
			twice = twice || cases[k].c == c
		}
		if heisenReady(c, i < sends) {
			ready++
		}
	}
	// A goroutine that waits for a channel in two cases is served in the one in which it was queued first.
	h.task.decided = ready > 0 || !twice
	if ready < 2 {
		return
	}
	taken, ok := s.picker.Case(ready)
	if h.task.decided = ok; !ok {
		return
	}
	if s.exploring.on {
		s.exploring.add(heisenExploreCase | uint64(ready)<<32 | uint64(taken))
	}
	for i := range cases {
		if c := cases[i].c; c != nil {
			h.task.first++
			if heisenReady(c, i < sends) {
				if taken == 0 {
					return
				}
				taken--
			}
		}
	}
}

// heisenReady reports whether a select statement can send to a channel, or receive from it, at once.
func heisenReady(c *hchan, send bool) bool {
	if c.closed != 0 {
		return true
	}
	waiting := c.sendq.first
	if send {
		waiting = c.recvq.first
	}
	for ; waiting != nil; waiting = waiting.next {
		if heisenStillWaits(waiting) {
			return true
		}
	}
	if send {
		return c.qcount < c.dataqsiz
	}
	return c.qcount > 0
}

// heisenUnsureHere is heisenUnsure for the caller.
//
//go:nosplit
//go:noinline
func heisenUnsureHere(why uint64) { heisenUnsure(why, getcallerfp()) }
