package dpor

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// selects is a program of tasks that send to buffered channels and receive from one of several that have a
// value. Its steps are sets of channels; a negative one sends to the channel with the complement.
type selects [][]int

// selectsRun is an execution of it.
type selectsRun struct {
	program selects
	next    []int
	values  [4]int      // of each channel
	order   [4][]string // of the steps on each channel
	seen    [][]int     // by each task
}

func (p selects) start() *selectsRun {
	return &selectsRun{program: p, next: make([]int, len(p)), seen: make([][]int, len(p))}
}

func (r *selectsRun) enabled() (tasks []uint32) {
	for i := range r.program {
		if r.next[i] < len(r.program[i]) {
			tasks = append(tasks, uint32(i))
		}
	}
	return tasks
}

// ready returns the channels among which the next step of a task chooses, and all that it uses.
func (r *selectsRun) ready(task uint32) (ready []int, uses []Use) {
	step := r.program[task][r.next[task]]
	if step < 0 {
		return nil, []Use{{Object: uint64(^step)}}
	}
	for c := range r.values {
		if step>>c&1 != 0 {
			uses = append(uses, Use{Object: uint64(c)})
			if r.values[c] > 0 {
				ready = append(ready, c)
			}
		}
	}
	return ready, uses
}

// step makes a step of a task, which chooses one of the ready channels.
func (r *selectsRun) step(task uint32, taken int) {
	ready, uses := r.ready(task)
	if step := r.program[task][r.next[task]]; step < 0 {
		r.values[^step]++
	} else if len(ready) > 0 {
		r.values[ready[taken]]--
		r.seen[task] = append(r.seen[task], ready[taken])
	} else {
		r.seen[task] = append(r.seen[task], -1)
	}
	for _, u := range uses {
		r.order[u.Object] = append(r.order[u.Object], fmt.Sprint(task, r.next[task], taken))
	}
	r.next[task]++
}

// classes returns all classes of executions by making all executions: the order of the steps on each
// channel, and what the tasks have seen.
func (p selects) classes(all map[string]bool, made []int) {
	r := p.start()
	for i := 0; i < len(made); i += 2 {
		r.step(uint32(made[i]), made[i+1])
	}
	enabled := r.enabled()
	if len(enabled) == 0 {
		all[fmt.Sprint(r.order, r.seen)] = true
	}
	for _, task := range enabled {
		ready, _ := r.ready(task)
		for taken := range max(len(ready), 1) {
			p.classes(all, append(slices.Clip(made), int(task), taken))
		}
	}
}

// execute makes the next execution of the explorer, as a host that reports the steps afterwards.
func (p selects) execute(x *Explorer) *selectsRun {
	forced := x.Prefix()
	var drawn [][]uint64
	for i := range forced {
		drawn = append(drawn, x.Drawn(i))
	}
	asleep := map[uint32][]Use{}
	x.Sleeping(func(task uint32, uses []Use) { asleep[task] = uses })
	r := p.start()
	since := make([]int, len(p))
	x.Start()
	for step := 0; len(r.enabled()) > 0; step++ {
		enabled := r.enabled()
		task, taken := enabled[0], uint64(0)
		if step < len(forced) {
			task = forced[step]
			if len(drawn[step]) > 0 {
				taken = drawn[step][0]
			}
		} else if i := slices.IndexFunc(enabled, func(t uint32) bool { _, sleeps := asleep[t]; return !sleeps }); i >= 0 {
			task = enabled[i]
		}
		at := x.Choose(enabled, task)
		if x.Redundant() {
			break
		}
		ready, uses := r.ready(task)
		if enabled[at] != task || len(ready) > 1 && x.Draw(uint64(len(ready))) != taken {
			panic("the explorer wants another step")
		}
		if step >= len(forced)-1 {
			for t, u := range asleep {
				if conflict(u, uses) {
					delete(asleep, t)
				}
			}
		}
		r.step(task, int(taken))
		x.Did(Step{Task: task, Since: since[task], Uses: uses})
		since[task] = step + 1
	}
	x.End(nil)
	return r
}

// TestDrawsAgainstAll: with choices among ready channels, too, one execution of each class is made.
func TestDrawsAgainstAll(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	classes, several := 0, 0
	for range 400 {
		p := make(selects, 2+rng.IntN(2))
		for i := range p {
			for range 1 + rng.IntN(5-len(p)) {
				if rng.IntN(2) == 0 {
					p[i] = append(p[i], ^rng.IntN(3))
				} else {
					p[i] = append(p[i], 1+rng.IntN(7))
				}
			}
		}
		want, got := map[string]bool{}, map[string]bool{}
		p.classes(want, nil)
		var x Explorer
		for x.More() {
			r := p.execute(&x)
			if x.Redundant() {
				continue
			}
			class := fmt.Sprint(r.order, r.seen)
			if got[class] || !want[class] {
				t.Fatalf("%v: again, or no class: %s", p, class)
			}
			got[class] = true
		}
		if x.Err() != nil || len(got) != len(want) {
			t.Fatalf("%v: %d of %d classes, error %v", p, len(got), len(want), x.Err())
		}
		classes += len(want)
		if len(want) > 1 {
			several++
		}
	}
	t.Logf("%d classes, several in %d programs", classes, several)
	if several < 200 {
		t.Errorf("only %d programs with several classes", several)
	}
}
