//go:build heisen_inject

package runtime

import "unsafe"

// A deterministic run may have a prologue: everything before the first test, example or fuzz test of a test binary, or before
// main.main of a program. It has a schedule of its own. Where it is over, the schedule of the rest is received, which begins
// with step 0. So two runs with the same prologue are in the same state there, and a process that waits there can be forked for
// each of them (fork_linux.go).

// heisenPrologue is the state of a prologue, or of a run without one.
var heisenPrologue struct {
	wanted bool // it is not over
	atMain bool // it ends where main.main begins
	forks  bool // this process is to be forked at its end, and does not go on itself
	forked bool // this process was forked there
	calls  bool // it has made a system call that may change something besides memory
}

// race_PrologueEnds is called by the goroutine of a test or example before it.
//
//go:linkname race_PrologueEnds internal/race.PrologueEnds
func race_PrologueEnds() { heisenPrologueEnds(false) }

// heisenMain is called with main.main before it, and returns it.
func heisenMain(main func()) func() {
	heisenPrologueEnds(true)
	return main
}

// heisenPrologueEnds is called where a prologue may end, on a goroutine.
func heisenPrologueEnds(atMain bool) {
	p := &heisenPrologue
	if !p.wanted || p.atMain != atMain || !heisen.open {
		return
	}
	p.wanted = false
	why := ""
	if p.forks {
		why = heisenWhyNotFork()
	}
	systemstack(func() {
		heisenFlushAll(heisenForever)
		heisenSendText(heisenMsgPrologue, why)
		if p.forks {
			heisenFork(why == "")
		}
	})
	if !heisen.open {
		return
	}
	m, ok := heisenReceive()
	if !ok {
		heisenLost()
		return
	}
	systemstack(func() { heisenSched.restart(&m) })
	if !heisenStartSender() {
		throw("heisen: no memory for messages")
	}
}

// restart begins to follow the schedule after a prologue.
func (s *heisenScheduler) restart(m *heisenMessage) {
	s.follow(m)
	for i := range s.count {
		s.task(i).Since = 0
	}
	for h := heisen.allG; h != nil; h = h.link {
		h.task.ranAt = 0
	}
	s.decidedAt, s.turn, s.outside.pacedReal = 0, 0, 0
}

// turnsLeft returns those of some turns that are not over in the prologue. It overwrites them.
func (s *heisenScheduler) turnsLeft(turns []heisenStrategiesTurn) (left []heisenStrategiesTurn) {
	left = turns[:0]
	for _, t := range turns {
		if !s.isOver(t) {
			left = append(left, t)
		}
	}
	return left
}

// isOver reports whether the task of a turn has arrived at its end, blocks in the operation before, or has ended.
func (s *heisenScheduler) isOver(t heisenStrategiesTurn) bool {
	for h := heisen.allG; h != nil; h = h.link {
		if h.id == t.ID {
			return h.task.at >= t.Until || h.task.at+1 >= t.Until && h != (*heisenG)(unsafe.Pointer(getg().m.curg.racectx))
		}
	}
	return t.ID < heisen.ids
}

// race_SystemCall is called before a system call that package syscall makes, with its first three arguments.
//
//go:linkname race_SystemCall internal/race.SystemCall
//go:nosplit
func race_SystemCall(trap, a1, a2, a3 uintptr) {
	heisenBeforeCall(trap, a1)
	if p := &heisenPrologue; p.forks && p.wanted && !p.calls && !heisenOnlyLooks(trap, a1, a2, a3) {
		p.calls = true
	}
}
