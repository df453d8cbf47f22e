package words_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/heisen-go/heisen/internal/words"
)

func TestSplit(t *testing.T) {
	for _, test := range []struct {
		line    string
		words   []string
		comment string
		invalid bool
	}{
		{line: ""},
		{line: " \t"},
		{line: "one  two\tthree ", words: []string{"one", "two", "three"}},
		{line: "one # two # three ", words: []string{"one"}, comment: "two # three"},
		{line: "#one", comment: "one"},
		{line: "one#two", words: []string{"one#two"}},
		{line: `"one two" "#" "\n"`, words: []string{"one two", "#", "\n"}},
		{line: `"one`, invalid: true},
		{line: `"one"two`, invalid: true},
	} {
		got, comment, err := words.Split(test.line)
		if !slices.Equal(got, test.words) || comment != test.comment || (err != nil) != test.invalid {
			t.Errorf("%q: %q, %q, %v", test.line, got, comment, err)
		}
	}
}

// FuzzQuote: words that were quoted are the same after they were split.
func FuzzQuote(f *testing.F) {
	f.Add("one", "two words")
	f.Add("#", `"`)
	f.Add("\xff", "\u00a0")
	f.Fuzz(func(t *testing.T, a, b string) {
		line := words.Quote(a) + " " + words.Quote(b)
		got, comment, err := words.Split(line)
		if err != nil || comment != "" || !slices.Equal(got, []string{a, b}) {
			t.Errorf("%q: %q, %q, %v", line, got, comment, err)
		}
		if strings.ContainsAny(line, "\n\r") {
			t.Errorf("%q is more than a line", line)
		}
	})
}
