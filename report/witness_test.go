package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/heisen-go/heisen"
)

// TestLongSchedule: of a schedule that is too long to be printed, the steps are left out that matter to one goroutine only.
func TestLongSchedule(t *testing.T) {
	f := Finding{Kind: heisen.Race, Detector: "mcm"}
	step := func(thread heisen.Thread, op heisen.Op, object, site string) {
		f.Witness = append(f.Witness, Step{Op: op.String(), Thread: thread, Name: fmt.Sprintf("goroutine %d", thread), Object: object, Site: site})
	}
	step(0, heisen.Write, "x", "a.go:1")
	step(0, heisen.Fork, "goroutine 1", "a.go:2")
	step(0, heisen.Fork, "goroutine 2", "a.go:2") // it uses nothing of others
	step(1, heisen.Begin, "0x0", "?")
	step(0, heisen.Send, "r", "/go/src/runtime/mgc.go:1")
	step(1, heisen.Receive, "r", "/go/src/runtime/mgc.go:2")
	step(1, heisen.Read, "x", "a.go:3")
	step(0, heisen.Begin, "0x0", "?")
	step(0, heisen.Send, "c", "?")
	step(1, heisen.Receive, "c", "a.go:4")
	step(1, heisen.Write, "y", "a.go:6")
	short := f
	for i := range maxSteps {
		step(1, heisen.Alloc, fmt.Sprintf("local%d", i), "a.go:5")
		step(1, heisen.Write, fmt.Sprintf("local%d", i), "a.go:5")
	}
	step(1, heisen.Write, "z", "a.go:7") // the accesses overlap, but begin at different addresses
	step(0, heisen.Write, "z[1]", "a.go:8")
	f.Accesses = []Access{{Op: "write", Thread: 1, Site: "a.go:7"}, {Op: "write", Thread: 0, Site: "a.go:8"}}
	printed := func(f Finding) []string {
		var b strings.Builder
		writeWitness(&b, &f)
		return strings.Split(strings.TrimSpace(b.String()), "\n")
	}
	want := []string{
		"A schedule of 93 steps shows it. These are about what several goroutines use:",
		"  goroutine 0: write x at a.go:1",
		"  goroutine 0: fork goroutine 1 at a.go:2",
		"  goroutine 1: read x at a.go:3",
		"  goroutine 1: receive c at a.go:4",
		"  goroutine 1: write z at a.go:7",
		"  goroutine 0: write z[1] at a.go:8",
	}
	if got := printed(f); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if got := printed(short); got[0] != "A schedule of 11 steps shows it:" || len(got) != 12 {
		t.Errorf("a short schedule:\n%s", strings.Join(got, "\n"))
	}
}
