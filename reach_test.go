package heisen

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// drawSpans makes spans that often touch and overlap.
func drawSpans(t *rapid.T) (spans []Span) {
	start := rapid.OneOf(rapid.Uint64Range(0, 30), rapid.Uint64Range(math.MaxUint64-30, math.MaxUint64))
	for range rapid.IntRange(0, 6).Draw(t, "spans") {
		spans = append(spans, Span{
			Start: Object(start.Draw(t, "start")),
			Len:   rapid.OneOf(rapid.Uint64Range(0, 9), rapid.Just(uint64(math.MaxUint64))).Draw(t, "len"),
		})
	}
	return spans
}

// near are the objects that drawSpans is about.
func near() (objects []Object) {
	for o := range Object(50) {
		objects = append(objects, o, math.MaxUint64-1-o)
	}
	return objects
}

func in(spans []Span, o Object) bool {
	return slices.ContainsFunc(spans, func(s Span) bool { return o >= s.Start && uint64(o-s.Start) < s.Len })
}

// Sets of spans have what their spans have, object by object.
func TestObjects(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spans, others := drawSpans(t), drawSpans(t)
		a, b := NewObjects(slices.Clone(spans)...), NewObjects(slices.Clone(others)...)
		if !a.Canonical() || !b.Canonical() {
			t.Fatalf("not canonical: %v of %v, %v of %v", a, spans, b, others)
		}
		meet := false
		for _, o := range near() {
			if got, want := a.Meets(o, 1), in(spans, o); got != want || in(a, o) != want {
				t.Fatalf("%d in %v: %v, in %v: %v, Meets: %v", o, spans, want, a, in(a, o), got)
			}
			meet = meet || in(spans, o) && in(others, o)
		}
		if got := a.Intersects(b); got != meet || b.Intersects(a) != meet {
			t.Fatalf("%v and %v meet: %v, Intersects: %v", a, b, meet, got)
		}
		start, size := Object(rapid.Uint64Range(0, 40).Draw(t, "start")), rapid.Uint64Range(0, 9).Draw(t, "size")
		if got, want := a.Meets(start, size), a.Intersects(NewObjects(Span{start, size})); got != want {
			t.Fatalf("%v meets %d at %d: %v, but as a set: %v", a, size, start, got, want)
		}
	})
}

func TestReachNumbers(t *testing.T) {
	s := NewSymbols()
	x, y := Span{8, 8}, Span{16, 8}
	for _, c := range []struct {
		set  Objects
		want Reach
	}{
		{NewObjects(x, y), 1},
		{NewObjects(), 2},
		{NewObjects(y, x), 1},
		{NewObjects(Span{8, 16}), 3}, // other objects than x and y
		{nil, 2},
		{NewObjects(Span{0, math.MaxUint64}), 0},
	} {
		if got := s.AddReach(c.set); got != c.want {
			t.Errorf("%v has number %d, want %d", c.set, got, c.want)
		}
	}
	if s.NumReaches() != 4 {
		t.Errorf("%d numbers", s.NumReaches())
	}
	var large []Span
	for i := range Object(MaxSpans + 1) {
		large = append(large, Span{16 * i, 8})
	}
	if got := s.AddReach(large); got != 0 {
		t.Errorf("a set of %d spans has number %d", len(large), got)
	}
	if got := s.AddReach(large[1:]); got != 4 {
		t.Errorf("a set of %d spans has number %d", MaxSpans, got)
	}
	// Who does not know what is reached must take it for everything.
	for _, r := range []Reach{0, 99} {
		if !s.Reach(r).Meets(12345, 1) || !(*Symbols)(nil).Reach(r).Meets(ThreadObject(7), 1) {
			t.Errorf("set %d is not that of all objects", r)
		}
	}
	if r := (&Record{Value: 1 << 32}); r.Reach() != 0 {
		t.Errorf("a number that no set can have is that of set %d", r.Reach())
	}
}

func TestThreadObject(t *testing.T) {
	if th, ok := ThreadObject(5).AsThread(); th != 5 || !ok {
		t.Errorf("thread %d, %v", th, ok)
	}
	for _, o := range []Object{5, 0xc000000000, 1 << 62, 1<<63 | 1<<32} {
		if _, ok := o.AsThread(); ok {
			t.Errorf("%#x is a thread", uint64(o))
		}
	}
}
