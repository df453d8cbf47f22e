package racefuzz_test

import (
	"context"
	"fmt"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/lockset"
	"github.com/heisen-go/heisen/mcm"
	"github.com/heisen-go/heisen/racefuzz"
)

// account models a bank account. Two clients check the balance and then withdraw.
func account(g *racefuzz.G) {
	balance := g.NewVar("balance")
	balance.Write(g, 100)
	for _, name := range []string{"ann", "bob"} {
		g.Go(name, func(g *racefuzz.G) {
			if b := balance.Read(g.At("check")); b >= 100 {
				g.Assert(balance.Read(g.At("look")) >= 100, "%s takes what is not there", name)
				balance.Write(g.At("withdraw"), b-100)
			}
		})
	}
}

// An analysis reports pairs of places that may race. A strategy reproduces the races.
func Example() {
	// Phase 1: a detector that predicts races observes one execution.
	var suspects [][2]heisen.Site
	detector, err := lockset.NewHybrid(lockset.WithSink(func(f heisen.Finding) {
		suspects = append(suspects, [2]heisen.Site{f.Accesses[0].Site, f.Accesses[1].Site})
	}))
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	first, err := racefuzz.Run(ctx, account, racefuzz.RandomWalk(), 3, racefuzz.WithDetector(detector))
	if err != nil {
		fmt.Println(err)
		return
	}
	// Phase 2: for each pair, some executions under RaceDirected.
	directed, err := racefuzz.RaceDirected()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, pair := range suspects {
		a, b := first.Symbols.Site(pair[0]).String(), first.Symbols.Site(pair[1]).String()
		confirmed, failed := 0, 0
		for seed := range uint64(20) {
			r, err := racefuzz.Run(ctx, account, directed, seed, racefuzz.WithRoles(racefuzz.First, a), racefuzz.WithRoles(racefuzz.Second, b))
			if err != nil {
				fmt.Println(err)
				return
			}
			if len(r.Meetings) > 0 {
				confirmed++
			}
			if r.Outcome == racefuzz.Failed {
				failed++
			}
		}
		fmt.Printf("%s and %s: confirmed in %d of 20, harmful: %t\n", a, b, confirmed, failed > 0)
	}
	// Output:
	// check and withdraw: confirmed in 20 of 20, harmful: false
	// withdraw and look: confirmed in 20 of 20, harmful: true
}

// Enumerate all executions of a small model.
func ExampleNewExhaustive() {
	ends := map[racefuzz.Outcome]int{}
	all := racefuzz.NewExhaustive()
	for all.More() {
		r, err := racefuzz.Run(context.Background(), account, all, 0)
		if err != nil {
			fmt.Println(err)
			return
		}
		ends[r.Outcome]++
	}
	fmt.Println(ends[racefuzz.Finished], "finish,", ends[racefuzz.Failed], "fail,", all.Err())
	// Output: 25 finish, 10 fail, <nil>
}

// Enumerate the executions of a small model, one of each class of equivalent ones.
func ExampleNewDPOR() {
	ends := map[racefuzz.Outcome]int{}
	all := racefuzz.NewDPOR()
	for all.More() {
		r, err := racefuzz.Run(context.Background(), account, all, 0)
		if err != nil {
			fmt.Println(err)
			return
		}
		ends[r.Outcome]++
	}
	fmt.Println(ends[racefuzz.Finished], "finish,", ends[racefuzz.Failed], "fail,", all.Err())
	// Output: 4 finish, 2 fail, <nil>
}

// Reduce a failing execution to the preemptions that the failure needs.
func ExampleMinimize() {
	ctx := context.Background()
	busy := func(g *racefuzz.G) {
		clients := g.NewVar("clients")
		g.Go("clerk", func(g *racefuzz.G) {
			for range 10 {
				clients.Add(g, 1)
			}
		})
		account(g)
	}
	fails := func(ctx context.Context, choices []racefuzz.Choice) (bool, error) {
		replay, err := racefuzz.Replay(choices)
		if err != nil {
			return false, err
		}
		r, err := racefuzz.Run(ctx, busy, replay, 0)
		return err == nil && r.Outcome == racefuzz.Failed, err
	}
	for seed := uint64(0); ; seed++ {
		r, err := racefuzz.Run(ctx, busy, racefuzz.RandomWalk(), seed)
		if err != nil {
			fmt.Println(err)
			return
		}
		if r.Outcome != racefuzz.Failed {
			continue
		}
		least, err := racefuzz.Minimize(ctx, r.Choices, fails)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(len(r.Choices), "choices, needed:", len(least.Choices))
		for _, c := range least.Choices {
			fmt.Printf("at step %d %s goes on\n", c.Step, r.Names[c.ID])
		}
		return
	}
	// Output:
	// 8 choices, needed: 1
	// at step 15 bob goes on
}

// The text of a schedule, as in a bug report.
func ExampleSchedule() {
	s := racefuzz.Schedule{
		Program:  "account",
		Command:  "model",
		Strategy: "random-walk",
		Seed:     7,
		Targets: []racefuzz.Target{
			{Roles: racefuzz.First, Mode: "read", Place: "look"},
			{Roles: racefuzz.Second, Mode: "write", Place: "withdraw"},
		},
		Outcome: "failed", Message: "ann takes what is not there",
		Choices: []racefuzz.Choice{{Step: 4, ID: 1}, {Step: 5, ID: 2}},
	}
	text, err := s.MarshalText()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(string(text))
	// Output:
	// heisen schedule 1
	// command model account
	// strategy random-walk
	// seed 7
	// target first read look ""
	// target second write withdraw ""
	// outcome failed "ann takes what is not there"
	// choices 2
	//   4:1 1:2
	// end
}

// Save an execution that fails as text, read the text, and repeat the execution.
func ExampleSchedule_save() {
	ctx := context.Background()
	strategy := racefuzz.RandomWalk()
	for seed := range uint64(100) {
		r, err := racefuzz.Run(ctx, account, strategy, seed)
		if err != nil {
			fmt.Println(err)
			return
		}
		if r.Outcome != racefuzz.Failed {
			continue
		}
		saved := racefuzz.Schedule{
			Strategy: fmt.Sprint(strategy), Seed: seed, Outcome: r.Outcome.String(), Message: r.Message,
			Steps: r.Steps, Hash: r.Hash, Choices: r.Choices,
		}
		text, err := saved.MarshalText()
		if err != nil {
			fmt.Println(err)
			return
		}

		var s racefuzz.Schedule
		if err := s.UnmarshalText(text); err != nil {
			fmt.Println(err)
			return
		}
		replay, err := racefuzz.Replay(s.Choices)
		if err != nil {
			fmt.Println(err)
			return
		}
		again, err := racefuzz.Run(ctx, account, replay, s.Seed)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(again.Outcome, again.Message)
		fmt.Println("the same execution:", again.Hash == s.Hash)
		return
	}
	// Output:
	// failed bob takes what is not there
	// the same execution: true
}

// Replay an execution from the text of its schedule.
func ExampleReplay() {
	ctx := context.Background()
	text := []byte(`
		heisen schedule 1
		strategy random-walk
		outcome failed
		choices 1
		  4:2
		end
	`)
	var s racefuzz.Schedule
	if err := s.UnmarshalText(text); err != nil {
		fmt.Println(err)
		return
	}
	replay, err := racefuzz.Replay(s.Choices)
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := racefuzz.Run(ctx, account, replay, s.Seed)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, id := range r.Order {
		fmt.Print(r.Names[id], ", ")
	}
	fmt.Println(r.Outcome)
	fmt.Println(r.Message)
	// Output:
	// main, main, main, ann, bob, bob, bob, ann, failed
	// ann takes what is not there
}

// roundRobin lets the tasks make one step each in turn.
type roundRobin struct{}

func (roundRobin) Start(uint64)           {}
func (roundRobin) Random(n uint64) uint64 { return 0 }
func (roundRobin) Next(tasks []racefuzz.Task, running uint32) int {
	for i, t := range tasks {
		if running == racefuzz.NoTask || t.ID > running {
			return i // Run passes the tasks of a model in the order of their IDs
		}
	}
	return 0
}

// A custom strategy has three methods.
func ExampleStrategy() {
	r, err := racefuzz.Run(context.Background(), account, roundRobin{}, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, id := range r.Order {
		fmt.Print(r.Names[id], " ")
	}
	fmt.Println("and it has", r.Outcome)
	// Output: main main ann main ann bob ann bob and it has failed
}

// Follow the witness of a predicted race. A server sets its address and then counts that it
// listens. A client counts that it dials and then reads the address. If the server is first, the
// lock of the counters orders the two accesses to the address.
func ExampleFollow() {
	program := func(g *racefuzz.G) {
		address, listens, dials := g.NewVar("address"), g.NewVar("listens"), g.NewVar("dials")
		counters := g.NewMutex("counters")
		count := func(g *racefuzz.G, v *racefuzz.Var) {
			counters.Lock(g)
			v.Write(g, v.Read(g)+1)
			counters.Unlock(g)
		}
		g.Go("server", func(g *racefuzz.G) {
			address.Write(g.At("listen"), 1)
			count(g, listens)
		})
		g.Go("client", func(g *racefuzz.G) {
			count(g, dials)
			g.Assert(address.Read(g.At("dial")) == 1, "the server has no address")
		})
	}
	ctx := context.Background()
	var events recorder
	usual, err := racefuzz.Replay(nil) // default choices only
	if err != nil {
		fmt.Println(err)
		return
	}
	first, err := racefuzz.Run(ctx, program, usual, 0, racefuzz.WithDetector(&events))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(first.Outcome)
	model, err := mcm.NewModel(mcm.Window{Records: events})
	if err != nil {
		fmt.Println(err)
		return
	}
	for i, j := range model.Pairs() {
		verdict, witness, err := model.Race(context.Background(), i, j)
		if err != nil || verdict != mcm.Possible {
			continue
		}
		turns, err := first.Turns(witness.Order, witness.Last)
		if err != nil {
			fmt.Println(err)
			return
		}
		follow, err := racefuzz.Follow(turns)
		if err != nil {
			fmt.Println(err)
			return
		}
		r, err := racefuzz.Run(ctx, program, follow, 0, racefuzz.WithRoles(racefuzz.First, "listen"), racefuzz.WithRoles(racefuzz.Second, "dial"))
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, m := range r.Meetings {
			fmt.Println(r.Place(m.First.Place), "meets", r.Place(m.Second.Place))
		}
		// The schedule as text.
		text, err := (&racefuzz.Schedule{Strategy: fmt.Sprint(follow), Turns: turns}).MarshalText()
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Print(string(text))
	}
	// Output:
	// finished
	// listen meets dial
	// heisen schedule 2
	// strategy follow
	// turns 5
	//   0:0+3 2:0+5 1:0+1 1:0+2 2:0+6
	// choices 0
	// end
}

// Strategies differ in which bugs they reach. In this model, two goroutines deadlock if both come between their two locks. PCT promises at least
// one of 180 executions here: it has three tasks and 60 steps.
func ExamplePCT() {
	ctx := context.Background()
	orders := func(g *racefuzz.G) {
		a, b := g.NewMutex("a"), g.NewMutex("b")
		work := g.NewVar("work")
		for _, locks := range [][2]*racefuzz.Mutex{{a, b}, {b, a}} {
			g.Go("worker", func(g *racefuzz.G) {
				for range 20 {
					work.Add(g, 1)
				}
				locks[0].Lock(g.At("outer"))
				locks[1].Lock(g.At("inner"))
				locks[1].Unlock(g)
				locks[0].Unlock(g)
			})
		}
	}
	pct, err := racefuzz.PCT(2, 60)
	if err != nil {
		fmt.Println(err)
		return
	}
	directed, err := racefuzz.DeadlockDirected()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range []racefuzz.Strategy{racefuzz.RandomWalk(), racefuzz.POS(), pct, directed} {
		deadlocks := 0
		for seed := range uint64(1000) {
			r, err := racefuzz.Run(ctx, orders, s, seed, racefuzz.WithRoles(racefuzz.Inner, "inner"))
			if err != nil {
				fmt.Println(err)
				return
			}
			if r.Outcome == racefuzz.Deadlocked {
				deadlocks++
			}
		}
		fmt.Printf("%v: %d of 1000\n", s, deadlocks)
	}
	// Output:
	// random-walk: 133 of 1000
	// pos: 153 of 1000
	// pct depth=2 steps=60: 20 of 1000
	// deadlock-directed: 1000 of 1000
}

// A counter is read and then written. The strategy lets another goroutine write it in between, although each access has a lock.
func ExampleSectionDirected() {
	ctx := context.Background()
	counter := func(g *racefuzz.G) {
		n, mu := g.NewVar("n"), g.NewMutex("mu")
		for range 2 {
			g.Go("client", func(g *racefuzz.G) {
				mu.Lock(g)
				before := n.Read(g.At("read"))
				mu.Unlock(g)
				mu.Lock(g)
				n.Write(g.At("write"), before+1)
				mu.Unlock(g)
			})
		}
	}
	directed, err := racefuzz.SectionDirected()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range []racefuzz.Strategy{racefuzz.RandomWalk(), directed} {
		violated := 0
		for seed := range uint64(1000) {
			r, err := racefuzz.Run(ctx, counter, s, seed, racefuzz.WithRoles(racefuzz.Entry, "read"),
				racefuzz.WithRoles(racefuzz.End|racefuzz.Remote, "write"))
			if err != nil {
				fmt.Println(err)
				return
			}
			if len(r.Meetings) > 0 {
				violated++
			}
		}
		fmt.Printf("%v: violated in %d of 1000\n", s, violated)
	}
	// Output:
	// random-walk: violated in 481 of 1000
	// section-directed: violated in 1000 of 1000
}
