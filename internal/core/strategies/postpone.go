package strategies

// How a directed strategy keeps tasks back, in Mark. Who comes to a place of interest
// is postponed at once and not, as in the paper, only when it is chosen the next time.
// No task can tell the difference, but that tasks may meet sooner.
const (
	arrived   = iota // not looked at yet
	postponed        // kept back
	free             // not kept back, or no longer, by the monitor; may be met all the same
	hurried          // goes on before all others
)

// glance is what one pass over the tasks shows.
type glance struct {
	now    int    // who is to go on at once, or -1
	from   int    // the first that has arrived
	fresh  int    // how many have
	others uint64 // how many are not postponed
}

// look is also the monitor: who has been postponed for too long is no longer, for others
// may be spinning until it goes on.
func (p *Picker) look(tasks []Task) (g glance) {
	g.now = -1
	vain := false
	for i := range tasks {
		t := &tasks[i]
		switch t.Mark {
		case arrived:
			if g.fresh == 0 {
				g.from = i
			}
			g.fresh++
		case postponed:
			if p.steps-t.Since <= p.patience {
				continue
			}
			t.Mark = free
			vain = true
		case hurried:
			if g.now < 0 {
				g.now = i
			}
		}
		g.others++
	}
	if vain {
		p.losePatience()
	}
	return g
}

// postpone keeps the task back.
func (g *glance) postpone(t *Task) {
	t.Mark = postponed
	g.others--
}

// among returns a random one of the tasks that are not postponed (see Config.Calm). If
// there is none, all are released.
func (p *Picker) among(tasks []Task, g glance) int {
	if g.others == 0 {
		return p.release(tasks)
	}
	if p.config.Calm {
		return p.calm(tasks)
	}
	n := p.choices.below(g.others)
	for i := range tasks {
		if tasks[i].Mark == postponed {
			continue
		}
		if n == 0 {
			return i
		}
		n--
	}
	return 0 // not reached
}

// calm returns the default choice among the tasks that are not postponed, of which there
// is one.
func (p *Picker) calm(tasks []Task) int {
	best := -1
	for i := range tasks {
		t := &tasks[i]
		switch {
		case t.Mark == postponed:
		case t.ID == p.last && t.Kind != Yield && p.turn < MaxTurn:
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
