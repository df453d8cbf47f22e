package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadSuppressions(t *testing.T) {
	got, err := ReadSuppressions("s.txt", strings.NewReader(`
# a comment
package example.com/old/...   # rewritten this spring
	function main.(*cache).get # all writers # agree
variable c.hits#off
variable "m[\" # \"]"   # quoted
variable m["x"] # not quoted
`))
	if err != nil {
		t.Fatal(err)
	}
	want := []Suppression{
		{"s.txt", 3, "package", "example.com/old/...", "rewritten this spring"},
		{"s.txt", 4, "function", "main.(*cache).get", "all writers # agree"},
		{"s.txt", 5, "variable", "c.hits", "off"},
		{"s.txt", 6, "variable", `m[" # "]`, "quoted"},
		{"s.txt", 7, "variable", `m["x"]`, "not quoted"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

func TestReadSuppressionsErrors(t *testing.T) {
	for in, want := range map[string]string{
		"\n\nfuncion main.f # typo":        `s.txt:3: "funcion" is none of package, function, variable`,
		"function":                         "s.txt:1: function without a name",
		"function # why":                   "s.txt:1: function without a name",
		`variable "" # why`:                "s.txt:1: variable without a name",
		"function main.f":                  "s.txt:1: no reason: it stands after a # at the end of the line",
		"function main.f #  ":              "s.txt:1: no reason: it stands after a # at the end of the line",
		`variable "x"`:                     "s.txt:1: no reason: it stands after a # at the end of the line",
		`variable "x" y # why`:             `s.txt:1: "y" after the quoted name`,
		"#\n" + strings.Repeat("x", 1<<17): "s.txt:2: a line of more than 65536 bytes",
	} {
		got, err := ReadSuppressions("s.txt", strings.NewReader(in))
		if err == nil || err.Error() != want || got != nil {
			t.Errorf("%.40q: %v, error %v, want %q", in, got, err, want)
		}
	}
}

func TestSuppressionMatches(t *testing.T) {
	at := func(function string) Access {
		return Access{Object: "0xc000", Variable: "c.hits", Stack: []Frame{
			{Func: "sync/atomic.AddInt32", File: "doc.go", Line: 1}, {Func: function, File: "f.go", Line: 1}, {Func: "outer.f", File: "o.go", Line: 2},
		}}
	}
	for _, test := range []struct {
		function    string
		line        string
		want        bool
		description string
	}{
		{"example.com/a/b.f", "package example.com/a/b", true, "the package itself"},
		{"example.com/a/b.f", "package example.com/a", false, "a package above"},
		{"example.com/a/b.f", "package example.com/a/...", true, "a tree above"},
		{"example.com/a/b.f", "package example.com/a/b/...", true, "its own tree"},
		{"example.com/ab.f", "package example.com/a/...", false, "another package that begins so"},
		{"example.com/a/b.(*T[...]).m.func1", "package example.com/a/b", true, "a method's literal"},
		{"gopkg.in/yaml%2ev3.f", "package gopkg.in/yaml.v3", true, "a path with dots"},
		{"main.f", "package main", true, "a program"},
		{"main.f", "package outer", false, "a caller's package"},
		{"main.f", "package sync/atomic", false, "a package that synchronizes"},
		{"main.f", "function main.f", true, "the function itself"},
		{"main.f.func2.1", "function main.f", true, "a literal in a literal"},
		{"main.f.gowrap1", "function main.f", true, "what the compiler makes of a go statement"},
		{"main.ff", "function main.f", false, "another function that begins so"},
		{"main.f", "function outer.f", false, "a caller"},
		{"main.f", "variable c.hits", true, "the expression"},
		{"main.f", "variable 0xc000", true, "the object"},
		{"main.f", "variable hits", false, "a part of the expression"},
	} {
		all, err := ReadSuppressions("s.txt", strings.NewReader(test.line+" # why"))
		if err != nil {
			t.Fatal(err)
		}
		plain := Access{Object: "x", Stack: []Frame{{Func: "elsewhere.f", File: "e.go", Line: 1}}}
		for _, accesses := range [][]Access{{plain, at(test.function)}, {at(test.function), plain}} {
			if got := all[0].Matches(&Finding{Accesses: accesses}); got != test.want {
				t.Errorf("%s: %v, want %v", test.description, got, test.want)
			}
		}
		if all[0].Matches(&Finding{Accesses: []Access{{Object: "x"}}}) {
			t.Errorf("%s: it matches an access of which nothing is known", test.description)
		}
	}
}

// FuzzSuppressions: an accepted line has a name and a reason, and means the same when it is written
// again with its name quoted.
func FuzzSuppressions(f *testing.F) {
	f.Add("package a/... # why\n# no\n\nvariable \"m[\\\"#\\\"]\" # b # c\r\nfunction main.f#x")
	f.Add("function \"main.f")
	f.Add("variable `raw # name` # x")
	f.Fuzz(func(t *testing.T, text string) {
		all, err := ReadSuppressions("s.txt", strings.NewReader(text))
		if err != nil {
			if !strings.HasPrefix(err.Error(), "s.txt:") || all != nil {
				t.Fatalf("%v, error %v", all, err)
			}
			return
		}
		var again strings.Builder
		for _, s := range all {
			if s.Name == "" || s.Reason == "" || strings.Contains(s.Reason, "\n") {
				t.Fatalf("%+v", s)
			}
			fmt.Fprintf(&again, "%s %s # %s\n", s.Kind, strconv.Quote(s.Name), s.Reason)
			s.Matches(&Finding{Accesses: []Access{{Stack: []Frame{{Func: text, File: text}}, Variable: text}}})
		}
		if again.Len() > maxSuppression {
			return // quoting can make a line too long
		}
		repeated, err := ReadSuppressions("s.txt", strings.NewReader(again.String()))
		if err != nil {
			t.Fatalf("%v in %q", err, again.String())
		}
		for i := range all {
			all[i].Line = i + 1
		}
		if !slices.Equal(all, repeated) {
			t.Errorf("%+v\nbecame %+v", all, repeated)
		}
	})
}
