package observed

import (
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/recorder"
)

// TestRoot: a program is stuck because of the one goroutine that does not wait for the lock of another, whatever it waits for.
func TestRoot(t *testing.T) {
	const send, lock, read = "chan send", "sync.RWMutex.Lock", "sync.RWMutex.RLock"
	type goroutine struct {
		holds  heisen.Object
		shared bool
		reason string
		waits  heisen.Object
	}
	for name, test := range map[string]struct {
		all       []goroutine
		root      int // its index; negative if there is none
		deadlocks int
	}{
		"a sender holds the lock":       {[]goroutine{{1, false, send, 7}, {0, false, lock, 1}, {0, false, read, 1}}, 0, 0},
		"behind a lock of those behind": {[]goroutine{{2, false, lock, 1}, {1, false, send, 7}, {0, false, lock, 2}}, 1, 0},
		"the lock is its own":           {[]goroutine{{0, false, read, 1}, {1, true, lock, 1}}, 1, 0},
		"two senders":                   {[]goroutine{{1, false, send, 7}, {0, false, send, 8}, {0, false, lock, 1}}, -1, 0},
		"a circle":                      {[]goroutine{{1, false, lock, 2}, {2, false, lock, 1}}, -1, 1},
		"readers in a circle":           {[]goroutine{{1, true, lock, 2}, {2, true, lock, 1}}, -1, 1},
	} {
		symbols := heisen.NewSymbols()
		held := newHeldLocks(symbols)
		var blocked []recorder.Blocked
		var sites []heisen.Site
		for i, g := range test.all {
			thread := heisen.Thread(i + 1)
			if g.holds != 0 {
				op := heisen.Acquire
				if g.shared {
					op = heisen.AcquireShared
				}
				held.handle(&heisen.Record{Op: op, Thread: thread, Object: g.holds})
			}
			site := symbols.AddSite(heisen.SiteInfo{Frames: []heisen.Frame{{Func: "main.f", File: "main.go", Line: i + 1}}})
			sites = append(sites, site)
			blocked = append(blocked, recorder.Blocked{Thread: thread, Reason: g.reason, Object: g.waits, Site: site})
		}
		resolver := &Resolver{}
		root, want := held.Root(blocked, resolver), ""
		if test.root >= 0 {
			want = resolver.Resolve(heisen.Finding{Kind: heisen.Leak, Accesses: []heisen.Access{{Site: sites[test.root]}}}, symbols).Accesses[0].Site
		}
		if got := ""; root != nil {
			got = root.Accesses[0].Site
			if got != want {
				t.Errorf("%s: the root is at %s, want %q", name, got, want)
			}
		} else if want != "" {
			t.Errorf("%s: no root, want %s", name, want)
		}
		if found := held.Deadlocks(blocked, resolver); len(found) != test.deadlocks {
			t.Errorf("%s: %d deadlocks, want %d", name, len(found), test.deadlocks)
		}
	}
}
