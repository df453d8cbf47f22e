package carried

import (
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/corpus"
	"github.com/heisen-go/heisen/racefuzz"
)

// did is what a goroutine does: it makes an operation at a line of a function.
type did struct {
	thread   uint32
	op       heisen.Op
	function string
	line     uint32 // stands for the text
}

// recordingOf returns the recording of an execution. What has no function is not in the program.
func recordingOf(all ...did) *Recording {
	r, seq := &Recording{}, map[uint32]uint64{}
	for _, d := range all {
		if d.op == heisen.Fork {
			r.starts = append(r.starts, racefuzz.Creation{Position: racefuzz.Position{ID: d.thread, Seq: seq[d.thread]}, Child: d.line})
		}
		seq[d.thread]++
		e := event{thread: d.thread, seq: seq[d.thread], op: d.op}
		if d.function != "" {
			e.at = &statement{function: d.function, text: d.line}
		}
		r.events = append(r.events, e)
	}
	return r
}

// orderOf returns the order of an execution that is known whole.
func orderOf(all ...did) *corpus.Order {
	o := recordingOf(all...).Order(func(string) bool { return true }, nil)
	return &o
}

const (
	read    = heisen.Read
	write   = heisen.Write
	acquire = heisen.Acquire
	release = heisen.Release
	receive = heisen.Receive
)

// TestJudge: an execution has an order, or cannot have it because a goroutine waits, or has another one.
func TestJudge(t *testing.T) {
	lostUpdate := orderOf(did{1, read, "f", 1}, did{2, read, "f", 1}, did{2, write, "f", 2}, did{1, write, "f", 2})
	for _, c := range []struct {
		name string
		of   []did
		want State
		why  string
	}{
		{"the same", []did{{1, read, "f", 1}, {2, read, "f", 1}, {2, write, "f", 2}, {1, write, "f", 2}}, Followed, ""},
		{"other goroutines", []did{{7, read, "f", 1}, {8, write, "g", 1}, {9, read, "f", 1}, {9, write, "f", 2}, {7, write, "f", 2}}, Followed, ""},
		{"in a helper", []did{{1, read, "f", 1}, {2, read, "f", 1}, {2, write, "h", 2}, {1, write, "h", 2}}, Followed, ""},
		{"a lock around both", []did{
			{1, acquire, "f", 8}, {1, read, "f", 1}, {1, write, "f", 2}, {1, release, "f", 9},
			{2, acquire, "f", 8}, {2, read, "f", 1}, {2, write, "f", 2}, {2, release, "f", 9},
		}, Prevented, ""},
		{"waits for time", []did{
			{1, read, "f", 1}, {1, write, "f", 2}, {2, heisen.Observe, "f", 8}, {2, read, "f", 1}, {2, write, "f", 2},
		}, Other, "write in f comes later"},
		{"no second goroutine", []did{{1, read, "f", 1}, {1, write, "f", 2}}, Other, "read in f is not reached"},
		{"another statement", []did{{1, read, "f", 1}, {2, read, "f", 1}, {2, write, "f", 3}, {1, write, "f", 3}}, Other, "write in f is another statement"},
		{"created later, by one that waits", []did{
			{0, heisen.Fork, "", 1}, {1, read, "f", 1}, {1, write, "f", 2}, {0, receive, "", 0}, {0, heisen.Fork, "", 2}, {2, read, "f", 1}, {2, write, "f", 2},
		}, Prevented, ""},
	} {
		state, why := Match(lostUpdate, recordingOf(c.of...)).Judge(false)
		if state != c.want || why != c.why {
			t.Errorf("%s: state %d, %q; want %d, %q", c.name, state, why, c.want, c.why)
		}
	}
}

// TestStuck: where no goroutine could go on, none makes anything before the others have made all of theirs.
func TestStuck(t *testing.T) {
	o := orderOf(did{1, acquire, "f", 1}, did{2, acquire, "f", 1})
	for _, c := range []struct {
		of   []did
		want State
	}{
		{[]did{{1, acquire, "f", 1}, {2, acquire, "f", 1}, {2, write, "f", 2}, {1, write, "f", 2}}, Followed},
		{[]did{{1, acquire, "f", 1}, {1, write, "f", 2}, {1, release, "f", 3}, {2, acquire, "f", 1}}, Prevented},
		{[]did{{1, acquire, "f", 1}, {1, write, "f", 2}, {2, write, "f", 0}, {2, acquire, "f", 1}}, Other},
	} {
		if state, why := Match(o, recordingOf(c.of...)).Judge(true); state != c.want {
			t.Errorf("%v: state %d, %s; want %d", c.of, state, why, c.want)
		}
	}
}

// TestGone: an execution without an access of the finding does not have its order; one with an atomic access in its place may.
func TestGone(t *testing.T) {
	o := orderOf(did{1, write, "f", 1}, did{2, write, "f", 1})
	o.Places = []corpus.Anchor{{Op: "write", Func: "f", Text: 1}}
	for _, c := range []struct {
		of   []did
		want State
		gone string
	}{
		{[]did{{1, write, "f", 1}, {2, write, "f", 1}}, Followed, ""},
		{[]did{{1, heisen.AtomicUpdate, "f", 4}, {2, heisen.AtomicUpdate, "f", 4}}, Followed, ""},
		{[]did{{1, write, "g", 4}, {2, write, "g", 4}}, Other, "write in f"},
	} {
		m := Match(o, recordingOf(c.of...))
		state, _ := m.Judge(false)
		if gone := m.Gone(); state != c.want || gone != c.gone {
			t.Errorf("%v: state %d, %q is gone; want %d, %q", c.of, state, gone, c.want, c.gone)
		}
	}
}

// TestVariations: a goroutine that holds a lock goes on to where it gives that back, and no further than to its next turn.
func TestVariations(t *testing.T) {
	o := orderOf(did{1, read, "f", 1}, did{2, read, "f", 1}, did{2, write, "f", 2}, did{1, write, "f", 2})
	r := recordingOf(
		did{1, acquire, "f", 8}, did{1, read, "f", 1}, did{1, release, "f", 9}, did{1, acquire, "f", 8}, did{1, write, "f", 2}, did{1, release, "f", 9},
		did{2, acquire, "f", 8}, did{2, read, "f", 1}, did{2, write, "f", 2}, did{2, release, "f", 9},
	)
	m := Match(o, r)
	if state, _ := m.Judge(false); state != Prevented {
		t.Fatalf("state %d", state)
	}
	all, complete := m.Variations(5)
	if !complete || len(all) != 1 || all[0].Turns()[0] != (racefuzz.Turn{ID: 1, Until: 4}) || all[0].Varied() != 0 {
		t.Errorf("%d variations, complete %t: %+v", len(all), complete, all[0].Turns())
	}
	if all, complete := m.Variations(0); complete || len(all) != 0 {
		t.Errorf("%d variations of at most 0, complete %t", len(all), complete)
	}
}

// TestTurns: what others have created does not change the numbers of goroutines.
func TestTurns(t *testing.T) {
	o := orderOf(did{5, read, "f", 1}, did{6, read, "g", 1}, did{5, write, "f", 2})
	r := recordingOf(did{0, heisen.Fork, "", 3}, did{0, heisen.Fork, "", 5}, did{5, read, "f", 1}, did{5, write, "f", 2}, did{0, heisen.Fork, "", 6}, did{6, read, "g", 1})
	want := []racefuzz.Turn{{ID: 5, Until: 2}, {ID: 6, Until: 2}, {ID: 5, Until: 3}}
	got := Match(o, r).Turns()
	if len(got) != len(want) {
		t.Fatalf("%v, want %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("turn %d is %v, want %v", i, got[i], want[i])
		}
	}
}
