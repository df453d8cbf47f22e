package main

import (
	"slices"
	"strings"
	"testing"
)

// TestClasses finds the bug of one program of each class, with one seed, and nothing in its fixed twin.
func TestClasses(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds and runs programs")
	}
	var out strings.Builder
	status, err := command(t.Context(), &out, []string{"-quick", "500ms", "-time", "8s", "-run",
		"^Test(Transfer|Catalog|Checks|Queue|Lease|Thumbnails|Ready|Events|Hits|Journal|Withdraw|Conn|Rounds|Labels)$"})
	if status != 0 || err != nil {
		t.Errorf("status %d, error %v\n%s", status, err, &out)
	}
	if !strings.Contains(out.String(), "\n14 programs, 14 of them as they should be; bugs found in 14 of 14 tries") {
		t.Errorf("unexpected summary:\n%s", &out)
	}
}

// TestRacesOfPlainRuns compares heisen fuzz with plain runs of a test that races in each of them.
func TestRacesOfPlainRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds and runs programs")
	}
	var out strings.Builder
	status, err := command(t.Context(), &out, []string{"-races", "-plain", "3", "-time", "500ms", "-run", "^TestErrors"})
	if status != 0 || err != nil {
		t.Errorf("status %d, error %v\n%s", status, err, &out)
	}
	if want := "2 tests and programs, 1 with a race in plain runs; heisen fuzz reports no race in 0 of these; it misses 0 of 1 pairs"; !strings.Contains(out.String(), want) {
		t.Errorf("%q is not in\n%s", want, &out)
	}
}

// TestJudgment says that a result is bad that has too few findings or a wrong one.
func TestJudgment(t *testing.T) {
	for _, test := range []struct {
		r    result
		good bool
	}{
		{result{Tries: 20, Found: 20}, true},
		{result{Tries: 20, Found: 19}, true},
		{result{Tries: 20, Found: 18}, false},
		{result{Tries: 1, Found: 1, Wrong: []wrong{{}}}, false},
		{result{Tries: 1, Found: 1, False: []wrong{{}}}, false},
		{result{Tries: 1, Found: 1, Unplayed: []wrong{{}}}, false},
	} {
		if got := test.r.good(); got != test.good {
			t.Errorf("%+v: good %v", test.r, got)
		}
	}
}

// TestPrintedRaces reads the places of races from a text report, whichever access is first.
func TestPrintedRaces(t *testing.T) {
	const head = "WARNING: DATA RACE\nwrite races with earlier write\n\n"
	const first = "Write by goroutine 22 (TestA) at 0xc000098240:\n  p.f()\n      /src/p/a.go:24\n  sync.g()\n      /go/sync/wg.go:258\n  holding no locks\n\n"
	const second = "Previous atomic read by goroutine 20 at 0xc000098240:\n  p.h()\n      /src/p/b.go:7\n\n"
	const tail = "Goroutine 22 created by goroutine 19 at:\n  p.f()\n      /src/p/a.go:22\n"
	const rule = "==================\n"
	swapped := strings.Replace(second, "Previous atomic read", "Atomic read", 1) + strings.Replace(first, "Write", "Previous write", 1)
	got := printedRaces([]byte("noise at 0x\n" + rule + head + first + second + tail + rule + "ok\n" + rule + head + swapped + tail + rule))
	const want = "p/a.go:24 and p/b.go:7"
	if !slices.Equal(got, []string{want, want}) {
		t.Errorf("%q", got)
	}
}

// TestWrongUsage refuses combinations of flags that mean nothing.
func TestWrongUsage(t *testing.T) {
	for _, args := range [][]string{
		{"-tries", "0"}, {"-goroot"}, {"./..."}, {"-races", "-goroot", "./..."}, {"-run", "("},
	} {
		if status, _ := command(t.Context(), &strings.Builder{}, args); status != 2 {
			t.Errorf("%q: status %d", args, status)
		}
	}
	if status, err := command(t.Context(), &strings.Builder{}, []string{"-class", "mutexes"}); status != 1 || err == nil {
		t.Errorf("an unknown class: status %d, error %v", status, err)
	}
}
