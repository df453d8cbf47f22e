package recorder

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/core/wire"
)

// namedByOffset names functions by the last but one hexadecimal digit of text offsets.
type namedByOffset struct{}

func (namedByOffset) Frames(at []uint32) (frames [][]heisen.Frame, err error) {
	for _, pc := range at {
		frames = append(frames, []heisen.Frame{{Func: "inlined"}, {Func: fmt.Sprintf("f%x", pc>>4&15)}})
	}
	return frames, nil
}

// callMessages are a recording in which a goroutine in f1 calls f2, which calls f3.
func callMessages() []byte {
	const inF1, callF2, inF2, callF3, inF3 = 1, 2, 3, 4, 5
	rec := message(nil, wire.MsgTask, 7, 0x74736554) // Test
	rec = message(rec, wire.MsgPlaces, 0, 0x11, 0x12, callF2<<32|0x21, callF2<<32|0x22, callF3<<32|0x31, wire.TaskPlace|7, 6<<32|0x12, 7<<32|0x21)
	const inF2OfTest = 8
	write := func(place uint64) []uint64 { return []uint64{word(wire.OpWrite, varBase), place<<32 | 8} }
	words := []uint64{word(wire.OpSwitch, 0), 0, word(wire.OpBegin, wire.Orphan)}
	for _, step := range [][]uint64{
		write(inF1),
		{word(wire.OpEntered, 0)}, write(inF2), write(inF2),
		{word(wire.OpEntered, 1)}, write(inF3),
		{word(wire.OpEntered, 1)}, write(inF3), // f2 has called f3 once more
		{word(wire.OpEntered, 1), word(wire.OpEntered, 0)}, write(inF3), // from a new call of f2
		write(inF1),
		{word(wire.OpEntered, 0)}, write(inF2OfTest),
	} {
		words = append(words, step...)
	}
	return message(rec, wire.MsgWords, 0, words...)
}

// TestCalls: Call and Return events say which functions the events are in. The same path is that of another call if the
// recorder says so.
func TestCalls(t *testing.T) {
	s, err := NewStream(bytes.NewReader(append(helloMessage(), callMessages()...)), namedByOffset{})
	if err != nil {
		t.Fatal(err)
	}
	s.tellsCalls = true
	events, err := drain(s)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range events {
		switch depth := len(s.Symbols().Calls(e.Context)); e.Op {
		case heisen.Call, heisen.Return:
			got = append(got, fmt.Sprintf("%s %s at %x in %d", e.Op, s.Symbols().Name(e.Object), s.Symbols().Site(e.Site).PC-testText, depth))
		case heisen.Write:
			got = append(got, fmt.Sprintf("write in %d", depth))
		}
	}
	want := `write in 0
call f2 at 12 in 0
write in 1
write in 1
call f3 at 22 in 1
write in 2
return f3 at 22 in 2
call f3 at 22 in 1
write in 2
return f3 at 22 in 2
return f2 at 12 in 1
call f2 at 12 in 0
call f3 at 22 in 1
write in 2
return f3 at 22 in 2
return f2 at 12 in 1
write in 0
call f2 at 12 in 1
write in 2`
	if text := strings.Join(got, "\n"); text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
}
