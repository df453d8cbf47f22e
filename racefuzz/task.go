package racefuzz

import (
	"strconv"
	"strings"

	"github.com/heisen-go/heisen/internal/core/strategies"
)

// The types of this file have counterparts in internal/core/strategies, which is injected into
// package runtime and therefore imports nothing. The values of their constants are equal; a test
// checks that.

// Kind classifies the next operation of a task.
type Kind uint8

// The kinds of operations.
const (
	Resume Kind = iota // none: the task was just started, or what it waited for has happened
	Access             // a memory access
	Lock               // acquisition of a lock
	Sync               // any other synchronization
	Yield              // none: the task gave way to others
)

var kindNames = [...]string{Resume: "resume", Access: "access", Lock: "lock", Sync: "sync", Yield: "yield"}

// String returns the constant's name in lower case.
func (k Kind) String() string {
	if int(k) >= len(kindNames) {
		return "kind " + strconv.Itoa(int(k))
	}
	return kindNames[k]
}

// Roles is the set of roles that a place has for a strategy; see WithRoles.
type Roles uint8

// The roles of places.
const (
	// First and Second are the two places of a suspected race.
	First Roles = 1 << iota
	Second
	// Entry, Remote and End are the places of an atomic section: its first access, the access of
	// another task that may interleave, and its last access.
	Entry
	Remote
	End
	// Inner is a place where a lock is acquired while another is held: one edge of a lock-order
	// cycle.
	Inner
)

// roleNames are the names of the roles, by bit.
var roleNames = [...]string{"first", "second", "entry", "remote", "end", "inner"}

// String returns the names of the roles as schedules have them, such as "first,second". It returns
// "none" for no roles.
func (r Roles) String() string {
	if r == 0 {
		return "none"
	}
	var names []string
	for i, name := range roleNames {
		if r&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	if rest := r >> len(roleNames) << len(roleNames); rest != 0 {
		names = append(names, "0x"+strconv.FormatUint(uint64(rest), 16))
	}
	return strings.Join(names, ",")
}

// NoTask is the ID of no task.
const NoTask = ^uint32(0)

// Task is a runnable task and its next operation. A Strategy chooses among tasks. It may change
// OpState and TaskState; the other fields belong to the host.
type Task struct {
	ID   uint32 // dense, in order of creation, from 0
	Kind Kind   // of the next operation
	// Write and Atomic describe an Access: it may change the memory; it is an atomic operation. Two
	// atomic operations do not race.
	Write, Atomic bool
	// Roles and Place are the roles and the number of the operation's place, for an Access or a
	// Lock. Result.Place returns the name of a place.
	Roles Roles
	Op    uint8 // the host's code of the operation, 0 in models
	Place uint32
	// Addr and Size are the bytes that an Access touches; a Size of 0 counts as 1. For a Lock, Addr
	// identifies the lock.
	Addr, Size uint64
	Depth      uint32 // call depth of the task, 0 in models
	// Seq is the sequence number of the next operation. It depends only on the path that the task
	// took, not on other tasks; see Turn.
	Seq uint64
	// Since is the step at which the task arrived at its next operation.
	Since uint64
	// OpState is the strategy's state for this operation: 0 when the task arrives at the operation,
	// and kept until the task makes it.
	OpState uint64
	// TaskState is the strategy's state for this task: 0 when the task is created, and kept until
	// the task ends.
	TaskState uint64
}

// Choice says which task continued at a step. Schedules contain the deviations: the choices that
// differ from the default choice.
//
// The default choice is the task that continued last, if it is runnable, has not given way and has
// not continued 1000 times in a row. Otherwise it is the task that has waited at its operation for
// longest, of several the one with the lowest ID. An ID of NoTask means that no task continued
// before a timer fired; it does not occur in models.
//
// Case concerns the select statement that the task executes in this step of a real program. It is 1
// plus the number of the case that is taken, among the ready cases in the order of their text. If it is
// 0, as in models, the seed decides.
type Choice struct {
	Step uint64 // from 0
	ID   uint32
	Case uint32
}

// MeetingKind classifies a Meeting.
type MeetingKind uint8

// The kinds of meetings.
const (
	// Race is a data race: both tasks were about to make conflicting accesses, at places that are
	// First or Second, when the first of them continued. This is the condition of Algorithm 2 of
	// the RaceFuzzer paper.
	Race MeetingKind = iota
	// Violation is a violated atomic section: the first task made an access at Remote after the
	// second task had made its access at Entry and before it made its access at End, all to the
	// same memory.
	Violation
)

// String returns "race" or "violation".
func (k MeetingKind) String() string {
	switch k {
	case Race:
		return "race"
	case Violation:
		return "violation"
	}
	return "meeting " + strconv.Itoa(int(k))
}

// Meeting is a confirmed bug: two tasks were at places with roles at the same time. Executions
// under any strategy can have meetings.
type Meeting struct {
	Kind          MeetingKind
	Step          uint64 // at which First continued
	First, Second Side
}

// Side is one task of a Meeting and its access.
type Side struct {
	ID         uint32 // of the task
	Op         uint8  // the host's code of the operation, 0 in models
	Place      uint32 // Result.Place returns its name
	Addr, Size uint64
	Write      bool
}

// Turn lets a task continue until it arrives at its first operation whose sequence number is at
// least Until, or until it ends or blocks. The sequence numbers of a task's operations ascend. In a
// model they are 1, 2, 3 and so on. In a real program the number is 1<<32 times the number of
// synchronizations and goroutine starts of the task so far, plus the number of accesses since the
// last of them. They do not depend on other tasks as long as the task takes the same path.
type Turn struct {
	ID    uint32
	Until uint64
}

// appendTasks appends tasks as the core has them.
func appendTasks(core []strategies.Task, tasks []Task) []strategies.Task {
	for i := range tasks {
		t := &tasks[i]
		core = append(core, strategies.Task{
			ID: t.ID, Kind: strategies.Kind(t.Kind), Write: t.Write, Atomic: t.Atomic, Roles: strategies.Roles(t.Roles),
			Op: t.Op, Place: t.Place, Addr: t.Addr, Size: t.Size, Depth: t.Depth, Seq: t.Seq, Since: t.Since,
			OpState: t.OpState, TaskState: t.TaskState,
		})
	}
	return core
}

// meetingOf returns a meeting of the core.
func meetingOf(m *strategies.Meeting) Meeting {
	side := func(x *strategies.Side) Side {
		return Side{ID: x.ID, Op: x.Op, Place: x.Place, Addr: x.Addr, Size: x.Size, Write: x.Write}
	}
	return Meeting{Kind: MeetingKind(m.Kind), Step: m.Step, First: side(&m.First), Second: side(&m.Second)}
}

// choicesOf and turnsOf return choices and turns as the core has them.
func choicesOf(choices []Choice) []strategies.Choice {
	core := make([]strategies.Choice, len(choices))
	for i, c := range choices {
		core[i] = strategies.Choice(c)
	}
	return core
}

func turnsOf(turns []Turn) []strategies.Turn {
	core := make([]strategies.Turn, len(turns))
	for i, t := range turns {
		core[i] = strategies.Turn(t)
	}
	return core
}
