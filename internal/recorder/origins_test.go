package recorder

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/core/wire"
)

// descent is the origin of a goroutine that another one has started.
func descent(id, parent, goid, place uint64) []uint64 {
	return []uint64{id<<32 | parent, goid, wire.OriginForked | place}
}

// firstOf is the origin of a goroutine that no other one has started.
func firstOf(id, goid uint64) []uint64 { return []uint64{id << 32, goid, 0} }

// quietMessages are the messages of a program that has found a race between goroutines 7 and 5,
// which it has not mentioned before, and later one between 9 and the main goroutine.
func quietMessages() []byte {
	rec := message(nil, wire.MsgPlaces, 0, 0x100, 1<<32|0x200, 0x300)
	rec = message(rec, wire.MsgOrigins, 0, slices.Concat(descent(7, 5, 70, 2), descent(5, 0, 50, 1), firstOf(0, 1))...)
	rec = message(rec, wire.MsgWords, 0, word(wire.OpSwitch, 7), 0, word(wire.OpBegin, 70|wire.Orphan),
		word(wire.OpOverlap, varBase), 0, accessID(7, heisen.Write, 3), accessID(5, heisen.Read, 3), 8<<48|varBase, wire.ByOrder)
	rec = message(rec, wire.MsgOrigins, 0, slices.Concat(descent(9, 3, 90, 3), firstOf(3, 0), descent(5, 0, 50, 1), []uint64{8 << 32, 0, wire.OriginForgotten})...)
	// The finding of 9 was made by another goroutine, which does not know the goid of 9.
	rec = message(rec, wire.MsgWords, 1, word(wire.OpSwitch, 9), 0, word(wire.OpBegin, wire.Orphan),
		word(wire.OpOverlap, varBase), 1, accessID(9, heisen.Write, 3), accessID(0, heisen.Read, 3), 8<<48|varBase, wire.ByOrder)
	return message(rec, wire.MsgWords, 0, word(wire.OpSwitch, 7), 7, word(wire.OpEnd, 0), 2, 0)
}

// TestOrigins: the threads of a finding are known when it is delivered, and stay so.
func TestOrigins(t *testing.T) {
	s, err := NewStream(bytes.NewReader(message(append(helloMessage(), quietMessages()...), wire.MsgBye, 0, 0, 3)), nil)
	if err != nil {
		t.Fatal(err)
	}
	inside := func() heisen.Context {
		p, err := s.place(2)
		if err != nil {
			t.Fatal(err)
		}
		return s.syms.Context(heisen.Cursor{Calls: p.calls})
	}
	check := func(want map[heisen.Thread]heisen.ThreadInfo) {
		t.Helper()
		got := map[heisen.Thread]heisen.ThreadInfo{}
		for id := range want {
			got[id] = s.Symbols().Thread(id)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("-want +got:\n%s", d)
		}
	}
	found := 0
	s.OnOverlap(func(o Overlap) {
		found++
		want := map[heisen.Thread]heisen.ThreadInfo{
			7: {Name: "goroutine 70", Forked: true, Parent: 5, Site: s.site(0x200), Context: inside()},
			5: {Name: "goroutine 50", Forked: true, Parent: 0, Site: s.site(0x100)},
			0: {Name: "main goroutine"},
		}
		if o.Accesses[1].Thread == 9 {
			want[9] = heisen.ThreadInfo{Name: "goroutine 90", Forked: true, Parent: 3, Site: s.site(0x300)}
			want[3] = heisen.ThreadInfo{Name: "runtime timers"}
			want[8] = heisen.ThreadInfo{Name: "a goroutine that ended long ago"}
		}
		check(want)
	})
	out, err := drain(s)
	if err != nil || found != 2 {
		t.Fatalf("%d overlaps, error %v", found, err)
	}
	if inside() == 0 {
		t.Error("the place of a go statement has no calls")
	}
	var ops []heisen.Op
	for _, r := range out {
		if r.Thread == 7 && r.Object != Collector {
			ops = append(ops, r.Op)
		}
	}
	if !slices.Equal(ops, []heisen.Op{heisen.Begin, heisen.End}) {
		t.Errorf("events %v", ops)
	}
}

// TestCorruptOrigins tests messages that no recorder sends.
func TestCorruptOrigins(t *testing.T) {
	for _, test := range []struct {
		name  string
		words []uint64
		want  string
	}{
		{"length", []uint64{0, 0}, "descents in 2 words"},
		{"itself", descent(4, 4, 1, 1), "goroutine 4 is started by goroutine 4"},
		{"later one", descent(4, 5, 1, 1), "goroutine 4 is started by goroutine 5"},
		{"no goroutine", descent(wire.UnknownG, 3, 1, 1), "descent of goroutine 4294967295"},
		{"place", descent(4, 3, 1, 5), "unknown place 5"},
		{"locks for a place", descent(4, 3, 1, 4), "place 4 is of a set of locks"},
		{"flag", []uint64{4<<32 | 3, 1, wire.OriginForked<<1 | 1}, "goroutine 4 is started by no goroutine"},
		{"parent of a forgotten one", []uint64{4<<32 | 3, 0, wire.OriginForgotten}, "goroutine 4 is started by no goroutine"},
		{"parent without a fork", []uint64{4<<32 | 3, 1, 0}, "goroutine 4 is started by no goroutine"},
		{"place without a parent", []uint64{4 << 32, 1, 1}, "goroutine 4 is started by no goroutine"},
	} {
		rec := message(helloMessage(), wire.MsgPlaces, 0, 0x100, wire.NodeLow<<32, (wire.NodeHigh|2)<<32, (wire.NodeTaken|3)<<32)
		_, _, err := readAll(t, message(rec, wire.MsgOrigins, 0, test.words...))
		if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want one about %q", test.name, err, test.want)
		}
	}
}
