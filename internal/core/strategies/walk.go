package strategies

func (p *Picker) walk(tasks []Task) int { return int(p.choices.below(uint64(len(tasks)))) }
