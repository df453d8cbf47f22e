package strategies

// The directed strategies keep the state of a task in OpState. A race-directed task is postponed when it
// is chosen at a place of the pair, as in Algorithm 1 of the RaceFuzzer paper. For other strategies it is
// postponed as soon as it arrives where it may be.
const (
	fresh     = iota // arrived since the last choice
	postponed        // not chosen
	free             // not postponed, or released; it still takes part in races
	urgent           // continues before all other tasks
)

// scanned is the result of one pass over the tasks.
type scanned struct {
	urgent int    // index of the first urgent task, or -1
	from   int    // index of the first fresh task
	fresh  int    // number of fresh tasks
	others uint64 // number of tasks that are not postponed
}

// scan looks at all tasks. It also releases each task that was postponed for too long, because
// others may be spinning until it continues.
func (s *Scheduler) scan(tasks []Task) (g scanned) {
	g.urgent = -1
	expired := false
	for i := range tasks {
		t := &tasks[i]
		switch t.OpState {
		case fresh:
			if g.fresh == 0 {
				g.from = i
			}
			g.fresh++
		case postponed:
			if s.steps-t.Since <= s.postponeLimit {
				continue
			}
			t.OpState = free
			expired = true
		case urgent:
			if g.urgent < 0 {
				g.urgent = i
			}
		}
		g.others++
	}
	if expired {
		s.halvePostponeLimit()
	}
	return g
}

// postpone postpones the task.
func (g *scanned) postpone(t *Task) {
	t.OpState = postponed
	g.others--
}

// chooseFree returns a random task that is not postponed, or the default one; see Config.ByDefault.
// If all tasks are postponed, it releases one.
func (s *Scheduler) chooseFree(tasks []Task, g scanned) int {
	if g.others == 0 {
		return s.releaseAny(tasks)
	}
	if s.config.ByDefault {
		return s.defaultFree(tasks)
	}
	n := s.choices.below(g.others)
	for i := range tasks {
		if tasks[i].OpState == postponed {
			continue
		}
		if n == 0 {
			return i
		}
		n--
	}
	return 0 // not reached
}

// defaultFree returns the default choice among the tasks that are not postponed. There is at least
// one.
func (s *Scheduler) defaultFree(tasks []Task) int {
	best := -1
	for i := range tasks {
		t := &tasks[i]
		switch {
		case t.OpState == postponed:
		case t.ID == s.last && t.Kind != Yield && s.inRow < MaxInRow:
			return i
		case best < 0 || t.Since < tasks[best].Since || t.Since == tasks[best].Since && t.ID < tasks[best].ID:
			best = i
		}
	}
	return best
}

// releaseAny is called when all tasks are postponed. It lets time pass if other tasks wait for a
// timer, as if the postponed tasks were slow. Otherwise it returns a random task.
func (s *Scheduler) releaseAny(tasks []Task) int {
	if s.mayWait() {
		return Wait
	}
	return s.randomWalk(tasks)
}

// mayWait reports whether time may pass until a timer makes another task runnable.
func (s *Scheduler) mayWait() bool {
	if s.Timer == 0 || s.Timer > s.waitLimit || s.waited > s.waitLimit-s.Timer {
		if s.waited > 0 { // the wait was in vain
			s.waited, s.waitLimit = 0, max(s.waitLimit/2, min(s.waitLimit, s.Timer))
		}
		return false
	}
	s.waited += s.Timer
	return true
}

// halvePostponeLimit is called when a task stayed postponed up to the limit.
func (s *Scheduler) halvePostponeLimit() {
	s.postponeLimit = max(s.postponeLimit/2, min(s.config.PostponeLimit, minPostponeLimit))
}
