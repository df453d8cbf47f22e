package strategies

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

// Task is a task that can go on, and what it does next. The host fills it in; but for
// Mark and Own it is only read.
type Task struct {
	ID    uint32 // dense, in order of creation
	Kind  Kind
	Write bool // of Access: it may change the memory
	// Atomic says of an Access that it is an atomic operation. Two of these are no race.
	Atomic bool
	Roles  Roles // of the place, if Kind is Access or Lock
	// Op and Place are the host's numbers of the operation and the place.
	Op    uint8
	Place uint32
	// Addr and Size are the bytes accessed; of Lock, Addr is the lock. Size 0 counts
	// as 1.
	Addr, Size uint64
	// Depth is in how many calls the task is; see Leave.
	Depth uint32
	// At numbers the operation before which the task stands: more than the number of any
	// that it has begun, and the same wherever the task came so far by the same way,
	// whatever others did.
	At uint64
	// Since is the step (see Steps) at which the task came to what it does next.
	Since uint64
	// Mark belongs to the strategy. The host sets it to 0 whenever the task comes to
	// something else, and keeps it meanwhile.
	Mark uint64
	// Own belongs to the strategy too. The host sets it to 0 when the task is
	// created and keeps it as long as the task lives, also while it is not among
	// those that can go on.
	Own uint64
}

// Strategy is how a Picker chooses.
type Strategy uint32

const (
	// RandomWalk chooses each time among all tasks, each as likely as another.
	RandomWalk Strategy = iota
	// PCT is the probabilistic concurrency testing of Burckhardt, Kothari, Musuvathi
	// and Nagarakatte (ASPLOS 2010): the task with the highest priority goes on;
	// priorities are random, and at Depth-1 random steps out of Length the task that
	// would go on falls below all others.
	PCT
	// RaceDirected brings tasks to the places First and Second at the same time:
	// Algorithm 1 of Sen: Race Directed Random Testing of Concurrent Programs (PLDI
	// 2008).
	RaceDirected
	// DeadlockDirected does the same with tasks at places Inner, all that it can get.
	DeadlockDirected
	// SectionDirected lets a task make the access at Remote while another is between
	// its accesses at Entry and End.
	SectionDirected
	// Replay makes the default choice but where Choices says otherwise.
	Replay
	// Follow lets tasks go on by turns, as Order says, and then goes on as RaceDirected.
	Follow
)

// Config is what a Picker is told at the start. The slices are the host's memory and
// stay so; the first two are only read.
type Config struct {
	Strategy Strategy
	// Seed determines all choices and all random numbers.
	Seed uint64
	// Patience is for how many steps a task is kept back at most, or waited for; 0 is
	// DefaultPatience, and less for Follow. It halves each time that it was in vain, to
	// leastPatience.
	Patience uint64
	// Calm makes directed strategies, and what comes after Order, choose among the tasks
	// that are not kept back by default and not at random: then most choices are the
	// default ones.
	Calm bool
	// Wait is how long tasks are kept back at most while all others wait for time to
	// pass, in the unit of Picker.Timer; 0 is not at all.
	Wait uint64
	// Depth and Length are those of PCT: how many changes of order a bug needs, from
	// 1 to MaxDepth, and how many steps an execution has, at least 1. What is out of
	// bounds is taken for the next that is not.
	Depth, Length uint64
	// Choices is what Replay follows, by ascending steps.
	Choices []Choice
	// Order is what Follow follows.
	Order []Turn
	// Log is where deviations are logged. It may be nil.
	Log []Choice
}

// DefaultPatience is for how many steps tasks are kept back if the host doesn't say.
const DefaultPatience = 1 << 17

// leastPatience is what is left of it at last. A program in which one task comes to a
// place over and over, and others never rest, would take for ever otherwise.
const leastPatience = 100

// None is the ID of no task. As a Choice it is to wait.
const None = ^uint32(0)

// Wait is what Next returns if none of the tasks is to go on until time has passed.
const Wait = -1

// Picker chooses. Start it before use. One goroutine at a time may use it.
type Picker struct {
	// Met are the meetings of the latest steps, the first NumMet. The host sets
	// NumMet to 0 when it has taken them, best after each Next; where there is no
	// room, meetings get lost.
	Met    [MaxMet]Meeting
	NumMet int
	// Log is where choices other than the default are logged, the first NumLog. The
	// host sets NumLog to 0 when it has taken them; LostLog counts those for which
	// there was no room.
	Log     []Choice
	NumLog  int
	LostLog uint64
	// Hash is a hash of all choices so far.
	Hash uint64
	// Timer is set by the host before each Next: after how much time another task could
	// go on if none of these did; 0 is never.
	Timer uint64
	// Came is set by hosts, before each Next, that let a task do more than one operation
	// at a time: the number of the latest one that the task which went on last has begun.
	Came uint64
	// Until says after each Next at which operation, or a later one, whoever goes on is to
	// stop again even if it would not by itself.
	Until uint64
	// Diverged counts the steps of Choices and the turns of Order that could not be
	// followed.
	Diverged uint64

	config Config
	steps  uint64 // calls of Next so far
	last   uint32 // the task chosen last
	turn   uint64 // how often it has been chosen in a row
	next   int    // what comes next of Choices or Order
	missed uint64 // steps in a row at which that could not be followed
	begun  bool   // the task whose turn it is has gone on in it
	came   uint64 // how far

	patience uint64 // what is left of it
	wait     uint64 // what is left of Config.Wait, which halves each time it is in vain
	waited   uint64 // time, since a task that was kept back last went on

	changes [MaxDepth]uint64 // the steps at which PCT changes priorities
	yields  uint64           // how often PCT has put a task last

	sections [MaxSections]section // those that tasks are in
	evict    int                  // which makes room next

	choices generator // the strategy's
	data    generator // the program's
}

// Start begins an execution.
func (p *Picker) Start(c *Config) {
	*p = Picker{}
	p.config = *c
	p.config.Calm = c.Calm || c.Strategy == Follow
	p.Log = c.Log
	p.last = None
	p.choices.seed(c.Seed)
	p.data.seed(^c.Seed)
	if p.config.Patience == 0 {
		p.config.Patience = DefaultPatience
		if c.Strategy == Follow {
			p.config.Patience = followPatience
		}
	}
	p.patience, p.wait = p.config.Patience, p.config.Wait
	p.Until = always
	if c.Strategy == PCT {
		p.startPCT()
	}
}

// Next returns the index of the task that goes on. There is at least one; their order
// is up to the host, as long as it is the same in every execution that came so far by
// the same choices. running is the ID of the task that went on last, None at first; it
// need not be among the tasks.
//
// If Timer is not 0 it may also return Wait: then the host lets so much time pass, and
// asks again.
//
// It takes a few steps for each task and changes Mark and Own of any.
func (p *Picker) Next(tasks []Task, running uint32) int {
	i := p.choose(tasks, running)
	p.Record(tasks, i, running)
	return i
}

func (p *Picker) choose(tasks []Task, running uint32) int {
	switch p.config.Strategy {
	case PCT:
		return p.pct(tasks)
	case RaceDirected:
		return p.raceDirected(tasks)
	case DeadlockDirected:
		return p.deadlockDirected(tasks)
	case SectionDirected:
		return p.sectionDirected(tasks)
	case Replay:
		return p.replay(tasks, running)
	case Follow:
		return p.follow(tasks, running)
	}
	return p.walk(tasks)
}

// Record takes down that task i goes on, or none if it is Wait: whom it meets, whether that is a deviation.
// Next does so by itself; Record is for hosts that choose without it.
func (p *Picker) Record(tasks []Task, i int, running uint32) {
	p.log(tasks, i, running)
	if i != Wait {
		p.meet(tasks, i)
		p.passSection(&tasks[i])
	}
	p.steps++
}

// Steps returns how often Next has been called: during the first call the step is 0.
func (p *Picker) Steps() uint64 { return p.steps }

// Random returns a random number for the program itself: for its select statements,
// the order of its maps and the like. They do not depend on what Next chooses.
func (p *Picker) Random() uint64 { return p.data.next() }
