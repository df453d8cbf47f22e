package recorder

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/core/wire"
)

// TestTold: what a program tells of its places are the names of sites, and what no program tells is an error.
func TestTold(t *testing.T) {
	frames := []heisen.Frame{{Func: "a.b[...].c", File: "/a.go", Line: 7, Start: 5}, {Func: "a.d", File: "/d.go", Line: 1, Start: 1}}
	rec := append(helloMessage(), namesMessage(40, frames)...)
	s, err := NewStream(bytes.NewReader(append(rec, message(nil, wire.MsgBye, 0, 0, 0)...)), nil)
	if err != nil {
		t.Fatal(err)
	}
	s.SetSymbolizer(s.told)
	if _, err := drain(s); err != nil {
		t.Fatal(err)
	}
	for offset, want := range map[uint32][]heisen.Frame{40: frames, 41: nil} {
		if got, err := s.told.Frames([]uint32{offset}); err != nil || !slices.Equal(got[0], want) {
			t.Errorf("at %d: %v, %v", offset, got, err)
		}
	}
	for name, bad := range map[string][]byte{
		"outside": namesMessage(testTextSize+1, frames),
		"empty":   message(nil, wire.MsgNames, 40),
		"many":    message(nil, wire.MsgNames, 40, 1<<31),
		"cut":     message(nil, wire.MsgNames, 40, 3),
	} {
		if _, _, err := readAll(t, append(helloMessage(), bad...)); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// namesMessage tells functions at a text offset.
func namesMessage(offset uint32, frames []heisen.Frame) []byte {
	text := answer([][]heisen.Frame{frames})
	text = append(text, make([]byte, -len(text)&7)...)
	words := make([]uint64, len(text)/8)
	for i := range words {
		words[i] = binary.LittleEndian.Uint64(text[8*i:])
	}
	return message(nil, wire.MsgNames, offset, words...)
}
