package strategies

// Choice is that a task went on at a step. Where it is not the default, it is a
// deviation; the deviations are all that it takes to do an execution again.
type Choice struct {
	Step uint64
	ID   uint32
}

// MaxTurn is how often in a row a task is the default choice while others could go on.
// What waits for them by taking and giving back a lock over and over ends by that.
const MaxTurn = 1000

// byDefault returns the index of the default choice: the task that went on last, if it
// can, has not given way and has not had its turn; otherwise the one that has been
// waiting for longest, of several the one with the lowest ID.
func (p *Picker) byDefault(tasks []Task, running uint32) int {
	oldest := 0
	for i := range tasks {
		t := &tasks[i]
		if t.ID == running && t.Kind != Yield && p.turn < MaxTurn {
			return i
		}
		if o := &tasks[oldest]; t.Since < o.Since || t.Since == o.Since && t.ID < o.ID {
			oldest = i
		}
	}
	return oldest
}

// log notes that task i goes on, or none.
func (p *Picker) log(tasks []Task, i int, running uint32) {
	id := uint32(None)
	if i != Wait {
		id = tasks[i].ID
	}
	if i == Wait || len(tasks) > 1 && p.byDefault(tasks, running) != i {
		if p.NumLog < len(p.Log) {
			p.Log[p.NumLog].Step = p.steps
			p.Log[p.NumLog].ID = id
			p.NumLog++
		} else {
			p.LostLog++
		}
	}
	if id != p.last {
		p.last, p.turn = id, 0
	}
	p.turn++
	h := (p.Hash ^ uint64(id)) * 0x9E3779B97F4A7C15
	p.Hash = (h ^ h>>32) + 1
}
