package build

import (
	"slices"
	"testing"
)

func TestWords(t *testing.T) {
	for _, test := range []struct {
		list string
		want []string
	}{
		{"", nil},
		{" \t\n", nil},
		{"-a", []string{"-a"}},
		{"  -a   -b=c\t-d\n", []string{"-a", "-b=c", "-d"}},
		{`'-ldflags=-s -w' "-tags=it's" x`, []string{"-ldflags=-s -w", "-tags=it's", "x"}},
		{`'' "" x'y z'`, []string{"", "", "x'y", "z'"}},
		{`'a''b'`, []string{"a", "b"}},
	} {
		if got, err := Words(test.list); err != nil || !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, error %v, want %q", test.list, got, err, test.want)
		}
	}
	for _, list := range []string{"'", `a "b`, `'a"`} {
		if got, err := Words(list); err == nil {
			t.Errorf("%s: %q, want an error", list, got)
		}
	}
}

func TestJoinWords(t *testing.T) {
	words := []string{"/a b/heisen", "", "it's", `say "x"`, "plain", "\ttab", "a'b c"}
	list, err := joinWords(words)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Words(list); err != nil || !slices.Equal(got, words) {
		t.Errorf("%s: %q, error %v", list, got, err)
	}
	if list, err := joinWords([]string{`it's "x"`}); err == nil {
		t.Errorf("%s, want an error", list)
	}
}

func TestPerPackage(t *testing.T) {
	for _, test := range []struct{ value, pattern, flags string }{
		{"", "", ""},
		{"-N -l", "", "-N -l"},
		{" -d=x=y", "", "-d=x=y"},
		{"all=-N -l", "all", "-N -l"},
		{"./x/...=", "./x/...", ""},
	} {
		pattern, flags, err := perPackage(test.value)
		if err != nil || pattern != test.pattern || flags != test.flags {
			t.Errorf("%s: %q, %q, error %v", test.value, pattern, flags, err)
		}
	}
	for _, value := range []string{"x", "=-N", "'x'=-N"} {
		if pattern, _, err := perPackage(value); err == nil {
			t.Errorf("%s: pattern %q, want an error", value, pattern)
		}
	}
}
