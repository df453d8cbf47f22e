package strategies

// Kind classifies the next operation of a task.
type Kind uint8

const (
	// Resume is no operation: the task was just started, or what it waited for has happened.
	Resume Kind = iota
	// Access is a memory access at a place that has a role.
	Access
	// Lock is the acquisition of a lock. The task may have to wait for it.
	Lock
	// Sync is any other synchronization.
	Sync
	// Yield means that the task gave way: the program called for it, or the host limits how many
	// steps a task makes in a row.
	Yield
)

// Roles is the set of roles that a place has for the strategy.
type Roles uint8

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

// Task is a runnable task and its next operation. The host fills it in. A strategy changes only
// OpState and TaskState.
type Task struct {
	ID     uint32 // dense, in order of creation
	Kind   Kind
	Write  bool  // Access: the operation may change the memory
	Atomic bool  // Access: an atomic operation; two atomic operations do not race
	Roles  Roles // Access and Lock: the roles of the place
	Op     uint8 // the host's code of the operation
	Place  uint32
	// Addr and Size are the bytes that an Access touches; a Size of 0 counts as 1. For a Lock, Addr
	// identifies the lock.
	Addr, Size uint64
	// Key tells parts of an object apart, of which an Access concerns one, as the keys of a map do. 0 is
	// the whole object. A section is on the part that the access at its entry concerns.
	Key uint64
	// Depth is the call depth of the task; see LeaveCalls.
	Depth uint32
	// Seq is the sequence number of the next operation: higher than that of every operation that
	// the task has begun. It depends only on the path that the task took, not on other tasks.
	Seq uint64
	// Since is the step at which the task arrived at its next operation; see Steps.
	Since uint64
	// OpState belongs to the strategy. The host sets it to 0 when the task arrives at another
	// operation and keeps it until then.
	OpState uint64
	// TaskState belongs to the strategy. The host sets it to 0 when the task is created and keeps
	// it until the task ends, also while the task is not runnable.
	TaskState uint64
}

// find returns the index of the task with the ID, or -1.
func find(tasks []Task, id uint32) int {
	for i := range tasks {
		if tasks[i].ID == id {
			return i
		}
	}
	return -1
}

// overlaps reports whether the task is about to access any of the bytes.
func overlaps(t *Task, addr, size uint64) bool {
	return t.Addr < addr+max(size, 1) && addr < t.Addr+max(t.Size, 1)
}
