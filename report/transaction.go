package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/heisen-go/heisen"
)

// beginsTransaction reports whether a transaction can begin with an op.
func beginsTransaction(op string) bool {
	return op == heisen.Enter.String() || op == heisen.Call.String() ||
		op == heisen.Acquire.String() || op == heisen.AcquireShared.String()
}

// transaction returns the index of the access at which the transaction begins that f is about, or -1
// if f is about no transaction: it is the first one by the goroutine of the last access.
func transaction(f *Finding) int {
	if f.Kind != heisen.Atomicity || len(f.Accesses) < 2 {
		return -1
	}
	last := len(f.Accesses) - 1
	if f.Unproved() {
		last = lastOf(f.Accesses, f.Accesses[0].Thread)
	}
	i := slices.IndexFunc(f.Accesses, func(a Access) bool { return a.Thread == f.Accesses[last].Thread })
	if i == last || !beginsTransaction(f.Accesses[i].Op) {
		return -1
	}
	return i
}

// lastOf returns the index of the last access by a thread, -1 if there is none.
func lastOf(accesses []Access, thread heisen.Thread) int {
	for i := len(accesses) - 1; i >= 0; i-- {
		if accesses[i].Thread == thread {
			return i
		}
	}
	return -1
}

// isNameless reports whether an access is the begin of a transaction without a name.
func isNameless(a *Access) bool { return a.Op == heisen.Enter.String() && a.Object == "0x0" }

// writeTransaction prints which transaction was interrupted, and the steps in their order if they have one, with a
// column for each goroutine. name is as in writeWaitCycle.
func writeTransaction(b *strings.Builder, f *Finding, begin int, name func(variable, object string) string) {
	a := &f.Accesses[begin]
	what := ""
	if !isNameless(a) {
		what = " " + name(a.Expression(), a.Object)
	}
	fmt.Fprintf(b, "Transaction of %s, from %s%s at %s\n", a.Goroutine, words(a.Op), what, place(a))
	if !f.Unproved() {
		b.WriteByte('\n')
		writeLanes(b, f.Accesses)
	}
}
