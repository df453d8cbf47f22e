package pick

// MaxMet is how many meetings a Picker has room for.
const MaxMet = 8

// MeetingKind is what tasks have met for.
type MeetingKind uint8

const (
	// Race is that two tasks were about to make conflicting accesses, at places First
	// or Second, when the first of them went on.
	Race MeetingKind = iota
	// Violation is that the first task went on to an access at Remote while the second
	// stood between its accesses at Entry and End to the same memory, about to make
	// the latter.
	Violation
)

// Meeting is that two tasks were at places of interest at the same time, whatever the
// strategy. It is no guess: nothing keeps the two accesses apart.
type Meeting struct {
	Kind          MeetingKind
	Step          uint64 // at which First went on
	First, Second Side
}

// Side is one of the two tasks of a meeting, and its access.
type Side struct {
	ID         uint32
	Place      uint32
	Addr, Size uint64
	Write      bool
}

// meet notes whom task i meets when it goes on.
func (p *Picker) meet(tasks []Task, i int) {
	t := &tasks[i]
	if t.Kind != Access || t.Roles&(First|Second|Remote) == 0 {
		return
	}
	for j := range tasks {
		if j == i {
			continue
		}
		if conflict(t, &tasks[j]) {
			p.note(Race, t, &tasks[j])
		}
		if t.Roles&Remote != 0 && atEnd(&tasks[j]) && touches(&tasks[j], t.Addr, t.Size) {
			p.note(Violation, t, &tasks[j])
		}
	}
}

func (p *Picker) note(kind MeetingKind, first, second *Task) {
	if p.NumMet == len(p.Met) {
		return
	}
	m := &p.Met[p.NumMet]
	p.NumMet++
	m.Kind, m.Step = kind, p.steps
	m.First.set(first)
	m.Second.set(second)
}

func (s *Side) set(t *Task) {
	s.ID, s.Place, s.Addr, s.Size, s.Write = t.ID, t.Place, t.Addr, max(t.Size, 1), t.Write
}

// racy reports whether the task is about to make an access of the pair.
func racy(t *Task) bool { return t.Kind == Access && t.Roles&(First|Second) != 0 }

// conflict is Algorithm 2 for two tasks: both are about to make an access of the pair,
// to the same memory, one of them writes, and not both are atomic.
func conflict(t, u *Task) bool {
	return racy(t) && racy(u) && (t.Write || u.Write) && !(t.Atomic && u.Atomic) && touches(t, u.Addr, u.Size)
}

// touches reports whether the task is about to access any of the bytes.
func touches(t *Task, addr, size uint64) bool {
	return t.Addr < addr+max(size, 1) && addr < t.Addr+max(t.Size, 1)
}

// A task's section is what it has accessed at Entry: the address in Own[0] and the size
// in Own[1], which is 0 if there is no section.

// atEnd reports whether the task is about to end a section that it has entered.
func atEnd(t *Task) bool {
	return t.Kind == Access && t.Roles&End != 0 && t.Own[1] != 0 && touches(t, t.Own[0], t.Own[1])
}

// pass notes what it means for sections that the task goes on.
func (p *Picker) pass(t *Task) {
	if t.Kind != Access || t.Roles&(Entry|End) == 0 {
		return
	}
	if atEnd(t) {
		t.Own[1] = 0
	}
	if t.Roles&Entry != 0 {
		t.Own[0], t.Own[1] = t.Addr, max(t.Size, 1)
	}
}
