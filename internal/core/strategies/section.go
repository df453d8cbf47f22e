package strategies

// MaxSections is how many atomic sections are tracked at a time. If tasks are in more, some are
// dropped and their violations are missed. A task may be in several: its place Entry may be
// executed for several variables, and the host does not know which of them the section is about.
const MaxSections = 32

// section is an atomic section that a task is in: the task has made its access at Entry.
type section struct {
	open       bool
	violated   bool // another task has made an access at Remote since
	id         uint32
	depth      uint32
	addr, size uint64 // accessed at Entry
	key        uint64 // likewise; see Task.Key
	step       uint64 // at which the section was violated
	remote     Side   // the access that violated it
}

// sectionDirected postpones two kinds of tasks: a task in a section, wherever it is, until another
// task has made an access at Remote to the section's memory; and a task about to make such an
// access, until another task is in a section that the access violates. It does not wait until the
// first task is at End, because each access of a section may be under a lock, which the task then
// holds. A task whose section was violated continues next.
func (s *Scheduler) sectionDirected(tasks []Task) int {
	g := s.scan(tasks)
	if g.urgent >= 0 {
		return g.urgent
	}
	for i := g.from; g.fresh > 0; i++ {
		t := &tasks[i]
		if t.OpState != fresh {
			continue
		}
		g.fresh--
		t.OpState = free
		if remote(t) && s.violates(t) {
			s.hurryViolated(tasks, t)
			return i
		}
		if s.intact(t.ID) {
			g.postpone(t)
			if j := s.violator(tasks, t.ID); j >= 0 {
				s.hurryViolated(tasks, &tasks[j])
				return j
			}
		} else if remote(t) {
			g.postpone(t)
		}
	}
	return s.chooseFree(tasks, g)
}

// remote reports whether the task is about to make an access at Remote.
func remote(t *Task) bool { return t.Kind == Access && t.Roles&Remote != 0 }

// violatedBy reports whether t, which is at Remote, violates the section when it continues.
func (x *section) violatedBy(t *Task) bool {
	return x.open && !x.violated && x.id != t.ID && x.isOn(t)
}

// isOn reports whether the section is on what t is about to access.
func (x *section) isOn(t *Task) bool {
	return overlaps(t, x.addr, x.size) && (x.key == 0 || x.key == t.Key)
}

// violates reports whether t, which is at Remote, violates a section when it continues.
func (s *Scheduler) violates(t *Task) bool {
	for i := range s.sections {
		if s.sections[i].violatedBy(t) {
			return true
		}
	}
	return false
}

// intact reports whether a task is in sections and none of them was violated.
func (s *Scheduler) intact(id uint32) bool {
	in := false
	for i := range s.sections {
		if x := &s.sections[i]; x.open && x.id == id {
			if x.violated {
				return false
			}
			in = true
		}
	}
	return in
}

// violator returns the index of a task that violates a section of the given task when it continues,
// or -1.
func (s *Scheduler) violator(tasks []Task, id uint32) int {
	for j := range tasks {
		if remote(&tasks[j]) && s.violatesTask(id, &tasks[j]) {
			return j
		}
	}
	return -1
}

// violatesTask reports whether t violates a section of the task with the ID when it continues.
func (s *Scheduler) violatesTask(id uint32, t *Task) bool {
	for i := range s.sections {
		if x := &s.sections[i]; x.id == id && x.violatedBy(t) {
			return true
		}
	}
	return false
}

// hurryViolated makes each task urgent that has a section which t violates.
func (s *Scheduler) hurryViolated(tasks []Task, t *Task) {
	for i := range tasks {
		if s.violatesTask(tasks[i].ID, t) {
			tasks[i].OpState = urgent
		}
	}
}

// sectionAt returns the section of the task whose memory it is about to access, or nil.
func (s *Scheduler) sectionAt(t *Task) *section {
	for i := range s.sections {
		if x := &s.sections[i]; x.open && x.id == t.ID && x.isOn(t) {
			return x
		}
	}
	return nil
}

// LeaveCalls is called by the host when the task has returned to a call depth. The task leaves all
// sections that it entered deeper. Hosts that do not track calls leave Task.Depth at 0.
func (s *Scheduler) LeaveCalls(id, depth uint32) {
	for i := range s.sections {
		if x := &s.sections[i]; x.open && x.id == id && x.depth > depth {
			x.open = false
		}
	}
}

// updateSections updates the sections when the task continues. An access can be End, Remote and
// Entry at once, in this order.
func (s *Scheduler) updateSections(t *Task) {
	if t.Kind != Access || t.Roles&(Entry|Remote|End) == 0 {
		return
	}
	if x := s.sectionAt(t); x != nil && t.Roles&End != 0 {
		x.open = false
		if x.violated {
			s.noteViolation(x, t)
		}
	}
	if t.Roles&Remote != 0 {
		s.violate(t)
	}
	if t.Roles&Entry != 0 {
		s.enter(t)
	}
}

func (s *Scheduler) noteViolation(x *section, t *Task) {
	if m := s.newMeeting(Violation, x.step); m != nil {
		m.First = x.remote
		m.Second.set(t)
	}
}

// violate marks the sections that t violates.
func (s *Scheduler) violate(t *Task) {
	for i := range s.sections {
		if x := &s.sections[i]; x.violatedBy(t) {
			x.violated, x.step = true, s.steps
			x.remote.set(t)
		}
	}
}

// enter begins a section. It replaces the task's section for the same memory, if there is one.
func (s *Scheduler) enter(t *Task) {
	x := s.sectionAt(t)
	for i := range s.sections {
		if x == nil && !s.sections[i].open {
			x = &s.sections[i]
		}
	}
	if x == nil {
		x = &s.sections[s.evict]
		s.evict = (s.evict + 1) % MaxSections
	}
	x.open, x.violated, x.id = true, false, t.ID
	x.depth, x.addr, x.size, x.key = t.Depth, t.Addr, max(t.Size, 1), t.Key
}
