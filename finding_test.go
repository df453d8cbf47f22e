package heisen

import (
	"fmt"
	"regexp"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// program is a table of places in an order that is drawn, as runs of one
// program have: the same frames, other numbers and addresses.
func program(t *rapid.T, label string) (*Symbols, []Site) {
	s := NewSymbols()
	sites := make([]Site, 4)
	dir := rapid.SampledFrom([]string{"/home/a/src", `C:\src`, ""}).Draw(t, label+" dir")
	for _, i := range rapid.Permutation([]int{0, 1, 2, 3}).Draw(t, label) {
		file := fmt.Sprintf("f%d.go", i/2)
		switch {
		case dir == `C:\src`:
			file = dir + `\` + file
		case dir != "":
			file = dir + "/" + file
		}
		sites[i] = s.AddSite(SiteInfo{
			PC:     rapid.Uint64().Draw(t, label+" pc"),
			Frames: []Frame{{Func: "p.f", File: file, Line: 10 + i%2}, {Func: "p.main", File: file, Line: i}},
		})
	}
	return s, sites
}

// TestFingerprint: equal for the same places in two runs, whatever the order,
// numbers, addresses and directories; different for other ones.
func TestFingerprint(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type side struct {
			op    Op
			place int
		}
		sides := func(label string) (out []side) {
			for range rapid.IntRange(1, 3).Draw(t, label) {
				out = append(out, side{
					rapid.SampledFrom([]Op{Read, Write}).Draw(t, "op"),
					rapid.IntRange(0, 3).Draw(t, "place"),
				})
			}
			return out
		}
		finding := func(label string, kind Kind, sides []side) string {
			symbols, sites := program(t, label)
			f := Finding{Kind: kind, Object: Object(rapid.Uint64().Draw(t, "object")), Message: label}
			for _, s := range rapid.Permutation(sides).Draw(t, "order") {
				f.Accesses = append(f.Accesses, Access{
					Op: s.op, Site: sites[s.place], Object: f.Object,
					Thread: Thread(rapid.IntRange(0, 5).Draw(t, "thread")),
				})
			}
			return f.Fingerprint(symbols)
		}
		a, b := sides("first"), sides("second")
		one, again := finding("one", Race, a), finding("again", Race, a)
		if one != again {
			t.Fatalf("fingerprints %s and %s of the same places %v", one, again, a)
		}
		other, deadlock := finding("other", Race, b), finding("deadlock", Deadlock, a)
		order := func(x, y side) int { return int(x.op)*10 + x.place - int(y.op)*10 - y.place }
		slices.SortFunc(a, order)
		slices.SortFunc(b, order)
		if (one == other) != slices.Equal(a, b) {
			t.Fatalf("fingerprints %s of %v and %s of %v", one, a, other, b)
		}
		if one == deadlock {
			t.Fatalf("a race and a deadlock have fingerprint %s", one)
		}
	})
}

// TestFingerprintMoves: where it is known on which line a function begins, only
// the distance from there counts.
func TestFingerprintMoves(t *testing.T) {
	of := func(frame Frame) string {
		s := NewSymbols()
		f := Finding{Kind: Race, Accesses: []Access{{Op: Write, Site: s.AddSite(SiteInfo{Frames: []Frame{frame}})}}}
		return f.Fingerprint(s)
	}
	at := Frame{Func: "p.f", File: "/src/a.go", Line: 20, Start: 15}
	if of(at) != of(Frame{Func: "p.f", File: "/src/b.go", Line: 120, Start: 115}) {
		t.Error("another fingerprint of the same line of a function that has moved")
	}
	for _, other := range []Frame{
		{Func: "p.f", File: "/src/a.go", Line: 20, Start: 14},
		{Func: "p.f", File: "/src/a.go", Line: 21, Start: 15},
		{Func: "p.g", File: "/src/a.go", Line: 20, Start: 15},
		{Func: "p.f", File: "/src/a.go", Line: 20},
	} {
		if of(at) == of(other) {
			t.Errorf("one fingerprint of %+v and %+v", at, other)
		}
	}
	if of(Frame{Func: "p.f", File: "/src/a.go", Line: 20}) == of(Frame{Func: "p.f", File: "/src/a.go", Line: 21}) {
		t.Error("one fingerprint of two lines")
	}
}

func TestFingerprintForm(t *testing.T) {
	f := Finding{Kind: Race, Accesses: []Access{{Op: Read, Site: 1}, {Op: Write, Site: 2}}}
	byNumber := f.Fingerprint(nil)
	s := NewSymbols()
	s.AddSite(SiteInfo{Text: "1"})
	s.AddSite(SiteInfo{Text: "2"})
	byText := f.Fingerprint(s)
	for _, fp := range []string{byNumber, byText} {
		if !regexp.MustCompile(`^[0-9a-f]{16}$`).MatchString(fp) {
			t.Errorf("fingerprint %q is not 16 hexadecimal digits", fp)
		}
	}
	if byNumber == byText {
		t.Errorf("site number 1 and site text 1 are one: %s", byNumber)
	}
	// People keep fingerprints in baselines, so they stay as they are.
	if want := "e3596268b9c95d9c"; byText != want {
		t.Errorf("fingerprint %s, it was %s in every version", byText, want)
	}
}

func TestAccessOf(t *testing.T) {
	r := Record{Object: 1, Thread: 3, Site: 4, Context: 5, Len: 6, Op: Write}
	want := Access{Op: Write, Thread: 3, Object: 1, Size: 6, Site: 4, Context: 5, Index: 7}
	if got := AccessOf(&r, 7); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	r.Len = 0
	if got := AccessOf(&r, 0); got.Size != 1 {
		t.Errorf("size %d of an access without a length, want 1", got.Size)
	}
}

func TestFindingString(t *testing.T) {
	for _, test := range []struct {
		finding Finding
		want    string
	}{
		{Finding{}, ""},
		{Finding{Kind: Failure, Message: "the program panicked"}, "failure: the program panicked"},
		{Finding{
			Detector: "fasttrack", Kind: Race, Object: 0xc000012340, Message: "write races with earlier read",
			Accesses: []Access{{Op: Read, Site: 2}, {Op: Write, Thread: 1, Site: 7, Index: 12}},
		}, "fasttrack: race on 0xc000012340: write races with earlier read\n" +
			"read by thread 0 at site 2; write by thread 1 at site 7, event 12"},
		{Finding{Detector: "lockorder", Kind: Deadlock, Accesses: []Access{{Op: Acquire, Thread: 3}}}, "lockorder: deadlock\nacquire by thread 3"},
	} {
		if got := test.finding.String(); got != test.want {
			t.Errorf("%+v is\n%q, want\n%q", test.finding, got, test.want)
		}
	}
}
