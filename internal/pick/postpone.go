package pick

// How a directed strategy keeps tasks back, in Mark. Who comes to a place of interest
// is postponed at once and not, as in the paper, only when it is chosen the next time.
// Nothing that it does comes of the difference, and tasks meet no later.
const (
	arrived   = iota // not looked at yet
	postponed        // kept back
	free             // no longer kept back, by the monitor; may be met all the same
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

// others returns a random one of the tasks that are not postponed, -1 if there is none.
// It is the monitor too: who has been postponed for too long is no longer, for others
// may be spinning until it goes on.
func (p *Picker) others(tasks []Task) int {
	count := uint64(0)
	for i := range tasks {
		t := &tasks[i]
		if t.Mark == postponed && p.steps-t.Since > p.config.Patience {
			t.Mark = free
		}
		if t.Mark != postponed {
			count++
		}
	}
	if count == 0 {
		return -1
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
