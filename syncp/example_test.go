package syncp_test

import (
	"fmt"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/syncp"
)

// Thread 1 writes x and then uses a lock. Thread 2 uses the lock much later and then writes x. The lock orders the
// two in this execution, but thread 2 might have been first.
func Example() {
	d, err := syncp.NewDetector(syncp.WithSink(func(f heisen.Finding) {
		fmt.Println(f.Message)
		for _, r := range f.Witness {
			fmt.Printf("thread %d: %v at site %d\n", r.Thread, r.Op, r.Site)
		}
	}))
	if err != nil {
		fmt.Println(err)
		return
	}
	const x, mu = 8, 16
	section := func(t heisen.Thread, site heisen.Site) []heisen.Record {
		return []heisen.Record{{Op: heisen.Acquire, Thread: t, Object: mu, Site: site}, {Op: heisen.Release, Thread: t, Object: mu, Site: site}}
	}
	d.HandleRecords([]heisen.Record{{Op: heisen.Write, Thread: 1, Object: x, Site: 1}})
	d.HandleRecords(section(1, 2))
	for range 100_000 {
		d.HandleRecords(section(1, 3))
	}
	d.HandleRecords(section(2, 4))
	d.HandleRecords([]heisen.Record{{Op: heisen.Write, Thread: 2, Object: x, Site: 5}})
	if err := d.Flush(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// write can race with write (predicted, with a schedule)
	// thread 2: acquire at site 4
	// thread 2: release at site 4
	// thread 1: write at site 1
	// thread 2: write at site 5
}
