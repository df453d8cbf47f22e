package strategies

// deadlockDirected keeps back who is about to take a second lock until nobody else can
// go on. Then all of them take it, one after the other; if each waits for a lock that
// another holds, that is the deadlock, which is for the host to see.
func (p *Picker) deadlockDirected(tasks []Task) int {
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
		if t.Kind == Lock && t.Roles&Inner != 0 {
			g.postpone(t)
		}
	}
	if g.others == 0 {
		if p.mayWait() {
			return Wait
		}
		for i := range tasks {
			tasks[i].Mark = hurried
		}
	}
	return p.among(tasks, g)
}
