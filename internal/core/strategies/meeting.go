package strategies

// MaxMeetings is how many meetings a Scheduler has room for.
const MaxMeetings = 8

// MeetingKind classifies a Meeting.
type MeetingKind uint8

const (
	// Race: both tasks were about to make conflicting accesses, at places First or Second, when the
	// first of them continued.
	Race MeetingKind = iota
	// Violation: the first task made an access at Remote after the second task had made its access
	// at Entry and before it made its access at End, all to the same memory. It is recorded when
	// the second task continues at End.
	Violation
)

// Meeting is a confirmed bug: two tasks were at places with roles at the same time. Any strategy
// can produce one. It is never a false alarm, because nothing ordered the two accesses.
type Meeting struct {
	Kind          MeetingKind
	Step          uint64 // at which First continued
	First, Second Side
}

// Side is one task of a meeting and its access.
type Side struct {
	ID         uint32
	Op         uint8
	Place      uint32
	Addr, Size uint64
	Write      bool
}

// addRaces adds a meeting for each task that races with task i when i continues.
func (s *Scheduler) addRaces(tasks []Task, i int) {
	t := &tasks[i]
	if !racy(t) {
		return
	}
	for j := range tasks {
		if j != i && conflict(t, &tasks[j]) {
			if m := s.newMeeting(Race, s.steps); m != nil {
				m.First.set(t)
				m.Second.set(&tasks[j])
			}
		}
	}
}

// newMeeting returns a meeting to fill in, nil if there is no room.
func (s *Scheduler) newMeeting(kind MeetingKind, step uint64) *Meeting {
	if s.NumMeetings == len(s.Meetings) {
		return nil
	}
	m := &s.Meetings[s.NumMeetings]
	s.NumMeetings++
	m.Kind, m.Step = kind, step
	return m
}

func (x *Side) set(t *Task) {
	x.ID, x.Op, x.Place, x.Addr, x.Size, x.Write = t.ID, t.Op, t.Place, t.Addr, max(t.Size, 1), t.Write
}

// racy reports whether the task is about to make an access of the suspected pair.
func racy(t *Task) bool { return t.Kind == Access && t.Roles&(First|Second) != 0 }

// conflict is Algorithm 2 of the RaceFuzzer paper for two tasks: both are about to make an access
// of the pair, to the same memory, at least one writes, and not both are atomic.
func conflict(t, u *Task) bool {
	return racy(t) && racy(u) && (t.Write || u.Write) && !(t.Atomic && u.Atomic) && overlaps(t, u.Addr, u.Size)
}
