package dpor

import "slices"

// The clock of a step says which steps happened before it: in element t, how many steps of the
// execution there were when task t had made the last of them. So step j happened before step i, or is
// it, if clocks[i][task of j] > j.

// happenedBefore reports whether the clock covers step j of a task.
func happenedBefore(clock []int32, j int, task uint32) bool {
	return int(task) < len(clock) && int(clock[task]) > j
}

// join adds what b covers to a.
func join(a, b []int32) []int32 {
	for len(a) < len(b) {
		a = append(a, 0)
	}
	for t, c := range b {
		a[t] = max(a[t], c)
	}
	return a
}

// arrival returns the clock of a task when it arrives at a step, which is number i.
func (x *Explorer) arrival(step *Step, i int) (clock []int32) {
	for j := i - 1; j >= 0; j-- {
		if x.nodes[j].step.Task == step.Task {
			clock = join(clock, x.nodes[j].clock)
			break
		}
	}
	for _, count := range []int{step.Since, step.Joined} {
		if count > 0 {
			clock = join(clock, x.nodes[count-1].clock)
		}
	}
	return clock
}

// addRaces adds, for each race in which the later step is new or pending, a task to the state before
// the earlier step, unless one is there with which the other order begins.
func (x *Explorer) addRaces(pending []Step) {
	for i := x.fresh; i < len(x.nodes); i++ {
		n := &x.nodes[i]
		before := x.arrival(&n.step, i)
		n.clock = x.after(&n.step, i, before)
		x.addRacesOf(&n.step, i, before, n.clock)
	}
	for p := range pending {
		before := x.arrival(&pending[p], len(x.nodes))
		x.addRacesOf(&pending[p], len(x.nodes), before, x.after(&pending[p], len(x.nodes), before))
	}
}

// after returns the clock after a step, which is number i.
func (x *Explorer) after(step *Step, i int, before []int32) []int32 {
	clock := slices.Clone(before)
	for j := range i {
		if m := &x.nodes[j]; m.step.Task != step.Task && !happenedBefore(clock, j, m.step.Task) && conflict(m.step.Uses, step.Uses) {
			clock = join(clock, m.clock)
		}
	}
	for len(clock) <= int(step.Task) {
		clock = append(clock, 0)
	}
	clock[step.Task] = int32(i + 1)
	return clock
}

// addRacesOf adds the races of a step, which is number i, with earlier ones. The clocks are those
// when the task arrived at the step and after it.
func (x *Explorer) addRacesOf(step *Step, i int, before, after []int32) {
	for j := i - 1; j >= 0; j-- {
		m := &x.nodes[j].step
		if x.Fixed != nil && (x.Fixed(m.Task) || x.Fixed(step.Task)) {
			continue
		}
		if m.Task == step.Task || happenedBefore(before, j, m.Task) || !conflict(m.Uses, step.Uses) {
			continue
		}
		if x.direct(j, i, after) {
			x.reverse(j, i, step, after, nil)
		}
		if step.Blocking {
			x.reverse(j, i, step, before, before)
		}
	}
}

// direct reports whether no step is between j and i in the order of what happened before.
func (x *Explorer) direct(j, i int, clock []int32) bool {
	task := x.nodes[j].step.Task
	for k := j + 1; k < i; k++ {
		if m := &x.nodes[k]; happenedBefore(clock, k, m.step.Task) && happenedBefore(m.clock, j, task) {
			return false
		}
	}
	return true
}

// reverse makes sure that executions are made in which step i comes before step j. Such an execution
// makes the steps between them that do not depend on j first, and then i. It begins with an initial: a
// task whose first step in it depends on no other one in it. If needed is not nil, only those steps are
// made that it covers: others may disable step i.
func (x *Explorer) reverse(j, i int, step *Step, clock, needed []int32) {
	n := &x.nodes[j]
	var initials []uint32
	var steps []int // those before i
	for k := j + 1; k < i; k++ {
		m := &x.nodes[k]
		if happenedBefore(m.clock, j, n.step.Task) || needed != nil && !happenedBefore(needed, k, m.step.Task) {
			continue
		}
		if x.isInitial(steps, m.clock) {
			initials = append(initials, m.step.Task)
		}
		steps = append(steps, k)
	}
	if x.isInitial(steps, clock) {
		initials = append(initials, step.Task)
	}
	if slices.ContainsFunc(initials, func(task uint32) bool { return slices.Contains(n.backtrack, task) || n.asleep(task) }) {
		return
	}
	for _, task := range slices.Backward(initials) {
		if slices.Contains(n.enabled, task) {
			n.backtrack = append(n.backtrack, task)
			return
		}
	}
	for _, task := range n.enabled { // the order may need another state
		if !slices.Contains(n.backtrack, task) {
			n.backtrack = append(n.backtrack, task)
		}
	}
}

// isInitial reports whether a step with the clock depends on none of the given steps.
func (x *Explorer) isInitial(steps []int, clock []int32) bool {
	return !slices.ContainsFunc(steps, func(k int) bool { return happenedBefore(clock, k, x.nodes[k].step.Task) })
}
