package cli

import (
	"context"
	"os"
	"strings"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/atomicity"
	"github.com/heisen-go/heisen/trace"
)

// The detectors of package atomicity.
const (
	serialName    = "serial"
	blocksName    = "blocks"
	reductionName = "reduction"
)

// transactionsFlag is the value of -transactions: what the transactions of the detectors of package
// atomicity are. The zero value is auto.
type transactionsFlag struct{ boundaries atomicity.Boundaries }

var boundaryNames = []struct {
	name       string
	boundaries atomicity.Boundaries
}{{"marked", atomicity.Marked}, {"critical", atomicity.CriticalSections}, {"calls", atomicity.Calls}}

func (f *transactionsFlag) String() string {
	var names []string
	for _, b := range boundaryNames {
		if f.boundaries&b.boundaries != 0 {
			names = append(names, b.name)
		}
	}
	if names == nil {
		return "auto"
	}
	return strings.Join(names, ",")
}

func (f *transactionsFlag) Set(list string) error {
	f.boundaries = 0
	if list == "auto" {
		return nil
	}
next:
	for _, name := range strings.Split(list, ",") {
		for _, b := range boundaryNames {
			if b.name == name {
				f.boundaries |= b.boundaries
				continue next
			}
		}
		return misuse("unknown transactions %q; there are auto, marked, critical, calls", name)
	}
	return nil
}

// transactionsFlag defines -transactions.
func (inv *invocation) transactionsFlag() *transactionsFlag {
	f := new(transactionsFlag)
	inv.flags.Var(f, "transactions", "serial, blocks, reduction: what must be atomic, as a comma-separated `list`: marked (what a trace marks\nas a transaction), critical (outermost critical sections), calls (function calls in a\ntrace) or auto: marked if a trace marks any, otherwise critical")
	return f
}

// of returns the boundaries in a stream that marks transactions or does not.
func (f *transactionsFlag) of(marked bool) atomicity.Option {
	switch {
	case f != nil && f.boundaries != 0:
		return atomicity.WithBoundaries(f.boundaries)
	case marked:
		return atomicity.WithBoundaries(atomicity.Marked)
	}
	return atomicity.WithBoundaries(atomicity.CriticalSections)
}

// hasMarks reports whether a trace marks transactions. An input that can be read only once is an
// error: it needs -transactions.
func (inv *invocation) hasMarks(ctx context.Context, file string) (bool, error) {
	if info, err := os.Stat(file); file == stdStream || err == nil && !info.Mode().IsRegular() {
		return false, misuse("the detectors %s, %s and %s need -transactions for an input that can be read only once", serialName, blocksName, reductionName)
	}
	marks := &opSearch{op: heisen.Enter}
	err := inv.withTrace(file, func(r *trace.Reader) error {
		_, err := heisen.Run(ctx, untilOp{r, marks}, newThreadEnds(r.Symbols(), heisen.Limits{EndedThreads: 1}))
		return err
	})
	_ = err // the analysis reports it
	return marks.found, nil
}
