package recorder

import (
	"bytes"
	"encoding/binary"

	"github.com/heisen-go/heisen"
)

// toldNames is a Symbolizer that knows what the program has told, by text offset.
type toldNames map[uint32][]heisen.Frame

// Frames implements Symbolizer.
func (t toldNames) Frames(offsets []uint32) ([][]heisen.Frame, error) {
	frames := make([][]heisen.Frame, len(offsets))
	for i, off := range offsets {
		frames[i] = t[off]
	}
	return frames, nil
}

// addNames adds what the program tells of a text offset.
func (s *Stream) addNames(offset uint32, words []uint64) error {
	if uint64(offset) > s.hello.size {
		return s.corrupt("names at %#x", offset)
	}
	text := make([]byte, 0, 8*len(words))
	for _, w := range words {
		text = binary.LittleEndian.AppendUint64(text, w)
	}
	frames, err := readFrames(bytes.NewReader(text), 1)
	if err != nil {
		return s.corrupt("names at %#x: %v", offset, err)
	}
	s.told[offset] = frames[0]
	return nil
}
