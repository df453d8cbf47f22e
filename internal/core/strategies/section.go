package strategies

// MaxSections is how many sections are followed at a time. If there are more, some are
// forgotten and their violations missed. A task may be in several: it is not said which
// of the accesses at the place of Entry is to the variable that the section is about.
const MaxSections = 32

// section is one that a task is in: it has made the access at Entry.
type section struct {
	open       bool
	torn       bool // another has made an access at Remote meanwhile
	id         uint32
	depth      uint32
	addr, size uint64 // accessed at Entry
	step       uint64 // at which the section was torn
	remote     Side   // and by whom
}

// sectionDirected keeps back who is in a section, wherever it stands, until another has
// made an access at Remote to the memory of the section, and who is about to make one
// until another is in such a section. The accesses of a section may each be made under
// a lock of its own; to wait until one stands at its last would be too late, for then it
// has the lock. Who is in a section that has been torn goes on next.
func (p *Picker) sectionDirected(tasks []Task) int {
	g := p.look(tasks)
	if g.now >= 0 {
		return g.now
	}
	for i := g.from; g.fresh > 0; i++ {
		t := &tasks[i]
		if t.Mark != arrived {
			continue
		}
		g.fresh--
		t.Mark = free
		if remote(t) && p.tears(t) {
			p.hurry(tasks, t)
			return i
		}
		if p.waits(t.ID) {
			g.postpone(t)
			if j := p.tearing(tasks, t.ID); j >= 0 {
				p.hurry(tasks, &tasks[j])
				return j
			}
		} else if remote(t) {
			g.postpone(t)
		}
	}
	return p.among(tasks, g)
}

// remote reports whether the task is about to make an access that tears sections.
func remote(t *Task) bool { return t.Kind == Access && t.Roles&Remote != 0 }

// tornBy reports whether the section is torn when t goes on.
func (s *section) tornBy(t *Task) bool {
	return s.open && !s.torn && s.id != t.ID && touches(t, s.addr, s.size)
}

// tears reports whether a section is torn when t, which is at Remote, goes on.
func (p *Picker) tears(t *Task) bool {
	for i := range p.sections {
		if p.sections[i].tornBy(t) {
			return true
		}
	}
	return false
}

// waits reports whether a task is in sections of which none has been torn.
func (p *Picker) waits(id uint32) bool {
	in := false
	for i := range p.sections {
		if s := &p.sections[i]; s.open && s.id == id {
			if s.torn {
				return false
			}
			in = true
		}
	}
	return in
}

// tearing returns the index of a task that tears a section of the given task when it
// goes on, or -1.
func (p *Picker) tearing(tasks []Task, id uint32) int {
	for j := range tasks {
		if remote(&tasks[j]) && p.tearsOf(id, &tasks[j]) {
			return j
		}
	}
	return -1
}

// tearsOf reports whether a section of the task is torn when t goes on.
func (p *Picker) tearsOf(id uint32, t *Task) bool {
	for i := range p.sections {
		if s := &p.sections[i]; s.id == id && s.tornBy(t) {
			return true
		}
	}
	return false
}

// hurry lets those go on next whose sections t tears.
func (p *Picker) hurry(tasks []Task, t *Task) {
	for i := range tasks {
		if p.tearsOf(tasks[i].ID, t) {
			tasks[i].Mark = hurried
		}
	}
}

// sectionAt returns the section that the task is in and whose memory it is about to
// access, or nil.
func (p *Picker) sectionAt(t *Task) *section {
	for i := range p.sections {
		if s := &p.sections[i]; s.open && s.id == t.ID && touches(t, s.addr, s.size) {
			return s
		}
	}
	return nil
}

// Leave says that the task has returned from calls and is in so many now: it is in no
// section any more that it entered deeper. Hosts that don't know leave Depth at 0.
func (p *Picker) Leave(id, depth uint32) {
	for i := range p.sections {
		if s := &p.sections[i]; s.open && s.id == id && s.depth > depth {
			s.open = false
		}
	}
}

// passSection notes what it means for sections that the task goes on.
func (p *Picker) passSection(t *Task) {
	if t.Kind != Access || t.Roles&(Entry|Remote|End) == 0 {
		return
	}
	if s := p.sectionAt(t); s != nil && t.Roles&End != 0 {
		s.open = false
		if s.torn {
			p.violation(s, t)
		}
	}
	if t.Roles&Remote != 0 {
		p.tear(t)
	}
	if t.Roles&Entry != 0 {
		p.enter(t)
	}
}

func (p *Picker) violation(s *section, t *Task) {
	if m := p.note(Violation, s.step); m != nil {
		m.First = s.remote
		m.Second.set(t)
	}
}

func (p *Picker) tear(t *Task) {
	for i := range p.sections {
		if s := &p.sections[i]; s.tornBy(t) {
			s.torn, s.step = true, p.steps
			s.remote.set(t)
		}
	}
}

func (p *Picker) enter(t *Task) {
	s := p.sectionAt(t)
	for i := range p.sections {
		if s == nil && !p.sections[i].open {
			s = &p.sections[i]
		}
	}
	if s == nil {
		s = &p.sections[p.evict]
		p.evict = (p.evict + 1) % MaxSections
	}
	s.open, s.torn, s.id = true, false, t.ID
	s.depth, s.addr, s.size = t.Depth, t.Addr, max(t.Size, 1)
}
