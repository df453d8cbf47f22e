package section_test

import (
	"fmt"
	"log"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/section"
)

// A tracker follows threads through the section between a read and a write of a balance. The sites of
// the stream are line numbers.
func Example() {
	sections := []section.Section{{
		Entry: section.Location{File: "bank.go", Line: 31, Mode: section.Reads},
		Ends: []section.End{{
			At:    section.Location{File: "bank.go", Line: 33, Mode: section.Writes},
			Allow: section.Allowed(section.Reads, section.Writes),
		}},
	}}
	lines := section.Locator{Site: func(s heisen.Site) (file string, line int, variable string) {
		return "bank.go", int(s), ""
	}}
	t, err := section.NewTracker(sections, lines, func(e section.Execution) {
		fmt.Printf("thread %d: events %d to %d, others may %v\n", e.Entry.Thread, e.Entry.Index, e.End.Index, e.Allow)
	})
	if err != nil {
		log.Fatal(err)
	}
	const balance = 0x1000
	for i, r := range []heisen.Record{
		{Op: heisen.Read, Thread: 1, Object: balance, Site: 31},
		{Op: heisen.Read, Thread: 2, Object: balance, Site: 50},
		{Op: heisen.Write, Thread: 1, Object: balance, Site: 33},
	} {
		t.Next(&r, uint64(i+1))
	}
	// Output: thread 1: events 1 to 3, others may {read}
}
