package pick

// sectionDirected keeps back who is about to end its section until another is about to
// access the same memory at Remote, and the other way round. Then the latter goes on
// first and the former next.
func (p *Picker) sectionDirected(tasks []Task) int {
	if i := chosen(tasks); i >= 0 {
		return i
	}
	for i := range tasks {
		t := &tasks[i]
		if t.Mark != arrived || !atEnd(t) && !remote(t) {
			continue
		}
		t.Mark = postponed
		if j := violated(tasks, t); j >= 0 {
			tasks[j].Mark = last
			return i
		}
		if j := violating(tasks, t); j >= 0 {
			t.Mark = last
			return j
		}
	}
	if i := p.others(tasks); i >= 0 {
		return i
	}
	return p.walk(tasks)
}

func remote(t *Task) bool { return t.Kind == Access && t.Roles&Remote != 0 }

// violated returns a task whose section t violates if it goes on, or -1.
func violated(tasks []Task, t *Task) int {
	if !remote(t) {
		return -1
	}
	for j := range tasks {
		if u := &tasks[j]; u.ID != t.ID && u.Mark != arrived && atEnd(u) && touches(u, t.Addr, t.Size) {
			return j
		}
	}
	return -1
}

// violating returns a task that violates the section of t if it goes on, or -1.
func violating(tasks []Task, t *Task) int {
	if !atEnd(t) {
		return -1
	}
	for j := range tasks {
		if u := &tasks[j]; u.ID != t.ID && u.Mark != arrived && remote(u) && touches(t, u.Addr, u.Size) {
			return j
		}
	}
	return -1
}
