package reformat

import (
	"strings"
	"testing"
)

// TestLike: a file keeps its mark and the ends of its lines, and is formatted only if it was.
func TestLike(t *testing.T) {
	const (
		tidy    = "package p\n\nvar (\n\ta  = 1\n\tbc = 2\n)\n"
		changed = "package p\n\nvar (\n\ta  = 1\n\tbc = 2\n\tdef = 3\n\t\n)\n"
		want    = "package p\n\nvar (\n\ta   = 1\n\tbc  = 2\n\tdef = 3\n)\n"
		untidy  = "package p\nvar  a = 1\n"
		broken  = "package p\n\nvar (\n"
	)
	crlf := func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }
	for _, test := range []struct{ old, changed, want string }{
		{tidy, changed, want},
		{"\ufeff" + tidy, "\ufeff" + changed, "\ufeff" + want},
		{crlf(tidy), crlf(changed), crlf(want)},
		{crlf(tidy), changed, crlf(want)},
		{"\ufeff" + crlf(tidy), "\ufeff" + crlf(changed), "\ufeff" + crlf(want)},
		{untidy, changed, changed},
		{"\ufeff" + untidy, "\ufeff" + changed, "\ufeff" + changed},
		{tidy, broken, broken},
	} {
		if got := string(Like([]byte(test.old), []byte(test.changed))); got != test.want {
			t.Errorf("%q, changed to %q, becomes %q, want %q", test.old, test.changed, got, test.want)
		}
	}
}
