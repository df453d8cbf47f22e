package report

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heisen-go/heisen"
)

// racesIn is a stream with races in a file.
type racesIn struct {
	t       *testing.T
	file    string
	symbols *heisen.Symbols
	lines   []string
}

func newRacesIn(t *testing.T, text string) *racesIn {
	file := filepath.Join(t.TempDir(), "p.go")
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return &racesIn{t, file, heisen.NewSymbols(), strings.Split(text, "\n")}
}

// access is one on the line that ends with a mark, by a function.
func (r *racesIn) access(op heisen.Op, function, mark string) heisen.Access {
	for i, line := range r.lines {
		if strings.HasSuffix(line, "// "+mark) {
			site := r.symbols.AddSite(heisen.SiteInfo{Frames: []heisen.Frame{{Func: function, File: r.file, Line: i + 1}}})
			return heisen.Access{Op: op, Object: 8, Size: 8, Site: site}
		}
	}
	r.t.Fatalf("no line %s", mark)
	return heisen.Access{}
}

func race(a, b heisen.Access) heisen.Finding {
	return heisen.Finding{Detector: "hb", Kind: heisen.Race, Object: 8, Message: "m", Accesses: []heisen.Access{a, b}}
}

const racyFile = `package p

type counter struct{ n, other int }

type holder struct{ count *counter }

type second struct{ n int }

func (c *counter) add() {
	c.n++ // add
	c.other++ // other
}

func (h *holder) reset() {
	h.count.n = 0 // reset
}

func (s *second) add() {
	s.n++ // second
}

func f() {
	a, b := 0, 0
	go func() {
		a++ // a
		b++ // b
	}()
}
`

// TestOneVariable: the races on a variable are one finding with the pairs of accesses, whatever the expressions are. Races on other
// variables are other findings.
func TestOneVariable(t *testing.T) {
	r := newRacesIn(t, racyFile)
	read := func(function, mark string) heisen.Access { return r.access(heisen.Read, "m/p."+function, mark) }
	write := func(function, mark string) heisen.Access { return r.access(heisen.Write, "m/p."+function, mark) }
	c, err := NewCollector(WithSymbols(r.symbols))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	add, literal := "(*counter).add", "f.func1"
	for _, f := range []heisen.Finding{
		race(read(add, "add"), write(add, "add")), race(write(add, "add"), write(add, "add")), race(write(add, "add"), write("(*holder).reset", "reset")),
		race(write(add, "add"), write(add, "add")), race(write(add, "add"), read(add, "add")),
		race(write(add, "other"), write(add, "other")), race(write("(*second).add", "second"), write("(*second).add", "second")),
		race(write(literal, "a"), write(literal, "a")), race(write(literal, "b"), read(literal, "b")), race(write(literal, "b"), write(literal, "b")),
	} {
		c.Add(f)
	}
	all := c.Findings()
	want := []struct {
		identity string
		pairs    int
		count    uint64
	}{{"m/p.counter.n", 2, 5}, {"m/p.counter.other", 0, 1}, {"m/p.second.n", 0, 1}, {"m/p.f.a", 0, 1}, {"m/p.f.b", 1, 2}}
	if len(all) != len(want) {
		t.Fatalf("%d findings: %v", len(all), all)
	}
	prints := map[string]bool{}
	for i, w := range want {
		f := &all[i]
		if f.Identity != w.identity || len(f.Pairs) != w.pairs || f.Count != w.count {
			t.Errorf("%s with %d pairs, %d times, not %v", f.Identity, len(f.Pairs), f.Count, w)
		}
		prints[f.Fingerprint] = true
	}
	if len(prints) != len(want) {
		t.Errorf("two variables have one fingerprint")
	}
	if p := all[0].Pairs[0]; p.Count != 2 || all[0].Reverse == nil {
		t.Errorf("%d times, reverse %v", p.Count, all[0].Reverse)
	}
	var text bytes.Buffer
	if err := WriteText(&text, &all[0]); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"Other pairs of accesses that race:\n", "  write p.go:10, write p.go:10 (2 times)\n", "  write p.go:10, write p.go:15\n"} {
		if !strings.Contains(text.String(), line) {
			t.Errorf("no line %q in\n%s", line, &text)
		}
	}
	testEachPair(t, &all[0])
}

// testEachPair: each pair of accesses is a finding by itself, and together they are the finding.
func testEachPair(t *testing.T, f *Finding) {
	each := f.EachPair()
	if len(each) != 1+len(f.Pairs) {
		t.Fatalf("%d pairs", len(each))
	}
	again := each[0]
	again.Count = f.Count - each[1].Count - each[2].Count
	for i := range each {
		if each[i].Fingerprint != f.Fingerprint || len(each[i].Pairs) != 0 || !f.HasPair(each[i].PairFingerprint()) {
			t.Errorf("%v", each[i])
		}
		if i > 0 {
			again.AddPairs(&each[i])
		}
	}
	again.AddPairs(&Finding{Fingerprint: f.Fingerprint, Pair: f.Pair}) // nothing new
	if len(again.Pairs) != len(f.Pairs) || again.Count != f.Count {
		t.Errorf("%d pairs, %d times", len(again.Pairs), again.Count)
	}
}

// TestIdentityIsStable: neither other lines nor another expression change the fingerprint of a race; another package does. Without source it
// is that of the two places.
func TestIdentityIsStable(t *testing.T) {
	print := func(text, pkg, function, mark string) string {
		r := newRacesIn(t, text)
		f := resolve(r.symbols, race(r.access(heisen.Write, pkg+"."+function, mark), r.access(heisen.Write, pkg+"."+function, mark)))
		return f.Fingerprint
	}
	first := print(racyFile, "m/p", "(*counter).add", "add")
	moved := strings.Replace(racyFile, "type counter", "var further int\n\ntype counter", 1)
	moved = strings.Replace(moved, "\tc.n++", "\tfurther++\n\tc.n++", 1)
	if print(moved, "m/p", "(*counter).add", "add") != first || print(racyFile, "m/p", "(*holder).reset", "reset") != first {
		t.Error("another fingerprint")
	}
	if print(racyFile, "m/q", "(*counter).add", "add") == first {
		t.Error("the fingerprint of another package")
	}
	r := newRacesIn(t, racyFile)
	one := race(r.access(heisen.Write, "m/p.f", "add"), r.access(heisen.Write, "m/p.f", "add"))
	f := (*Resolver)(nil).Resolve(one, r.symbols)
	if f.Identity != "" || f.Pair != "" || f.Fingerprint != one.Fingerprint(r.symbols) || f.PairFingerprint() != f.Fingerprint {
		t.Errorf("%q %q %q", f.Identity, f.Pair, f.Fingerprint)
	}
}

// TestHiddenPairs: what hides one pair of accesses to a variable does not hide others.
func TestHiddenPairs(t *testing.T) {
	r := newRacesIn(t, racyFile)
	old := &Baseline{} // of before races on a variable were one finding
	first := race(r.access(heisen.Write, "m/p.(*counter).add", "add"), r.access(heisen.Write, "m/p.(*counter).add", "add"))
	old.Add(Finding{Kind: heisen.Race, Fingerprint: first.Fingerprint(r.symbols)})
	c, err := NewCollector(WithSymbols(r.symbols), WithBaseline(old))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	second := race(r.access(heisen.Write, "m/p.(*counter).add", "add"), r.access(heisen.Write, "m/p.(*holder).reset", "reset"))
	for _, f := range []heisen.Finding{first, second, first} {
		c.Add(f)
	}
	if shown, hidden := c.Findings(), c.Hidden(); len(shown) != 1 || len(hidden) != 1 || len(shown[0].Pairs) != 0 || hidden[0].Count != 2 || shown[0].Count != 1 {
		t.Errorf("%v, hidden %v", shown, hidden)
	}
	whole := &Baseline{}
	whole.Add(c.Findings()[0])
	if !whole.Contains(&c.Hidden()[0]) {
		t.Error("the baseline does not contain another pair of accesses to its variable")
	}
}

// TestKnownCertainty: what was only suspected does not hide what has happened, also if a file has it.
func TestKnownCertainty(t *testing.T) {
	suspected := Finding{Detector: "lockorder", Kind: heisen.Deadlock, Fingerprint: "d"}
	predicted := Finding{Detector: "syncp", Kind: heisen.Deadlock, Fingerprint: "d", Witness: []Step{{}}}
	confirmed := Finding{Detector: "racefuzz", Kind: heisen.Deadlock, Fingerprint: "d", Trials: &Trials{Confirmed: 1}}
	rising := []Finding{suspected, predicted, confirmed}
	for i := range rising {
		var b Baseline
		b.Add(rising[i])
		var file bytes.Buffer
		if err := b.Write(&file); err != nil {
			t.Fatal(err)
		}
		read, err := ReadBaseline(&file)
		if err != nil {
			t.Fatal(err)
		}
		for k := range rising {
			if b.Contains(&rising[k]) != (k <= i) || read.Contains(&rising[k]) != (k <= i) || len(read.Matching(&rising[k])) == 0 {
				t.Errorf("what is %v is known where it was %v", rising[k].Certainty(), rising[i].Certainty())
			}
		}
	}
}

// TestWhatIsWaitedFor: goroutines that wait to do the same with a variable are one finding, wherever they wait, and a failure that is a race on the
// variable is that of the race.
func TestWhatIsWaitedFor(t *testing.T) {
	of := func(kind heisen.Kind, op heisen.Op, identity, pair string) string {
		f := Finding{Kind: kind, Accesses: []Access{{Op: op.String()}}}
		f.Identify(identity, pair)
		if (f.Pair != "") != (f.Fingerprint != pair) || f.PairFingerprint() != pair {
			t.Errorf("%s of %s: fingerprint %s, pair %q, want one of the two to be %s", kind, identity, f.Fingerprint, f.Pair, pair)
		}
		return f.Fingerprint
	}
	lock := of(heisen.Leak, heisen.Acquire, "p.x", "1")
	for _, same := range []string{of(heisen.Leak, heisen.Acquire, "p.x", "2"), of(heisen.Leak, heisen.AcquireShared, "p.x", "3")} {
		if same != lock {
			t.Errorf("a lock is waited for, %s and %s", lock, same)
		}
	}
	for _, other := range []string{of(heisen.Leak, heisen.Send, "p.x", "1"), of(heisen.Leak, heisen.Acquire, "p.y", "1"), of(heisen.Leak, heisen.Acquire, "", "1"),
		of(heisen.Race, heisen.Write, "p.x", "1"), of(heisen.Deadlock, heisen.Acquire, "p.x", "1")} {
		if other == lock {
			t.Errorf("%s is that of another bug", other)
		}
	}
	if race, failure := of(heisen.Race, heisen.Write, "p.x", "1"), of(heisen.Failure, heisen.Call, "p.x", "2"); race != failure {
		t.Errorf("the race is %s, the failure %s", race, failure)
	}
}

// TestFollowingOf: a race of calls of the standard library is about the value to which they are applied.
func TestFollowingOf(t *testing.T) {
	for _, f := range []Finding{{Variable: "Log.buf"}, {Identity: "example.org/a/shop.Log.buf"}} {
		if one := FollowingOf(&f); !strings.HasSuffix(one.Variable, "Log.buf") || strings.Contains(one.Variable, "/") {
			t.Errorf("%+v follows with the variable %q", f, one.Variable)
		}
	}
}
