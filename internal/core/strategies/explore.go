package strategies

// Sleeper is a task that Explore does not choose after Choices, until a step uses the object in a mode
// that does not commute with Mode. A task with several objects has an entry for each; one without
// objects has an entry with the object 0.
type Sleeper struct {
	Object, Mode uint64
	ID           uint32
}

// The modes in which a step uses an object, and the object that stands for all; see package
// internal/dpor, which has the same values.
const (
	ModeWrite = iota
	ModeRead
	ModeRaise
	ModeLower

	EveryObject = ^uint64(0)
)

// explore makes the given choices. Then it makes the default choice, or chooses the task that has waited
// for longest, among those that do not sleep. If all sleep, it makes the default choice.
func (s *Scheduler) explore(tasks []Task, running uint32) int {
	i := s.replay(tasks, running)
	if s.steps < uint64(len(s.config.Choices)) || !s.asleep(tasks[i].ID) {
		return i
	}
	oldest := -1
	for k := range tasks {
		if t := &tasks[k]; !s.asleep(t.ID) && (oldest < 0 || t.Since < tasks[oldest].Since || t.Since == tasks[oldest].Since && t.ID < tasks[oldest].ID) {
			oldest = k
		}
	}
	if oldest < 0 {
		return i
	}
	return oldest
}

func (s *Scheduler) asleep(id uint32) bool {
	for i := range s.config.Sleepers {
		if s.config.Sleepers[i].ID == id {
			return true
		}
	}
	return false
}

// Uses tells Explore that the current step uses an object.
func (s *Scheduler) Uses(object, mode uint64) {
	if s.steps < uint64(len(s.config.Choices)) {
		return
	}
	all := s.config.Sleepers
	for i := range all {
		x := &all[i]
		if x.ID == NoTask || x.Object == 0 || object != EveryObject && x.Object != EveryObject &&
			(x.Object != object || x.Mode == mode && mode != ModeWrite) {
			continue
		}
		id := x.ID
		for k := range all {
			if all[k].ID == id {
				all[k].ID = NoTask
			}
		}
	}
}
