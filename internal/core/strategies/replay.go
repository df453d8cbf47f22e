package strategies

// replay makes the default choice but at the steps of Choices.
func (p *Picker) replay(tasks []Task, running uint32) int {
	if p.next < len(p.config.Choices) && p.config.Choices[p.next].Step <= p.steps {
		c := &p.config.Choices[p.next]
		p.next++
		if i := find(tasks, c.ID); i >= 0 && c.Step == p.steps {
			return i
		}
		if c.ID == None && c.Step == p.steps && p.Timer != 0 {
			return Wait
		}
		p.Diverged++
	}
	return p.byDefault(tasks, running)
}

// find returns the index of the task with the ID, or -1.
func find(tasks []Task, id uint32) int {
	for i := range tasks {
		if tasks[i].ID == id {
			return i
		}
	}
	return -1
}
