package strategies

// Strategy selects how a Scheduler chooses.
type Strategy uint32

const (
	// RandomWalk chooses uniformly among the runnable tasks.
	RandomWalk Strategy = iota
	// PCT is probabilistic concurrency testing (Burckhardt, Kothari, Musuvathi, Nagarakatte,
	// ASPLOS 2010). The runnable task with the highest priority continues. Priorities are random.
	// At Depth-1 random steps out of Steps, the task that would continue drops below all others.
	PCT
	// RaceDirected brings two tasks to the places First and Second at the same time (Sen, PLDI
	// 2008, Algorithm 1).
	RaceDirected
	// DeadlockDirected brings as many tasks as possible to places Inner at the same time.
	DeadlockDirected
	// SectionDirected brings a task to the place Remote while another task is between its
	// accesses at Entry and End.
	SectionDirected
	// Replay makes the default choice except where Choices has another one.
	Replay
	// Follow lets tasks continue in the order of Turns and then continues as RaceDirected.
	Follow
	// POS is partial order sampling (Yuan, Yang, Gu, CAV 2018, section 3). Each operation has a
	// random priority, and gets another one when an operation goes first on whose order with it
	// the execution may depend. The operation with the highest priority is next.
	POS
	// Delay makes the default choice, but postpones tasks at random where they synchronize, also
	// while time passes.
	Delay
	// Explore makes the choices of Choices, one for each of the first steps, and then the default
	// choice among the tasks that are not among the Sleepers.
	Explore
	// Families is PCT in which a task has a priority next to that of the task that has created it.
	Families
)

// Config configures a Scheduler. The slices remain the host's memory; the Scheduler only reads
// Choices and Turns.
type Config struct {
	Strategy Strategy
	// Seed determines all random choices and all random numbers.
	Seed uint64
	// Variation changes the random choices, and not the random numbers.
	Variation uint64
	// Branch, if not 0, is the step from which on the random choices are those of BranchSeed. Up to
	// it, the execution is the same as one without Branch.
	Branch, BranchSeed uint64
	// PostponeLimit bounds how many steps a task is postponed, or waited for. The default, for 0,
	// is DefaultPostponeLimit; for Follow it is followPostponeLimit. Each time that a task stays
	// postponed up to the limit, the limit halves, down to minPostponeLimit.
	PostponeLimit uint64
	// ByDefault makes the directed strategies, and Follow after its last turn, choose the default
	// among the tasks that are not postponed, instead of a random one. The execution then has few
	// deviations.
	ByDefault bool
	// WaitLimit bounds how long tasks stay postponed while all others wait for a timer, in the unit
	// of Scheduler.Timer. 0 means not at all.
	WaitLimit uint64
	// Depth and Steps are the parameters of PCT and Families: the bug depth, from 1 to MaxDepth, and the
	// length of an execution, at least 1. Values out of bounds are clamped. Delay postpones a task
	// at one in Depth operations. RaceDirected lets half of the tasks pass up to Depth places of the pair before
	// it postpones them; with 0 it is Algorithm 1 of the RaceFuzzer paper.
	Depth, Steps uint64
	// Choices are the deviations that Replay makes, by ascending step.
	Choices []Choice
	// Turns is the order that Follow follows.
	Turns []Turn
	// Sleepers are the tasks that Explore does not choose. The Scheduler changes them.
	Sleepers []Sleeper
	// Log is the memory for Scheduler.Log. It may be nil.
	Log []Choice
}

// DefaultPostponeLimit is the default of Config.PostponeLimit.
const DefaultPostponeLimit = 1 << 17

// minPostponeLimit is the lowest value to which the postpone limit falls. Without the halving, a
// program in which one task reaches a place again and again while others spin would run for too
// long.
const minPostponeLimit = 100

// NoTask is the ID of no task. A Choice of NoTask means that time passed.
const NoTask = ^uint32(0)

// Wait is what Next returns if no task continues before time has passed.
const Wait = -1

// Scheduler chooses which task continues. Start must be called first. A Scheduler is for one
// goroutine at a time.
type Scheduler struct {
	// Meetings[:NumMeetings] are the meetings of the latest steps. The host sets NumMeetings to 0
	// when it has taken them, best after each Next. Meetings that find no room are lost.
	Meetings    [MaxMeetings]Meeting
	NumMeetings int
	// Log[:NumLog] are the latest deviations. The host sets NumLog to 0 when it has taken them.
	// LostLog counts deviations that found no room.
	Log     []Choice
	NumLog  int
	LostLog uint64
	// Hash is a hash of all choices so far.
	Hash uint64
	// Order is a hash of the order of the operations on each object so far. It is the same for
	// executions that differ only in the order of operations that do not concern the same object.
	Order uint64
	// Delays counts how often time has passed while tasks that could continue were postponed.
	Delays uint64
	// Timer is set by the host before each Next: the time until a timer makes another task
	// runnable, 0 if there is no such timer.
	Timer uint64
	// Fresh may be set by the host before each Next: tasks[:Fresh] were runnable at the last Next, too,
	// and were not chosen. It makes PCT faster.
	Fresh int
	// LastSeq is set before each Next by hosts that let a task make several operations at a time:
	// the Seq of the latest operation that the last task has begun.
	LastSeq uint64
	// Until is set by Next: the chosen task must stop at its first operation whose Seq is at
	// least this, even if the host would let it continue.
	Until uint64
	// Diverged counts the entries of Choices and Turns that could not be followed.
	Diverged uint64

	config  Config
	steps   uint64 // calls of Next so far
	last    uint32 // the task chosen last
	inRow   uint64 // how often in a row it was chosen
	next    int    // index of the next entry of Choices or Turns
	wanted  uint32 // Case of the choice of the current step
	stalled uint64 // steps in a row at which the next turn could not be followed
	started bool   // the task of the next turn has continued in this turn
	reached uint64 // highest Seq that it has begun in this turn

	postponeLimit uint64 // current limit
	waitLimit     uint64 // current limit: halves when a wait was in vain
	waited        uint64 // time passed since a postponed task last continued

	changes [MaxDepth]uint64 // steps at which PCT lowers a priority
	yields  uint64           // how often PCT has put a task last
	top     uint64           // priority of the task that PCT has chosen last

	sections [MaxSections]section // atomic sections that tasks are in
	evict    int                  // index of the section that is replaced next

	objects [orderObjects]uint64 // see noteOrder

	choices generator // random numbers of the strategy
	data    generator // random numbers of the program
}

// Start begins an execution.
func (s *Scheduler) Start(c *Config) {
	*s = Scheduler{}
	s.config = *c
	s.config.ByDefault = c.ByDefault || c.Strategy == Follow || c.Strategy == Delay
	s.Log = c.Log
	s.last = NoTask
	s.choices.seed(c.Seed + c.Variation*0xD6E8FEB86659FD93)
	s.data.seed(^c.Seed)
	if s.config.PostponeLimit == 0 {
		s.config.PostponeLimit = DefaultPostponeLimit
		if c.Strategy == Follow {
			s.config.PostponeLimit = followPostponeLimit
		}
	}
	s.postponeLimit, s.waitLimit = s.config.PostponeLimit, s.config.WaitLimit
	s.Until = always
	switch c.Strategy {
	case PCT, Families:
		s.startPCT()
	case Delay:
		s.config.Depth = max(s.config.Depth, 1)
	}
}

// Next returns the index of the task that continues. There must be at least one task. The order of
// tasks is up to the host; it must be the same in every execution with the same choices so far.
// running is the ID of the task that continued last, NoTask at first. It need not be among the
// tasks.
//
// If Timer is not 0, Next may return Wait. The host then lets that time pass and calls Next again.
//
// The cost is linear in the number of tasks. Next may change OpState and TaskState of every task.
func (s *Scheduler) Next(tasks []Task, running uint32) int {
	if s.config.Branch == s.steps && s.steps > 0 {
		s.branch()
	}
	i := s.choose(tasks, running)
	s.Record(tasks, i, running)
	return i
}

// branch replaces the random choices of the rest of the execution.
func (s *Scheduler) branch() {
	s.choices.seed(s.config.Seed + s.config.BranchSeed*0xA0761D6478BD642F)
	if s.config.Strategy == PCT || s.config.Strategy == Families {
		s.branchPCT()
	}
}

func (s *Scheduler) choose(tasks []Task, running uint32) int {
	switch s.config.Strategy {
	case PCT, Families:
		return s.pct(tasks)
	case RaceDirected:
		return s.raceDirected(tasks)
	case DeadlockDirected:
		return s.deadlockDirected(tasks)
	case SectionDirected:
		return s.sectionDirected(tasks)
	case Replay:
		return s.replay(tasks, running)
	case Follow:
		return s.follow(tasks, running)
	case POS:
		return s.pos(tasks)
	case Delay:
		return s.delay(tasks)
	case Explore:
		return s.explore(tasks, running)
	}
	return s.randomWalk(tasks)
}

func (s *Scheduler) randomWalk(tasks []Task) int { return int(s.choices.below(uint64(len(tasks)))) }

// Record records that task i continues, or that time passes if i is Wait: the deviation, if it is
// one, and the meetings. Next calls it. A host that chooses by other means calls Record instead of
// Next.
func (s *Scheduler) Record(tasks []Task, i int, running uint32) {
	s.logChoice(tasks, i, running)
	if i == Wait {
		s.Delays++
	} else {
		s.noteOrder(&tasks[i])
		s.addRaces(tasks, i)
		s.updateSections(&tasks[i])
	}
	s.steps++
}

// Steps returns the number of calls of Next so far. The first step is step 0.
func (s *Scheduler) Steps() uint64 { return s.steps }

// Random returns a random number for the program itself, such as for its select statements or its
// map iteration. The numbers do not depend on the choices of Next.
func (s *Scheduler) Random() uint64 { return s.data.next() }
