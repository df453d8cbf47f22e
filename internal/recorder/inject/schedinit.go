//go:build heisen_inject

package runtime

import (
	"internal/abi"
	"internal/runtime/sys"
	"unsafe"
)

// This file prepares deterministic runs. It runs during initialization, before main starts, except
// heisenMget, which runs in the scheduler.

// heisenInitSched reads how to schedule, and begins. It reports whether it could.
func heisenInitSched() bool {
	m, ok := heisenReceive()
	if !ok {
		return false
	}
	s := &heisenSched
	s.follow(&m)
	if heisenPrologue.forks {
		heisenForksLater()
	}
	s.running = heisenStrategiesNoTask
	heisenInitHooks()
	s.tries = heisenTriesLocks()

	heisenUseOneP()

	// Timers fire in a context that has a number, as goroutines have. It gets the number now.
	// Otherwise it would get it when the first timer fires, and the numbers of goroutines would
	// depend on whether they are created before or after that.
	if ts := &getg().m.p.ptr().timers; ts.raceCtx == 0 {
		ts.raceCtx = racectxstart(abi.FuncPCABIInternal((*timers).run)+sys.PCQuantum, 0)
	}

	s.clock = heisenClockStart
	s.on = true
	heisenSeedHashes(func() uint64 { return s.picker.Random() })
	return true
}

// follow reads a schedule, and begins to follow it: at the start, or at the end of a prologue.
func (s *heisenScheduler) follow(m *heisenMessage) {
	var c heisenStrategiesConfig
	c.Strategy, s.procs, s.spin = heisenStrategiesStrategy(m.next()), int32(m.next()), m.next()
	flags := m.next()
	s.logging, c.ByDefault, s.placing, s.ending.wanted = flags&heisenSchedLog != 0, flags&heisenSchedByDefault != 0, flags&heisenSchedNumber != 0, flags&heisenSchedToEnd != 0
	c.Seed, s.maxSteps, s.maxClock, s.wallStart = m.next64(), m.next64(), heisenClockStart+int64(m.next64()), int64(m.next64())
	s.maxTime = 0
	if bound := int64(m.next64()); bound > 0 {
		s.maxTime = nanotime1() + bound
	}
	c.PostponeLimit, c.WaitLimit, c.Depth, c.Steps, c.Variation = m.next64(), m.next64(), m.next64(), m.next64(), m.next64()
	c.Branch, c.BranchSeed = m.next64(), m.next64()
	heisenReadLists(m, &c)
	if s.on {
		c.Turns = s.turnsLeft(c.Turns)
	}
	if flags&heisenSchedExplore != 0 {
		s.exploring.init()
	}
	s.measures.init(m, flags&heisenSchedStill != 0)
	s.slow, s.values.wanted = flags&heisenSchedSlow != 0, flags&heisenSchedValues != 0
	heisenPrologue.wanted, heisenPrologue.forks, heisenPrologue.atMain = flags&heisenSchedPrologue != 0, flags&heisenSchedForks != 0, flags&heisenSchedAtMain != 0
	if s.logging {
		c.Log = heisenChoices(heisenLogged)
	}
	s.locations.read(m)
	s.picker.Start(&c)
}

// heisenReadLists reads what a strategy is to follow.
func heisenReadLists(m *heisenMessage, c *heisenStrategiesConfig) {
	if n := m.next(); n > 0 {
		c.Choices = heisenChoices(uintptr(n))
		for i := range c.Choices {
			c.Choices[i].Step, c.Choices[i].ID, c.Choices[i].Case = m.next64(), m.next(), m.next()
		}
	}
	if n := m.next(); n > 0 {
		c.Turns = heisenStrategiesTurns(uintptr(n))
		for i := range c.Turns {
			c.Turns[i].ID, c.Turns[i].Until = m.next(), m.next64()
		}
	}
	if n := m.next(); n > 0 {
		c.Sleepers = heisenSleepers(uintptr(n))
		for i := range c.Sleepers {
			c.Sleepers[i].ID, c.Sleepers[i].Mode, c.Sleepers[i].Object = m.next(), m.next64(), m.next64()
		}
	}
}

// heisenUseOneP prepares the runtime for a run in which one goroutine runs at a time.
func heisenUseOneP() {
	lock(&sched.lock)
	sched.customGOMAXPROCS = true
	unlock(&sched.lock)
	stw := stopTheWorldGC(stwGOMAXPROCS)
	newprocs = 1
	startTheWorldGC(stw)
	// Threads are allocated from the program's heap, at times that depend on how soon other threads
	// go to sleep. So some sleeping ones exist from the start.
	if GOOS == "linux" {
		for range heisenSpareThreads {
			systemstack(heisenPrepareThread)
		}
	} else {
		for range heisenSpareThreads {
			systemstack(func() { newm(heisenSpareThread, nil, -1) })
		}
		for range heisenSpareWait {
			lock(&sched.lock)
			asleep := sched.nmidle
			unlock(&sched.lock)
			if asleep >= heisenSpareThreads {
				break
			}
			usleep(100)
		}
	}
	// The collector works while the world is stopped, and time never starts it. Its worker exists
	// from the start.
	gcBgMarkStartWorkers()
	debug.gcstoptheworld = 2
	forcegcperiod = 1 << 62
	randomizeScheduler = false
}

const (
	heisenSpareThreads = 8
	heisenSpareWait    = 10_000 // times 100 µs, at most
	heisenWakeWait     = 100    // likewise, once all are in use
)

// heisenSpareThread runs in a thread that sleeps until it is needed.
func heisenSpareThread() {
	stopm()
	schedule()
}

// heisenPrepared are threads that the operating system does not know yet: most executions of a short test need none of them.
// They count as sleeping. sched.lock guards the list.
var heisenPrepared struct {
	first muintptr
	n     int32
}

// heisenPrepareThread does all that newm does but to start the thread. It runs on the system stack.
func heisenPrepareThread() {
	acquirem()
	mp := allocm(nil, mPark, -1)
	mp.sigmask = initSigmask
	lock(&sched.lock)
	mp.schedlink = heisenPrepared.first
	heisenPrepared.first.set(mp)
	heisenPrepared.n++
	sched.nmidle++
	unlock(&sched.lock)
	releasem(getg().m)
}

// heisenTakePrepared returns a thread that was prepared, and no longer counts as sleeping; nil if there is none. sched.lock is
// held.
//
//go:nowritebarrierrec
func heisenTakePrepared() *m {
	mp := heisenPrepared.first.ptr()
	if mp != nil {
		heisenPrepared.first = mp.schedlink
		mp.schedlink = 0
		heisenPrepared.n--
		sched.nmidle--
	}
	return mp
}

// heisenStartPrepared starts a thread that was prepared, as newm does. It sleeps until it gets a P.
//
//go:nowritebarrierrec
func heisenStartPrepared(mp *m) {
	if gp := getg(); gp.m.lockedExt == 0 && !gp.m.incgo {
		newm1(mp)
		return
	}
	lock(&newmHandoff.lock)
	if newmHandoff.haveTemplateThread == 0 {
		throw("heisen: a locked thread and no template thread")
	}
	mp.schedlink = newmHandoff.newm
	newmHandoff.newm.set(mp)
	if newmHandoff.waiting {
		newmHandoff.waiting = false
		notewakeup(&newmHandoff.wake)
	}
	unlock(&newmHandoff.lock)
}

// heisenStartAllPrepared starts all threads that were prepared: each is about to be asked for something.
func heisenStartAllPrepared() {
	systemstack(func() {
		for {
			lock(&sched.lock)
			mp := heisenTakePrepared()
			if mp != nil {
				mput(mp)
			}
			unlock(&sched.lock)
			if mp == nil {
				return
			}
			heisenStartPrepared(mp)
		}
	})
}

// heisenThreads returns the number of threads that the operating system knows.
func heisenThreads() int32 { return mcount() - heisenPrepared.n }

// heisenMget takes the place of mget where a new thread would be started if none sleeps: one may be
// about to sleep. sched.lock is held.
//
//go:nowritebarrierrec
func heisenMget() *m {
	mp := mget()
	if mp != nil && !(heisenPrologue.forked && mp.procid == 0) {
		return mp
	}
	if mp == nil {
		mp = heisenTakePrepared()
	}
	if mp != nil { // it has no thread
		unlock(&sched.lock)
		heisenStartPrepared(mp)
		lock(&sched.lock)
		return mp
	}
	if heisenSched.on {
		for i := 0; mp == nil && i < heisenWakeWait; i++ {
			unlock(&sched.lock)
			usleep(100)
			lock(&sched.lock)
			mp = mget()
		}
	}
	return mp
}

// heisenLogged is the number of choices in a message.
const heisenLogged = 1 << 10

func heisenChoices(n uintptr) []heisenStrategiesChoice {
	p := persistentalloc(n*unsafe.Sizeof(heisenStrategiesChoice{}), 8, &memstats.other_sys)
	return unsafe.Slice((*heisenStrategiesChoice)(p), n)
}

func heisenSleepers(n uintptr) []heisenStrategiesSleeper {
	p := persistentalloc(n*unsafe.Sizeof(heisenStrategiesSleeper{}), 8, &memstats.other_sys)
	return unsafe.Slice((*heisenStrategiesSleeper)(p), n)
}

func heisenStrategiesTurns(n uintptr) []heisenStrategiesTurn {
	p := persistentalloc(n*unsafe.Sizeof(heisenStrategiesTurn{}), 8, &memstats.other_sys)
	return unsafe.Slice((*heisenStrategiesTurn)(p), n)
}
