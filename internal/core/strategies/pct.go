package strategies

// MaxDepth is the greatest depth of PCT.
const MaxDepth = 16

// A task's priority is in Own, the higher the earlier it goes on, 0 if it has none
// yet. Priorities start in the upper half of all numbers. The i-th change puts a task
// at changed+i, and each time a task gives way it is put below all others so far.
const (
	initial = 1 << 63
	changed = 1 << 62
)

func (p *Picker) startPCT() {
	p.config.Length = max(p.config.Length, 1)
	p.config.Depth = min(max(p.config.Depth, 1), MaxDepth)
	for i := range p.config.Depth - 1 {
		p.changes[i] = p.choices.below(p.config.Length)
	}
}

func (p *Picker) pct(tasks []Task) int {
	top, starving := 0, false
	for i := range tasks {
		t := &tasks[i]
		if t.Own == 0 {
			t.Own = initial | p.choices.next()>>1
		}
		if t.Kind == Yield && t.Mark == 0 {
			t.Mark = 1
			p.putLast(t)
		}
		if t.Own > tasks[top].Own {
			top = i
		}
		starving = starving || p.steps-t.Since > p.config.Length+p.config.Patience
	}
	for i := range p.config.Depth - 1 {
		if p.changes[i] == p.steps {
			tasks[top].Own = changed + i
			top = highest(tasks)
		}
	}
	if starving { // the execution is longer than was said: it may be waiting for others
		p.putLast(&tasks[top])
		top = highest(tasks)
	}
	return top
}

func (p *Picker) putLast(t *Task) {
	p.yields++
	t.Own = changed - p.yields
}

func highest(tasks []Task) int {
	top := 0
	for i := range tasks {
		if tasks[i].Own > tasks[top].Own {
			top = i
		}
	}
	return top
}
