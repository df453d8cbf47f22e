package markdown

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestTable(t *testing.T) {
	table := NewTable("name", "a", "b|c")
	table.Add("first", 1, 2.5)
	table.Add("größer", "12 ms")
	var b strings.Builder
	if err := table.Print(&b); err != nil {
		t.Fatal(err)
	}
	const want = `| name   |     a | b\|c |
|--------|------:|-----:|
| first  |     1 | 2.50 |
| größer | 12 ms |      |

`
	if b.String() != want {
		t.Errorf("got\n%s", &b)
	}
}

func TestConditions(t *testing.T) {
	before := os.Args
	defer func() { os.Args = before }()
	os.Args = []string{"noise", "-runs", "5"}
	day := time.Now().UTC().Format(time.DateOnly)
	var b strings.Builder
	if err := Conditions(&b, "./bench/noise"); err != nil {
		t.Fatal(err)
	}
	form := regexp.MustCompile("^`go run ./bench/noise -runs 5` on \\d+ × .+, \\w+/\\w+, .+, heisen .+, (\\d{4}-\\d\\d-\\d\\d)\\.\n\n$")
	if m := form.FindStringSubmatch(b.String()); m == nil || m[1] < day {
		t.Errorf("got %q", b.String())
	}
}

func TestCommandLine(t *testing.T) {
	const want = `go run ./bench/x -n 1 '-run=^(a|b) ' '' 'it'\''s'`
	if got := CommandLine("./bench/x", "-n", "1", "-run=^(a|b) ", "", "it's"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
