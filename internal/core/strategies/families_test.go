package strategies

import "testing"

// TestFamilies: a program starts copies of a group of tasks. Under Families most copies run one after the other, each in
// one of several orders. Under PCT copies are mixed.
func TestFamilies(t *testing.T) {
	const copies = 60
	for strategy, want := range map[Strategy][2]int{Families: {copies - familySize, copies}, PCT: {0, copies / 2}} {
		orders := map[string]bool{}
		for seed := range uint64(20) {
			alone := 0
			for _, order := range familyRun(Config{Strategy: strategy, Seed: seed, Depth: 1, Steps: 1000}, copies) {
				if order != "" {
					alone++
					orders[order] = true
				}
			}
			if alone < want[0] || alone > want[1] {
				t.Errorf("strategy %d, seed %d: %d of %d copies run by themselves, want %d to %d", strategy, seed, alone, copies, want[0], want[1])
			}
		}
		if strategy == Families && len(orders) < 5 {
			t.Errorf("copies have %d orders", len(orders))
		}
	}
}

// familyRun runs a program in which task 0 starts copies of a task that makes four steps, and starts another one in each of
// the first two. These make two steps. It returns for each copy the order of its tasks, or nothing if tasks of others came in between.
func familyRun(config Config, copies int) (orders []string) {
	type program struct {
		copy, role, left int
	}
	var s Scheduler
	s.Start(&config)
	programs := []program{{copy: -1, left: 1}}
	tasks := []Task{{}}
	orders = make([]string, copies)
	running, before := uint32(NoTask), -1
	started, mixed := make([]bool, copies), make([]bool, copies)
	for len(tasks) > 0 {
		i := s.Next(tasks, running)
		task := tasks[i]
		running = task.ID
		last := len(tasks) - 1
		tasks[i] = tasks[last]
		tasks = tasks[:last]
		p := &programs[task.ID]
		p.left--
		create := func(child program) {
			tasks = append(tasks, Task{ID: uint32(len(programs)), Since: s.Steps()})
			programs = append(programs, child)
			p = &programs[task.ID]
		}
		if c := p.copy; c >= 0 {
			if started[c] && before != c {
				mixed[c] = true
			}
			started[c], before = true, c
			orders[c] += string(rune('a' + p.role))
			if p.role == 0 && p.left >= 2 {
				create(program{c, 4 - p.left, 2})
			}
		} else {
			for c := range copies {
				create(program{c, 0, 4})
			}
		}
		if p.left > 0 {
			task.Kind, task.Since, task.OpState = Sync, s.Steps(), 0
			tasks = append(tasks, task)
		}
	}
	for c := range orders {
		if mixed[c] {
			orders[c] = ""
		}
	}
	return orders
}
