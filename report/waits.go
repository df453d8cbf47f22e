package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/heisen-go/heisen"
)

// writeWait prints since when a goroutine waits, and who has used what it waits for. w may be nil.
func writeWait(b *strings.Builder, w *Wait) {
	if w == nil {
		return
	}
	fmt.Fprintf(b, "  waiting since step %d", w.Step)
	if after := w.Virtual.Round(time.Millisecond); after > 0 {
		fmt.Fprintf(b, ", %v after the start of the program", after)
	}
	b.WriteString("\n")
	if w.Missing != "" {
		fmt.Fprintf(b, "  no other goroutine has %s\n", w.Missing)
	}
	for i := range w.Users {
		writeUser(b, &w.Users[i])
	}
}

// writeUser prints a goroutine that has used what another one waits for.
func writeUser(b *strings.Builder, u *User) {
	how, at := "used before", ", at "
	switch {
	case u.Holds:
		how, at = "held", ", acquired at "
	case u.Tried:
		how = "tried in vain"
	}
	fmt.Fprintf(b, "  %s by %s", how, goroutineAndTest(u.Goroutine, u.Test))
	if u.Ended {
		b.WriteString(", which has ended")
	}
	if u.Site != "" {
		b.WriteString(at + u.Site)
	}
	if u.Source != "" {
		fmt.Fprintf(b, ": %s%s%s", asSource, u.Source, asIs)
	}
	b.WriteString("\n")
}

// leakMessage is what the message of a leak begins with. The runtime's reason follows.
const leakMessage = "a goroutine waits for ever: "

// waiting returns the goroutines of a finding that wait.
func waiting(f *Finding) []Blocked {
	if f.Kind != heisen.Leak || len(f.Accesses) != 1 {
		return f.Blocked
	}
	a := &f.Accesses[0]
	reason, _ := strings.CutPrefix(f.Message, leakMessage)
	return append([]Blocked{{Thread: a.Thread, Goroutine: a.Goroutine, Object: a.Object, Variable: a.Variable, Locks: a.Locks, Reason: reason}}, f.Blocked...)
}

// waitsFor returns the index of a goroutine for which another one waits at a lock, and whether that one
// holds the lock. Without such a goroutine, the index is -1. A reader also waits behind a writer that waits.
func waitsFor(all []Blocked, i int) (other int, holds bool) {
	g := &all[i]
	reason, _, _ := strings.Cut(g.Reason, " (")
	reads := reason == "sync.RWMutex.RLock"
	if g.Object == "" || !reads && reason != "sync.RWMutex.Lock" && reason != "sync.Mutex.Lock" {
		return -1, false
	}
	holder := func(b Blocked) bool {
		return slices.ContainsFunc(b.Locks, func(l Lock) bool { return l.Lock == g.Object && (!reads || l.Mode != "read") })
	}
	if holder(*g) {
		return i, true
	}
	if j := slices.IndexFunc(all, holder); j >= 0 {
		return j, true
	}
	return slices.IndexFunc(all, func(b Blocked) bool {
		return reads && b.Object == g.Object && strings.HasPrefix(b.Reason, "sync.RWMutex.Lock")
	}), false
}

// waitCycle returns the indexes of goroutines of which each waits for the next one, and the last one for
// the first, or nil.
func waitCycle(all []Blocked) []int {
	for i := range all {
		var path []int
		for at := i; at >= 0; at, _ = waitsFor(all, at) {
			if begin := slices.Index(path, at); begin >= 0 {
				return path[begin:]
			}
			path = append(path, at)
		}
	}
	return nil
}

// writeWaitCycle prints which goroutines wait for each other. name returns what an object is called, from its expression, if that is
// known, and the object.
func writeWaitCycle(b *strings.Builder, f *Finding, name func(variable, object string) string) {
	if f.Kind == heisen.Deadlock {
		return // its headline has the locks
	}
	all := waiting(f)
	cycle := waitCycle(all)
	if len(cycle) == 0 {
		return
	}
	if len(cycle) > 1 {
		b.WriteString("\nThese goroutines wait for each other:\n")
	} else {
		b.WriteString("\nThis goroutine waits for itself:\n")
	}
	for _, i := range cycle {
		g := &all[i]
		other, holds := waitsFor(all, i)
		how := "which it holds"
		switch {
		case holds && other != i:
			how = "which " + all[other].Goroutine + " holds"
		case !holds:
			how = "behind " + all[other].Goroutine + ", which waits for it to write"
		}
		fmt.Fprintf(b, "  %s waits for %s, %s\n", g.Goroutine, name(g.Variable, g.Object), how)
	}
}
