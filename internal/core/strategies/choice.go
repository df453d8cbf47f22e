package strategies

// Choice says which task continued at a step. A choice that differs from the default choice is a
// deviation. The deviations and the seed determine an execution.
//
// Case, if not 0, is 1 plus the number of the case that the task's select statement takes in this step,
// among the ready cases in the order of their text. If it is 0, the seed decides.
type Choice struct {
	Step uint64
	ID   uint32
	Case uint32
}

// Case returns which of several ready cases, counted from 0, the select statement takes that the task
// chosen last has reached, and true; or false if a random number decides. ready is their number. Explore
// takes the first one if Choices have none. The case is logged with the choice.
func (s *Scheduler) Case(ready uint32) (first uint32, decided bool) {
	switch {
	case s.wanted > ready:
		s.Diverged++
		return 0, false
	case s.wanted > 0:
		first = s.wanted - 1
	case s.config.Strategy != Explore:
		return 0, false
	}
	if len(s.Log) > 0 {
		step := s.steps - 1
		if s.NumLog == 0 || s.Log[s.NumLog-1].Step != step {
			if s.NumLog == len(s.Log) {
				s.LostLog++
				return first, true
			}
			s.Log[s.NumLog].Step, s.Log[s.NumLog].ID = step, s.last
			s.NumLog++
		}
		s.Log[s.NumLog-1].Case = first + 1
	}
	return first, true
}

// Decides reports whether Case decides about the select statement of the current step.
func (s *Scheduler) Decides() bool { return s.wanted > 0 || s.config.Strategy == Explore }

// MaxInRow is how often in a row a task is the default choice while other tasks are runnable. It
// ends loops that wait for another task by acquiring and releasing a lock.
const MaxInRow = 1000

// defaultChoice returns the index of the default choice. That is the task that continued last, if
// it is runnable, has not given way and has not continued MaxInRow times in a row. Otherwise it is
// the task that has waited for longest, of several the one with the lowest ID.
func (s *Scheduler) defaultChoice(tasks []Task, running uint32) int {
	oldest, last := 0, len(tasks)-1
	if t := &tasks[last]; t.ID == running && t.Kind != Yield && s.inRow < MaxInRow {
		return last // where hosts put it
	}
	for i := range tasks {
		t := &tasks[i]
		if t.ID == running && t.Kind != Yield && s.inRow < MaxInRow {
			return i
		}
		if o := &tasks[oldest]; t.Since < o.Since || t.Since == o.Since && t.ID < o.ID {
			oldest = i
		}
	}
	return oldest
}

// logChoice updates the hash and, if the choice is a deviation and there is memory for a log, the log.
func (s *Scheduler) logChoice(tasks []Task, i int, running uint32) {
	id := uint32(NoTask)
	if i != Wait {
		id = tasks[i].ID
	}
	if len(s.Log) > 0 && (i == Wait || len(tasks) > 1 && s.defaultChoice(tasks, running) != i) {
		if s.NumLog < len(s.Log) {
			s.Log[s.NumLog].Step = s.steps
			s.Log[s.NumLog].ID = id
			s.Log[s.NumLog].Case = 0
			s.NumLog++
		} else {
			s.LostLog++
		}
	}
	if id != s.last {
		s.last, s.inRow = id, 0
	}
	s.inRow++
	h := (s.Hash ^ uint64(id)) * 0x9E3779B97F4A7C15
	s.Hash = (h ^ h>>32) + 1
}
