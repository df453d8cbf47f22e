package pick

// How a directed strategy keeps tasks back, in Mark. Who comes to a place of interest
// is postponed at once and not, as in the paper, only when it is chosen the next time.
// Nothing that it does comes of the difference, and tasks meet no later.
const (
	arrived   = iota // not looked at yet
	postponed        // kept back
	free             // not kept back, or no longer, by the monitor; may be met all the same
	last             // goes on when none is to go first
	first            // goes on before all others
)

// chosen returns the index of the first task that is to go on at once, or -1.
func chosen(tasks []Task) int {
	later := -1
	for i := range tasks {
		switch tasks[i].Mark {
		case first:
			return i
		case last:
			later = i
		}
	}
	return later
}

// others returns a random one of the tasks that are not postponed (see Config.Calm), -1 if
// there is none.
// It is the monitor too: who has been postponed for too long is no longer, for others
// may be spinning until it goes on.
func (p *Picker) others(tasks []Task) int {
	count, vain := uint64(0), false
	for i := range tasks {
		t := &tasks[i]
		if t.Mark == postponed && p.steps-t.Since > p.patience {
			t.Mark = free
			vain = true
		}
		if t.Mark != postponed {
			count++
		}
	}
	if vain {
		p.losePatience()
	}
	if count == 0 {
		return -1
	}
	if p.config.Calm {
		return p.calm(tasks)
	}
	n := p.choices.below(count)
	for i := range tasks {
		if tasks[i].Mark == postponed {
			continue
		}
		if n == 0 {
			return i
		}
		n--
	}
	return -1
}

// calm returns the default choice among the tasks that are not postponed, of which there
// is one.
func (p *Picker) calm(tasks []Task) int {
	best := -1
	for i := range tasks {
		t := &tasks[i]
		switch {
		case t.Mark == postponed:
		case t.ID == p.last && t.Kind != Yield && p.turn < Turn:
			return i
		case best < 0 || t.Since < tasks[best].Since || t.Since == tasks[best].Since && t.ID < tasks[best].ID:
			best = i
		}
	}
	return best
}

// release is what happens when all tasks are postponed: time passes, if others wait
// for that, as it would if these were slow; or else a random one goes on.
func (p *Picker) release(tasks []Task) int {
	if p.mayWait() {
		return Wait
	}
	return p.walk(tasks)
}

// mayWait reports whether time may pass until another task can go on.
func (p *Picker) mayWait() bool {
	if p.Timer == 0 || p.Timer > p.wait || p.waited > p.wait-p.Timer {
		if p.waited > 0 { // in vain
			p.waited, p.wait = 0, max(p.wait/2, min(p.wait, p.Timer))
		}
		return false
	}
	p.waited += p.Timer
	return true
}

// losePatience is called when patience was in vain.
func (p *Picker) losePatience() {
	p.patience = max(p.patience/2, min(p.config.Patience, leastPatience))
}
