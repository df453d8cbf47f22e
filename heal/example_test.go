package heal_test

import (
	"context"
	"fmt"
	"log"
	"sync"
	"time"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/heal"
	"github.com/heisen-go/heisen/section"
)

// In a correct execution, thread 1 reads a variable twice, and no other thread writes it in between.
func ExampleProfiler() {
	symbols := heisen.NewSymbols()
	site := func(line int) heisen.Site {
		return symbols.AddSite(heisen.SiteInfo{Frames: []heisen.Frame{{Func: "get", File: "cache.go", Line: line}}})
	}
	test, use := site(10), site(11)
	symbols.SetName(8, "cache.entry")
	p, err := heal.NewProfiler(symbols)
	if err != nil {
		log.Fatal(err)
	}
	_, err = heisen.Run(context.Background(), heisen.Slice([]heisen.Record{
		{Op: heisen.Read, Thread: 1, Object: 8, Site: test},
		{Op: heisen.Read, Thread: 2, Object: 8, Site: test},
		{Op: heisen.Read, Thread: 1, Object: 8, Site: use},
	}), p)
	if err != nil {
		log.Fatal(err)
	}
	profile, err := p.Profile()
	if err != nil {
		log.Fatal(err)
	}
	for _, v := range profile.Atomic() {
		for _, pair := range v.Pairs {
			fmt.Println(v.Name, pair.First, pair.Second, pair.Mode)
		}
	}
	// Output: cache.entry cache.go:10 cache.go:11 shared
}

// A function tests a pointer and then uses it. If the test fails, it does not come to the use.
func ExamplePlace() {
	g, err := heal.NewGraph(3)
	if err != nil {
		log.Fatal(err)
	}
	const test, use, end = 0, 1, 2
	for _, edge := range [][2]int{{test, use}, {test, end}, {use, end}} {
		if err := g.AddEdge(edge[0], edge[1]); err != nil {
			log.Fatal(err)
		}
	}
	p, err := heal.Place(g, heal.Variable{
		Accesses: []heal.Access{{Node: test}, {Node: use}},
		Pairs:    []heal.Pair{{First: test, Second: use, Mode: heal.Shared}},
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, a := range p.Acquisitions {
		fmt.Println("before", a.Node, "acquire", a.Mode)
	}
	for _, r := range p.Releases {
		fmt.Println("between", r.From, "and", r.To, "release")
	}
	// Output:
	// before 0 acquire shared
	// between 0 and 2 release
	// between 1 and 2 release
}

// One function acquires a lock of the program while it holds the inserted one, and another function the other way
// around. The inserted lock is acquired before the program's lock in both.
func ExampleResolve() {
	line := func(n int) *heal.Graph {
		g, err := heal.NewGraph(n)
		if err != nil {
			log.Fatal(err)
		}
		for i := 1; i < n; i++ {
			if err := g.AddEdge(i-1, i); err != nil {
				log.Fatal(err)
			}
		}
		return g
	}
	around := heal.Function{
		Graph: line(4),
		Variables: map[string]heal.Variable{"balance": {
			Accesses: []heal.Access{{Node: 0}, {Node: 3, Write: true}},
			Pairs:    []heal.Pair{{First: 0, Second: 3, Mode: heal.Exclusive}},
		}},
		Locks: []heal.LockOp{{Node: 1, Lock: "mu", Mode: heal.Exclusive}, {Node: 2, Lock: "mu", Mode: heal.Exclusive, Release: true}},
	}
	within := heal.Function{
		Graph:     line(3),
		Variables: map[string]heal.Variable{"balance": {Accesses: []heal.Access{{Node: 1, Write: true}}}},
		Locks:     []heal.LockOp{{Node: 0, Lock: "mu", Mode: heal.Exclusive}, {Node: 2, Lock: "mu", Mode: heal.Exclusive, Release: true}},
	}
	res, err := heal.Resolve(context.Background(), []heal.Function{around, within})
	if err != nil {
		log.Fatal(err)
	}
	for _, h := range res.Hoists {
		fmt.Printf("function %d acquires %s before %s, at node %d\n", h.Function, h.Variable, h.Before, h.Hold.First)
	}
	// Output: function 1 acquires balance before mu, at node 0
}

// A program is instrumented by hand. A finding about its balance switches healing on for that.
func ExampleLive() {
	const balance heisen.Object = 0x1000
	locks, err := heal.NewHealingLocks()
	if err != nil {
		log.Fatal(err)
	}
	sections := []section.Section{{
		Entry: section.Location{File: "bank.go", Line: 31, Mode: section.Reads},
		Ends:  []section.End{{At: section.Location{File: "bank.go", Line: 33, Mode: section.Writes}}},
	}}
	sites := section.Locator{Site: func(s heisen.Site) (string, int, string) { return "bank.go", int(s), "" }}
	live, err := heal.NewLive(locks, heal.WithSections(sections, sites))
	if err != nil {
		log.Fatal(err)
	}
	found := live.Sink(nil) // this is the sink of the detector
	found(heisen.Finding{Kind: heisen.Race, Accesses: []heisen.Access{{Object: balance}}})

	n := 0 // the balance
	deposit := func(t heisen.Thread) {
		live.BeforeAccess(t, balance, 31, heisen.Read)
		before := n
		live.AfterAccess(t)
		live.BeforeAccess(t, balance, 33, heisen.Write)
		n = before + 1
		live.AfterAccess(t)
	}
	var wg sync.WaitGroup
	for t := range heisen.Thread(100) {
		wg.Go(func() { deposit(t) })
	}
	wg.Wait()
	fmt.Println(n, "deposits in", locks.Stats().Visits, "visits")
	// Output: 100 deposits in 100 visits
}

// A healer that adds no lock: goroutines stand back while another one is in a visit that excludes theirs. It makes failures rarer, where a
// lock must not be added.
func ExampleNewStandBack() {
	healer, err := heal.NewStandBack(heal.WithPatience(time.Millisecond))
	if err != nil {
		log.Fatal(err)
	}
	live, err := heal.NewLive(healer)
	if err != nil {
		log.Fatal(err)
	}
	const balance heisen.Object = 0x1000
	live.Sink(nil)(heisen.Finding{Kind: heisen.Race, Accesses: []heisen.Access{{Object: balance}}})

	n := 0
	live.BeforeAccess(1, balance, 31, heisen.Write)
	n++
	live.AfterAccess(1)
	fmt.Println(n)
	// Output: 1
}
