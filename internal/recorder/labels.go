package recorder

import (
	"encoding/binary"

	"github.com/heisen-go/heisen"
)

// addLabels adds a set of labels, which places may have from now on; see inject/labels.go.
func (s *Stream) addLabels(id uint32, words []uint64) error {
	var text []byte
	for _, w := range words[min(1, len(words)):] {
		text = binary.LittleEndian.AppendUint64(text, w)
	}
	if len(words) == 0 || words[0] > uint64(len(text)) {
		return s.corrupt("labels in %d words", len(words))
	}
	text = text[:words[0]]
	var parts []string
	for len(text) >= 2 {
		n := int(binary.LittleEndian.Uint16(text))
		text = text[2:]
		if n > len(text) {
			return s.corrupt("a label of %d bytes in %d", n, len(text))
		}
		parts = append(parts, string(text[:n]))
		text = text[n:]
	}
	var set []heisen.Label
	for i := 0; i+1 < len(parts); i += 2 {
		set = append(set, heisen.Label{Key: parts[i], Value: parts[i+1]})
	}
	if id == 0 || len(set) == 0 {
		return s.corrupt("%d labels in set %d", len(set), id)
	}
	s.labels[id] = s.syms.AddLabels(set)
	return nil
}
