package strategies

// Partial order sampling (POS) gives each operation a random priority when a task arrives at it. The
// priority is in OpState; 0 means that the operation has none yet. A task that yields has the lowest
// one.
const posLowest = 1

func (s *Scheduler) pos(tasks []Task) int {
	for i := range tasks {
		if t := &tasks[i]; t.OpState == 0 {
			t.OpState = posLowest
			if t.Kind != Yield {
				t.OpState = s.choices.next()>>1 + posLowest + 1
			}
		}
	}
	top := highestOp(tasks)
	for i := range tasks { // what was racing with the operation gets another priority
		if i != top && dependent(&tasks[top], &tasks[i]) {
			tasks[i].OpState = 0
		}
	}
	return top
}

// highestOp returns the task whose operation has the highest priority. Among those that yield, it is
// the one that has waited for longest.
func highestOp(tasks []Task) int {
	top := 0
	for i := range tasks {
		t, best := &tasks[i], &tasks[top]
		if t.OpState > best.OpState || t.OpState == best.OpState && t.Since < best.Since {
			top = i
		}
	}
	return top
}

// dependent reports whether the order of two operations that are next matters: they concern the same
// lock, channel or atomic variable, or are conflicting accesses.
func dependent(t, u *Task) bool {
	switch {
	case t.Addr == 0 || u.Addr == 0 || t.Kind == Resume || u.Kind == Resume || t.Kind == Yield || u.Kind == Yield:
		return false
	case t.Kind == Access && u.Kind == Access:
		return (t.Write || u.Write) && overlaps(t, u.Addr, u.Size)
	}
	return t.Addr == u.Addr
}
