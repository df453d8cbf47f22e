package search

import (
	"maps"
	"slices"

	"github.com/heisen-go/heisen/internal/confirm/controlled"
	"github.com/heisen-go/heisen/internal/confirm/suspects"
	"github.com/heisen-go/heisen/internal/confirm/trials"
	"github.com/heisen-go/heisen/internal/core/strategies"
	"github.com/heisen-go/heisen/internal/recorder"
)

// portfolio decides which schedules the executions of a unit have. They are planned in generations. In
// each, every arm has at least one execution. The others go to the arms whose executions have shown most
// that was new. A generation is planned when all executions of the one before have ended, so the plan
// does not depend on how many executions run at a time. If executions are long, there are few of them: all go
// to the arms that have shown most. The zero value is a new portfolio.
type portfolio struct {
	arms    []*arm
	begun   bool   // a generation was planned
	yielded bool   // goroutines had to yield, see Schedule.Spin
	patient bool   // one of the arms is the patient one
	long    bool   // there can only be few executions
	plans   []plan // of the generation
	started int    // of the plans
	running int
	number  int // of executions before the generation

	firstSeed uint64
	length    uint64                     // steps of the longest execution
	orders    map[uint64]bool            // the orders of operations so far, by their hashes
	behaviors map[recorder.Behavior]bool // what executions have shown so far
	bugs      map[string]bool            // fingerprints of what they have shown
	vain      int                        // executions since the last new order
	parents   []parent                   // executions that have shown something new, the latest ones
	mutated   uint64                     // executions that were made from parents
}

// arm is a way to choose schedules.
type arm struct {
	config  strategies.Config
	targets strategies.Roles // places with these roles are targets; 0 for those of suspects, in half of the executions
	mutates bool             // it changes an execution that has shown something new
	spin    int              // Schedule.Spin
	planned int              // executions so far
	made    float64          // recent executions
	shown   float64          // and what they have shown that was new
}

// plan is an execution of a generation.
type plan struct {
	arm      *arm
	schedule *recorder.Schedule
	looks    bool // for suspects; see further
	made
}

// made is an execution that has ended, if there was time for it.
type made struct {
	suspect *suspects.Suspect
	trial   *trials.Trial
	looked  *suspects.Surveyed // if it has looked for suspects; it is no trial then
}

// parent is an execution from which others are made.
type parent struct {
	schedule *recorder.Schedule
	steps    uint64
}

const (
	// maxPCTDepth is the greatest depth of PCT in a search. The depth grows by one whenever the arm has
	// been used depthGrowth times.
	maxPCTDepth = 8
	depthGrowth = 32
	// minVain is the number of executions without a new order after which a search ends. More are
	// made where there are many orders. Only executions with the first seed count: the random numbers
	// of the program are the same in them.
	minVain = 20
	// forkedVain is how many times as many are made if processes are forked for them, which cost that much less.
	forkedVain = 3
	// maxParents bounds the executions from which others are made.
	maxParents = 64
	// fading is the weight of earlier generations.
	fading = 0.8
	// delayPatience and delayWait are the limits of delays, in steps and in ns of virtual time.
	delayPatience = 1 << 12
	delayWait     = 60e9
	// beginning is the number of arms in the first generation.
	beginning = 2
	// longGeneration is the number of executions in a generation if they are long.
	longGeneration = 4
	// newBug is how much a new bug counts, beside what else is new in an execution.
	newBug = 2
	// placesPassed is the number of places that goroutines may pass before they are postponed, in half of the race-directed
	// executions.
	placesPassed = 16
	// patientSpin is how often in a row a goroutine may continue in executions of the patient arm.
	patientSpin = 1 << 20
)

// newArms returns the arms for any unit.
func newArms() []*arm {
	return []*arm{
		{config: strategies.Config{Strategy: strategies.RandomWalk}}, // costs least where there are many goroutines
		{config: strategies.Config{Strategy: strategies.PCT, Depth: 2}},
		{config: strategies.Config{Strategy: strategies.POS}},
		{config: strategies.Config{Strategy: strategies.PCT, Depth: 3}},
		{config: strategies.Config{Strategy: strategies.Delay, Depth: 4, PostponeLimit: delayPatience, WaitLimit: delayWait}},
		{config: strategies.Config{Strategy: strategies.Delay, Depth: 16, PostponeLimit: delayPatience, WaitLimit: delayWait}},
		{mutates: true},
	}
}

// addDirectedArms adds the arms that aim at targets, unless they exist.
func (u *searched) addDirectedArms(c *trials.Confirmer) {
	has := func(roles strategies.Roles, mode recorder.TargetMode) bool {
		return slices.ContainsFunc(u.Targets, func(t recorder.Target) bool { return t.Roles&roles != 0 && t.Mode&mode != 0 })
	}
	directed := func(s strategies.Strategy, depth uint64, roles strategies.Roles) {
		if !slices.ContainsFunc(u.arms, func(a *arm) bool { return a.config.Strategy == s && a.config.Depth == depth }) {
			u.arms = append(u.arms, &arm{
				config:  strategies.Config{Strategy: s, Depth: depth, PostponeLimit: c.Patience, WaitLimit: uint64(c.Wait)},
				targets: roles,
			})
		}
	}
	if has(strategies.First|strategies.Second, recorder.OnRead|recorder.OnWrite) {
		directed(strategies.RaceDirected, 0, strategies.First|strategies.Second)
		directed(strategies.RaceDirected, placesPassed, strategies.First|strategies.Second)
	}
	if has(strategies.Inner, recorder.OnLock) {
		directed(strategies.DeadlockDirected, 0, strategies.Inner)
	}
	if has(strategies.Entry, recorder.OnRead|recorder.OnWrite) {
		directed(strategies.SectionDirected, 0, strategies.Entry|strategies.Remote|strategies.End)
	}
}

// patientArm returns an arm for units in which goroutines had to yield, or whose executions are long. Some goroutines
// only make many operations, and do not wait for others. With this arm such a goroutine comes to its end before others continue, and so does a
// group of goroutines that work together.
func patientArm() *arm {
	return &arm{config: strategies.Config{Strategy: strategies.Families, Depth: 2}, spin: patientSpin}
}

// planned reports whether executions of the generation have not begun.
func (p *portfolio) planned() bool { return p.started < len(p.plans) }

// take returns the next execution of the generation, and its number.
func (p *portfolio) take() (n int, next *plan) {
	next = &p.plans[p.started]
	n = p.number + p.started
	p.started++
	p.running++
	return n, next
}

// done takes execution n.
func (p *portfolio) done(n int, m made) {
	p.running--
	if m.trial != nil {
		m.trial.Number = uint64(n)
	}
	p.plans[n-p.number].made = m
}

// plan makes the next generation. The first ones are single executions of the enumeration, which begins with the
// default schedule.
func (u *searched) plan(c *trials.Confirmer) {
	if u.arms == nil {
		u.firstSeed, u.arms, u.orders, u.behaviors = c.First(u.Program), newArms(), map[uint64]bool{}, map[recorder.Behavior]bool{}
		maps.Copy(u.orders, u.Earlier.Orders)
		for b := range u.Earlier.Behaviors {
			u.behaviors[recorder.Behavior(b)] = true
		}
		u.enumeration.limit, u.enumeration.most = c.Budget.ForEnumeration(u.Unit), suspects.EnumerationQuota(u.Unit)
		if !u.Share.Enumerates() {
			u.enumeration.most = 1 // the default schedule, which says how the unit usually ends
		}
	}
	if (u.yielded || u.long) && !u.patient { // behind the random walk
		u.arms, u.patient = slices.Insert(u.arms, 1, patientArm()), true
	}
	if !u.enumeration.over {
		u.plans = append(u.plans, plan{schedule: u.enumeration.schedule(u.Program, c)})
		return
	}
	u.addDirectedArms(c)
	for _, schedule := range u.takeDue(u.long) {
		u.plans = append(u.plans, plan{schedule: schedule, looks: true})
	}
	shares := u.shares()
	if !u.begun { // a small generation shows what kind of program it is
		u.begun = true
		clear(shares[beginning:])
	}
	left := u.Quota - u.Executions
	for round := range slices.Max(shares) {
		for i, a := range u.arms {
			if round < shares[i] && (u.Quota == 0 || left > 0) {
				u.plans = append(u.plans, plan{arm: a, schedule: u.schedule(a, c)})
				left--
			}
		}
	}
}

// shares returns how many executions of the next generation each arm has: one, and as many again in
// proportion to what they have shown. If executions are long, all are in this proportion.
func (p *portfolio) shares() []int {
	shares := make([]int, len(p.arms))
	first := 0 // added to the divisors, which begin with 1
	score := func(i int) float64 { return (p.arms[i].shown + 1) / (p.arms[i].made + 1) / float64(shares[i]+first) }
	seats := len(p.arms)
	if p.long {
		seats, first = longGeneration, 1
	} else {
		for i := range shares {
			shares[i] = 1
		}
	}
	for range seats { // the largest quotients, as votes become seats
		best := 0
		for i := range shares {
			if s, most := score(i), score(best); s > most || s == most && p.arms[i].made < p.arms[best].made {
				best = i
			}
		}
		shares[best]++
	}
	return shares
}

// schedule returns the next schedule of an arm. In half of the executions the random numbers of the
// program are those of the first seed, and only the choices differ. In half of each kind, goroutines can
// also be stopped at the accesses of suspects.
func (u *searched) schedule(a *arm, c *trials.Confirmer) *recorder.Schedule {
	k := u.nth(a)
	if a.mutates {
		if len(u.parents) > 0 {
			return u.mutation()
		}
		a = u.arms[0]
		k = u.nth(a)
	}
	config := a.config
	config.Seed = u.firstSeed
	if k%2 == 0 {
		config.Variation = k / 2
	} else {
		config.Seed += k/2 + 1
	}
	if config.Strategy == strategies.PCT || config.Strategy == strategies.Families {
		config.Depth = min(config.Depth+k/depthGrowth, maxPCTDepth)
		config.Steps = max(u.length, 1)
	}
	schedule := &recorder.Schedule{Strategy: config, Prologue: u.Program.Prologue(config.Seed), Procs: c.Procs, MaxVirtual: c.Virtual, Spin: a.spin}
	for _, t := range u.Targets {
		if t.Roles&a.targets != 0 || a.targets == 0 && k/2%2 == 0 {
			schedule.Targets = append(schedule.Targets, t)
		}
	}
	return schedule
}

// nth returns the number of the next execution of an arm, in the whole search: those of its parts have different ones. One of two has an even
// number in each part.
func (u *searched) nth(a *arm) uint64 {
	k := uint64(a.planned)
	a.planned++
	return 2*u.Share.Nth(k/2) + k%2
}

// mutation returns a schedule that is the same as that of a parent up to some step, and then makes other
// choices.
func (u *searched) mutation() *recorder.Schedule {
	number := 1 + u.Share.Nth(u.mutated)
	u.mutated++
	of := u.parents[len(u.parents)-1-int(u.mutated%uint64(len(u.parents)))]
	schedule := *of.schedule
	schedule.Strategy.Branch = 1 + scatter(number)%max(of.steps, 1)
	schedule.Strategy.BranchSeed = number
	return &schedule
}

// scatter returns a number that looks random.
func scatter(n uint64) uint64 {
	n = (n ^ n>>31) * 0x9E3779B97F4A7C15
	n = (n ^ n>>29) * 0xBF58476D1CE4E5B9
	return n ^ n>>32
}

// judge takes what the executions of the generation have shown, in the order in which they were planned.
func (u *searched) judge() {
	for _, a := range u.arms {
		a.made, a.shown = a.made*fading, a.shown*fading
	}
	for i := range u.plans {
		switch of := &u.plans[i]; {
		case of.trial != nil:
			u.add(of)
		case of.looked != nil:
			u.suspect(of.looked)
		}
	}
	u.number += len(u.plans)
	u.plans, u.started = nil, 0
	u.Exhausted = u.Exhausted || u.vain >= u.mostVain()
}

// mostVain returns the number of executions in a row without a new order after which the search ends.
func (u *searched) mostVain() int {
	most := max(minVain, 2*len(u.orders))
	if u.Program.Forks() {
		most *= forkedVain
	}
	return most
}

// add takes what an execution has shown.
func (u *searched) add(of *plan) {
	e := of.trial.Execution
	if !u.usual {
		u.Usual, u.usual = e.Outcome, true
	}
	u.Executions++
	u.length = max(u.length, e.Steps)
	u.addResult(of.suspect, of.trial)
	u.yielded = u.yielded || e.Yielded > 0
	if of.schedule.Explore {
		u.enumeration.add(e, u.Program.Test)
		if u.enumeration.complete {
			u.Exhausted, u.All = true, u.enumeration.explorer.Executions()
		}
	}
	u.failAlways(e)
	u.notice(of)
	u.long = u.long || e.Long()
	shown := u.news(e)
	if u.Stale++; shown > 0 {
		u.Stale = 0
	}
	if of.arm == nil {
		return
	}
	of.arm.made++
	if shown > 0 {
		of.arm.shown += shown
		if of.schedule.Strategy.Branch == 0 {
			u.parents = append(u.parents, parent{of.schedule, e.Steps})
			u.parents = u.parents[max(len(u.parents)-maxParents, 0):]
		}
	}
	if of.trial.Seed == u.firstSeed {
		u.vain++
		if !u.orders[e.Order] {
			u.orders[e.Order], u.vain = true, 0
		}
	}
}

// news notes what an execution has done, and returns how much of it was new: 1 for behaviors, and newBug for
// each bug.
func (p *portfolio) news(e *controlled.Execution) (shown float64) {
	for _, b := range e.Behaviors {
		if !p.behaviors[b] {
			p.behaviors[b], shown = true, 1
		}
	}
	for i := range e.Observed {
		if f := e.Observed[i].Fingerprint; !p.bugs[f] {
			if p.bugs == nil {
				p.bugs = map[string]bool{}
			}
			p.bugs[f] = true
			shown += newBug
		}
	}
	return shown
}
