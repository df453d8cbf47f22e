package atomrace_test

import (
	"context"
	"fmt"
	"log"
	"sync"
	"time"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/atomrace"
	"github.com/heisen-go/heisen/section"
)

// Two threads access a variable at the same time. The detector is told of each access
// before and after it.
func Example() {
	const balance = 0x1000
	d, err := atomrace.NewDetector(atomrace.WithSink(func(f heisen.Finding) {
		fmt.Printf("%s of threads %d and %d: %s\n", f.Kind, f.Accesses[0].Thread, f.Accesses[1].Thread, f.Message)
	}))
	if err != nil {
		log.Fatal(err)
	}
	d.BeforeAccess(1, balance, 31, heisen.Read)
	d.BeforeAccess(2, balance, 40, heisen.Write) // while thread 1 is reading
	d.AfterAccess(2)
	d.AfterAccess(1)
	// Output: race of threads 1 and 2: write races with earlier read, which is not over
}

// A stream of events. Each access is under a lock, so there are no races; but the lock
// is released between reading the balance and writing it back.
func ExampleWithSections() {
	const balance, lock = 0x1000, 0x2000
	sections := []section.Section{{
		Entry: section.Location{File: "bank.go", Line: 31, Mode: section.Reads},
		Ends: []section.End{{
			At:    section.Location{File: "bank.go", Line: 33, Mode: section.Writes},
			Allow: section.Allowed(section.Reads, section.Writes),
		}},
	}}
	lines := section.Locator{Site: func(s heisen.Site) (file string, line int, variable string) {
		return "bank.go", int(s), "" // the sites of this stream are lines
	}}
	d, err := atomrace.NewDetector(
		atomrace.WithSink(func(f heisen.Finding) { fmt.Println(f.Message) }),
		atomrace.WithSections(sections, lines))
	if err != nil {
		log.Fatal(err)
	}
	var stream []heisen.Record
	locked := func(t heisen.Thread, op heisen.Op, line heisen.Site) {
		stream = append(stream,
			heisen.Record{Op: heisen.Acquire, Thread: t, Object: lock},
			heisen.Record{Op: op, Thread: t, Object: balance, Site: line},
			heisen.Record{Op: heisen.Release, Thread: t, Object: lock})
	}
	locked(1, heisen.Read, 31)
	locked(2, heisen.Write, 50)
	locked(1, heisen.Write, 33)
	if _, err := heisen.Run(context.Background(), heisen.Slice(stream), d); err != nil {
		log.Fatal(err)
	}
	// Output: write between read and write of an atomic section, read-write-write
}

// Two goroutines of a program that is instrumented by hand hardly ever overlap. Noise keeps a goroutine for a while at the access to a
// suspected variable, so that the other one comes to its access meanwhile.
func ExampleNewVariableNoise() {
	const balance, other = 0x1000, 0x1008
	noise, err := atomrace.NewVariableNoise(atomrace.OneOf[heisen.Object](balance),
		atomrace.WithStrength(atomrace.MaxStrength), atomrace.WithSleep(10*time.Millisecond), atomrace.WithBudget(time.Second))
	if err != nil {
		log.Fatal(err)
	}
	found := 0
	d, err := atomrace.NewDetector(atomrace.WithNoise(noise), atomrace.WithSink(func(f heisen.Finding) { found++ }))
	if err != nil {
		log.Fatal(err)
	}
	var both sync.WaitGroup
	for t := range heisen.Thread(2) {
		both.Go(func() {
			for range 10 {
				d.BeforeAccess(t, other+heisen.Object(8*t), 30, heisen.Write) // its own, without noise
				d.AfterAccess(t)
				d.BeforeAccess(t, balance, 31, heisen.Write)
				d.AfterAccess(t)
			}
		})
	}
	both.Wait()
	fmt.Println("found:", found > 0)
	// Output: found: true
}
