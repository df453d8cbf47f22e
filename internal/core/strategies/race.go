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
		g.postpone(t)
	}
	return s.chooseFree(tasks, g)
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
