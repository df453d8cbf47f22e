package atomicity_test

import (
	"context"
	"fmt"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/atomicity"
)

// A goroutine looks a key up and adds it, each under the lock, and is meant to do both at once.
// Another goroutine adds the key in between.
func ExampleSerial() {
	const lock, entry = 0x1000, 0x2000
	section := func(t heisen.Thread, op heisen.Op, site heisen.Site) []heisen.Record {
		return []heisen.Record{
			{Thread: t, Op: heisen.Acquire, Object: lock, Site: site},
			{Thread: t, Op: op, Object: entry, Site: site + 1},
			{Thread: t, Op: heisen.Release, Object: lock, Site: site + 2},
		}
	}
	trace := []heisen.Record{{Thread: 1, Op: heisen.Enter, Site: 10}}
	trace = append(trace, section(1, heisen.Read, 11)...)
	trace = append(trace, section(2, heisen.Write, 21)...)
	trace = append(trace, section(1, heisen.Write, 14)...)
	trace = append(trace, heisen.Record{Thread: 1, Op: heisen.Exit, Site: 17})

	serial, err := atomicity.NewSerial(atomicity.WithSink(func(f heisen.Finding) { fmt.Println(f) }))
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := heisen.Run(context.Background(), heisen.Slice(trace), serial); err != nil {
		fmt.Println(err)
	}
	// Output:
	// serial: atomicity on 0x2000: a transaction is not serializable: other threads' events come after one of its events and before a later one
	// enter by thread 1 at site 10, event 1; read by thread 1 at site 12, event 3; write by thread 2 at site 22, event 6; write by thread 1 at site 15, event 9
}

// The critical sections of one goroutine are a transaction that is not two-phase: it takes the lock again
// after it has released it.
func ExampleReduction() {
	const lock, entry = 0x1000, 0x2000
	trace := []heisen.Record{
		{Thread: 1, Op: heisen.Enter, Site: 10},
		{Thread: 1, Op: heisen.Acquire, Object: lock, Site: 11},
		{Thread: 1, Op: heisen.Read, Object: entry, Site: 12},
		{Thread: 1, Op: heisen.Release, Object: lock, Site: 13},
		{Thread: 1, Op: heisen.Acquire, Object: lock, Site: 14},
		{Thread: 1, Op: heisen.Write, Object: entry, Site: 15},
		{Thread: 1, Op: heisen.Release, Object: lock, Site: 16},
		{Thread: 1, Op: heisen.Exit, Site: 17},
	}
	reduction, err := atomicity.NewReduction(atomicity.WithSink(func(f heisen.Finding) { fmt.Println(f) }))
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := heisen.Run(context.Background(), heisen.Slice(trace), reduction); err != nil {
		fmt.Println(err)
	}
	// Output:
	// reduction: atomicity on 0x1000: a transaction is not proved to be atomic: its acquire cannot be moved before what other threads do after its release
	// enter by thread 1 at site 10, event 1; release by thread 1 at site 13, event 4; acquire by thread 1 at site 14, event 5
}
