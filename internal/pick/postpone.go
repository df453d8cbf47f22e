package pick

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

// among returns a random one of the tasks that are not postponed, or of all if there is
// none.
func (p *Picker) among(tasks []Task, g glance) int {
	if g.others == 0 {
		return p.walk(tasks)
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

// losePatience is called when patience was in vain.
func (p *Picker) losePatience() {
	p.patience = max(p.patience/2, min(p.config.Patience, leastPatience))
}
