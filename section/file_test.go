package section

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestDecode reads a file that uses all of the format, in unusual dress.
func TestDecode(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "handwritten.sections"))
	if err != nil {
		t.Fatal(err)
	}
	want := []Section{
		{
			Variable: "t.*", Entry: Location{"shop/till.go", 40, Writes},
			Ends:  []End{{Location{"shop/till.go", 44, Writes}, 0, nil}, {Location{"shop/till.go", 51, Reads}, Reads, nil}},
			Above: 2, Comment: "Nobody may see the till between the two.\nthe happy path",
		},
		{
			Variable: `m["a b"]`, Entry: Location{"my shop/bank.go", 31, Reads},
			Ends:    []End{{Location{"my shop/bank.go", 33, Writes}, Reads, nil}, {Location{"my shop/bank.go", 31, Writes}, Reads | Writes, nil}},
			Pattern: "load-and-store",
		},
		{
			Entry: Location{"shop/till.go", 12, Reads}, Recursive: true, Pattern: "consecutive",
			Ends: []End{{Location{"shop/till.go", 12, Writes}, Writes, nil}},
		},
		{
			Entry: Location{"shop/till.go", 9, Reads}, Circular: true,
			Ends: []End{{Location{"shop/till.go", 9, Reads}, Reads, nil}},
		},
	}
	for name, text := range map[string]string{
		"as it is": string(text),
		"CR LF":    strings.ReplaceAll(string(text), "\n", "\r\n"),
		"no end":   strings.TrimRight(string(text), "\n"),
	} {
		got, err := Decode(iotest.OneByteReader(strings.NewReader(text)))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
	var out bytes.Buffer
	if err := Encode(&out, want); err != nil {
		t.Fatal(err)
	}
	golden := filepath.Join("testdata", "canonical.sections")
	if *update {
		if err := os.WriteFile(golden, out.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	text, err = os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(text), out.String()); diff != "" {
		t.Errorf("%s (-want +got; -update rewrites it):\n%s", golden, diff)
	}
	if want[0].Entry.Line != 40 || want[1].Ends[0].At.Line != 33 {
		t.Error("Encode has reordered what it was given")
	}
}

func TestDecodeErrors(t *testing.T) {
	const start = header + "\n# a comment\nsection a.go:1 read\n"
	for _, test := range []struct{ in, want string }{
		{"", `line 1: the first line must be "heisen sections 1"`},
		{"\n" + start, `line 1: the first line must be "heisen sections 1"`},
		{"heisen sections 2\nwhatever", `line 1: unknown version "2" of the format, want 1`},
		{"heisen sections 10", `line 1: unknown version "10" of the format, want 1`},
		{header + "\nend a.go:1 read {}", `line 2: "end" comes before the first section`},
		{header + "\nsektion a.go:1 read", `line 2: "sektion" comes before the first section`},
		{header + "\nsection a.go:1", "line 2: want the form: section FILE:LINE MODE"},
		{header + "\nsection a.go read", `line 2: "a.go" is not a place, want FILE:LINE`},
		{header + "\nsection :7 read", `line 2: ":7" is not a place, want FILE:LINE`},
		{header + "\nsection a.go:+7 read", `line 2: "a.go:+7" is not a place: "+7" is not a number`},
		{header + "\nsection a.go:07 read", `line 2: "a.go:07" is not a place: "07" is not a number`},
		{header + "\nsection a.go:7:3x read", `line 2: "a.go:7:3x" is not a place: "3x" is not a number`},
		{header + "\nsection a.go:1 update", `line 2: mode "update" is neither read nor write`},
		{header + "\nsection \"a.go:1 read", `line 2: invalid quoted word: "a.go:1 read`},
		{header + "\nsection \"a.go:1\"read", `line 2: want a blank after "a.go:1"`},
		{start + "end a.go:2 write", "line 4: want the form: end FILE:LINE MODE ALLOW [in FILE:FIRST-LAST]"},
		{start + "end a.go:2 write read", `line 4: "read" is none of {}, {read}, {write}, {read,write}`},
		{start + "end a.go:2 write {write,read}", `line 4: "{write,read}" is none of {}, {read}, {write}, {read,write}`},
		{start + "end a.go:2 write {read, write}", "line 4: want the form: end FILE:LINE MODE ALLOW [in FILE:FIRST-LAST]"},
		{start + "end a.go:2 write {} at a.go:1-2", `line 4: "at" where "in" is wanted`},
		{start + "end a.go:2 write {} in a.go:7", `line 4: "a.go:7" does not name a function, want FILE:FIRST-LAST`},
		{start + "end a.go:2 write {} in a.go:7-x", `line 4: "a.go:7-x" does not name a function: "x" is not a number`},
		{start + "end a.go:2 write {} in a.go:7-6", "line 3: end a.go:2 write: a function from line 7 to line 6"},
		{start + "end a.go:2 write {} in a.go:7-8 in a.go:7-8", "line 3: end a.go:2 write: a.go:7-8 is listed twice"},
		{start + "variable a b", `line 4: "variable" takes 1 words, got 2`},
		{start + "circular yes", `line 4: "circular" takes 0 words, got 1`},
		{start + "above -x", `line 4: "-x" is not a number`},
		{start + "variable a\nvariable b", `line 5: "variable" appears twice in one section`},
		{start + "begin a.go:1 read", `line 4: "begin" is none of section, end, variable, pattern, circular, recursive, above`},

		{start, "line 3: the section has no end"},
		{start + "end a.go:2 write {}\nend b.go:2 write {}\nend a.go:2 write {read}", "line 3: end a.go:2 write is listed twice"},
		{start + "end a.go:0 write {}", "line 3: end a.go:0 write: line is 0, want at least 1"},
		{header + "\nsection a.go:-4 read\nend a.go:1 read {}", "line 2: entry: line is -4, want at least 1"},
		{start + "end a.go:2 write {}\nsection a.go:2 write\nend a.go:3 read {}\n\nsection a.go:1 read\nend a.go:9 write {}",
			"line 8: another section of the variable has the same entry: make them one section"},
	} {
		got, err := Decode(strings.NewReader(test.in))
		if !errors.Is(err, ErrInvalid) || got != nil {
			t.Errorf("%q: %v, error %v", test.in, got, err)
			continue
		}
		if want := "invalid atomic sections: " + test.want; err.Error() != want {
			t.Errorf("%q:\n got %s\nwant %s", test.in, err, want)
		}
	}
}

func TestDecodeFailingReader(t *testing.T) {
	broken := errors.New("broken")
	in := io.MultiReader(strings.NewReader(header+"\n\nsection a.go:1 read\nend a.g"), iotest.ErrReader(broken))
	got, err := Decode(in)
	if !errors.Is(err, broken) || errors.Is(err, ErrInvalid) || got != nil || err.Error() != "reading sections: line 4: broken" {
		t.Errorf("%v, error %v", got, err)
	}
	good := []Section{{Entry: Location{"a.go", 1, Reads}, Ends: []End{{Location{"a.go", 2, Reads}, 0, nil}}}}
	if err := Encode(failingWriter{broken}, good); !errors.Is(err, broken) || errors.Is(err, ErrInvalid) {
		t.Errorf("error %v", err)
	}
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }

func TestCheck(t *testing.T) {
	at := func(line int, mode Modes) Location { return Location{"a.go", line, mode} }
	good := func() Section {
		return Section{Variable: "a.n", Entry: at(1, Reads), Ends: []End{{at(2, Writes), Reads, nil}, {at(3, Reads), 0, nil}}}
	}
	with := func(change func(*Section)) []Section {
		s := good()
		change(&s)
		return []Section{s}
	}
	second := func(change func(*Section)) []Section { return append([]Section{good()}, with(change)...) }
	for _, test := range []struct {
		sections []Section
		want     string // empty if nothing is wrong
	}{
		{nil, ""},
		{with(func(s *Section) {}), ""},
		{with(func(s *Section) { s.Entry.File = "" }), "section 1, :1 read: entry: no file"},
		{with(func(s *Section) { s.Entry.File = "./a.go" }), `section 1, ./a.go:1 read: entry: file is "./a.go", want "a.go"`},
		{with(func(s *Section) { s.Entry.Line = 0 }), "section 1, a.go:0 read: entry: line is 0, want at least 1"},
		{with(func(s *Section) { s.Entry.Mode = 0 }), "section 1, a.go:1 : entry: the mode is neither read nor write"},
		{with(func(s *Section) { s.Ends[1].At.Mode = Reads | Writes }), "section 1, a.go:1 read: end a.go:3 read,write: the mode is neither read nor write"},
		{with(func(s *Section) { s.Ends = nil }), "section 1, a.go:1 read: the section has no end"},
		{with(func(s *Section) { s.Ends[1].At = s.Ends[0].At }), "section 1, a.go:1 read: end a.go:2 write is listed twice"},
		{with(func(s *Section) { s.Ends[1].Allow = 4 }), "section 1, a.go:1 read: end a.go:3 read: Allow is 4, want a set of Reads and Writes"},
		{with(func(s *Section) { s.Above = -1 }), "section 1, a.go:1 read: above is -1, want at least 0"},
		{with(func(s *Section) { s.Pattern = "a b" }), `section 1, a.go:1 read: pattern "a b" has characters other than letters and dashes`},
		{with(func(s *Section) { s.Pattern = "Test-and-use" }), ""},
		{with(func(s *Section) { s.Circular = true }), "section 1, a.go:1 read: circular, but its entry is not among its ends"},
		{with(func(s *Section) { s.Ends[0].At = s.Entry }), "section 1, a.go:1 read: its entry is among its ends, but it is not circular"},
		{with(func(s *Section) { s.Ends[0].At = s.Entry; s.Circular = true }), ""},
		{with(func(s *Section) { s.Ends[0].At = s.Entry; s.Circular, s.Recursive = true, true }), "section 1, a.go:1 read: both circular and recursive"},

		// Overlap is allowed where one ends and the other begins, also at the same
		// line in another mode.
		{second(func(s *Section) { s.Entry = at(2, Writes); s.Ends[0].At = at(4, Writes) }), ""},
		{second(func(s *Section) { s.Entry = at(1, Writes) }), ""},
		{second(func(s *Section) {}), "section 2, a.go:1 read: another section of the variable has the same entry: make them one section"},
		{second(func(s *Section) { s.Variable = "" }), "section 2, a.go:1 read: another section of the variable has the same entry: make them one section"},
		{second(func(s *Section) { s.Variable = "a.*" }), "section 2, a.go:1 read: another section of the variable has the same entry: make them one section"},
		{append(with(func(s *Section) { s.Variable = "" }), good()), "section 2, a.go:1 read: another section of the variable has the same entry: make them one section"},
		{append(with(func(s *Section) { s.Variable = "a.*" }), good()), "section 2, a.go:1 read: another section of the variable has the same entry: make them one section"},
		{second(func(s *Section) { s.Variable = "b.*" }), ""},
		{second(func(s *Section) { s.Variable = "a.m" }), ""},
	} {
		err := Check(test.sections)
		switch {
		case test.want == "" && err != nil:
			t.Errorf("%+v: error %v", test.sections, err)
		case test.want != "" && (!errors.Is(err, ErrInvalid) || err.Error() != "invalid atomic sections: "+test.want):
			t.Errorf("%+v:\n got %v\nwant invalid atomic sections: %s", test.sections, err, test.want)
		}
		var out strings.Builder
		if werr := Encode(&out, test.sections); fmt.Sprint(werr) != fmt.Sprint(err) || werr != nil && out.Len() > 0 {
			t.Errorf("Encode: error %v, not %v; %q", werr, err, out.String())
		}
	}
}

func TestCovers(t *testing.T) {
	for _, test := range []struct {
		section, variable string
		want              bool
	}{
		{"", "anything", true},
		{"a.n", "a.n", true},
		{"a.n", "a.m", false},
		{"a.*", "a.n", true},
		{"a.*", "b.n", false},
		{"m[k]", "m[k]", true}, // also a pattern, which the name does not match
		{"m[k]", "mk", true},
		{"m[-1]", "m[-1]", true}, // no pattern
		{"m[-1]", "m1", false},
	} {
		s := Section{Variable: test.section}
		if got := s.Covers(test.variable); got != test.want {
			t.Errorf("%q covers %q: %v", test.section, test.variable, got)
		}
	}
}

// drawSections returns sections that are in order.
func drawSections(t *rapid.T) []Section {
	name := rapid.OneOf(rapid.SampledFrom([]string{"a.go", "b/c.go", "/src/x y.go", "#.go", `"q".go`, "c:d.go", "tab\t.go", "\xff.go"}), rapid.StringMatching(`[a-z#" ]{1,5}\.go`))
	location := rapid.Custom(func(t *rapid.T) Location {
		return Location{name.Draw(t, "file"), rapid.IntRange(1, 5).Draw(t, "line"), rapid.SampledFrom([]Modes{Reads, Writes}).Draw(t, "mode")}
	})
	lines := rapid.Custom(func(t *rapid.T) Lines {
		first := rapid.IntRange(1, 5).Draw(t, "first")
		return Lines{name.Draw(t, "file"), first, first + rapid.IntRange(0, 2).Draw(t, "more")}
	})
	end := rapid.Custom(func(t *rapid.T) End {
		return End{
			location.Draw(t, "at"), Modes(rapid.IntRange(0, 3).Draw(t, "allow")),
			rapid.SliceOfNDistinct(lines, 0, 2, func(l Lines) Lines { return l }).Draw(t, "in"),
		}
	})
	section := rapid.Custom(func(t *rapid.T) Section {
		s := Section{
			Variable:  rapid.OneOf(rapid.SampledFrom([]string{"", "a.n", "a.*", `m["x y"]`, "#", `"`, "[", "é\u2028"}), rapid.String()).Draw(t, "variable"),
			Entry:     location.Draw(t, "entry"),
			Ends:      rapid.SliceOfNDistinct(end, 1, 4, func(e End) Location { return e.At }).Draw(t, "ends"),
			Recursive: rapid.Bool().Draw(t, "recursive"),
			Above:     rapid.IntRange(0, 3).Draw(t, "above"),
			Pattern:   rapid.StringMatching(`[A-Za-z-]{0,4}`).Draw(t, "pattern"),
			Comment:   rapid.SampledFrom([]string{"", "why", "one\n\ntwo # three", "\nlate", "  indented", "end\n", "end a.go:1 read {}"}).Draw(t, "comment"),
		}
		if slices.ContainsFunc(s.Ends, func(e End) bool { return e.At == s.Entry }) {
			s.Circular, s.Recursive = true, false
		}
		return s
	})
	var sections []Section
	for _, s := range rapid.SliceOfN(section, 0, 8).Draw(t, "sections") {
		if all := append(slices.Clip(sections), s); Check(all) == nil {
			sections = all
		} else if len(sections) == 0 {
			t.Fatalf("drawn out of order: %v", Check(all))
		}
	}
	return sections
}

// canonical returns the order in which sections are written.
func canonical(sections []Section) []Section {
	out := slices.Clone(sections)
	slices.SortFunc(out, compareSections)
	for i := range out {
		out[i].Ends = slices.Clone(out[i].Ends)
		slices.SortFunc(out[i].Ends, func(a, b End) int { return compareLocations(a.At, b.At) })
		for j := range out[i].Ends {
			e := &out[i].Ends[j]
			if e.In = slices.Clone(e.In); len(e.In) == 0 {
				e.In = nil
			}
			slices.SortFunc(e.In, compareLines)
		}
	}
	return out
}

// TestRoundTrip: what is written reads back as it was, and does not depend on the
// order in which it was given.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sections := drawSections(t)
		var out bytes.Buffer
		if err := Encode(&out, sections); err != nil {
			t.Fatal(err)
		}
		got, err := Decode(bytes.NewReader(out.Bytes()))
		if err != nil {
			t.Fatalf("%v in\n%s", err, &out)
		}
		if diff := cmp.Diff(canonical(sections), got); diff != "" && len(sections) > 0 {
			t.Fatalf("-written +read:\n%s%s", diff, &out)
		}
		shuffled := rapid.Permutation(sections).Draw(t, "order")
		for i := range shuffled {
			shuffled[i].Ends = rapid.Permutation(shuffled[i].Ends).Draw(t, "ends")
		}
		var again bytes.Buffer
		if err := Encode(&again, shuffled); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(out.String(), again.String()); diff != "" {
			t.Fatalf("in another order (-first +second):\n%s", diff)
		}
	})
}

// FuzzDecode: a text is refused with a line number, or means the same when
// it is written and read again.
func FuzzDecode(f *testing.F) {
	for _, file := range []string{"handwritten.sections", "canonical.sections"} {
		text, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Add(header + "\n\nsection a:1 read#\nend \"\\n:2\" write {}#")
	f.Add(header + "\nsection a:1 read\nend b:1 write {} # \u0085\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		sections, err := Decode(strings.NewReader(text))
		if err != nil {
			if !errors.Is(err, ErrInvalid) || sections != nil || !strings.HasPrefix(err.Error(), "invalid atomic sections: line ") || strings.Contains(err.Error(), "\n") {
				t.Fatalf("%v, error %v", sections, err)
			}
			return
		}
		if err := Check(sections); err != nil {
			t.Fatalf("what was read is refused: %v", err)
		}
		var out strings.Builder
		if err := Encode(&out, sections); err != nil {
			t.Fatal(err)
		}
		again, err := Decode(strings.NewReader(out.String()))
		if err != nil {
			t.Fatalf("%v in\n%s", err, out.String())
		}
		if diff := cmp.Diff(canonical(sections), again); diff != "" && len(sections) > 0 {
			t.Fatalf("-first +second:\n%s", diff)
		}
	})
}

func ExampleDecode() {
	sections, err := Decode(strings.NewReader(`heisen sections 1

# The balance is written back as it was read.
section bank.go:31 read
	variable a.balance
	end bank.go:33 write {read}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range sections {
		fmt.Printf("%s: from %v to %v others may only %v\n", s.Variable, s.Entry, s.Ends[0].At, s.Ends[0].Allow)
	}
	// Output: a.balance: from bank.go:31 read to bank.go:33 write others may only {read}
}
