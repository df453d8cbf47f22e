package main

import (
	"context"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/heisen-go/heisen/internal/testaid/bugfuzz"
)

// run runs the command with flags, and returns what it has shown.
func run(t *testing.T, args ...string) *state {
	t.Helper()
	s, err := parse(io.Discard, args)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GODEBUG", "clobberfree=1")
	st, err := s.campaign(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range st.Failures {
		t.Errorf("%s: %s of program %v: %s\n%s", f.Mode, f.Kind, f.Programs, f.Text, f.Again)
	}
	return st
}

// TestSample goes through the modes that need neither much time nor anything that not every machine has. For more programs
// use go run ./internal/testaid/adversary, or .ci/nightly.
func TestSample(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles and runs programs for a minute")
	}
	st := run(t, "-seed", "1", "-n", "10", "-time", "500ms", "-search", "1s",
		"-modes", "plain,fasttrack,hb,leak,atomrace,fuzz,replay,planted")
	for _, name := range []string{"plain", "fasttrack", "hb", "leak", "atomrace", "fuzz", "replay", "planted"} {
		if f := st.of(name); f.Programs != 10 || f.Executions == 0 {
			t.Errorf("%s: %d programs, %d executions", name, f.Programs, f.Executions)
		}
	}
}

// TestOrdered: the detectors that run inside programs report no false alarm about programs that only share variables.
func TestOrdered(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles and runs a thousand programs")
	}
	run(t, "-seed", "1", "-n", "1000", "-batch", "1000", "-fragments", "0", "-modes", "atomrace,fasttrack")
}

// TestBroken compares atomrace with the happens-before detector on the same runs.
func TestBroken(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles and runs hundreds of programs")
	}
	st := run(t, "-seed", "1", "-n", "300", "-batch", "300", "-modes", "broken")
	if f := st.of("broken"); f.Racy < 30 {
		t.Errorf("races found in %d of %d programs with races", f.Racy, f.Programs)
	}
}

// TestAlarms: findings about programs that are held to be correct are failures, of the programs that they are about.
func TestAlarms(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles and runs programs")
	}
	s, err := parse(io.Discard, []string{"-seed", "5", "-n", "1", "-only", "^(bugLateWait|lockedQueue)$"})
	if err != nil {
		t.Fatal(err)
	}
	s.modes = []mode{{name: "fasttrack", args: []string{"-detect", "fasttrack"}, planted: true}}
	st, err := s.campaign(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var about []uint64
	for _, f := range st.Failures {
		if f.Kind != alarm || !strings.Contains(f.Text, "bugLateWait") || !strings.Contains(f.Again, "-seed ") {
			t.Errorf("failure %+v", f)
		}
		about = append(about, f.Programs...)
	}
	slices.Sort(about)
	if about = slices.Compact(about); !slices.Equal(about, []uint64{5}) || !st.failed(0) || st.failed(len(st.Failures)) {
		t.Errorf("failures of the programs %v, want 5", about)
	}
}

// TestReproducible: equal seeds give equal programs, and different seeds different ones.
func TestReproducible(t *testing.T) {
	l := load(t)
	for _, r := range []recipe{{library: l}, {library: l, fragments: 6}, {library: l, fragments: 6, planted: true}} {
		seen := map[string]bool{}
		for seed := range uint64(200) {
			p := r.generate(seed)
			if p.text != r.generate(seed).text {
				t.Fatalf("seed %d gives different programs", seed)
			}
			seen[strings.ReplaceAll(p.text, p.name(), "")] = true
		}
		if len(seen) < 199 {
			t.Errorf("200 seeds give %d programs", len(seen))
		}
	}
}

// TestDropped: programs compile whatever pieces are left out of them.
func TestDropped(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles programs")
	}
	random := rand.New(rand.NewPCG(1, 2))
	var programs []program
	r := recipe{library: load(t), fragments: 6, planted: true}
	for seed := range uint64(60) {
		r.drop = map[int]bool{}
		for n := range r.generate(seed).pieces {
			r.drop[n+1] = random.IntN(4) < int(seed%5)
		}
		programs = append(programs, r.generate(seed))
	}
	b, err := r.write(t.TempDir(), programs)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "vet", ".")
	cmd.Dir = b.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestLeftOut: a fragment that waits for a repair is not called, and the rest of the program stays as it is.
func TestLeftOut(t *testing.T) {
	r := recipe{library: load(t), fragments: 6}
	left := r
	left.without = func(f fragment) bool { return f.outside }
	fewer := 0
	for seed := range uint64(100) {
		all, rest := r.generate(seed).text, left.generate(seed).text
		lines := strings.Split(all, "\n")
		for _, f := range r.library.fragments {
			if f.outside && strings.Contains(rest, f.name+"(") {
				t.Errorf("program %d calls %s", seed, f.name)
			}
		}
		for line := range strings.Lines(rest) {
			if !slices.ContainsFunc(lines, func(l string) bool { return strings.TrimSpace(l) == strings.TrimSpace(line) }) {
				t.Errorf("program %d has another line: %s", seed, line)
			}
		}
		if len(rest) < len(all) {
			fewer++
		}
	}
	if fewer < 20 {
		t.Errorf("%d of 100 programs lack something", fewer)
	}
}

func load(t *testing.T) *library {
	t.Helper()
	l, err := loadLibrary()
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestLibrary: there are fragments of each kind and bugs of each class, and the table of those that wait has no others.
func TestLibrary(t *testing.T) {
	l := load(t)
	classes := map[string]int{}
	for _, b := range l.bugs {
		classes[b.class]++
	}
	for _, class := range []string{"race", "atomicity", "deadlock", "channel", "leak", "misuse"} {
		if classes[class] < 5 {
			t.Errorf("%d bugs of class %s", classes[class], class)
		}
	}
	if len(classes) != 6 || len(l.fragments) < 100 {
		t.Errorf("%d classes, %d fragments", len(classes), len(l.fragments))
	}
	for _, w := range waiting {
		n := 0
		for _, f := range l.fragments {
			if w.names.MatchString(f.name) {
				n++
			}
		}
		for _, b := range l.bugs {
			if w.names.MatchString(b.name) {
				n++
			}
		}
		if n == 0 || w.reason == "" || len(w.modes) == 0 {
			t.Errorf("%v matches %d fragments and bugs", w.names, n)
		}
		for _, name := range w.modes {
			if _, err := selectModes(name); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestJudge attributes what a test binary prints to programs.
func TestJudge(t *testing.T) {
	b := &batch{programs: []program{{seed: 7}, {seed: 8}}}
	const passed = "result TestP7 3\nresult TestP8 4\nPASS\n"
	for _, test := range []struct {
		what, printed string
		status        int
		findings      bool
		programs      []uint64 // nil if nothing is wrong
	}{
		{"passed", passed, 0, false, nil},
		{"a failed test", "    run.go:5: got 1\n--- FAIL: TestP8 (0.1s)\n", 1, false, []uint64{8}},
		{"a subtest", "    --- FAIL: TestP7/sub (0.1s)\n", 1, false, []uint64{7}},
		{"a signal", "signal: segmentation fault\n", 1, false, []uint64{7, 8}},
		{"findings", "  main.f()\n      /a/b.go:5\n      _testmain.go:8\n    b.go:6: a log\n    testing.go:17: race detected during execution of test\n--- FAIL: TestP7 (0.1s)\n", 66, true, nil},
		{"findings and a failure", "    run.go:5: wrong: got 1\n--- FAIL: TestP7 (0.1s)\n", 66, true, []uint64{7}},
		{"findings and a panic", "panic: x\n", 2, true, []uint64{7, 8}},
	} {
		var o outcome
		o.judge(b, test.status, test.printed, test.findings)
		var got []uint64
		for _, f := range o.wrong {
			got = append(got, f.Programs...)
		}
		if !slices.Equal(got, test.programs) {
			t.Errorf("%s: failures of %v, want %v", test.what, got, test.programs)
		}
	}
	var o outcome
	o.judge(b, 0, passed, false)
	o.compare(b, map[uint64]string{7: "3", 8: "5"})
	if len(o.wrong) != 1 || o.wrong[0].Kind != changed || o.wrong[0].Programs[0] != 8 {
		t.Errorf("changed results: %+v", o.wrong)
	}
}

// TestState: the command goes on where it stopped, also after it has died in a mode, and then gives the blame to the mode.
func TestState(t *testing.T) {
	file := filepath.Join(t.TempDir(), "folder", "state")
	calls := 0
	die := true
	s := &settings{state: file, limit: 1 << 40, programs: 4, batch: 2, only: new(regexp.Regexp), library: load(t), progress: io.Discard}
	count := func(_ *tester, _ context.Context, _ *mode, b *batch) (outcome, error) {
		calls++
		return outcome{executions: 1}, nil
	}
	s.modes = []mode{{name: "plain", try: count}, {name: "fuzz", try: func(*tester, context.Context, *mode, *batch) (outcome, error) {
		if die {
			panic("death")
		}
		return outcome{executions: 1}, nil
	}}}
	tester := tester{settings: s, outer: bugfuzz.Heisen{Work: t.TempDir()}}
	campaign := func() (st *state) {
		defer func() { recover() }()
		st, err := tester.campaign(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return st
	}
	for range 2 {
		if campaign() != nil {
			t.Fatal("the campaign did not die")
		}
	}
	if calls != 1 {
		t.Errorf("a mode that was done ran %d times", calls)
	}
	die = false
	st := campaign()
	if st.Next != 5 || st.of("plain").Programs != 4 || st.of("fuzz").Programs != 4 || st.of("fuzz").Failures[crash] != 1 {
		t.Errorf("state %+v\n%s", st, st)
	}
	if st := campaign(); st.Next != 9 || st.of("plain").Executions != 4 {
		t.Errorf("the next call: %s", st)
	}
	if _, err := os.Stat(file + ".new"); err == nil {
		t.Error("a temporary file is left")
	}
}
