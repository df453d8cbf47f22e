package strategies

// deadlockDirected postpones each task that is about to acquire a lock at a place Inner, until no
// other task is runnable. Then all postponed tasks continue, one after the other. If each waits for
// a lock that another one holds, the program is deadlocked; the host detects that.
func (s *Scheduler) deadlockDirected(tasks []Task) int {
	g := s.scan(tasks)
	if g.urgent >= 0 {
		return g.urgent
	}
	for i := g.from; g.fresh > 0; i++ {
		t := &tasks[i]
		if t.OpState != fresh {
			continue
		}
		g.fresh--
		t.OpState = free
		if t.Kind == Lock && t.Roles&Inner != 0 {
			g.postpone(t)
		}
	}
	if g.others == 0 {
		if s.mayWait() {
			return Wait
		}
		for i := range tasks {
			tasks[i].OpState = urgent
		}
	}
	return s.chooseFree(tasks, g)
}
