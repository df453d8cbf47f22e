package tree

import (
	"fmt"
	"slices"
	"strings"

	"github.com/heisen-go/heisen"
)

// ForwardLocks makes f forward all lock operations.
func ForwardLocks(f *Filter) { f.lockUse = heisen.LocksAsEvents }

// LimitContexts sets how many contexts f may know at a time.
func LimitContexts(f *Filter, n int) {
	if f.contexts != nil {
		f.contexts.limit = n
	} else {
		f.literal.contexts.limit = n
	}
}

// Contexts returns how many contexts f knows.
func Contexts(f *Filter) int {
	if f.contexts != nil {
		return len(f.contexts.nodes)
	}
	return len(f.literal.contexts.nodes)
}

// Gamma returns Γ of a thread of a literal filter, as the names of its steps.
func Gamma(f *Filter, t heisen.Thread) []string { return f.literal.names(f.literal.of(t).node()) }

// Theta returns Θ of a location of a literal filter: for each context the
// threads that were there.
func Theta(f *Filter, loc heisen.Site) []string {
	var nodes []string
	for _, n := range f.literal.theta.table {
		if n.used && n.loc == loc {
			nodes = append(nodes, fmt.Sprintf("%s %v", strings.Join(f.literal.names(n.context), "→"), n.threads[:n.count]))
		}
	}
	slices.Sort(nodes)
	return nodes
}

// names calls the steps to a node by the order in which locks and messages came
// up: the first lock is L1, the first message g1.
func (l *literal) names(at uint32) []string {
	names := []string{}
	for _, step := range l.contexts.steps(at) {
		number := step >> stepBits
		if step&stepMessage != 0 {
			names = append(names, fmt.Sprint("g", number))
		} else {
			names = append(names, fmt.Sprint("L", number))
		}
	}
	return names
}

// SetBudget sets a budget that Memory would refuse.
func SetBudget(f *Filter, bytes uint64) {
	if f.budget = bytes; bytes > 0 {
		f.history = newHistory(bytes / 2)
		f.share(bytes)
	}
}

// SetLockBounds sets how many releases of readers of a lock, and how many acquisitions, f may hold back.
func SetLockBounds(f *Filter, readers, deferred int) {
	f.maxReaders, f.deferred.most = readers, deferred
}

// Forgets reports whether f has had to forget something for its budget.
func Forgets(f *Filter) bool { return f.history.displaced > 0 || f.missedLocks }

// SetBypass makes f bypass events after every so many, for as many: all of them if it may
// and accessesOnly is false.
func SetBypass(f *Filter, events uint64, accessesOnly bool) {
	f.bypass = bypass{alternates: true, mayBypassAll: f.lockUse == heisen.LocksAsOrder && f.contexts == nil && !accessesOnly, window: events, nextDecision: events}
}
