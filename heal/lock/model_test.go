package lock

import "slices"

// The model is what the documentation of the package says, written down plainly: threads with calls, reasons in
// maps, one queue. Its operations are atomic.

type modelOp struct {
	kind string // acquire, degrade, hold, unhold, release, call, return, pause, resume
	lock int
	mode Mode
	n    int // site or hold
}

type modelCall struct {
	lock   int
	mode   Mode // for the latest access
	site   int
	holds  map[int]Mode
	paused Mode // in which its lock was held when it was paused
}

type modelThread struct {
	ops   []modelOp
	next  int
	calls []modelCall

	blocked  bool
	wants    map[int]Mode // the mode of each lock that it waits for
	lost     map[int]bool // locks that were taken away while it was paused
	gaveAway map[int]bool // locks that it gave up while it waits for a stronger mode
	kept     bool         // what its last operation reported
	resuming bool         // its pauses are not over
	then     bool         // it is to acquire a lock after that
}

type model struct {
	threads []*modelThread
	queue   []int
}

func newModel(programs [][]modelOp) *model {
	m := &model{}
	for _, ops := range programs {
		m.threads = append(m.threads, &modelThread{
			ops: ops, calls: []modelCall{newCall()}, lost: map[int]bool{}, gaveAway: map[int]bool{},
		})
	}
	return m
}

func newCall() modelCall { return modelCall{lock: -1, holds: map[int]Mode{}} }

func (c modelCall) strongest() Mode {
	mode := c.mode
	for _, m := range c.holds {
		mode = max(mode, m)
	}
	return mode
}

// should returns the mode in which the reasons of a thread want a lock.
func (t *modelThread) should(lock int) (mode Mode) {
	for _, c := range t.calls {
		if c.lock == lock {
			mode = max(mode, c.strongest())
		}
	}
	return mode
}

// paused returns the mode in which a thread held a lock that it has paused.
func (t *modelThread) paused(lock int) (mode Mode) {
	for _, c := range t.calls {
		if c.lock == lock {
			mode = max(mode, c.paused)
		}
	}
	return mode
}

// has returns the mode in which a thread has a lock.
func (t *modelThread) has(lock int) Mode {
	if t.lost[lock] || t.gaveAway[lock] {
		return Free
	}
	if mode := t.paused(lock); mode > Free {
		return mode
	}
	return t.should(lock)
}

// enabled reports whether a thread can begin its next operation.
func (m *model) enabled(i int) bool {
	return !m.threads[i].blocked && m.threads[i].next < len(m.threads[i].ops)
}

// begin begins the next operation of a thread. It may block; others may go on because of it.
func (m *model) begin(i int) {
	t := m.threads[i]
	t.kept, t.wants = true, map[int]Mode{}
	op := t.ops[t.next]
	c := &t.calls[len(t.calls)-1]
	switch op.kind {
	case "acquire", "hold":
		m.resume(t)
		t.then = true
	case "degrade":
		if c.site == op.n && op.mode < c.mode {
			c.mode = op.mode
			m.resume(t)
		}
	case "unhold":
		if _, ok := c.holds[op.n]; ok {
			delete(c.holds, op.n)
			m.resume(t)
		}
	case "release", "return":
		c.mode, c.holds = Free, map[int]Mode{}
		if c.paused > Free {
			c.paused = Free
			delete(t.lost, c.lock)
		}
		if op.kind == "return" {
			t.calls = t.calls[:len(t.calls)-1]
		}
	case "call":
		t.calls = append(t.calls, newCall())
	case "pause":
		for j := range t.calls {
			at := &t.calls[j]
			outer := slices.ContainsFunc(t.calls[:j], func(c modelCall) bool { return c.lock == at.lock && c.strongest() > Free })
			if at.lock >= 0 && !outer && t.should(at.lock) > Free {
				at.paused = t.should(at.lock)
			}
		}
	case "resume":
		m.resume(t)
	}
	t.blocked = true
	if !m.tryFinish(i) {
		m.queue = append(m.queue, i)
	}
	m.settle()
}

// resume begins to end all pauses of a thread.
func (m *model) resume(t *modelThread) { t.resuming = true }

// resumed ends the pauses of a thread, if it can get what it lost. Until it has all of it, others can take it away.
func (m *model) resumed(i int) bool {
	t := m.threads[i]
	for again := t.resuming; again; {
		again = false
		for j := range t.calls {
			c := &t.calls[j]
			if c.paused == Free || !t.lost[c.lock] {
				continue
			}
			t.kept = false
			need := t.should(c.lock)
			t.wants[c.lock] = need
			if need > Free && !m.get(i, c.lock, need) {
				return false
			}
			delete(t.wants, c.lock)
			delete(t.lost, c.lock)
			c.paused, again = need, true
			break
		}
	}
	for j := range t.calls {
		if t.resuming {
			t.calls[j].paused = Free
		}
	}
	t.resuming = false
	return true
}

// settle lets all go on who can.
func (m *model) settle() {
	for again := true; again; {
		again = false
		for _, i := range slices.Clone(m.queue) {
			if m.tryFinish(i) {
				m.queue = slices.DeleteFunc(m.queue, func(j int) bool { return j == i })
				again = true
				break
			}
		}
	}
}

// tryFinish finishes the operation of a blocked thread, if it can get the locks that it wants.
func (m *model) tryFinish(i int) bool {
	t := m.threads[i]
	if !m.resumed(i) {
		return false
	}
	op := t.ops[t.next]
	c := &t.calls[len(t.calls)-1]
	if t.then {
		t.then = false
		if c.lock != op.lock {
			t.kept = t.kept && c.strongest() == Free
			*c = newCall()
			c.lock = op.lock
		}
		t.wants[op.lock] = op.mode
	}
	for lock, mode := range t.wants { // of one lock
		if !m.get(i, lock, mode) {
			return false
		}
	}
	switch op.kind {
	case "acquire":
		c.mode, c.site = max(c.mode, op.mode), op.n
	case "hold":
		c.holds[op.n] = max(c.holds[op.n], op.mode)
	}
	t.blocked = false
	t.next++
	return true
}

// get gives a thread a lock, if it can. It may take it away from those who paused, and make holders give way.
func (m *model) get(i, lock int, mode Mode) bool {
	t := m.threads[i]
	var paused []*modelThread
	if mode > t.has(lock) {
		for j, other := range m.threads {
			switch held := other.has(lock); {
			case j == i || held == Free:
			case other.paused(lock) > Free:
				paused = append(paused, other)
			case excludes(mode, held):
				return m.giveWay(i, lock, mode) && m.get(i, lock, mode)
			}
		}
		if slices.ContainsFunc(paused, func(p *modelThread) bool { return excludes(mode, p.has(lock)) }) {
			for _, p := range paused {
				p.lost[lock] = true
			}
		}
	}
	delete(t.wants, lock)
	delete(t.lost, lock)
	delete(t.gaveAway, lock)
	// Until the reasons are changed, a thread has what its calls say; an operation ends at once otherwise.
	return true
}

// giveWay breaks cycles of threads that hold a lock and want it in a stronger mode, and reports whether one has
// given it up.
func (m *model) giveWay(i, lock int, mode Mode) (gave bool) {
	t := m.threads[i]
	for _, j := range m.queue {
		other := m.threads[j]
		wants, waits := other.wants[lock]
		if j == i || !waits || wants <= other.has(lock) {
			continue
		}
		loser := other
		switch {
		case t.has(lock) == Shared && other.has(lock) > Free && wants == Exclusive:
			loser = t
		case other.has(lock) == Shared && t.has(lock) > Free && mode == Exclusive:
		default:
			continue
		}
		loser.gaveAway[lock], loser.kept = true, false
		gave = true
	}
	return gave
}

func excludes(wanted, held Mode) bool {
	return wanted == Exclusive || held == Exclusive || wanted == Update && held == Update
}
