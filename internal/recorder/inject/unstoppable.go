//go:build heisen_inject

package runtime

import (
	"internal/goarch"
	"unsafe"
)

// Goroutines that nothing can stop any more. Such a goroutine waits for a timer again and again, in a loop. In each
// round it also looks whether it should stop: at other channels, in the select statement in which it waits or without
// waiting, or at the error of a context. Nothing else leads to any of these. So it goes on for as long as the program does, or
// ends by itself.
//
// These are candidates: goroutines that have waited for a timer at one place a number of times, and wait there, or for another
// timer. What a candidate looks at is searched for as leaks.go does, and what may run is assumed as generously. A candidate
// is dropped if something reaches anything that it looks at, except for other candidates that look at the same. These do not
// stop each other: each waits to be stopped.
//
// The search runs on the system stack, while no goroutine runs. The functions that follow a goroutine run on it.

const (
	heisenRounds     = 10 // in which a goroutine has waited for a timer, before it is a candidate
	heisenSteps      = 8  // places at which a goroutine may wait for timers in one round
	heisenMaxLooked  = 4  // things that it looks at without waiting in one round
	heisenMaxGoingOn = 64 // candidates of a search
)

// heisenRoundsOf follows the loop of a goroutine that waits for timers.
type heisenRoundsOf struct {
	place  uint32 // text offset of a place in the loop
	count  uint32 // how often it has waited there, and a timer has woken it
	others uint32 // waits at other places since
	last   uint32 // where it has waited last
	again  bool   // it has looked at something then, and seems to wait again
	now    heisenLooked
	before heisenLooked // what it has looked at before its last wait
	goesOn bool         // it is a candidate, or one that was found
}

// heisenLooked is what a goroutine has looked at without waiting.
type heisenLooked struct {
	n  uint32 // more than heisenMaxLooked if it was more than at has
	at [heisenMaxLooked]uintptr
}

func (l *heisenLooked) add(p uintptr) {
	for i := range min(l.n, heisenMaxLooked) {
		if l.at[i] == p {
			return
		}
	}
	if l.n < heisenMaxLooked {
		l.at[l.n] = p
	}
	l.n = min(l.n, heisenMaxLooked) + 1
}

// heisenFollowsRounds returns the state of the current goroutine if those that wait for timers are followed, else nil.
//
//go:nosplit
func heisenFollowsRounds() *heisenG {
	if !heisenSched.on && !heisen.leaks {
		return nil
	}
	return (*heisenG)(unsafe.Pointer(getg().racectx))
}

// awaits is called before a goroutine waits for a timer at a place. looks says that it also waits for something else, and ticks
// that the timer is a Ticker.
func (r *heisenRoundsOf) awaits(place uint32, looks, ticks bool) {
	r.before, r.now = r.now, heisenLooked{}
	r.again = (looks || r.before.n > 0) && (ticks || r.count > 0)
	r.last = place
	if place == r.place {
		r.others = 0
	} else if r.others++; r.others > heisenSteps || r.place == 0 {
		r.place, r.count, r.others = place, 0, 0
	}
}

// woken is called when a timer wakes the goroutine, or will wake it.
func (r *heisenRoundsOf) woken() {
	if r.last == r.place {
		r.count++
	}
}

// heisenBeforeSleep is called before the current goroutine sleeps.
func heisenBeforeSleep() {
	if h := heisenFollowsRounds(); h != nil {
		h.task.rounds.awaits(uint32(heisenPC(heisenCaller(getcallerfp()))), false, false)
		h.task.rounds.woken()
	}
}

// heisenReceives is called before the current goroutine receives from a channel, if it is ready or block is set.
func heisenReceives(c *hchan, block bool) {
	h := heisenFollowsRounds()
	switch {
	case h == nil || c == nil:
		return
	case !block:
		h.task.rounds.looks(c)
	case heisenSendsTime(c):
		h.task.rounds.awaits(uint32(heisenPC(heisenCaller(getcallerfp()))), false, heisenTicks(c))
		h.task.rounds.woken()
	}
	h.task.uses.add(c, heisenUseReceives)
}

// looks is called before a goroutine looks whether it can receive from a channel.
func (r *heisenRoundsOf) looks(c *hchan) {
	if !heisenSendsTime(c) {
		r.now.add(uintptr(unsafe.Pointer(c)))
	}
}

// race_Looks is called where the current goroutine looks at the error of a context.
//
//go:linkname race_Looks internal/race.Looks
func race_Looks(context unsafe.Pointer) {
	if h := heisenFollowsRounds(); h != nil {
		h.task.rounds.now.add(uintptr(context))
	}
}

// heisenSelects is called before a select statement.
func heisenSelects(cas0 *scase, sends, receives int, block bool) {
	h := heisenFollowsRounds()
	if h == nil {
		return
	}
	timed, ticks, looks := false, false, false
	cases := (*[1 << 16]scase)(unsafe.Pointer(cas0))[:sends+receives]
	for i := range cases {
		way := uintptr(heisenUseReceives)
		if i < sends {
			way = heisenUseSends
		}
		h.task.uses.add(cases[i].c, way)
		switch c := cases[i].c; {
		case c == nil || i < sends:
		case !block:
			h.task.rounds.looks(c)
		case heisenSendsTime(c):
			timed, ticks = true, ticks || heisenTicks(c)
		default:
			looks = true
		}
	}
	if timed {
		h.task.rounds.awaits(uint32(heisenPC(heisenCaller(getcallerfp()))), looks, ticks)
	}
}

// heisenSelectWoken is called when the current goroutine has chosen a case of a select statement that waits.
func heisenSelectWoken(cas0 *scase, index, sends int) {
	if index < sends {
		return
	}
	c := (*[1 << 16]scase)(unsafe.Pointer(cas0))[index].c
	if h := heisenFollowsRounds(); h != nil && c != nil && heisenSendsTime(c) {
		h.task.rounds.woken()
	}
}

// heisenSendsTime reports whether a channel is one of a Timer or Ticker of package time.
func heisenSendsTime(c *hchan) bool {
	return c.timer != nil || c.dataqsiz == 1 && c.elemtype != nil && toRType(c.elemtype).string() == "time.Time"
}

// heisenTicks reports whether a channel is that of a Ticker. With Go before 1.23 in go.mod it does not know.
func heisenTicks(c *hchan) bool { return c.timer != nil && c.timer.period > 0 }

// heisenFindUnstoppable marks the goroutines that nothing can stop any more. It is called after heisenFindLeaks. self and
// returned are as there. It reports whether it could search and there may be some.
func heisenFindUnstoppable(self *g, returned bool) (found bool) {
	n := 0
	forEachGRace(func(gp *g) {
		if h := (*heisenG)(unsafe.Pointer(gp.racectx)); h != nil {
			r := &h.task.rounds
			r.goesOn = gp != self && r.count >= heisenRounds && n < heisenMaxGoingOn && heisenAwaitsTimer(gp, h)
			if r.goesOn {
				n++
			}
		}
	})
	if n == 0 {
		return false
	}
	w := heisenBeginSearch(self)
	if w.marks == 0 {
		heisenLookFailed = true
		return false
	}
	w.reach(returned, heisenGoesOn, heisenIsStranded, w.mayStop)
	forEachGRace(func(gp *g) {
		if heisenGoesOn(gp) && !w.failed {
			w.alone(gp)
		}
	})
	w.end()
	heisenLookFailed = heisenLookFailed || w.failed
	return !w.failed
}

// heisenGoesOn reports whether gp is a candidate that was not dropped.
func heisenGoesOn(gp *g) bool {
	h := (*heisenG)(unsafe.Pointer(gp.racectx))
	return h != nil && h.task.rounds.goesOn
}

// heisenAwaitsTimer reports whether a goroutine of the program waits and is not stranded, in a way in which goroutines wait for timers.
func heisenAwaitsTimer(gp *g, h *heisenG) bool {
	if !heisenWaiting(gp) || heisenIsStranded(gp) || gp.bubble != nil || gp.goid == 1 || !heisenInProgram(gp, h) || isSystemGoroutine(gp, false) {
		return false
	}
	h.task.queued = 0
	switch gp.waitreason {
	case waitReasonSleep:
		return true
	case waitReasonChanReceive, waitReasonSelect:
		return gp.waiting != nil
	}
	return false
}

// stops calls f for all that a candidate looks at. It reports whether there is something, all of it is known, and a timer will wake the
// candidate.
func (w *heisenLeakSearch) stops(gp *g, f func(p uintptr)) (all bool) {
	wakes := gp.waitreason == waitReasonSleep
	some := false
	for sg := gp.waiting; sg != nil; sg = sg.waitlink {
		switch c := heisenChannelOf(sg); {
		case c != 0 && w.fires(c):
			wakes = true
		default:
			some = true
			f(c)
		}
	}
	looked := &(*heisenG)(unsafe.Pointer(gp.racectx)).task.rounds.before
	for i := range min(looked.n, heisenMaxLooked) {
		some = true
		f(looked.at[i])
	}
	return wakes && some && looked.n <= heisenMaxLooked
}

// fires reports whether a timer will send to a channel.
func (w *heisenLeakSearch) fires(c uintptr) bool {
	if !w.inHeap(c) {
		return false
	}
	at, bit := w.bit(c + 2*goarch.PtrSize)
	return *at&bit != 0
}

// mayStop reports whether a candidate is dropped, because something that it looks at was reached, or it is none.
func (w *heisenLeakSearch) mayStop(gp *g) bool {
	h := (*heisenG)(unsafe.Pointer(gp.racectx))
	reached := h.task.queued < heisenNumQueues(gp)
	all := w.stops(gp, func(p uintptr) { reached = reached || w.reached(p) })
	h.task.rounds.goesOn = all && !reached
	return !h.task.rounds.goesOn
}

// alone marks what gp leads to, and nothing else, for as long as it drops candidates: gp, if it no longer leads to what it has
// looked at, whose memory may have another use by now; and others that gp could stop, because it leads to what they look at, and
// does not look at that itself.
func (w *heisenLeakSearch) alone(gp *g) {
	w.n, w.listing = 0, true
	w.goroutine(gp)
	for i := uintptr(0); i < w.n && !w.failed; i++ {
		if base := w.listed(i); !spanOf(base).spanclass.noscan() {
			w.words(base, spanOf(base).elemsize)
		}
	}
	leads := true
	w.stops(gp, func(p uintptr) { leads = leads && w.reached(p) })
	forEachGRace(func(other *g) {
		if other == gp || !heisenGoesOn(other) {
			return
		}
		w.stops(other, func(p uintptr) {
			if w.reached(p) && !w.looksAt(gp, p) {
				(*heisenG)(unsafe.Pointer(other.racectx)).task.rounds.goesOn = false
			}
		})
	})
	(*heisenG)(unsafe.Pointer(gp.racectx)).task.rounds.goesOn = leads
	for i := range w.n {
		at, bit := w.bit(w.listed(i))
		*at &^= bit
	}
	w.n, w.listing = 0, false
}

// listed returns the object with a number among those that are to be scanned.
func (w *heisenLeakSearch) listed(i uintptr) uintptr {
	return *(*uintptr)(unsafe.Pointer(w.pending + i*goarch.PtrSize))
}

// heisenPutStops stores what an unstoppable goroutine looks at, as far as there is room, and returns how many that are.
func heisenPutStops(gp *g, h *heisenG, words []uint64) (n uint64) {
	put := func(p uintptr) {
		if n < uint64(len(words)) {
			words[n] = uint64(p)
			n++
		}
	}
	for sg := gp.waiting; sg != nil; sg = sg.waitlink {
		if c := (*hchan)(unsafe.Pointer(heisenChannelOf(sg))); c != nil && !heisenSendsTime(c) {
			put(uintptr(unsafe.Pointer(c)))
		}
	}
	looked := &h.task.rounds.before
	for i := range min(looked.n, heisenMaxLooked) {
		put(looked.at[i])
	}
	return n
}

// looksAt reports whether a candidate looks at what is at p.
func (w *heisenLeakSearch) looksAt(gp *g, p uintptr) (looks bool) {
	w.stops(gp, func(own uintptr) { looks = looks || own == p })
	return looks
}

// heisenInRounds reports whether a goroutine that seems to wait for timers again and again is in the middle of a round, and
// whether one has not made enough rounds yet to be found.
func heisenInRounds() (within, few bool) {
	forEachGRace(func(gp *g) {
		h := (*heisenG)(unsafe.Pointer(gp.racectx))
		switch {
		case h == nil || !h.task.rounds.again:
		case !heisenWaiting(gp):
			within = true
		case h.task.rounds.count < heisenRounds:
			few = few || heisenAwaitsTimer(gp, h)
		}
	})
	return within, few
}
