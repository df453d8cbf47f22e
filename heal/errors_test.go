package heal

import (
	"errors"
	"strings"
	"testing"

	"github.com/heisen-go/heisen"
)

// TestWrongArguments: everything that is not about the graph, or makes no sense, is an error and no panic.
func TestWrongArguments(t *testing.T) {
	g := newGraph(t, 2, [2]int{0, 1})
	access := []Access{{0, false}, {1, true}}
	for name, v := range map[string]Variable{
		"access":         {Accesses: []Access{{2, false}}},
		"negative":       {Accesses: []Access{{-1, false}}},
		"pair":           {Accesses: access, Pairs: []Pair{{0, 2, Shared}}},
		"free pair":      {Accesses: access, Pairs: []Pair{{0, 1, Free}}},
		"unknown mode":   {Accesses: access, Pairs: []Pair{{0, 1, 9}}},
		"no accesses":    {Pairs: []Pair{{0, 1, Shared}}},
		"hold":           {Holds: []Hold{{First: 0, Second: 5, Mode: Shared}}},
		"end of a hold":  {Holds: []Hold{{First: 0, Second: 1, Mode: Shared, Ends: []int{7}}}},
		"call":           {Calls: []Call{{4, Shared}}},
		"mode of a call": {Calls: []Call{{0, Free}}},
	} {
		if _, err := Place(g, v); !errors.Is(err, heisen.ErrOption) {
			t.Errorf("%s: error %v", name, err)
		}
		if _, err := Resolve(t.Context(), []Function{{Graph: g, Variables: map[string]Variable{"x": v}}}); !errors.Is(err, heisen.ErrOption) {
			t.Errorf("%s, Resolve: error %v", name, err)
		}
	}
	for name, f := range map[string]Function{
		"no graph": {Variables: map[string]Variable{"x": {}}},
		"lock":     {Graph: g, Locks: []LockOp{{Node: 2, Lock: "k", Mode: Exclusive}}},
		"mode":     {Graph: g, Locks: []LockOp{{Node: 1, Lock: "k", Mode: Update}}},
		"call":     {Graph: g, Calls: []FunctionCall{{1, []int{1}}}},
	} {
		if _, err := Resolve(t.Context(), []Function{f}); !errors.Is(err, heisen.ErrOption) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// TestWrongProfile: a file that is no profile is an error that says what is wrong.
func TestWrongProfile(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"", "unexpected end"},
		{"{}", `format ""`},
		{`{"format":"heisen profile","version":3}`, "version 3"},
		{`{"format":"heisen profile","version":2,"variables":[{}]}`, "no name"},
		{`{"format":"heisen profile","version":2,"variables":[{"name":"x","pairs":[{"first":{"func":"f"},"second":{"func":"f"},"atomic":"maybe"}]}]}`, `"maybe"`},
		{`{"format":"heisen profile","version":2,"variables":[{"name":"x","pairs":[{"second":{"func":"f"},"atomic":"read"}]}]}`, "pair 1"},
	} {
		_, err := DecodeProfile(strings.NewReader(test.text))
		if !errors.Is(err, ErrProfile) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: error %v, want %q", test.text, err, test.want)
		}
	}
}

// FuzzDecodeProfile: what can be read is written in one way only.
func FuzzDecodeProfile(f *testing.F) {
	f.Add(`{"format":"heisen profile","version":2,"variables":[{"name":"x","locks":["mu"],"pairs":[{"first":{"func":"f","file":"f.go","line":1},"second":{"func":"f","file":"f.go","line":2},"atomic":"read","locks":["mu","?"]}]}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		p, err := DecodeProfile(strings.NewReader(text))
		if err != nil {
			return
		}
		var once, twice strings.Builder
		if err := p.Encode(&once); err != nil {
			t.Fatal(err)
		}
		p, err = DecodeProfile(strings.NewReader(once.String()))
		if err != nil {
			t.Fatalf("%v\n%s", err, &once)
		}
		if err := p.Encode(&twice); err != nil || once.String() != twice.String() {
			t.Errorf("%v\n%s\n%s", err, &once, &twice)
		}
	})
}
