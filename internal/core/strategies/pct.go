package strategies

// MaxDepth is the greatest depth of PCT.
const MaxDepth = 16

// The priority of a task is in TaskState; 0 means that the task has none yet. Initial priorities
// are in the upper half of all numbers. The i-th priority change point gives a task the priority
// pctChanged+i. A task that gives way gets a priority below all that were given so far.
const (
	pctInitial = 1 << 63
	pctChanged = 1 << 62
)

func (s *Scheduler) startPCT() {
	s.config.Steps = max(s.config.Steps, 1)
	s.config.Depth = min(max(s.config.Depth, 1), MaxDepth)
	for i := range s.config.Depth - 1 {
		s.changes[i] = s.choices.below(s.config.Steps)
	}
}

// branchPCT replaces the priority change points that are still to come.
func (s *Scheduler) branchPCT() {
	for i := range s.config.Depth - 1 {
		if s.changes[i] >= s.steps && s.steps < s.config.Steps {
			s.changes[i] = s.steps + s.choices.below(s.config.Steps-s.steps)
		}
	}
}

func (s *Scheduler) pct(tasks []Task) int {
	top, starving := 0, false
	for i := range tasks {
		t := &tasks[i]
		if t.TaskState == 0 {
			t.TaskState = pctInitial | s.choices.next()>>1
		}
		if t.Kind == Yield && t.OpState == 0 {
			t.OpState = 1
			s.putLast(t)
		}
		if t.TaskState > tasks[top].TaskState {
			top = i
		}
		starving = starving || s.steps-t.Since > s.config.Steps+s.config.PostponeLimit
	}
	for i := range s.config.Depth - 1 {
		if s.changes[i] == s.steps {
			tasks[top].TaskState = pctChanged + i
			top = highest(tasks)
		}
	}
	if starving { // the execution is longer than Steps: the top task may be spinning until another one continues
		s.putLast(&tasks[top])
		top = highest(tasks)
	}
	return top
}

func (s *Scheduler) putLast(t *Task) {
	s.yields++
	t.TaskState = pctChanged - s.yields
}

func highest(tasks []Task) int {
	top := 0
	for i := range tasks {
		if tasks[i].TaskState > tasks[top].TaskState {
			top = i
		}
	}
	return top
}
