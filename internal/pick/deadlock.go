package pick

// deadlockDirected keeps back who is about to take a second lock until nobody else can
// go on. Then all of them take it, one after the other; if each waits for a lock that
// another holds, that is the deadlock, which is for the host to see.
func (p *Picker) deadlockDirected(tasks []Task) int {
	if i := chosen(tasks); i >= 0 {
		return i
	}
	for i := range tasks {
		t := &tasks[i]
		if t.Mark == arrived && t.Kind == Lock && t.Roles&Inner != 0 {
			t.Mark = postponed
		}
	}
	if i := p.others(tasks); i >= 0 {
		return i
	}
	for i := range tasks {
		tasks[i].Mark = first
	}
	return p.walk(tasks)
}
