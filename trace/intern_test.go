package trace

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The interner is a map from strings to the order of their first appearance.
func TestInternerIsAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in, model := newInterner[int](), map[string]int{}
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
			got := in.find(b)
			if (got != nil) != known || known && *got != want {
				t.Fatalf("%q: %v; want %d, %v", b, got, want, known)
			}
			if !known {
				model[string(b)] = len(model)
				in.add(b, model[string(b)])
			}
		}
	})
}

func TestInternerGrows(t *testing.T) {
	in := newInterner[int]()
	word := func(i int) []byte { return []byte(strings.Repeat("x", i%40) + string(rune('a'+i/40))) }
	for i := range 4000 {
		if in.find(word(i)) != nil {
			t.Fatalf("%q is known before it is added", word(i))
		}
		in.add(word(i), i)
	}
	for i := range 4000 {
		if got := in.find(word(i)); got == nil || *got != i {
			t.Fatalf("%q is %v, want %d", word(i), got, i)
		}
	}
}
