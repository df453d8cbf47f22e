package strategies

// raceDirected is one iteration of the loop of Algorithm 1 of the RaceFuzzer paper, or several
// iterations if tasks are postponed.
func (s *Scheduler) raceDirected(tasks []Task) int {
	g := s.scan(tasks)
	if g.urgent >= 0 {
		return g.urgent
	}
	for g.others > 0 {
		i := s.chooseFree(tasks, g)
		t := &tasks[i]
		if t.OpState == free || !racy(t) {
			return i
		}
		if j := racing(tasks, i); j >= 0 {
			return s.resolve(tasks, i, j)
		}
		if s.passes(t) {
			return i
		}
		g.postpone(t)
	}
	return s.chooseFree(tasks, g)
}

// passes reports whether a task continues at a place of the pair although it could be postponed. Half of the
// tasks pass a random number of places first, up to Depth. In a loop over many objects only a late place may be
// one where two tasks meet, and whoever is postponed at the first one comes to that too late.
func (s *Scheduler) passes(t *Task) bool {
	if s.config.Depth == 0 {
		return false
	}
	if t.TaskState == 0 { // one more than the number of places that it passes
		t.TaskState = 1
		if s.choices.below(2) == 0 {
			t.TaskState += 1 + s.choices.below(s.config.Depth)
		}
	}
	if t.TaskState == 1 {
		return false
	}
	t.TaskState--
	return true
}

// racing returns the first task that races with task i and was postponed before it, or -1.
func racing(tasks []Task, i int) int {
	for j := range tasks {
		if j != i && tasks[j].OpState != fresh && conflict(&tasks[i], &tasks[j]) {
			return j
		}
	}
	return -1
}

// resolve tosses a coin. Either task i continues, or it is postponed and all tasks that race with it
// continue, the first of which is task j.
func (s *Scheduler) resolve(tasks []Task, i, j int) int {
	if s.choices.below(2) == 0 {
		return i
	}
	tasks[i].OpState = postponed
	for k := j; k < len(tasks); k++ {
		if k != i && tasks[k].OpState != fresh && conflict(&tasks[i], &tasks[k]) {
			tasks[k].OpState = urgent
		}
	}
	return j
}
