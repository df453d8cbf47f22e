package strategies

// Turn lets a task continue until it arrives at its first operation whose Seq is at least Until, or
// until it ends or blocks.
type Turn struct {
	ID    uint32
	Until uint64
}

// always is an Until that no task reaches.
const always = ^uint64(0)

// followPostponeLimit is the default postpone limit of Follow. It is low, because a task that needs
// something outside the order will rarely get it.
const followPostponeLimit = 1 << 10

// follow lets the task of the next turn continue. If that task is not runnable, it waits for
// something that the order does not contain. Then time passes, or other tasks continue by default.
// After postponeLimit steps the turn is skipped. After the last turn the strategy is raceDirected.
func (s *Scheduler) follow(tasks []Task, running uint32) int {
	for s.next < len(s.config.Turns) {
		turn := &s.config.Turns[s.next]
		i := find(tasks, turn.ID)
		if i >= 0 && tasks[i].Seq < turn.Until {
			s.reached, s.stalled, s.Until = tasks[i].Seq, 0, turn.Until
			s.started = true
			return i
		}
		if running == turn.ID {
			s.reached = max(s.reached, s.LastSeq)
		}
		switch {
		case i >= 0 || s.started && s.reached+1 >= turn.Until: // it arrived, or blocks in or ended after the last operation
		case s.stalled < s.postponeLimit:
			s.stalled++
			s.Until = 0
			if s.Timer != 0 {
				return Wait
			}
			return s.defaultChoice(tasks, running)
		default:
			s.halvePostponeLimit()
			s.Diverged++
		}
		s.next, s.stalled, s.started = s.next+1, 0, false
	}
	s.Until = always
	return s.raceDirected(tasks)
}

// TurnsLeft returns how many turns have not begun. At the end of an execution these were not
// followed.
func (s *Scheduler) TurnsLeft() uint64 {
	if s.config.Strategy != Follow {
		return 0
	}
	left := len(s.config.Turns) - s.next
	if s.started {
		left--
	}
	return uint64(left)
}
