package fold

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/heisen-go/heisen"
)

// TestSet compares a Set with a slow one, which computes the fingerprint of every finding.
func TestSet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		symbols := heisen.NewSymbols()
		for i := range 6 { // in pairs of one location: addresses differ, lines do not
			symbols.AddSite(heisen.SiteInfo{PC: uint64(i), Frames: []heisen.Frame{{Func: "f", File: "f.go", Line: i / 2}}})
		}
		// Calls that lead to the accesses, with and without locks.
		var contexts []heisen.Context
		var inner heisen.Cursor
		for i := range 3 {
			contexts = append(contexts, symbols.Context(inner), symbols.Context(symbols.Acquire(inner, heisen.HeldLock{Lock: heisen.Object(i + 8)})))
			inner = symbols.Call(inner, heisen.Site(i))
		}
		findings := rapid.SliceOf(rapid.Custom(func(t *rapid.T) heisen.Finding {
			f := heisen.Finding{
				Detector: rapid.SampledFrom([]string{"hb", "fasttrack"}).Draw(t, "detector"),
				Kind:     rapid.SampledFrom([]heisen.Kind{heisen.Race, heisen.Atomicity}).Draw(t, "kind"),
			}
			for range rapid.IntRange(0, 3).Draw(t, "accesses") {
				f.Accesses = append(f.Accesses, heisen.Access{
					Op:     rapid.SampledFrom([]heisen.Op{heisen.Read, heisen.Write}).Draw(t, "op"),
					Site:   heisen.Site(rapid.IntRange(0, 6).Draw(t, "site")),
					Thread: heisen.Thread(rapid.IntRange(0, 9).Draw(t, "thread")),

					Context: rapid.SampledFrom(contexts).Draw(t, "context"),
				})
			}
			return f
		})).Draw(t, "findings")

		var want, firsts []Item
		index, ways := map[string]int{}, map[string]bool{}
		s := NewSet(symbols, func(i Item) { firsts = append(firsts, i) })
		for _, f := range findings {
			fp := f.Fingerprint(symbols)
			reverse := f.Kind == heisen.Race && laterIsLess(f.Accesses, symbols)
			id := fmt.Sprint(f.Detector, fp, reverse)
			if i, ok := index[id]; ok {
				want[i].Count++
			} else {
				index[id] = len(want)
				want = append(want, Item{Finding: f, Fingerprint: fp, Count: 1, Reverse: reverse})
			}
			var way []string
			for _, a := range f.Accesses {
				way = append(way, fmt.Sprint(a.Op, a.Site, symbols.Calls(a.Context)))
			}
			slices.Sort(way)
			if key := fmt.Sprint(f.Detector, f.Kind, way); !ways[key] {
				ways[key] = true
				want[index[id]].Paths++
			}
			s.Add(f)
		}
		if diff := cmp.Diff(want, s.All()); diff != "" {
			t.Fatalf("-want +got:\n%s", diff)
		}
		if len(firsts) != len(want) || s.Len() != len(want) {
			t.Fatalf("%d first sights and length %d for %d findings", len(firsts), s.Len(), len(want))
		}
		for i := range firsts {
			if firsts[i].Count != 1 || firsts[i].Fingerprint != want[i].Fingerprint {
				t.Fatalf("first sight %d is %v", i, firsts[i])
			}
		}
	})
}

// TestTinyBound: a Set that keeps a few ways only has the same findings with the same counts, and no more
// ways of any.
func TestTinyBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		symbols := heisen.NewSymbols()
		var contexts []heisen.Context
		var inner heisen.Cursor
		for i := range 6 {
			symbols.AddSite(heisen.SiteInfo{PC: uint64(i), Frames: []heisen.Frame{{Func: "f", File: "f.go", Line: i}}})
			contexts = append(contexts, symbols.Context(inner))
			inner = symbols.Call(inner, heisen.Site(i))
		}
		access := rapid.Custom(func(t *rapid.T) heisen.Access {
			return heisen.Access{Op: heisen.Write, Site: heisen.Site(rapid.IntRange(0, 5).Draw(t, "site")), Context: rapid.SampledFrom(contexts).Draw(t, "context")}
		})
		whole, bounded := NewSet(symbols, nil), NewSet(symbols, nil)
		bounded.most = rapid.IntRange(0, 5).Draw(t, "bound")
		for range rapid.IntRange(0, 60).Draw(t, "findings") {
			f := heisen.Finding{Detector: "hb", Kind: heisen.Race, Accesses: []heisen.Access{access.Draw(t, "first"), access.Draw(t, "second")}}
			whole.Add(f)
			bounded.Add(f)
		}
		ways := 0
		for i, item := range bounded.All() {
			same := whole.All()[i]
			if item.Paths > same.Paths {
				t.Fatalf("finding %d: %d ways, and %d without a bound", i, item.Paths, same.Paths)
			}
			ways += item.Paths
			item.Paths = same.Paths
			if diff := cmp.Diff(same, item); diff != "" {
				t.Fatalf("finding %d differs without a bound:\n%s", i, diff)
			}
		}
		if bounded.Len() != whole.Len() || ways > bounded.most {
			t.Fatalf("%d findings and %d ways, want %d and at most %d", bounded.Len(), ways, whole.Len(), bounded.most)
		}
	})
}

// laterIsLess compares the places of the last and of the first access.
func laterIsLess(accesses []heisen.Access, symbols *heisen.Symbols) bool {
	var places []string
	for _, a := range accesses {
		places = append(places, fmt.Sprintf("%v %v", symbols.Site(a.Site), a.Op))
	}
	return len(places) > 0 && places[len(places)-1] < places[0]
}

// TestSetCopies: a detector may use its slices again.
func TestSetCopies(t *testing.T) {
	accesses := []heisen.Access{{Op: heisen.Read, Site: 1}, {Op: heisen.Write, Site: 2}}
	witness := []heisen.Record{{Op: heisen.Read, Site: 1}}
	s := NewSet(nil, nil)
	s.Add(heisen.Finding{Kind: heisen.Race, Accesses: accesses, Witness: witness})
	accesses[0].Site, witness[0].Site = 9, 9
	f := s.All()[0].Finding
	if f.Accesses[0].Site != 1 || f.Witness[0].Site != 1 {
		t.Errorf("the kept finding changed with the detector's slices: %v", f)
	}
}

// TestSetOrder: a race in two orders is two items with one fingerprint. The order of the accesses
// of other bugs makes no difference, not even to the memory used.
func TestSetOrder(t *testing.T) {
	a, b := heisen.Access{Op: heisen.Read, Site: 1}, heisen.Access{Op: heisen.Write, Site: 2}
	for _, symbols := range []*heisen.Symbols{nil, heisen.NewSymbols()} {
		if symbols != nil {
			symbols.AddSite(heisen.SiteInfo{Text: "here"})
			symbols.AddSite(heisen.SiteInfo{Text: "there"})
		}
		for kind, want := range map[heisen.Kind]int{heisen.Race: 2, heisen.Deadlock: 1} {
			s := NewSet(symbols, nil)
			for range 3 {
				s.Add(heisen.Finding{Kind: kind, Accesses: []heisen.Access{a, b}})
				s.Add(heisen.Finding{Kind: kind, Accesses: []heisen.Access{b, a}})
			}
			if s.Len() != want || len(s.places) != want {
				t.Errorf("%s: %d findings and %d sets of places, want %d", kind, s.Len(), len(s.places), want)
			}
			all := s.All()
			last := all[len(all)-1]
			if last.Fingerprint != all[0].Fingerprint || last.Reverse != (kind == heisen.Race) || all[0].Reverse {
				t.Errorf("%s: %+v", kind, all)
			}
		}
	}
}

func TestSetRepeatsWithoutAllocation(t *testing.T) {
	s := NewSet(nil, nil)
	f := heisen.Finding{Kind: heisen.Race, Accesses: []heisen.Access{{Op: heisen.Read, Site: 1}, {Op: heisen.Write, Site: 2}}}
	s.Add(f)
	if n := testing.AllocsPerRun(100, func() { s.Add(f) }); n != 0 {
		t.Errorf("a repeated finding allocates %v times", n)
	}
	if got := s.All()[0].Count; got != 102 {
		t.Errorf("count %d, want 102", got)
	}
}

func BenchmarkRepeat(b *testing.B) {
	s := NewSet(nil, nil)
	f := heisen.Finding{Detector: "hb", Kind: heisen.Race, Accesses: []heisen.Access{{Op: heisen.Read, Site: 1}, {Op: heisen.Write, Site: 2}}}
	b.ReportAllocs()
	for b.Loop() {
		s.Add(f)
	}
}
