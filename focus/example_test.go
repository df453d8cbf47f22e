package focus_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/focus"
	"github.com/heisen-go/heisen/lockset"
)

// Two goroutines add to a balance under the lock that is 8 bytes in front of it.
func ExampleDiscoverer() {
	name := func(r *heisen.Record) (focus.Variable, bool) {
		field := map[heisen.Object]string{0x1000: "mu", 0x1008: "balance"}[r.Object]
		return focus.Variable{Package: "example.com/bank", Type: "Account", Name: field}, field != ""
	}
	d, err := focus.NewDiscoverer(name)
	if err != nil {
		log.Fatal(err)
	}
	var run []heisen.Record
	for t := range heisen.Thread(2) {
		run = append(run,
			heisen.Record{Op: heisen.Acquire, Thread: t, Object: 0x1000},
			heisen.Record{Op: heisen.Write, Thread: t, Object: 0x1008},
			heisen.Record{Op: heisen.Release, Thread: t, Object: 0x1000})
	}
	if _, err := heisen.Run(context.Background(), heisen.Slice(run), d); err != nil {
		log.Fatal(err)
	}
	for _, f := range d.Discoveries() {
		fmt.Printf("%v is %v (%d of %d objects shared)\n", f.Variable, f.Owner, f.Shared, f.Objects)
	}
	// Output: example.com/bank.Account.balance is guarded by mu (1 of 1 objects shared)
}

// A plan says that nobody writes a name once it is published. Eraser is then spared the accesses to it.
func ExampleFilter() {
	name := focus.Variable{Package: "example.com/bank", Type: "Account", Name: "name"}
	plan := &focus.Plan{Variables: map[focus.Variable]focus.Protection{name: {Owner: focus.Owner{Kind: focus.ReadOnly}}}}
	eraser, err := lockset.NewEraser()
	if err != nil {
		log.Fatal(err)
	}
	f, err := focus.NewFilter(plan, eraser, focus.Names{
		Variable: func(r *heisen.Record) (focus.Variable, bool) { return name, r.Object == 0x1010 },
	})
	if err != nil {
		log.Fatal(err)
	}
	_, err = heisen.Run(context.Background(), heisen.Slice([]heisen.Record{
		{Op: heisen.Write, Object: 0x1010},
		{Op: heisen.Fork, Object: 1},
		{Op: heisen.Read, Thread: 1, Object: 0x1010},
		{Op: heisen.Write, Thread: 1, Object: 0x1018},
	}), f)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(f.Dropped(), "events left out")
	// Output: 2 events left out
}

// A method locks and calls another one that needs the lock. A caller that calls it twice is not atomic.
func ExampleInferAtomicity() {
	const mu focus.Lock = "a.mu"
	atomicities := focus.InferAtomicity(map[focus.Function]focus.Body{
		"(*Account).add": func(func(focus.Function) focus.Atomicity) focus.Atomicity {
			read := focus.Needs(mu, focus.Always(focus.Mover))
			write := focus.Needs(mu, focus.Always(focus.Mover))
			return read.Then(write)
		},
		"(*Account).Deposit": func(call func(focus.Function) focus.Atomicity) focus.Atomicity {
			return call("(*Account).add").Within(mu)
		},
		"twice": func(call func(focus.Function) focus.Atomicity) focus.Atomicity {
			return call("(*Account).Deposit").Then(call("(*Account).Deposit"))
		},
	})
	for _, f := range []focus.Function{"(*Account).add", "(*Account).Deposit", "twice"} {
		fmt.Printf("%s: %v\n", f, atomicities[f])
	}
	fmt.Println(focus.VerifiedAtomic(atomicities, []focus.CallSite{
		{Callee: "(*Account).add", Held: []focus.Lock{mu}},
		{Callee: "(*Account).Deposit"},
		{Callee: "twice"},
	}, nil))
	// Output:
	// (*Account).add: a.mu ? mover
	// (*Account).Deposit: a.mu ? mover : atomic
	// twice: a.mu ? mover : compound
	// [(*Account).Deposit (*Account).add]
}

func ExamplePlan_Encode() {
	mu := focus.Guard{SameObject: true, Path: "mu"}
	plan := &focus.Plan{
		Variables: map[focus.Variable]focus.Protection{
			{Package: "example.com/bank", Type: "Account", Name: "balance"}: {Owner: focus.Owner{Kind: focus.Guarded, Guard: mu}},
		},
		Functions: map[focus.Function]focus.Properties{
			"example.com/bank.(*Account).add": {Typed: true, Requires: []focus.Guard{mu}},
		},
	}
	if err := plan.Encode(os.Stdout); err != nil {
		log.Fatal(err)
	}
	// Output:
	// heisen plan 1
	//
	// variable example.com/bank.Account.balance safe guarded field mu
	//
	// function example.com/bank.(*Account).add typed
	// 	requires field mu
}
