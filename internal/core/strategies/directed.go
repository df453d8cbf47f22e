package strategies

// raceDirected is one turn of the loop of Algorithm 1, or several where tasks are
// postponed. Meetings are noted when one of the tasks goes on.
func (p *Picker) raceDirected(tasks []Task) int {
	g := p.look(tasks)
	if g.now >= 0 {
		return g.now
	}
	for i := g.from; g.fresh > 0; i++ {
		t := &tasks[i]
		if t.Mark != arrived {
			continue
		}
		g.fresh--
		t.Mark = free
		if !racy(t) {
			continue
		}
		g.postpone(t)
		if j := racing(tasks, i); j >= 0 {
			return p.resolve(tasks, i, j)
		}
	}
	return p.among(tasks, g)
}

// racing returns the first of the tasks with which task i is in a race and which came
// before it, or -1.
func racing(tasks []Task, i int) int {
	for j := range tasks {
		if j != i && tasks[j].Mark != arrived && conflict(&tasks[i], &tasks[j]) {
			return j
		}
	}
	return -1
}

// resolve lets task i go on, or all others with which it is in a race, of which j is
// the first. Who does not go on stays postponed.
func (p *Picker) resolve(tasks []Task, i, j int) int {
	if p.choices.below(2) == 0 {
		return i
	}
	for k := j; k < len(tasks); k++ {
		if k != i && tasks[k].Mark != arrived && conflict(&tasks[i], &tasks[k]) {
			tasks[k].Mark = hurried
		}
	}
	return j
}
