package recorder

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/core/wire"
)

// TestHidden: calls of hidden functions have the sets that they reach, and names from the
// symbolizer; events of hidden code are marked if they are shown.
func TestHidden(t *testing.T) {
	const function = testText + 0x100
	rec := message(helloMessage(), wire.MsgReach, 1, 0xc000000100, 16, 0xc000000000, 32)
	rec = message(rec, wire.MsgReach, 2, 0xc000000000, 32, 0xc000000100, 16) // the same, in another order
	rec = message(rec, wire.MsgReach, 3)
	rec = message(rec, wire.MsgWords, 0,
		word(wire.OpSwitch, 0), 0, word(wire.OpBegin, 1|wire.Orphan),
		word(wire.OpHide, function), 0, 0, 1,
		word(wire.OpShade, 1),
		word(wire.OpRead, varBase), 1,
		word(wire.OpAcquire, lockBase), 1, 0,
		word(wire.OpFork, 1), 2, 0,
		word(wire.OpShade, 0),
		word(wire.OpWrite, varBase), 1,
		word(wire.OpShade, 1),
		word(wire.OpReveal, function), 3, 0,
		word(wire.OpShade, 0),
		word(wire.OpRead, varBase), 1,
		word(wire.OpHide, function), 4, 0, 2,
		word(wire.OpReveal, function), 5, 0,
		word(wire.OpHide, function), 6, 0, 3,
		word(wire.OpReveal, function), 7, 0,
		word(wire.OpHide, function), 8, 0, 0,
		word(wire.OpReveal, function), 9, 0)
	rec = message(rec, wire.MsgBye, 0, 0, 10)
	s, out := streamed(t, rec)
	type event struct {
		op      heisen.Op
		reach   heisen.Objects
		covered bool
	}
	var got []event
	for _, r := range out[1:] {
		e := event{op: r.Op, covered: r.Flags&HiddenCode != 0}
		if r.Op == heisen.Hide {
			e.reach = s.Symbols().Reach(r.Reach())
		}
		if (r.Op == heisen.Hide || r.Op == heisen.Reveal) && s.Symbols().Name(r.Object) != "main.f" {
			t.Errorf("the call is named %s", s.Symbols().Name(r.Object))
		}
		got = append(got, e)
	}
	reach := heisen.Objects{{Start: 0xc000000000, Len: 32}, {Start: 0xc000000100, Len: 16}}
	want := []event{
		{op: heisen.Hide, reach: reach}, {op: heisen.Read, covered: true}, {op: heisen.Acquire, covered: true},
		{op: heisen.Fork}, {op: heisen.Write}, {op: heisen.Reveal}, {op: heisen.Read},
		{op: heisen.Hide, reach: reach}, {op: heisen.Reveal},
		{op: heisen.Hide}, {op: heisen.Reveal},
		{op: heisen.Hide, reach: s.Symbols().Reach(0)}, {op: heisen.Reveal},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(event{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestSymbolPrefix: import paths are as the compiler writes them.
func TestSymbolPrefix(t *testing.T) {
	for path, want := range map[string]string{
		"net/http":            "net/http",
		"gopkg.in/yaml.v3":    "gopkg.in/yaml%2ev3",
		"example.com/a b/c%d": "example.com/a%20b/c%25d",
		"go.etcd.io/bbolt":    "go.etcd.io/bbolt",
	} {
		if got := symbolPrefix(path); got != want {
			t.Errorf("%s becomes %s, want %s", path, got, want)
		}
	}
}

// TestHiddenMessage: without a symbol table the message has everything else.
func TestHiddenMessage(t *testing.T) {
	h := Hidden{Packages: []string{"a.b/c.d", "e"}, Show: true}
	b, err := h.encode(nil, testText)
	if !errors.Is(err, ErrStripped) {
		t.Errorf("error %v", err)
	}
	var want []byte
	for _, v := range []uint64{DefaultReach, 2, 0, 1, 10} {
		want = binary.LittleEndian.AppendUint64(want, v)
	}
	want = append(want, "a.b/c%2ed.\x00\x00\x00\x00\x00\x00"...)
	want = append(binary.LittleEndian.AppendUint64(want, 2), "e.\x00\x00\x00\x00\x00\x00"...)
	if !bytes.Equal(want, b) {
		t.Errorf("message %q, want %q", b, want)
	}
	for _, limit := range []int{-1, MaxReach + 1} {
		h.Limit = limit
		if b, err := h.encode(nil, testText); b != nil || err == nil {
			t.Errorf("limit %d: %q, %v", limit, b, err)
		}
	}
}
