package trace

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The interner is a map from strings to the order of their first appearance.
func TestInternerIsAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in, model := newInterner(), map[string]uint32{}
		// Strings around the length that fits a slot, much alike, zero bytes
		// included, within buffers of any size.
		key := rapid.Custom(func(t *rapid.T) []byte {
			b := rapid.SliceOfN(rapid.ByteRange(0, 1), 0, 18).Draw(t, "bytes")
			behind := rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "behind")
			return append(b, behind...)[:len(b)]
		})
		for range rapid.IntRange(0, 300).Draw(t, "lookups") {
			b := key.Draw(t, "key")
			want, known := model[string(b)]
			got, ok := in.find(b)
			if ok != known || ok && got != want {
				t.Fatalf("%q: %d, %v; want %d, %v", b, got, ok, want, known)
			}
			if !known {
				model[string(b)] = uint32(len(model))
				if got := in.add(b); got != model[string(b)] {
					t.Fatalf("%q was given %d, want %d", b, got, model[string(b)])
				}
			}
		}
	})
}

func TestInternerGrows(t *testing.T) {
	in := newInterner()
	word := func(i int) []byte { return []byte(strings.Repeat("x", i%40) + string(rune('a'+i/40))) }
	for i := range 4000 {
		if _, ok := in.find(word(i)); ok {
			t.Fatalf("%q is known before it is added", word(i))
		}
		in.add(word(i))
	}
	for i := range 4000 {
		if id, ok := in.find(word(i)); !ok || int(id) != i {
			t.Fatalf("%q is %d, %v", word(i), id, ok)
		}
	}
}
