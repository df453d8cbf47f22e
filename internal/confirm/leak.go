package confirm

import (
	"slices"
	"strings"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/report"
)

// leakDetector is the Detector of goroutines that wait for ever.
const leakDetector = "leak"

// maxBlocked bounds the goroutines that a leak is reported with.
const maxBlocked = 16

// waitOps has the operations that goroutines wait to complete, by the runtime's wait reasons. A
// reason may have a remark in parentheses.
var waitOps = map[string]heisen.Op{
	"chan send":          heisen.Send,
	"sync.Mutex.Lock":    heisen.Acquire,
	"sync.RWMutex.Lock":  heisen.Acquire,
	"sync.RWMutex.RLock": heisen.AcquireShared,
}

// waitOp returns the operation that a goroutine waits to complete. All others wait for some kind of
// message.
func waitOp(reason string) heisen.Op {
	name, _, _ := strings.Cut(reason, " (")
	if op, known := waitOps[name]; known {
		return op
	}
	return heisen.Receive
}

// leaks returns a finding for each place at which goroutines wait for ever at the end of a program.
// Those of the same test that came there by other calls, or wait elsewhere, are its Blocked.
func (h *heldLocks) leaks(leaked []recorder.Blocked, resolver *Resolver) (all []report.Finding) {
	if len(leaked) == 0 {
		return nil
	}
	for _, g := range leaked {
		access := h.access(&g)
		access.Op = waitOp(g.Reason)
		f := resolver.resolve(heisen.Finding{
			Detector: leakDetector, Kind: heisen.Leak, Object: g.Object, Accesses: []heisen.Access{access},
			Message: "a goroutine waits for ever: " + g.Reason,
		}, h.symbols)
		same := func(other report.Finding) bool { return other.Fingerprint == f.Fingerprint }
		if slices.ContainsFunc(all, same) {
			continue
		}
		all = append(all, f)
	}
	var others []report.Blocked // with different stacks
	for _, g := range h.blocked(leaked, resolver) {
		if !slices.ContainsFunc(others, func(b report.Blocked) bool { return b.Test == g.Test && slices.Equal(b.Stack, g.Stack) }) {
			others = append(others, g)
		}
	}
	for i := range all {
		of := &all[i].Accesses[0]
		for _, g := range others {
			if g.Test == of.Test && !slices.Equal(g.Stack, of.Stack) && len(all[i].Blocked) < maxBlocked {
				all[i].Blocked = append(all[i].Blocked, g)
			}
		}
	}
	return all
}
