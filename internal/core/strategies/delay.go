package strategies

// delay makes the default choice among the tasks that are not postponed. A task that has just
// started, or is about to synchronize, is postponed with a probability of 1 in Depth, until no other
// task is runnable. So messages come late, and several cases of a select are ready. If others wait
// for a timer, time passes before a postponed task continues, up to WaitLimit.
func (s *Scheduler) delay(tasks []Task) int {
	g := s.scan(tasks)
	for i := g.from; g.fresh > 0; i++ {
		t := &tasks[i]
		if t.OpState != fresh {
			continue
		}
		g.fresh--
		t.OpState = free
		if t.Kind != Yield && s.choices.below(s.config.Depth) == 0 {
			g.postpone(t)
		}
	}
	return s.chooseFree(tasks, g)
}
