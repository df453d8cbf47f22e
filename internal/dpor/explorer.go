package dpor

import (
	"errors"
	"slices"
)

// ErrNondeterministic is the error of an Explorer whose program behaved differently in two executions
// with the same choices.
var ErrNondeterministic = errors.New("the program depends on more than the choices")

// Explorer enumerates the executions of a program. For each execution, call More, Start, then Choose,
// Draw and Did as the program goes, then End. An execution that was not ended is made again.
//
// The zero Explorer is ready to use.
type Explorer struct {
	// Fixed, if not nil, says of which tasks the steps keep their place: no execution is made to exchange
	// them with others.
	Fixed func(task uint32) bool

	root  node   // only its draws: those before the first step
	nodes []node // the steps of the current execution
	at    int    // steps chosen in the current execution
	did   int    // steps made in the current execution
	drawn int    // draws since the last choice
	fresh int    // index of the first node that differs from the execution before

	redundant bool // all tasks that can continue are asleep
	done      bool
	err       error

	executions, repeated int
}

// node is a state of the program and the choice that the current execution makes in it.
type node struct {
	enabled   []uint32
	backtrack []uint32  // tasks to choose, those chosen already included
	sleep     []sleeper // tasks whose next step leads only to executions that were made
	chosen    uint32
	used      []Use // by the chosen task's step, in all executions that have chosen it here
	step      Step
	clock     []int32 // see happenedBefore
	draws     []draw
}

// sleeper is a task that need not be chosen until a step conflicts with its next one.
type sleeper struct {
	task uint32
	uses []Use
}

// draw is a choice among options that are not tasks.
type draw struct{ taken, of uint64 }

// More reports whether an execution is left.
func (x *Explorer) More() bool { return !x.done && x.err == nil }

// Err returns ErrNondeterministic if the program turned out to be nondeterministic.
func (x *Explorer) Err() error { return x.err }

// Executions returns how many executions have ended, each of another class. Redundant ones do not
// count.
func (x *Explorer) Executions() int { return x.executions }

// Repeated returns how many executions were redundant.
func (x *Explorer) Repeated() int { return x.repeated }

// Redundant reports whether the current execution is equivalent to one that was made, whatever it
// does from here. The rest of it is ignored, and the host may end it.
func (x *Explorer) Redundant() bool { return x.redundant }

// Start begins an execution.
func (x *Explorer) Start() { x.at, x.did, x.drawn, x.redundant = 0, 0, 0, false }

// Prefix returns the tasks that the next execution has to choose first.
func (x *Explorer) Prefix() (tasks []uint32) {
	for i := range x.nodes {
		tasks = append(tasks, x.nodes[i].chosen)
	}
	return tasks
}

// Drawn returns the numbers that the step i of the next execution has to draw, if it is in the prefix.
// It may draw more, which must be 0.
func (x *Explorer) Drawn(i int) (numbers []uint64) {
	for _, d := range x.nodes[i].draws {
		numbers = append(numbers, d.taken)
	}
	return numbers
}

// Sleeping calls f with each task that the next execution should not choose after the prefix, until
// a step conflicts with the given uses. The last step of the prefix counts.
func (x *Explorer) Sleeping(f func(task uint32, uses []Use)) {
	if len(x.nodes) > 0 {
		for _, s := range x.nodes[len(x.nodes)-1].sleep {
			f(s.task, s.uses)
		}
	}
}

// Choose returns the index of the task that continues. enabled are the tasks that can continue, at
// least one, in the same order in all executions with the same choices so far. Where several tasks will
// do, it is the preferred one, if possible.
func (x *Explorer) Choose(enabled []uint32, prefer uint32) int {
	x.drawn = 0
	if x.redundant || x.err != nil {
		return max(slices.Index(enabled, prefer), 0)
	}
	if x.at < len(x.nodes) {
		n := &x.nodes[x.at]
		if !slices.Equal(n.enabled, enabled) {
			return x.fail()
		}
		x.at++
		return slices.Index(enabled, n.chosen)
	}
	n := node{enabled: slices.Clone(enabled), sleep: x.sleepAfter()}
	i := slices.Index(enabled, prefer)
	if i < 0 || n.asleep(prefer) {
		i = slices.IndexFunc(enabled, func(task uint32) bool { return !n.asleep(task) })
	}
	if i < 0 {
		x.redundant = true
		return max(slices.Index(enabled, prefer), 0)
	}
	n.chosen = enabled[i]
	n.backtrack = []uint32{n.chosen}
	x.nodes = append(x.nodes, n)
	x.at++
	return i
}

// fail notes that the program is nondeterministic.
func (x *Explorer) fail() int {
	x.err = ErrNondeterministic
	return 0
}

// sleepAfter returns the tasks that sleep after the last step.
func (x *Explorer) sleepAfter() (sleep []sleeper) {
	if len(x.nodes) == 0 {
		return nil
	}
	last := &x.nodes[len(x.nodes)-1]
	for _, s := range last.sleep {
		if !conflict(s.uses, last.step.Uses) {
			sleep = append(sleep, s)
		}
	}
	return sleep
}

func (n *node) asleep(task uint32) bool {
	return slices.ContainsFunc(n.sleep, func(s sleeper) bool { return s.task == task })
}

// Draw returns a number below of, which must be at least 1. The program gets all of them, in different
// executions. A draw belongs to the step that was chosen last.
func (x *Explorer) Draw(of uint64) uint64 {
	if x.redundant || x.err != nil || of == 1 {
		return 0
	}
	n := &x.root
	if x.at > 0 {
		n = &x.nodes[x.at-1]
	}
	if x.drawn == len(n.draws) {
		n.draws = append(n.draws, draw{of: of})
	}
	d := n.draws[x.drawn]
	x.drawn++
	if d.of != of {
		x.fail()
		return 0
	}
	return d.taken
}

// Did reports the step that was chosen last, when it was made. The Explorer keeps step.Uses.
func (x *Explorer) Did(step Step) {
	if x.redundant || x.err != nil || x.did == x.at {
		return
	}
	n := &x.nodes[x.did]
	if step.Task != n.chosen || step.Since > x.did || step.Joined > x.did {
		x.fail()
		return
	}
	n.step = step
	if x.did >= x.fresh {
		n.used = merge(n.used, step.Uses)
	}
	x.did++
}

// End ends the execution. pending are the next steps of tasks that wait before them, or could not
// continue because the program has ended.
func (x *Explorer) End(pending []Step) {
	if x.err == nil && (x.did < x.at || x.at < len(x.nodes)) {
		x.fail() // it has ended within the prefix
	}
	if x.err != nil || x.done {
		return
	}
	if x.redundant {
		x.addRaces(nil) // the pending steps came later
		x.repeated++
	} else {
		x.addRaces(pending)
		x.executions++
	}
	x.advance()
}

// advance changes the last choice or draw that has an alternative.
func (x *Explorer) advance() {
	for len(x.nodes) > 0 {
		n := &x.nodes[len(x.nodes)-1]
		x.fresh = len(x.nodes) - 1
		if n.nextDraw() {
			return
		}
		n.sleep = append(n.sleep, sleeper{n.chosen, n.used})
		for _, task := range n.backtrack {
			if !n.asleep(task) {
				n.chosen, n.used, n.draws = task, nil, nil
				return
			}
		}
		x.nodes = x.nodes[:len(x.nodes)-1]
	}
	x.fresh = 0
	x.done = !x.root.nextDraw()
}

// nextDraw changes the last draw that has an alternative and reports whether there is one.
func (n *node) nextDraw() bool {
	for i := len(n.draws) - 1; i >= 0; i-- {
		if d := &n.draws[i]; d.taken+1 < d.of {
			d.taken++
			n.draws = n.draws[:i+1]
			return true
		}
	}
	return false
}
