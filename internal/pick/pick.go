package pick

// Kind is what a task does next.
type Kind uint8

const (
	// Resume is to go on: the task has just been started, or what it waited for has
	// come.
	Resume Kind = iota
	// Access is an access to memory at a place that the strategy is interested in.
	Access
	// Lock is to take a lock, for which the task may have to wait.
	Lock
	// Sync is any other synchronisation.
	Sync
	// Yield is to go on after having given way: the program asked for it, or the task
	// has made so many steps that others must have their turn.
	Yield
)

// Roles are what a place is to the strategy, as a set.
type Roles uint8

const (
	// First and Second are the two places of a pair that may race.
	First Roles = 1 << iota
	Second
	// Entry, Remote and End are those of an atomic section: its first access, the one
	// of another task that may come in between, and its last.
	Entry
	Remote
	End
	// Inner is where a lock is taken while another is held: one side of a possible
	// deadlock.
	Inner
)

// Task is a task that can go on, and what it does next.
type Task struct {
	ID    uint32 // dense, in order of creation
	Kind  Kind
	Write bool  // of Access: it may change the memory
	Roles Roles // of the place, if Kind is Access or Lock
	// Place is the host's number of the place.
	Place uint32
	// Addr and Size are the bytes accessed; of Lock, Addr is the lock.
	Addr, Size uint64
	// Since is the step at which the task came to what it does next.
	Since uint64
	// Mark belongs to the strategy. The host sets it to 0 whenever the task comes to
	// something else, and keeps it meanwhile.
	Mark uint64
}

// Strategy is how a Picker chooses.
type Strategy uint32

const (
	// RandomWalk chooses each time among all tasks, each as likely as another.
	RandomWalk Strategy = iota
)

// Config is what a Picker is told at the start.
type Config struct {
	Strategy Strategy
	// Seed determines all choices and all random numbers.
	Seed uint64
}

// None is the ID of no task.
const None = ^uint32(0)

// Picker chooses. Start it before use. One goroutine at a time may use it.
type Picker struct {
	config Config
	steps  uint64 // calls of Next so far

	choices generator // the strategy's
	data    generator // the program's
}

// Start begins an execution.
func (p *Picker) Start(c *Config) {
	*p = Picker{config: *c}
	p.choices.seed(c.Seed)
	p.data.seed(^c.Seed)
}

// Next returns the index of the task that goes on. There is at least one; their order
// is up to the host, as long as it is the same in every execution that came so far by
// the same choices. running is the ID of the task that went on last, None at first; it
// need not be among the tasks.
func (p *Picker) Next(tasks []Task, running uint32) int {
	p.steps++
	return p.walk(tasks)
}

// Steps returns how often Next has been called.
func (p *Picker) Steps() uint64 { return p.steps }

// Random returns a random number for the program itself: for its select statements,
// the order of its maps and the like. They do not depend on what Next chooses.
func (p *Picker) Random() uint64 { return p.data.next() }
