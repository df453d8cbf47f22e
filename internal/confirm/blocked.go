package confirm

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/report"
)

// blocked resolves where goroutines are blocked: where has the operation that each was about to do,
// with its object if that is known. Goroutines of package testing that only wait for tests are left
// out, if others are blocked.
func (r *Resolver) blocked(where []heisen.Access, reasons []string, symbols *heisen.Symbols) []report.Blocked {
	all := make([]report.Blocked, len(where))
	for i, a := range where {
		at := r.resolve(heisen.Finding{Accesses: []heisen.Access{a}}, symbols).Accesses[0]
		all[i] = report.Blocked{
			Thread: a.Thread, Goroutine: at.Goroutine, Test: at.Test, Reason: reasons[i],
			Stack: at.Stack, Locks: at.Locks,
		}
		if a.Object != 0 {
			all[i].Object, all[i].Variable = at.Object, at.Variable
		}
	}
	if slices.ContainsFunc(all, func(g report.Blocked) bool { return !inHarness(g.Stack) }) {
		all = slices.DeleteFunc(all, func(g report.Blocked) bool { return inHarness(g.Stack) })
	}
	for i := range all {
		all[i].WaitsFor = waitsFor(all, &all[i])
	}
	return all
}

// waitsFor returns the names of the goroutines that must go on before g can get the lock that it waits
// for. A sync.RWMutex that is held for reading lets no reader in while a writer waits.
func waitsFor(all []report.Blocked, g *report.Blocked) (names []string) {
	if g.Object == "" {
		return nil
	}
	free := strings.HasPrefix(g.Reason, "sync.RWMutex.RLock") // but for writers that wait
	var writers []string
	for _, other := range all {
		held := slices.IndexFunc(other.Locks, func(l report.Lock) bool { return l.Lock == g.Object })
		switch {
		case held >= 0:
			names = append(names, other.Goroutine)
			free = free && other.Locks[held].Mode == "read"
		case other.Object == g.Object && strings.HasPrefix(other.Reason, "sync.RWMutex.Lock"):
			writers = append(writers, other.Goroutine)
		}
	}
	if free && len(writers) > 0 {
		return writers
	}
	return names
}

// inHarness reports whether a stack is that of a goroutine of package testing that runs no test.
func inHarness(stack []report.Frame) bool {
	return len(stack) > 0 && !slices.ContainsFunc(stack, func(f report.Frame) bool {
		return !strings.HasPrefix(f.Func, "testing.") && filepath.Base(f.File) != "_testmain.go"
	})
}

// maxStuck bounds the goroutines that the message of a deadlock names.
const maxStuck = 3

// deadlock returns the outcome of an execution in which no goroutine can go on. The message says where
// the goroutines of the tests wait, or the main goroutine if there are none, so that one deadlock is
// told from another: it is part of the fingerprint. Others may wait elsewhere in each execution.
func deadlock(blocked []report.Blocked) Outcome {
	var places []string
	add := func(g report.Blocked) {
		if len(g.Stack) > 0 {
			places = append(places, g.Reason+" in "+g.Stack[0].Func)
		}
	}
	for _, g := range blocked {
		if runsTest(g.Stack) && !strings.HasPrefix(g.Stack[0].Func, "testing.") { // and doesn't wait for a subtest
			add(g)
		}
	}
	if len(places) == 0 {
		for _, g := range blocked {
			if g.Thread == 0 {
				add(g)
			}
		}
	}
	slices.Sort(places)
	places = slices.Compact(places)
	if len(places) > maxStuck {
		places = append(places[:maxStuck], "others")
	}
	message := "no goroutine can go on"
	if len(places) > 0 {
		message += ": " + strings.Join(places, ", ")
	}
	return Outcome{Deadlocked, message}
}

// runsTest reports whether a stack is that of a goroutine that runs a test.
func runsTest(stack []report.Frame) bool {
	return slices.ContainsFunc(stack, func(f report.Frame) bool { return f.Func == "testing.tRunner" })
}
