package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/heisen-go/heisen/bench/workload"
	"github.com/heisen-go/heisen/tree"
)

// TestEffects: the filter drops nearly all accesses of a loop under the same locks, and all three
// variants report the variable that races.
func TestEffects(t *testing.T) {
	m := workload.Micro{Threads: 4, Iterations: 8000, Locks: 2, Burst: 50, Seed: 1}
	e, err := effects(workload.SharedLocks(m), 1, tree.WithoutBypass()) // which depends on the time that it takes
	if err != nil {
		t.Fatal(err)
	}
	if e[0].skipped != 0 || e[1].skipped < 0.9 || len(e[0].racy)+len(e[1].racy) != 0 {
		t.Errorf("shared locks: %+v", e)
	}
	if e, err = effects(workload.PrivateLocks(m), 1, tree.WithoutBypass()); err != nil {
		t.Fatal(err)
	}
	for i, v := range variants {
		if len(e[i].racy) != 1 || e[i].took == 0 {
			t.Errorf("private locks, %s: %+v", v.name, e[i])
		}
	}
}

// TestFigures checks the form of the tables.
func TestFigures(t *testing.T) {
	var b strings.Builder
	if err := printFigures(&b, 1, 0.001); err != nil {
		t.Fatal(err)
	}
	if rows := strings.Count(b.String(), "\n| "); rows != 2*(1+14) {
		t.Errorf("%d rows in\n%s", rows, &b)
	}
}

// TestPrograms checks the row of a program that is recorded.
func TestPrograms(t *testing.T) {
	if testing.Short() {
		t.Skip("builds an instrumented program")
	}
	var b strings.Builder
	if err := printPrograms(t.Context(), &b, 1, 100_000, regexp.MustCompile("^bank$")); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if len(lines) != 3 || !regexp.MustCompile(`^\| bank +\| +\d{3,} .*\| +1 \| +1 \| +\d \|( +\d+\.\d+ \|){4}$`).MatchString(lines[2]) {
		t.Errorf("got\n%s", &b)
	}
}
