package strategies

// MaxMet is how many meetings a Picker has room for.
const MaxMet = 8

// MeetingKind is what tasks have met for.
type MeetingKind uint8

const (
	// Race is that two tasks were about to make conflicting accesses, at places First
	// or Second, when the first of them went on.
	Race MeetingKind = iota
	// Violation is that the first task made an access at Remote after the second had
	// made one at Entry and before it made one at End, all to the same memory. It is
	// noted when the second goes on to the latter.
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
	Op         uint8
	Place      uint32
	Addr, Size uint64
	Write      bool
}

// meet notes with whom task i is in a race when it goes on.
func (p *Picker) meet(tasks []Task, i int) {
	t := &tasks[i]
	if !racy(t) {
		return
	}
	for j := range tasks {
		if j != i && conflict(t, &tasks[j]) {
			if m := p.note(Race, p.steps); m != nil {
				m.First.set(t)
				m.Second.set(&tasks[j])
			}
		}
	}
}

// note returns a new meeting to be filled in, nil if there is no room.
func (p *Picker) note(kind MeetingKind, step uint64) *Meeting {
	if p.NumMet == len(p.Met) {
		return nil
	}
	m := &p.Met[p.NumMet]
	p.NumMet++
	m.Kind, m.Step = kind, step
	return m
}

func (s *Side) set(t *Task) {
	s.ID, s.Op, s.Place, s.Addr, s.Size, s.Write = t.ID, t.Op, t.Place, t.Addr, max(t.Size, 1), t.Write
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
