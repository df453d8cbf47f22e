package strategies

import (
	"slices"
	"testing"
)

// step is an operation of a script: what a task does next, and how it goes on.
type step struct {
	kind  Kind
	roles Roles
	place uint32
	addr  uint64
	write bool
	atom  bool
	take  int // lock to take from here on, from 1
	give  int // lock to give back
}

// script runs tasks of fixed steps the way the runtime does: who can go on is in a
// pool, who goes on may find that it has to wait, and comes back when it has what it
// waited for.
type script struct {
	picker  Picker
	tasks   [][]step
	pool    []Task
	at      []int
	owns    []uint64
	holders map[int]int
	waiting map[int][]int
	order   []uint32 // who made its next step
	met     []Meeting
	log     []Choice
}

func run(t testing.TB, c Config, tasks ...[]step) *script {
	s := &script{tasks: tasks, at: make([]int, len(tasks)), owns: make([]uint64, len(tasks)),
		holders: map[int]int{}, waiting: map[int][]int{}}
	c.Log = make([]Choice, 4)
	s.picker.Start(&c)
	for i := range tasks {
		s.arrive(i)
	}
	running := None
	for len(s.pool) > 0 {
		if s.picker.Steps() > 100000 {
			t.Fatal("it does not end")
		}
		i := s.picker.Next(s.pool, running)
		s.met = append(s.met, s.picker.Met[:s.picker.NumMet]...)
		s.picker.NumMet = 0
		s.log = append(s.log, s.picker.Log[:s.picker.NumLog]...)
		s.picker.NumLog = 0
		task := s.pool[i]
		running = task.ID
		s.owns[task.ID] = task.Own
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
		Addr: x.addr, Since: s.picker.Steps(), Own: s.owns[id], At: uint64(s.at[id])})
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
			s.arrive(w) // as if it came to the lock again
		}
		delete(s.waiting, x.give)
	}
}

// deadlocked reports whether tasks have not come to their ends.
func (s *script) deadlocked() bool {
	for i := range s.tasks {
		if s.at[i] < len(s.tasks[i]) {
			return true
		}
	}
	return false
}

// inOrder has tasks make one step each time.
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

// TestReadersGoTogether is the set R of Algorithm 1: two reads that are postponed do
// not race with each other; the write that comes is resolved against both.
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

// TestDistinctMemoryNeverMeets has the same places, but not the same memory.
func TestDistinctMemoryNeverMeets(t *testing.T) {
	write := func(addr uint64) []step {
		return []step{plain, {kind: Access, roles: First | Second, place: 1, addr: addr, write: true}, plain}
	}
	for strategy := RandomWalk; strategy <= Follow; strategy++ {
		for seed := range uint64(50) {
			s := run(t, Config{Strategy: strategy, Seed: seed, Depth: 3, Length: 9}, write(8), write(16), write(24))
			if len(s.met) > 0 || s.deadlocked() {
				t.Fatalf("%d, seed %d: %v", strategy, seed, s.met)
			}
		}
	}
}

// TestAtomic has two operations that don't race, and one that does with both.
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

// TestAllPostponed has tasks that are all postponed and meet nobody: any goes on.
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
		if got := touches(&Task{Addr: c.a, Size: c.n}, c.b, c.m); got != c.want {
			t.Errorf("%+v: %t", c, got)
		}
	}
}

// philosophers takes two locks in turn, each in an order of its own.
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

// TestReleasedTogether has tasks at places that are Inner, which all go on before any of
// them makes another step.
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
			t.Fatalf("seed %d: who is in the section does not come next", seed)
		}
	}
}

// TestLockedSection has accesses that are each made under a lock: who stands at its
// last has the lock that others need.
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

// TestManySections has more tasks in sections than are followed.
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

// TestTearing has a third task with much to do, which is not to come in between when two
// have found each other.
func TestTearing(t *testing.T) {
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

// nth returns at which step the task makes its n-th, from 0.
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

// TestTorn is about which accesses make a violation.
func TestTorn(t *testing.T) {
	access := func(r Roles) step { return step{kind: Access, roles: r, place: uint32(r), addr: 8} }
	// The first that comes in between counts.
	s := run(t, Config{Strategy: Follow, Order: inOrder(0, 1, 2, 0)},
		[]step{access(Entry), access(End)}, []step{access(Remote)}, []step{access(Remote)})
	want := Side{ID: 1, Place: uint32(Remote), Addr: 8, Size: 1}
	if len(s.met) != 1 || s.met[0].First != want || s.met[0].Step != 1 {
		t.Errorf("%+v", s.met)
	}
	// A section ends only once.
	s = run(t, Config{Strategy: Follow, Order: inOrder(0, 0, 1, 0)},
		[]step{access(Entry), access(End), access(End)}, []step{access(Remote)})
	if len(s.met) != 0 {
		t.Errorf("%+v", s.met)
	}
	// A new entry is a new section.
	s = run(t, Config{Strategy: Follow, Order: inOrder(0, 1, 0, 0)},
		[]step{access(Entry), access(Entry), access(End)}, []step{access(Remote)})
	if len(s.met) != 0 {
		t.Errorf("%+v", s.met)
	}
}

// TestSectionsOfOthers is about accesses at Remote that don't violate anything: none has
// entered, other memory, or the section is over.
func TestSectionsOfOthers(t *testing.T) {
	entry := step{kind: Access, roles: Entry, place: 1, addr: 8}
	end := step{kind: Access, roles: End, place: 2, addr: 8}
	remote := step{kind: Access, roles: Remote, place: 3, addr: 64, write: true}
	for strategy := RandomWalk; strategy <= Follow; strategy++ {
		for seed := range uint64(50) {
			c := Config{Strategy: strategy, Seed: seed, Patience: 20}
			s := run(t, c, []step{entry, end, end}, []step{remote, plain})
			s.met = append(s.met, run(t, c, []step{end, plain}, []step{{kind: Access, roles: Remote, addr: 8}}).met...)
			if len(s.met) > 0 {
				t.Fatalf("%d, seed %d: %v", strategy, seed, s.met)
			}
		}
	}
}

func TestPCTOrder(t *testing.T) {
	// Of depth 1 there is no change: each task runs to its end, in some order.
	seen := map[uint32]int{}
	for seed := range uint64(300) {
		s := run(t, Config{Strategy: PCT, Seed: seed, Depth: 1, Length: 30}, repeat(10, plain), repeat(10, plain), repeat(10, plain))
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
	// Of depth d there are at most d-1 changes, besides the ends of tasks.
	for seed := range uint64(300) {
		s := run(t, Config{Strategy: PCT, Seed: seed, Depth: 3, Length: 30}, repeat(10, plain), repeat(10, plain), repeat(10, plain))
		if n := len(slices.Compact(slices.Clone(s.order))); n > 3+2 {
			t.Fatalf("seed %d: %d turns", seed, n)
		}
	}
}

// TestYieldLetsOthers has a task that gives way until another has done its steps.
func TestYieldLetsOthers(t *testing.T) {
	for strategy := RandomWalk; strategy <= Follow; strategy++ {
		for seed := range uint64(10) {
			s := run(t, Config{Strategy: strategy, Seed: seed, Depth: 2, Length: 10},
				repeat(5000, step{kind: Yield}), repeat(50, plain), repeat(5000, step{kind: Yield}))
			if at := slices.Index(s.order, 1); at > 100 {
				t.Errorf("%d, seed %d: task 1 starts at step %d", strategy, seed, at)
			}
		}
	}
}

// TestTurn has a task that never gives way.
func TestTurn(t *testing.T) {
	s := run(t, Config{Strategy: Replay}, repeat(5000, plain), repeat(2, plain))
	if at := slices.Index(s.order, 1); at != MaxTurn {
		t.Errorf("task 1 starts at step %d", at)
	}
	// It is a turn in a row.
	s = run(t, Config{Strategy: Replay, Choices: []Choice{{500, 1}}}, repeat(5000, plain), repeat(5000, plain))
	if at := slices.Index(s.order[500:], 0); at != MaxTurn {
		t.Errorf("task 1 has a turn of %d", at)
	}
	s = run(t, Config{Strategy: PCT, Depth: 1, Length: 10, Patience: 90, Seed: 1},
		repeat(5000, plain), repeat(5000, plain), repeat(5000, plain), repeat(1, plain))
	if at := slices.Index(s.order, 3); at > 500 {
		t.Errorf("under PCT, task 3 starts at step %d", at)
	}
}

// TestReplay does executions of all strategies again, by their deviations.
func TestReplay(t *testing.T) {
	tasks := [][]step{
		append(philosopher(1, 2, 4), step{kind: Access, roles: First, addr: 8, write: true}, step{kind: Yield}, plain),
		append(philosopher(1, 2, 2), step{kind: Access, roles: Second | Remote, addr: 8, write: true}, plain),
		{{kind: Access, roles: Entry, addr: 8}, plain, {kind: Access, roles: End, addr: 8}, plain},
	}
	for strategy := RandomWalk; strategy <= Follow; strategy++ {
		for seed := range uint64(200) {
			c := Config{Strategy: strategy, Seed: seed, Depth: 4, Length: 20, Order: inOrder(2, 1, 0, 0, 2)}
			s := run(t, c, tasks...)
			if again := run(t, c, tasks...); again.picker.Hash != s.picker.Hash {
				t.Fatalf("%d, seed %d: another execution", strategy, seed)
			}
			r := run(t, Config{Strategy: Replay, Choices: s.log}, tasks...)
			if r.picker.Hash != s.picker.Hash || !slices.Equal(r.order, s.order) ||
				!slices.Equal(r.met, s.met) || !slices.Equal(r.log, s.log) || r.picker.Diverged != 0 {
				t.Fatalf("%d, seed %d: the replay differs", strategy, seed)
			}
		}
	}
	r := run(t, Config{Strategy: Replay, Choices: []Choice{{0, 7}, {3, 2}}}, tasks...)
	if r.picker.Diverged != 1 {
		t.Errorf("%d choices could not be followed", r.picker.Diverged)
	}
	// Steps that do not ascend are past.
	r = run(t, Config{Strategy: Replay, Choices: []Choice{{3, 1}, {2, 2}}}, tasks...)
	if r.picker.Diverged != 1 || r.order[4] != 1 {
		t.Errorf("%d choices could not be followed, %v", r.picker.Diverged, r.order)
	}
}

func TestFollow(t *testing.T) {
	turns := []Turn{{2, 1}, {0, 1}, {1, 1}, {2, 2}, {0, 1}, {0, 2}, {1, 3}, {0, 3}, {2, 9}}
	s := run(t, Config{Strategy: Follow, Order: turns}, repeat(3, plain), repeat(3, plain), repeat(3, plain))
	if !slices.Equal(s.order, []uint32{2, 0, 1, 2, 0, 1, 1, 0, 2}) {
		t.Errorf("%v", s.order)
	}
	s = run(t, Config{Strategy: Follow, Order: []Turn{{9, 1}, {1, 1}}, Patience: 5}, repeat(30, plain), repeat(3, plain))
	if s.order[5] != 1 || s.picker.Diverged != 1 {
		t.Errorf("%v, %d", s.order, s.picker.Diverged)
	}
	// Who waits in what it was to do is not waited for.
	lock := []step{{kind: Lock, take: 1}, plain, {kind: Sync, give: 1}}
	s = run(t, Config{Strategy: Follow, Order: []Turn{{0, 1}, {1, 1}, {0, 3}, {1, 3}}}, lock, lock)
	if !slices.Equal(s.order, []uint32{0, 0, 0, 1, 1, 1}) || s.picker.Diverged != 0 || s.picker.Steps() != 7 {
		t.Errorf("%v, %d, %d steps", s.order, s.picker.Diverged, s.picker.Steps())
	}
}

// TestPatience has tasks that give way until one has gone on that is postponed.
func TestPatience(t *testing.T) {
	lone := step{kind: Access, roles: First, addr: 8, write: true}
	inner := step{kind: Lock, roles: Inner, take: 1}
	for _, c := range []struct {
		strategy Strategy
		x        step
	}{{RaceDirected, lone}, {DeadlockDirected, inner}, {SectionDirected, step{kind: Access, roles: Remote}}} {
		s := run(t, Config{Strategy: c.strategy, Patience: 50}, []step{c.x}, repeat(1000, step{kind: Yield}))
		if at := slices.Index(s.order, 0); at < 50 || at > 150 {
			t.Errorf("%d: step %d", c.strategy, at)
		}
	}
}

// TestPatienceEnds has a task that comes to its place over and over while others never
// rest.
func TestPatienceEnds(t *testing.T) {
	for _, c := range []struct {
		strategy Strategy
		x        step
	}{
		{RaceDirected, step{kind: Access, roles: First, addr: 8, write: true}},
		{DeadlockDirected, step{kind: Lock, roles: Inner}},
		{SectionDirected, step{kind: Access, roles: Remote}},
	} {
		s := run(t, Config{Strategy: c.strategy, Patience: 5000}, repeat(200, c.x), repeat(60000, step{kind: Yield}))
		end := len(s.order)
		for s.order[end-1] != 0 {
			end--
		}
		if end > 2*5000+200*2*leastPatience {
			t.Errorf("%d: step %d", c.strategy, end)
		}
	}
}

func TestLog(t *testing.T) {
	var p Picker
	p.Start(&Config{Strategy: RandomWalk, Log: make([]Choice, 2)})
	for range 50 {
		p.Next([]Task{{ID: 1, Kind: Yield}, {ID: 2, Kind: Yield}}, None)
	}
	if p.NumLog != 2 || p.LostLog == 0 || p.LostLog > 48 {
		t.Errorf("%d logged, %d lost", p.NumLog, p.LostLog)
	}
}

func TestRandomIsOfItsOwn(t *testing.T) {
	var p, q Picker
	p.Start(&Config{Seed: 5})
	q.Start(&Config{Seed: 5})
	tasks := make([]Task, 3)
	for range 20 {
		p.Next(tasks, None)
	}
	for range 20 {
		if p.Random() != q.Random() {
			t.Fatal("choices change the program's random numbers")
		}
	}
}

func TestNextAllocatesNothing(t *testing.T) {
	for strategy := RandomWalk; strategy <= Follow; strategy++ {
		var p Picker
		p.Start(&Config{Strategy: strategy, Depth: 3, Length: 100, Order: inOrder(make([]uint32, 50)...), Log: make([]Choice, 8)})
		tasks := make([]Task, 16)
		for i := range tasks {
			tasks[i] = Task{ID: uint32(i), Kind: Kind(i % 5), Roles: Roles(1 << (i % 6)), Addr: 8, Write: i%2 == 0}
		}
		running := None
		if n := testing.AllocsPerRun(1000, func() {
			i := p.Next(tasks, running)
			running = tasks[i].ID
			tasks[i].Since, tasks[i].Mark = p.Steps(), 0
			tasks[i].At++
			p.NumMet, p.NumLog = 0, 0
		}); n != 0 {
			t.Errorf("%d: %v allocations", strategy, n)
		}
	}
}
