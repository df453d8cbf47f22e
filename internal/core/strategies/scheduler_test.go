package strategies

import (
	"slices"
	"testing"
)

// step is an operation of a task in a script.
type step struct {
	kind  Kind
	roles Roles
	place uint32
	addr  uint64
	write bool
	atom  bool
	take  int // number of the lock to acquire, from 1; 0 for none
	give  int // number of the lock to release
}

// script runs tasks with fixed steps as the runtime does. Runnable tasks are in a pool. A task that
// continues may block, and returns to the pool when what it waits for has happened.
type script struct {
	scheduler Scheduler
	tasks     [][]step
	pool      []Task
	at        []int
	taskState []uint64
	holders   map[int]int
	waiting   map[int][]int
	order     []uint32 // which task made each step
	met       []Meeting
	log       []Choice
}

func run(t testing.TB, c Config, tasks ...[]step) *script {
	s := &script{tasks: tasks, at: make([]int, len(tasks)), taskState: make([]uint64, len(tasks)),
		holders: map[int]int{}, waiting: map[int][]int{}}
	c.Log = make([]Choice, 4)
	s.scheduler.Start(&c)
	for i := range tasks {
		s.arrive(i)
	}
	running := NoTask
	for len(s.pool) > 0 {
		if s.scheduler.Steps() > 100000 {
			t.Fatal("it does not end")
		}
		i := s.scheduler.Next(s.pool, running)
		s.met = append(s.met, s.scheduler.Meetings[:s.scheduler.NumMeetings]...)
		s.scheduler.NumMeetings = 0
		s.log = append(s.log, s.scheduler.Log[:s.scheduler.NumLog]...)
		s.scheduler.NumLog = 0
		task := s.pool[i]
		running = task.ID
		s.taskState[task.ID] = task.TaskState
		s.pool = slices.Delete(s.pool, i, i+1)
		s.execute(int(task.ID))
	}
	return s
}

func (s *script) arrive(id int) {
	if s.at[id] == len(s.tasks[id]) {
		return
	}
	x := s.tasks[id][s.at[id]]
	s.pool = append(s.pool, Task{ID: uint32(id), Kind: x.kind, Write: x.write, Atomic: x.atom, Roles: x.roles, Place: x.place,
		Addr: x.addr, Since: s.scheduler.Steps(), TaskState: s.taskState[id], Seq: uint64(s.at[id])})
}

func (s *script) execute(id int) {
	x := s.tasks[id][s.at[id]]
	if x.take != 0 {
		if _, held := s.holders[x.take]; held {
			s.waiting[x.take] = append(s.waiting[x.take], id)
			return
		}
		s.holders[x.take] = id
	}
	s.order = append(s.order, uint32(id))
	s.at[id]++
	s.arrive(id)
	if x.give != 0 {
		delete(s.holders, x.give)
		for _, w := range s.waiting[x.give] {
			s.arrive(w) // it tries to acquire the lock again
		}
		delete(s.waiting, x.give)
	}
}

// deadlocked reports whether some task has not reached its end.
func (s *script) deadlocked() bool {
	for i := range s.tasks {
		if s.at[i] < len(s.tasks[i]) {
			return true
		}
	}
	return false
}

// inOrder returns turns in which the given tasks make one step each.
func inOrder(ids ...uint32) (turns []Turn) {
	made := map[uint32]uint64{}
	for _, id := range ids {
		made[id]++
		turns = append(turns, Turn{id, made[id]})
	}
	return turns
}

func repeat(n int, x step) (steps []step) {
	for range n {
		steps = append(steps, x)
	}
	return steps
}

var plain = step{kind: Sync}

func TestRaceDirectedMeets(t *testing.T) {
	read := step{kind: Access, roles: First, place: 8, addr: 100}
	write := step{kind: Access, roles: Second, place: 10, addr: 100, write: true}
	firsts := 0
	const seeds = 1000
	for seed := range uint64(seeds) {
		s := run(t, Config{Strategy: RaceDirected, Seed: seed},
			append(repeat(50, plain), read), append([]step{write}, repeat(3, plain)...))
		if len(s.met) != 1 || s.met[0].Kind != Race {
			t.Fatalf("seed %d: %d meetings", seed, len(s.met))
		}
		m := s.met[0]
		if m.First.ID == 0 {
			firsts++
		}
		if m.First.ID+m.Second.ID != 1 || m.First.Place+m.Second.Place != 18 || s.order[m.Step] != m.First.ID {
			t.Fatalf("seed %d: %+v", seed, m)
		}
	}
	if firsts < 420 || firsts > 580 { // five standard deviations
		t.Errorf("the read went first in %d of %d", firsts, seeds)
	}
}

// TestReadersGoTogether tests the set R of Algorithm 1: two postponed reads do not race with each
// other, and a write that arrives is resolved against both.
func TestReadersGoTogether(t *testing.T) {
	read := step{kind: Access, roles: First, place: 1, addr: 8}
	write := step{kind: Access, roles: Second, place: 2, addr: 8, write: true}
	for seed := range uint64(200) {
		s := run(t, Config{Strategy: RaceDirected, Seed: seed},
			[]step{read}, []step{read}, append(repeat(1000, plain), write))
		tail := s.order[len(s.order)-3:]
		if !slices.Equal(tail, []uint32{0, 1, 2}) && tail[0] != 2 {
			t.Fatalf("seed %d: %v", seed, tail)
		}
		if len(s.met) != 2 {
			t.Fatalf("seed %d: %d meetings", seed, len(s.met))
		}
	}
}

// TestDistinctMemoryNeverMeets has accesses at the same places to different memory.
func TestDistinctMemoryNeverMeets(t *testing.T) {
	write := func(addr uint64) []step {
		return []step{plain, {kind: Access, roles: First | Second, place: 1, addr: addr, write: true}, plain}
	}
	for strategy := RandomWalk; strategy <= Follow; strategy++ {
		for seed := range uint64(50) {
			s := run(t, Config{Strategy: strategy, Seed: seed, Depth: 3, Steps: 9}, write(8), write(16), write(24))
			if len(s.met) > 0 || s.deadlocked() {
				t.Fatalf("%d, seed %d: %v", strategy, seed, s.met)
			}
		}
	}
}

// TestAtomic has two atomic operations, which do not race, and a plain access that races with both.
func TestAtomic(t *testing.T) {
	atomic := step{kind: Access, roles: First, addr: 8, write: true, atom: true}
	for seed := range uint64(50) {
		c := Config{Strategy: RaceDirected, Seed: seed}
		if s := run(t, c, []step{atomic}, []step{atomic}); len(s.met) > 0 {
			t.Fatalf("seed %d: %v", seed, s.met)
		}
		if s := run(t, c, []step{atomic}, []step{{kind: Access, roles: Second, addr: 8}}); len(s.met) != 1 {
			t.Fatalf("seed %d: %d meetings", seed, len(s.met))
		}
	}
}

// TestAllPostponed has tasks that are all postponed and do not conflict: a random one continues.
func TestAllPostponed(t *testing.T) {
	lone := func(i uint64) []step { return []step{{kind: Access, roles: First, addr: 8 * i, write: true}} }
	firsts := map[uint32]bool{}
	for seed := range uint64(50) {
		firsts[run(t, Config{Strategy: RaceDirected, Seed: seed}, lone(1), lone(2), lone(3)).order[0]] = true
	}
	if len(firsts) != 3 {
		t.Errorf("first goes %v", firsts)
	}
}

func TestOverlap(t *testing.T) {
	for _, c := range []struct {
		a, n, b, m uint64
		want       bool
	}{
		{8, 8, 8, 8, true}, {8, 8, 15, 1, true}, {8, 8, 16, 8, false}, {15, 0, 8, 8, true},
		{16, 8, 8, 8, false}, {8, 0, 8, 0, true}, {8, 0, 9, 0, false},
	} {
		if got := overlaps(&Task{Addr: c.a, Size: c.n}, c.b, c.m); got != c.want {
			t.Errorf("%+v: %t", c, got)
		}
	}
}

// philosophers returns tasks that acquire two locks each, in different orders.
func philosopher(first, second, prelude int) []step {
	steps := repeat(prelude, plain)
	return append(steps,
		step{kind: Lock, addr: uint64(first), take: first},
		step{kind: Lock, addr: uint64(second), take: second, roles: Inner},
		step{kind: Sync, give: second}, step{kind: Sync, give: first})
}

func TestDeadlockDirected(t *testing.T) {
	const seeds = 200
	hits := map[Strategy]int{}
	for _, strategy := range []Strategy{RandomWalk, DeadlockDirected} {
		for seed := range uint64(seeds) {
			s := run(t, Config{Strategy: strategy, Seed: seed},
				philosopher(1, 2, 0), philosopher(2, 3, 30), philosopher(3, 1, 90))
			if s.deadlocked() {
				hits[strategy]++
			}
			s = run(t, Config{Strategy: strategy, Seed: seed}, philosopher(1, 2, 0), philosopher(1, 2, 5))
			if s.deadlocked() {
				t.Fatalf("seed %d: a deadlock where there is none", seed)
			}
		}
	}
	if hits[DeadlockDirected] != seeds || hits[RandomWalk] > seeds/2 {
		t.Errorf("deadlocks: %v", hits)
	}
}

// TestReleasedTogether has tasks at places Inner. All of them continue before any of them makes
// another step.
func TestReleasedTogether(t *testing.T) {
	task := append([]step{{kind: Lock, roles: Inner}}, repeat(20, plain)...)
	for seed := range uint64(20) {
		s := run(t, Config{Strategy: DeadlockDirected, Seed: seed}, task, task, task)
		if got := slices.Sorted(slices.Values(s.order[:3])); !slices.Equal(got, []uint32{0, 1, 2}) {
			t.Fatalf("seed %d: %v", seed, s.order)
		}
	}
}

func TestSectionDirected(t *testing.T) {
	section := append([]step{
		{kind: Access, roles: Entry, place: 1, addr: 8},
		{kind: Access, roles: End | Remote, place: 2, addr: 8, write: true}}, repeat(100, plain)...)
	for seed := range uint64(200) {
		s := run(t, Config{Strategy: SectionDirected, Seed: seed}, section, append(repeat(100, plain), section...))
		if len(s.met) == 0 || s.met[0].Kind != Violation {
			t.Fatalf("seed %d: %v", seed, s.met)
		}
		m := s.met[0]
		if s.order[m.Step] != m.First.ID || s.order[m.Step+1] != m.Second.ID {
			t.Fatalf("seed %d: the task in the section does not come next", seed)
		}
	}
}

// TestLockedSection has sections whose accesses are each made under a lock: a task at End holds the
// lock that the other task needs.
func TestLockedSection(t *testing.T) {
	locked := func(x step) []step {
		x.kind, x.addr = Access, 8
		return []step{{kind: Lock, take: 1}, x, {kind: Sync, give: 1}}
	}
	section := slices.Concat(locked(step{roles: Entry}), locked(step{roles: End, write: true}))
	remote := slices.Concat(repeat(50, plain), locked(step{roles: Remote, write: true}))
	directed, walk := 0, 0
	for seed := range uint64(200) {
		directed += len(run(t, Config{Strategy: SectionDirected, Seed: seed}, section, remote, remote).met)
		walk += len(run(t, Config{Strategy: RandomWalk, Seed: seed}, section, remote, remote).met)
	}
	if directed != 200 || walk > 20 {
		t.Errorf("violated in %d, by a random walk in %d", directed, walk)
	}
}

// TestManySections has more tasks in sections than MaxSections.
func TestManySections(t *testing.T) {
	var tasks [][]step
	for range MaxSections + 10 {
		tasks = append(tasks, []step{
			{kind: Access, roles: Entry, addr: 8}, {kind: Access, roles: End | Remote, addr: 8, write: true}})
	}
	for seed := range uint64(20) {
		if s := run(t, Config{Strategy: SectionDirected, Seed: seed}, tasks...); len(s.met) == 0 || s.deadlocked() {
			t.Fatalf("seed %d: %d meetings", seed, len(s.met))
		}
	}
}

// TestUrgent has a third task with many steps, which must not run between the accesses of the two
// tasks that meet.
func TestUrgent(t *testing.T) {
	access := func(r Roles) []step { return []step{{kind: Access, roles: r, addr: 8}} }
	busy := repeat(500, plain)
	for seed := range uint64(100) {
		c := Config{Strategy: SectionDirected, Seed: seed}
		// Task 1 waits at Remote first.
		s := run(t, c, slices.Concat(repeat(30, plain), access(Entry), repeat(30, plain), access(End)), access(Remote), busy)
		entry := nth(s.order, 0, 30)
		if s.order[entry+1] != 1 || s.order[entry+2] != 0 || len(s.met) != 1 {
			t.Fatalf("seed %d: after step %d: %v", seed, entry, s.order)
		}
		// Task 0 waits in its section first.
		s = run(t, c, slices.Concat(access(Entry), repeat(30, plain), access(End)), append(repeat(30, plain), access(Remote)...), busy)
		remote := nth(s.order, 1, 30)
		if s.order[remote-1] != 1 || s.order[remote+1] != 0 || len(s.met) != 1 {
			t.Fatalf("seed %d: around step %d: %v", seed, remote, s.order)
		}
	}
}

// nth returns the step of the execution at which the task makes its n-th step, from 0.
func nth(order []uint32, id uint32, n int) int {
	for i, x := range order {
		if x == id {
			if n == 0 {
				return i
			}
			n--
		}
	}
	return -1
}

// TestViolated tests which accesses violate a section.
func TestViolated(t *testing.T) {
	access := func(r Roles) step { return step{kind: Access, roles: r, place: uint32(r), addr: 8} }
	// The first interleaved access counts.
	s := run(t, Config{Strategy: Follow, Turns: inOrder(0, 1, 2, 0)},
		[]step{access(Entry), access(End)}, []step{access(Remote)}, []step{access(Remote)})
	want := Side{ID: 1, Place: uint32(Remote), Addr: 8, Size: 1}
	if len(s.met) != 1 || s.met[0].First != want || s.met[0].Step != 1 {
		t.Errorf("%+v", s.met)
	}
	// A section ends only once.
	s = run(t, Config{Strategy: Follow, Turns: inOrder(0, 0, 1, 0)},
		[]step{access(Entry), access(End), access(End)}, []step{access(Remote)})
	if len(s.met) != 0 {
		t.Errorf("%+v", s.met)
	}
	// A new entry is a new section.
	s = run(t, Config{Strategy: Follow, Turns: inOrder(0, 1, 0, 0)},
		[]step{access(Entry), access(Entry), access(End)}, []step{access(Remote)})
	if len(s.met) != 0 {
		t.Errorf("%+v", s.met)
	}
}

// TestSectionsOfOthers has accesses at Remote that violate nothing: before the entry, to other
// memory, or after the end of the section.
func TestSectionsOfOthers(t *testing.T) {
	entry := step{kind: Access, roles: Entry, place: 1, addr: 8}
	end := step{kind: Access, roles: End, place: 2, addr: 8}
	remote := step{kind: Access, roles: Remote, place: 3, addr: 64, write: true}
	for strategy := RandomWalk; strategy <= Follow; strategy++ {
		for seed := range uint64(50) {
			c := Config{Strategy: strategy, Seed: seed, PostponeLimit: 20}
			s := run(t, c, []step{entry, end, end}, []step{remote, plain})
			s.met = append(s.met, run(t, c, []step{end, plain}, []step{{kind: Access, roles: Remote, addr: 8}}).met...)
			if len(s.met) > 0 {
				t.Fatalf("%d, seed %d: %v", strategy, seed, s.met)
			}
		}
	}
}

func TestPCTOrder(t *testing.T) {
	// At depth 1 there is no change: each task runs to its end, in some order.
	seen := map[uint32]int{}
	for seed := range uint64(300) {
		s := run(t, Config{Strategy: PCT, Seed: seed, Depth: 1, Steps: 30}, repeat(10, plain), repeat(10, plain), repeat(10, plain))
		for i := 0; i < 30; i += 10 {
			if !slices.Equal(s.order[i:i+10], slices.Repeat(s.order[i:i+1], 10)) {
				t.Fatalf("seed %d: %v", seed, s.order)
			}
		}
		seen[s.order[0]*3+s.order[10]]++
	}
	if len(seen) != 6 {
		t.Errorf("%d of 6 orders", len(seen))
	}
	// At depth d there are at most d-1 changes, besides the ends of tasks.
	for seed := range uint64(300) {
		s := run(t, Config{Strategy: PCT, Seed: seed, Depth: 3, Steps: 30}, repeat(10, plain), repeat(10, plain), repeat(10, plain))
		if n := len(slices.Compact(slices.Clone(s.order))); n > 3+2 {
			t.Fatalf("seed %d: %d turns", seed, n)
		}
	}
}

// TestYieldLetsOthers has a task that yields until another one has made its steps.
func TestYieldLetsOthers(t *testing.T) {
	for strategy := RandomWalk; strategy <= Follow; strategy++ {
		for seed := range uint64(10) {
			s := run(t, Config{Strategy: strategy, Seed: seed, Depth: 2, Steps: 10},
				repeat(5000, step{kind: Yield}), repeat(50, plain), repeat(5000, step{kind: Yield}))
			if at := slices.Index(s.order, 1); at > 100 {
				t.Errorf("%d, seed %d: task 1 starts at step %d", strategy, seed, at)
			}
		}
	}
}

// TestMaxInRow has a task that never yields.
func TestMaxInRow(t *testing.T) {
	s := run(t, Config{Strategy: Replay}, repeat(5000, plain), repeat(2, plain))
	if at := slices.Index(s.order, 1); at != MaxInRow {
		t.Errorf("task 1 starts at step %d", at)
	}
	// MaxInRow counts steps in a row.
	s = run(t, Config{Strategy: Replay, Choices: []Choice{{Step: 500, ID: 1}}}, repeat(5000, plain), repeat(5000, plain))
	if at := slices.Index(s.order[500:], 0); at != MaxInRow {
		t.Errorf("task 1 has a turn of %d", at)
	}
	s = run(t, Config{Strategy: PCT, Depth: 1, Steps: 10, PostponeLimit: 90, Seed: 1},
		repeat(5000, plain), repeat(5000, plain), repeat(5000, plain), repeat(1, plain))
	if at := slices.Index(s.order, 3); at > 500 {
		t.Errorf("under PCT, task 3 starts at step %d", at)
	}
}

// TestReplay repeats executions of all strategies from their deviations.
func TestReplay(t *testing.T) {
	tasks := [][]step{
		append(philosopher(1, 2, 4), step{kind: Access, roles: First, addr: 8, write: true}, step{kind: Yield}, plain),
		append(philosopher(1, 2, 2), step{kind: Access, roles: Second | Remote, addr: 8, write: true}, plain),
		{{kind: Access, roles: Entry, addr: 8}, plain, {kind: Access, roles: End, addr: 8}, plain},
	}
	for strategy := RandomWalk; strategy <= Follow; strategy++ {
		for seed := range uint64(200) {
			c := Config{Strategy: strategy, Seed: seed, Depth: 4, Steps: 20, Turns: inOrder(2, 1, 0, 0, 2)}
			s := run(t, c, tasks...)
			if again := run(t, c, tasks...); again.scheduler.Hash != s.scheduler.Hash {
				t.Fatalf("%d, seed %d: another execution", strategy, seed)
			}
			r := run(t, Config{Strategy: Replay, Choices: s.log}, tasks...)
			if r.scheduler.Hash != s.scheduler.Hash || !slices.Equal(r.order, s.order) ||
				!slices.Equal(r.met, s.met) || !slices.Equal(r.log, s.log) || r.scheduler.Diverged != 0 {
				t.Fatalf("%d, seed %d: the replay differs", strategy, seed)
			}
		}
	}
	r := run(t, Config{Strategy: Replay, Choices: []Choice{{Step: 0, ID: 7}, {Step: 3, ID: 2}}}, tasks...)
	if r.scheduler.Diverged != 1 {
		t.Errorf("%d choices could not be followed", r.scheduler.Diverged)
	}
	// Steps that do not ascend are skipped.
	r = run(t, Config{Strategy: Replay, Choices: []Choice{{Step: 3, ID: 1}, {Step: 2, ID: 2}}}, tasks...)
	if r.scheduler.Diverged != 1 || r.order[4] != 1 {
		t.Errorf("%d choices could not be followed, %v", r.scheduler.Diverged, r.order)
	}
}

func TestFollow(t *testing.T) {
	turns := []Turn{{2, 1}, {0, 1}, {1, 1}, {2, 2}, {0, 1}, {0, 2}, {1, 3}, {0, 3}, {2, 9}}
	s := run(t, Config{Strategy: Follow, Turns: turns}, repeat(3, plain), repeat(3, plain), repeat(3, plain))
	if !slices.Equal(s.order, []uint32{2, 0, 1, 2, 0, 1, 1, 0, 2}) {
		t.Errorf("%v", s.order)
	}
	s = run(t, Config{Strategy: Follow, Turns: []Turn{{9, 1}, {1, 1}}, PostponeLimit: 5}, repeat(30, plain), repeat(3, plain))
	if s.order[5] != 1 || s.scheduler.Diverged != 1 {
		t.Errorf("%v, %d", s.order, s.scheduler.Diverged)
	}
	// A task that blocks in the last operation of its turn is not waited for.
	lock := []step{{kind: Lock, take: 1}, plain, {kind: Sync, give: 1}}
	s = run(t, Config{Strategy: Follow, Turns: []Turn{{0, 1}, {1, 1}, {0, 3}, {1, 3}}}, lock, lock)
	if !slices.Equal(s.order, []uint32{0, 0, 0, 1, 1, 1}) || s.scheduler.Diverged != 0 || s.scheduler.Steps() != 7 {
		t.Errorf("%v, %d, %d steps", s.order, s.scheduler.Diverged, s.scheduler.Steps())
	}
}

// TestPostponeLimit has tasks that yield until a postponed task has continued.
func TestPostponeLimit(t *testing.T) {
	lone := step{kind: Access, roles: First, addr: 8, write: true}
	inner := step{kind: Lock, roles: Inner, take: 1}
	for _, c := range []struct {
		strategy Strategy
		x        step
	}{{RaceDirected, lone}, {DeadlockDirected, inner}, {SectionDirected, step{kind: Access, roles: Remote}}} {
		s := run(t, Config{Strategy: c.strategy, PostponeLimit: 50}, []step{c.x}, repeat(1000, step{kind: Yield}))
		if at := slices.Index(s.order, 0); at < 50 || at > 150 {
			t.Errorf("%d: step %d", c.strategy, at)
		}
	}
}

// TestPostponeLimitHalves has a task that arrives at its place again and again while others never
// block.
func TestPostponeLimitHalves(t *testing.T) {
	for _, c := range []struct {
		strategy Strategy
		x        step
	}{
		{RaceDirected, step{kind: Access, roles: First, addr: 8, write: true}},
		{DeadlockDirected, step{kind: Lock, roles: Inner}},
		{SectionDirected, step{kind: Access, roles: Remote}},
	} {
		s := run(t, Config{Strategy: c.strategy, PostponeLimit: 5000}, repeat(200, c.x), repeat(60000, step{kind: Yield}))
		end := len(s.order)
		for s.order[end-1] != 0 {
			end--
		}
		if end > 2*5000+200*2*minPostponeLimit {
			t.Errorf("%d: step %d", c.strategy, end)
		}
	}
}

func TestLog(t *testing.T) {
	var p Scheduler
	p.Start(&Config{Strategy: RandomWalk, Log: make([]Choice, 2)})
	for range 50 {
		p.Next([]Task{{ID: 1, Kind: Yield}, {ID: 2, Kind: Yield}}, NoTask)
	}
	if p.NumLog != 2 || p.LostLog == 0 || p.LostLog > 48 {
		t.Errorf("%d logged, %d lost", p.NumLog, p.LostLog)
	}
}

func TestRandomIsOfItsOwn(t *testing.T) {
	var p, q Scheduler
	p.Start(&Config{Seed: 5})
	q.Start(&Config{Seed: 5})
	tasks := make([]Task, 3)
	for range 20 {
		p.Next(tasks, NoTask)
	}
	for range 20 {
		if p.Random() != q.Random() {
			t.Fatal("choices change the program's random numbers")
		}
	}
}

func TestNextAllocatesNothing(t *testing.T) {
	for strategy := RandomWalk; strategy <= Follow; strategy++ {
		var p Scheduler
		p.Start(&Config{Strategy: strategy, Depth: 3, Steps: 100, Turns: inOrder(make([]uint32, 50)...), Log: make([]Choice, 8)})
		tasks := make([]Task, 16)
		for i := range tasks {
			tasks[i] = Task{ID: uint32(i), Kind: Kind(i % 5), Roles: Roles(1 << (i % 6)), Addr: 8, Write: i%2 == 0}
		}
		running := NoTask
		if n := testing.AllocsPerRun(1000, func() {
			i := p.Next(tasks, running)
			running = tasks[i].ID
			tasks[i].Since, tasks[i].OpState = p.Steps(), 0
			tasks[i].Seq++
			p.NumMeetings, p.NumLog = 0, 0
		}); n != 0 {
			t.Errorf("%d: %v allocations", strategy, n)
		}
	}
}
