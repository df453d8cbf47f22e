package workload

import (
	"fmt"
	"strings"

	"github.com/heisen-go/heisen"
)

// Show formats a trace for the message of a failing test, with one numbered event on each line.
func Show(trace []heisen.Record) string {
	var b strings.Builder
	for i, r := range trace {
		fmt.Fprintf(&b, "%4d  thread %d  %v %d", i+1, r.Thread, r.Op, r.Object)
		if r.Len+uint16(r.Value) > 0 {
			fmt.Fprintf(&b, "+%d", uint64(r.Len)+r.Value)
		}
		if r.Flags&heisen.LockWord != 0 {
			b.WriteString(" (a variable)")
		}
		fmt.Fprintf(&b, "  site %d ctx %d\n", r.Site, r.Context)
	}
	return b.String()
}
