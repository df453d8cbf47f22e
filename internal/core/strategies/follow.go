package strategies

// Turn is that a task goes on until it stands at its operation Until, or at a later one,
// and waits or has ended if it cannot come there.
type Turn struct {
	ID    uint32
	Until uint64
}

// always is an Until that no task comes to.
const always = ^uint64(0)

// followPatience is Patience of Follow unless said otherwise: the turn of a task that
// needs what is not in the order will hardly come.
const followPatience = 1 << 10

// follow lets the task go on whose turn it is. One that cannot waits for something that
// the order does not know, so time passes, or else others go on by default, as little as
// possible; after too many steps the turn is passed over. At the end of the order it goes
// on as raceDirected.
func (p *Picker) follow(tasks []Task, running uint32) int {
	for p.next < len(p.config.Order) {
		turn := &p.config.Order[p.next]
		i := find(tasks, turn.ID)
		if i >= 0 && tasks[i].At < turn.Until {
			p.came, p.missed, p.Until = tasks[i].At, 0, turn.Until
			p.begun = true
			return i
		}
		if running == turn.ID {
			p.came = max(p.came, p.Came)
		}
		switch {
		case i >= 0 || p.begun && p.came+1 >= turn.Until: // it is there, or waits in, or has ended after, what it was to do
		case p.missed < p.patience:
			p.missed++
			p.Until = 0
			if p.Timer != 0 {
				return Wait
			}
			return p.byDefault(tasks, running)
		default:
			p.losePatience()
			p.Diverged++
		}
		p.next, p.missed, p.begun = p.next+1, 0, false
	}
	p.Until = always
	return p.raceDirected(tasks)
}

// Left returns how many turns of Order have not come: where an execution ends, those are
// not followed.
func (p *Picker) Left() uint64 {
	if p.config.Strategy != Follow {
		return 0
	}
	left := len(p.config.Order) - p.next
	if p.begun {
		left--
	}
	return uint64(left)
}
