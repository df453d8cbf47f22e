package observed

import (
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/report"
)

// leakDetector is the Detector of goroutines that wait for ever, and unstoppableDetector that of those that nothing can stop.
const (
	LeakDetector        = "leak"
	unstoppableDetector = "unstoppable"
)

// IsLeft reports whether a finding is about a goroutine that is left behind.
func IsLeft(kind heisen.Kind) bool { return kind == heisen.Leak || kind == heisen.Unstoppable }

// maxBlocked bounds the goroutines that a leak is reported with, and maxAlike those at the same place
// that are considered for that.
const (
	maxBlocked = 16
	maxAlike   = 64
)

// Leaks makes findings of the goroutines that wait for ever in an ordinary run. It is a detector for
// the events of the run, if there are any: it tracks the locks that goroutines hold.
type Leaks struct {
	Handler
	held     *HeldLocks
	resolver *Resolver
}

// NewLeaks returns a Leaks for a stream in a mode.
func NewLeaks(symbols *heisen.Symbols, mode recorder.Mode, resolver *report.Resolver) *Leaks {
	held := newHeldLocks(symbols)
	held.elsewhere = mode&recorder.FindingsOnly != 0
	return &Leaks{held.Handler, held, &Resolver{report: resolver}}
}

// Findings returns a finding for each deadlock, and then for each place at which other goroutines wait for ever, with the number of
// goroutines as its count. leaked are all that one search has found.
func (l *Leaks) Findings(leaked []recorder.Blocked) []report.Finding {
	circles := l.held.newLockWaits(leaked).circles()
	all := l.held.deadlocks(leaked, circles, l.resolver)
	for i := range all {
		all[i].Count = uint64(len(circles[i].members) + len(circles[i].behind))
	}
	return append(all, l.held.Leaks(without(leaked, circles), l.resolver)...)
}

// Leaks returns a finding for each place at which goroutines wait for ever, with the number of these as its count. Those of the same test that
// came there by other calls, or wait elsewhere, are its Blocked, and so are those that wait only because others do. Those that wait for each other
// have one finding: that of the place with the least fingerprint, so that it is the same one in each execution.
func (h *HeldLocks) Leaks(leaked []recorder.Blocked, resolver *Resolver) (all []report.Finding) {
	if len(leaked) == 0 {
		return nil
	}
	known := map[string]int{} // indexes in all, by fingerprint
	alike := map[heisen.Context]int{}
	var some []recorder.Blocked // of many at a place, not all
	found, fingerprints := make([]heisen.Finding, len(leaked)), make([]string, len(leaked))
	for i, g := range leaked {
		access := h.access(&g)
		f := heisen.Finding{
			Detector: LeakDetector, Kind: heisen.Leak, Object: access.Object, Accesses: []heisen.Access{access},
			Message: "a goroutine waits for ever: " + g.Reason,
		}
		if g.Unstoppable {
			f.Detector, f.Kind = unstoppableDetector, heisen.Unstoppable
			f.Message = "a goroutine goes on for ever: timers wake it again and again, and nothing can reach what would stop it"
		}
		if alike[g.Context]++; alike[g.Context] <= maxAlike && !g.Unstoppable {
			some = append(some, g)
		}
		found[i], fingerprints[i] = f, f.Fingerprint(h.symbols)
	}
	first := firstOfLeaks(leaked, fingerprints)
	for i, g := range leaked {
		f, fingerprint := found[i], fingerprints[i]
		if g.Behind || !first[i] {
			continue
		}
		if at, is := known[fingerprint]; is {
			all[at].Count++
			continue
		}
		known[fingerprint] = len(all)
		all = append(all, resolver.Resolve(f, h.symbols))
		all[len(all)-1].Count = 1
		if !g.Unstoppable {
			all[len(all)-1].Wait = h.wait(&g, resolver)
		}
	}
	if waitsInTest := func(f report.Finding) bool { return !inHarness(f.Accesses[0].Stack) }; slices.ContainsFunc(all, waitsInTest) {
		all = slices.DeleteFunc(all, func(f report.Finding) bool { return !waitsInTest(f) }) // who waits for a test
	}
	var others []report.Blocked // with different stacks
	for _, g := range h.Blocked(some, resolver) {
		if !slices.ContainsFunc(others, func(b report.Blocked) bool { return b.Test == g.Test && slices.Equal(b.Stack, g.Stack) }) {
			others = append(others, g)
		}
	}
	for i := range all {
		of := &all[i].Accesses[0]
		if all[i].Kind == heisen.Unstoppable {
			continue
		}
		for _, g := range others {
			if g.Test == of.Test && !slices.Equal(g.Stack, of.Stack) && len(all[i].Blocked) < maxBlocked {
				all[i].Blocked = append(all[i].Blocked, g)
			}
		}
	}
	return all
}
