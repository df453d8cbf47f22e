package strategies

// replay makes the default choice except at the steps of Choices.
func (s *Scheduler) replay(tasks []Task, running uint32) int {
	s.wanted = 0
	if s.next < len(s.config.Choices) && s.config.Choices[s.next].Step <= s.steps {
		c := &s.config.Choices[s.next]
		s.next++
		if i := find(tasks, c.ID); i >= 0 && c.Step == s.steps {
			s.wanted = c.Case
			return i
		}
		if c.ID == NoTask && c.Step == s.steps && s.Timer != 0 {
			return Wait
		}
		s.Diverged++
	}
	return s.defaultChoice(tasks, running)
}
