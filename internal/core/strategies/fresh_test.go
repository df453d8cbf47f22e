package strategies

import (
	"math/rand/v2"
	"testing"
)

// TestFresh: PCT and Families choose the same tasks whether or not the host says which tasks are new. Tasks come and
// go at random.
func TestFresh(t *testing.T) {
	again := 0
	strategy := PCT
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		strategy = PCT + Families - strategy
		config := Config{Strategy: strategy, Seed: seed, Depth: 3, Steps: 200}
		var plain, told Scheduler
		plain.Start(&config)
		told.Start(&config)
		tasks := []Task{{ID: 0}, {ID: 1}, {ID: 2}}
		others := append([]Task(nil), tasks...)
		next, running, older := uint32(3), uint32(NoTask), 0
		for range 300 {
			told.Fresh = older
			i, j := plain.Next(tasks, running), told.Next(others, running)
			if i != j {
				t.Fatalf("seed %d: %d and %d", seed, i, j)
			}
			chosen, other := tasks[i], others[j]
			if chosen.TaskState != other.TaskState {
				t.Fatalf("seed %d: priorities %d and %d", seed, chosen.TaskState, other.TaskState)
			}
			if chosen.ID == running {
				again++
			}
			running = chosen.ID
			last := len(tasks) - 1
			tasks[i], others[i] = tasks[last], others[last]
			tasks, others = tasks[:last], others[:last]
			older = last
			for rng.IntN(4) == 0 || len(tasks) == 0 {
				tasks, others = append(tasks, Task{ID: next, Since: plain.Steps()}), append(others, Task{ID: next, Since: plain.Steps()})
				next++
			}
			if kind := []Kind{Sync, Sync, Sync, Yield, Resume}[rng.IntN(5)]; kind != Resume { // else it blocks
				for _, all := range []*[]Task{&tasks, &others} {
					back := chosen
					back.Kind, back.Since, back.OpState = kind, plain.Steps(), 0
					*all = append(*all, back)
				}
			}
		}
	}
	if again < 1000 {
		t.Errorf("a task continued %d times", again)
	}
}

// TestBranch: up to the branch the execution is the same, and then it differs.
func TestBranch(t *testing.T) {
	for _, strategy := range []Strategy{RandomWalk, PCT, POS, Delay, Families} {
		config := Config{Strategy: strategy, Seed: 3, Depth: 3, Steps: 40}
		tasks := [][]step{repeat(10, plain), repeat(10, plain), repeat(10, plain), repeat(10, plain)}
		first := run(t, config, tasks...)
		others := 0
		for seed := range uint64(50) {
			config.Branch, config.BranchSeed = 20, seed+1
			s := run(t, config, tasks...)
			for i := range 20 {
				if s.order[i] != first.order[i] {
					t.Fatalf("%d: step %d differs", strategy, i)
				}
			}
			for i := 20; i < len(s.order); i++ {
				if s.order[i] != first.order[i] {
					others++
					break
				}
			}
		}
		if others < 5 {
			t.Errorf("%d: %d of 50 executions differ", strategy, others)
		}
	}
}

// TestDelay: a task that synchronizes is held back while time passes, within limits, and otherwise the
// choices are the default ones.
func TestDelay(t *testing.T) {
	waited := 0
	for seed := range uint64(100) {
		var s Scheduler
		s.Start(&Config{Strategy: Delay, Seed: seed, Depth: 2, WaitLimit: 100, PostponeLimit: 1000})
		s.Timer = 60
		tasks := []Task{{ID: 1, Kind: Sync}}
		if s.Next(tasks, NoTask) == Wait {
			waited++
			if s.Delays != 1 {
				t.Fatalf("%d delays", s.Delays)
			}
			if s.Next(tasks, NoTask) == Wait {
				t.Fatal("it has waited for longer than the limit")
			}
		}
	}
	if waited < 20 || waited > 80 {
		t.Errorf("it has waited in %d of 100 executions", waited)
	}
	s := run(t, Config{Strategy: Delay, Depth: 1 << 30}, repeat(5, plain), repeat(5, plain))
	for i, id := range s.order[:5] {
		if id != s.order[0] {
			t.Errorf("step %d: task %d", i, id)
		}
	}
}
