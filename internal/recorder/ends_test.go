package recorder

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/heisen-go/heisen/internal/core/wire"
)

// TestHowStreamsEnd: a stream is finished if the program has said so, or has become another one.
func TestHowStreamsEnd(t *testing.T) {
	one := message(nil, wire.MsgWords, 0, word(wire.OpSwitch, 0), 0, word(wire.OpBegin, 1|wire.Orphan))
	replaced, stays := message(nil, wire.MsgReplaced, 1), message(nil, wire.MsgReplaced, 0)
	bye := message(nil, wire.MsgBye, 0, 0, 0)
	for _, test := range []struct {
		name     string
		messages [][]byte
		finished bool
	}{
		{"killed", [][]byte{one}, false},
		{"orderly", [][]byte{one, bye}, true},
		{"replaced", [][]byte{one, replaced}, true},
		{"replaced while others go on", [][]byte{replaced, one}, true},
		{"not replaced, and killed", [][]byte{one, replaced, stays}, false},
		{"not replaced, and orderly", [][]byte{one, replaced, stays, bye}, true},
		{"nothing", nil, false},
	} {
		s, err := NewStream(bytes.NewReader(append(helloMessage(), bytes.Join(test.messages, nil)...)), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := drain(s); err != nil && err != io.EOF || s.Finished() != test.finished {
			t.Errorf("%s: finished %v, error %v", test.name, s.Finished(), err)
		}
	}
}

// TestReplacedAmidEvents: what other threads did when the program became another one is of no
// interest. That a killed program did it is.
func TestReplacedAmidEvents(t *testing.T) {
	late := message(nil, wire.MsgWords, 0, word(wire.OpSwitch, 0), 0, word(wire.OpBegin, 1|wire.Orphan), word(wire.OpSend, msgBase), 5, 0) // 5 stamps are missing
	for kind, rec := range map[string][]byte{"replaced": message(late, wire.MsgReplaced, 1), "killed": late} {
		s, err := NewStream(bytes.NewReader(append(helloMessage(), rec...)), nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = drain(s)
		var lost *LostError
		if isLost := errors.As(err, &lost); isLost != (kind == "killed") || s.Finished() == isLost {
			t.Errorf("%s: finished %v, error %v", kind, s.Finished(), err)
		}
	}
}

func TestRefused(t *testing.T) {
	for _, reason := range []string{"no address space for shadow memory", "12345678", ""} {
		var words []uint64
		for i, c := range []byte(reason) {
			if i%8 == 0 {
				words = append(words, 0)
			}
			words[i/8] |= uint64(c) << (8 * (i % 8))
		}
		s, err := NewStream(bytes.NewReader(message(helloMessage(), wire.MsgRefused, 0, words...)), nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = drain(s)
		var refused *RefusedError
		if !errors.As(err, &refused) || refused.Reason != reason || s.Finished() {
			t.Errorf("%q: error %v, finished %v", reason, err, s.Finished())
		}
	}
}

// TestChildFlag reads whether a recorded program has started this one.
func TestChildFlag(t *testing.T) {
	for flag, child := range []bool{false, true} {
		s, err := NewStream(bytes.NewReader(message(nil, wire.MsgHello, 0, wire.Version, testText, testTextSize, testPID, uint64(flag))), nil)
		if err != nil || s.Child() != child {
			t.Errorf("flag %d: child %v, error %v", flag, s.Child(), err)
		}
	}
}
