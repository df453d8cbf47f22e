package main

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

// printed is what go test -race prints about six packages.
const printed = `go: downloading example.com/d v1.0.0
ok  	example.com/m/a	0.012s
?   	example.com/m/none	[no test files]
	example.com/m/bare		coverage: 0.0% of statements
==================
WARNING: DATA RACE
Read at 0x00c000012345 by goroutine 8:
==================
--- FAIL: TestRace (0.00s)
    --- FAIL: TestRace/sub (0.00s)
    testing.go:1712: race detected during execution of test
--- FAIL: TestOther (1.50s)
FAIL
FAIL	example.com/m/b	1.530s
panic: test timed out after 10m0s
FAIL	example.com/m/c	600.01s
ok  	example.com/m/d	0.1s [no tests to run]
FAIL	example.com/m/e [build failed]
FAIL
`

func TestParse(t *testing.T) {
	o, err := parse([]byte(printed))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"example.com/m/b.TestOther", "example.com/m/b.TestRace", "example.com/m/c", "example.com/m/e"}
	if got := slices.Sorted(maps.Keys(o.failed)); !slices.Equal(got, want) {
		t.Errorf("failed %v, want %v", got, want)
	}
	if o.packages != 5 || o.races != 1 {
		t.Errorf("%d packages and %d races, want 5 and 1", o.packages, o.races)
	}
	if _, err := parse([]byte("go: cannot find main module\n")); err == nil {
		t.Error("no package is no error")
	}
}

// TestFailures: a test that fails with one tool only, or more often, can be seen.
func TestFailures(t *testing.T) {
	run := func(failed ...string) *outcome {
		o := &outcome{failed: map[string]bool{}, wall: time.Duration(len(failed)) * time.Second}
		for _, f := range failed {
			o.failed[f] = true
		}
		return o
	}
	a := &side{name: "-race", runs: []*outcome{run("p.A", "p.B"), run("p.A"), run()}}
	b := &side{name: "heisen", runs: []*outcome{run("p.A"), run("p.A", "q"), run("p.A")}}
	want := `- p.A failed in 2 of 3 runs with -race, in 3 of 3 with heisen
- p.B failed in 1 of 3 runs with -race, in 0 of 3 with heisen
- q failed in 0 of 3 runs with -race, in 1 of 3 with heisen`
	if got := strings.Join(failures(a, b), "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if a.wall() != 1 {
		t.Errorf("the median is %v s, not 1", a.wall())
	}
}

// TestList: each module has a path and a version, and only one row.
func TestList(t *testing.T) {
	if len(small) != 16 || len(large) != 4 {
		t.Errorf("%d small and %d large modules, want 16 and 4", len(small), len(large))
	}
	seen := map[string]bool{}
	for _, m := range slices.Concat(small, large) {
		if path, version, ok := strings.Cut(m.path, "@"); !ok || version == "" || seen[path] {
			t.Errorf("bad entry %q", m.path)
		} else {
			seen[path] = true
		}
	}
}
