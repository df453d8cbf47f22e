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

// pctStarving is how often, in steps, PCT looks for tasks that have waited for long.
const pctStarving = 64

func (s *Scheduler) pct(tasks []Task) int {
	top := s.pctTop(tasks)
	s.top = tasks[top].TaskState
	return top
}

// pctAgain returns the index of the task that was chosen last, if no task has a higher priority, or -1.
// All other tasks but the fresh ones have lower priorities than it had.
func (s *Scheduler) pctAgain(tasks []Task) int {
	last := len(tasks) - 1
	if t := &tasks[last]; s.Fresh == 0 || s.steps%pctStarving == 0 || t.ID != s.last || t.TaskState != s.top || t.Kind == Yield {
		return -1
	}
	for i := s.Fresh; i < last; i++ {
		if tasks[i].TaskState == 0 || tasks[i].TaskState > s.top || tasks[i].Kind == Yield {
			return -1
		}
	}
	for i := range s.config.Depth - 1 {
		if s.changes[i] == s.steps {
			return -1
		}
	}
	return last
}

// pctTop returns the index of the task with the highest priority, after the changes of priorities that are due.
func (s *Scheduler) pctTop(tasks []Task) int {
	if i := s.pctAgain(tasks); i >= 0 {
		return i
	}
	top, starving := 0, false
	for i := range tasks {
		t := &tasks[i]
		if t.TaskState == 0 {
			t.TaskState = s.firstPriority(tasks)
		}
		if t.Kind == Yield && t.OpState == 0 {
			t.OpState = 1
			s.putLast(t)
		}
		if t.TaskState > tasks[top].TaskState {
			top = i
		}
		starving = starving || s.steps%pctStarving == 0 && s.steps-t.Since > s.config.Steps+s.config.PostponeLimit
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
