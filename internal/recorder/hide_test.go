package recorder

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/core/wire"
)

// TestHidden: calls of hidden functions have names from the symbolizer; events of hidden code are
// marked if they are shown.
func TestHidden(t *testing.T) {
	const function = testText + 0x100
	rec := message(helloMessage(), wire.MsgWords, 0,
		word(wire.OpSwitch, 0), 0, word(wire.OpBegin, 1|wire.Orphan),
		word(wire.OpHide, function), 0,
		word(wire.OpShade, 1),
		word(wire.OpRead, varBase), 1,
		word(wire.OpAcquire, lockBase), 0, 0,
		word(wire.OpFork, 1), 1, 0,
		word(wire.OpShade, 0),
		word(wire.OpWrite, varBase), 1,
		word(wire.OpShade, 1),
		word(wire.OpReveal, function), 0,
		word(wire.OpShade, 0),
		word(wire.OpRead, varBase), 1)
	rec = message(rec, wire.MsgBye, 0, 0, 2)
	s, out := streamed(t, rec)
	type event struct {
		op      heisen.Op
		covered bool
	}
	var got []event
	for _, r := range out[1:] {
		got = append(got, event{r.Op, r.Flags&HiddenCode != 0})
		if r.Op == heisen.Hide && r.Reach() != heisen.Synchronized {
			t.Errorf("the call reaches set %d", r.Reach())
		}
		if (r.Op == heisen.Hide || r.Op == heisen.Reveal) && s.Symbols().Name(r.Object) != "main.f" {
			t.Errorf("the call is named %s", s.Symbols().Name(r.Object))
		}
	}
	want := []event{
		{heisen.Hide, false}, {heisen.Read, true}, {heisen.Acquire, true},
		{heisen.Fork, false}, {heisen.Write, false}, {heisen.Reveal, false}, {heisen.Read, false},
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

// TestHiddenMessage: the message has the packages as the compiler writes them in symbols.
func TestHiddenMessage(t *testing.T) {
	h := Hidden{Packages: []string{"a.b/c.d", "e"}, Show: true}
	var want []byte
	for _, v := range []uint64{2, 1, 10} {
		want = binary.LittleEndian.AppendUint64(want, v)
	}
	want = append(want, "a.b/c%2ed.\x00\x00\x00\x00\x00\x00"...)
	want = append(binary.LittleEndian.AppendUint64(want, 2), "e.\x00\x00\x00\x00\x00\x00"...)
	if b := h.encode(); !bytes.Equal(want, b) {
		t.Errorf("message %q, want %q", b, want)
	}
}
