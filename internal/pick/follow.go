package pick

// follow lets the next task of Order go on. As long as that cannot, others do, by
// default; if it cannot for too long, it is passed over.
func (p *Picker) follow(tasks []Task, running uint32) int {
	if p.missed > p.patience {
		p.losePatience()
		p.missed = 0
		p.next++
		p.Diverged++
	}
	if p.next >= len(p.config.Order) {
		return p.raceDirected(tasks)
	}
	if i := find(tasks, p.config.Order[p.next]); i >= 0 {
		p.missed = 0
		p.next++
		return i
	}
	p.missed++
	return p.byDefault(tasks, running)
}
