package strategies

// Families is PCT with other first priorities. A task that another one creates belongs to its family, and its
// priority is next to those of the family. So a program with many copies of the same few goroutines runs one copy
// after the other, each in an order of its own, and some copies have come to their end when the execution stops.
//
// A priority has the family in its upper bits, random bits below them, and in the lowest bits the number of tasks
// that joined the family because its task has created them. When there are familySize of them, each further one
// begins a family, as the copies in a program do.
const (
	familySize  = 8
	familyJoins = 1<<4 - 1
	familyBits  = ^uint64(1<<40 - 1)
)

// firstPriority returns the priority of a new task.
func (s *Scheduler) firstPriority(tasks []Task) uint64 {
	priority := pctInitial | s.choices.next()>>1
	if s.config.Strategy != Families {
		return priority
	}
	priority &^= familyJoins
	if s.top < pctInitial || s.top&familyJoins == familySize { // the task that continued last has created this one
		return priority
	}
	if creator := &tasks[len(tasks)-1]; creator.TaskState == s.top { // where hosts put it
		creator.TaskState++
	}
	s.top++
	return s.top&familyBits | priority&^familyBits
}
