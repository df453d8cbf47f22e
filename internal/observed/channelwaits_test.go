package observed

import (
	"fmt"
	"slices"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/recorder"
)

// TestLeakGroups: goroutines that wait for each other over channels are one leak, and those behind them are none; what no other one would do is
// a leak of its own.
func TestLeakGroups(t *testing.T) {
	const send, receive, selects = "chan send", "chan receive (nil chan)", "select"
	sends := func(c heisen.Object) recorder.ChannelUse { return recorder.ChannelUse{Channel: c, Sends: true} }
	receives := func(c heisen.Object) recorder.ChannelUse { return recorder.ChannelUse{Channel: c, Receives: true} }
	both := func(c heisen.Object) recorder.ChannelUse {
		return recorder.ChannelUse{Channel: c, Sends: true, Receives: true}
	}
	waits := func(reason string, on heisen.Object, uses ...recorder.ChannelUse) recorder.Blocked {
		return recorder.Blocked{Reason: reason, Object: on, Uses: uses}
	}
	choice := func(on []heisen.Object, uses ...recorder.ChannelUse) recorder.Blocked {
		return recorder.Blocked{Reason: selects, Channels: on, Uses: uses}
	}
	behind := waits("sync.Mutex.Lock", 9, sends(1))
	behind.Behind = true
	goesOn := waits(selects, 0, sends(1))
	goesOn.Unstoppable = true
	for _, test := range []struct {
		name string
		all  []recorder.Blocked
		want []int // the indexes of those that their leaks are told by
	}{
		{"two", []recorder.Blocked{waits(send, 1, sends(1), receives(2)), waits(send, 2, receives(1), sends(2))}, []int{0}},
		{"three", []recorder.Blocked{
			waits(send, 1, sends(1), receives(3)), waits(send, 2, sends(2), receives(1)), waits(send, 3, sends(3), receives(2)),
		}, []int{0}},
		{"one behind two", []recorder.Blocked{
			waits(send, 1, sends(1)), waits(send, 2, sends(2), receives(1), receives(3)), waits(send, 3, sends(3), receives(2)),
		}, []int{1}},
		{"a chain", []recorder.Blocked{waits(send, 1, sends(1)), waits(send, 2, receives(1), sends(2)), waits(send, 3, receives(2), sends(3))}, []int{2}},
		{"two circles", []recorder.Blocked{
			waits(send, 1, sends(1), receives(2)), waits(send, 3, sends(3), receives(4)),
			waits(send, 2, sends(2), receives(1)), waits(send, 4, sends(4), receives(3)),
		}, []int{0, 1}},
		{"nobody else", []recorder.Blocked{waits(send, 1, sends(1)), waits(send, 2, sends(2))}, []int{0, 1}},
		{"the same to do", []recorder.Blocked{waits(send, 1, sends(1), sends(2)), waits(send, 2, sends(2), sends(1))}, []int{0, 1}},
		{"receivers", []recorder.Blocked{waits(receive, 1, receives(1), sends(2)), waits(receive, 2, receives(2), sends(1))}, []int{0}},
		{"a semaphore", []recorder.Blocked{waits(send, 1, sends(1)), waits(send, 2, sends(2), both(1))}, []int{0, 1}},
		{"selects", []recorder.Blocked{
			choice([]heisen.Object{1, 5}, receives(1), receives(5), sends(2)), choice([]heisen.Object{2, 5}, receives(2), receives(5), sends(1)),
		}, []int{0}},
		{"a select without it", []recorder.Blocked{choice([]heisen.Object{5}, receives(5), sends(2)), waits(receive, 2, receives(2))}, []int{0}},
		{"itself", []recorder.Blocked{waits(send, 1, both(1))}, []int{0}},
		{"the other one is behind its lock", []recorder.Blocked{waits(receive, 1, receives(1)), behind}, []int{0}},
		{"the other one is behind a lock", []recorder.Blocked{waits(receive, 1, receives(1)), behind, waits(send, 2, sends(2))}, []int{0, 2}},
		{"one that goes on", []recorder.Blocked{waits(receive, 1, receives(1)), goesOn}, []int{0, 1}},
	} {
		var fingerprints []string
		for i := range test.all {
			fingerprints = append(fingerprints, fmt.Sprintf("%02d", i))
		}
		var got []int
		for i, first := range firstOfLeaks(test.all, fingerprints) {
			if first && !test.all[i].Behind {
				got = append(got, i)
			}
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: told by %v, want %v", test.name, got, test.want)
		}
	}
}

// TestCircleInAnyOrder: a circle is told by the same place, whichever of its goroutines comes first.
func TestCircleInAnyOrder(t *testing.T) {
	use := func(sends, receives heisen.Object) []recorder.ChannelUse {
		return []recorder.ChannelUse{{Channel: sends, Sends: true}, {Channel: receives, Receives: true}}
	}
	symbols := heisen.NewSymbols()
	var blocked []recorder.Blocked
	for i, uses := range [][]recorder.ChannelUse{use(1, 2), use(2, 3), use(3, 1)} {
		site := symbols.AddSite(heisen.SiteInfo{Frames: []heisen.Frame{{Func: "main.f", File: "main.go", Line: i + 1}}})
		blocked = append(blocked, recorder.Blocked{Thread: heisen.Thread(i + 1), Reason: "chan send", Object: uses[0].Channel, Uses: uses, Site: site})
	}
	held, first := newHeldLocks(symbols), ""
	for range 3 {
		blocked = append(blocked[1:], blocked[0])
		found := held.Leaks(blocked, &Resolver{})
		if len(found) != 1 || len(found[0].Blocked) != 2 || first != "" && found[0].Fingerprint != first {
			t.Fatalf("%v, first %s", found, first)
		}
		first = found[0].Fingerprint
	}
}
