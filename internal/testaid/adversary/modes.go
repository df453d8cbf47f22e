package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/processes"
	"github.com/heisen-go/heisen/internal/testaid/bugfuzz"
	"github.com/heisen-go/heisen/internal/testaid/diagramtest"
	"github.com/heisen-go/heisen/report"
)

// A mode is a way to try the programs of a batch.
type mode struct {
	name string
	// args are the flags of heisen test. Without them, the mode is something else, and does what try says.
	args []string
	// try tries a batch. It is nil for heisen test.
	try func(*tester, context.Context, *mode, *batch) (outcome, error)
	// broken and planted choose the programs.
	broken, planted bool
	// inside keeps out what needs something outside of the program.
	inside bool
	// harmless reports whether a finding is no false alarm.
	harmless func(f *report.Finding, all []report.Finding) bool
	// missing returns what the machine lacks for this mode, if anything.
	missing func() string
}

// noise are the flags that make goroutines wait at accesses.
var noise = []string{"-noise", "random", "-noise-strength", "200", "-noise-wait", "20us", "-noise-budget", "1h"}

// modes are all modes, in the order in which a batch goes through them.
var modes = []mode{
	{name: "plain", try: (*tester).plain},
	{name: "race", try: (*tester).plain, args: []string{"-race"}, missing: func() string { return lacks("gcc", "clang") }},
	{name: "fasttrack", args: []string{"-detect", "fasttrack"}},
	{name: "hb", args: []string{"-detect", "hb"}},
	{name: "leak", args: []string{"-detect", "leak"}},
	{name: "serial", args: []string{"-detect", "serial"}},
	{name: "mcm", args: []string{"-detect", "mcm"}},
	{name: "predict", args: []string{"-predict"}},
	{name: "atomrace", args: slices.Concat([]string{"-detect", "atomrace", "-sections", "none"}, noise)},
	{name: "sections", args: slices.Concat([]string{"-detect", "atomrace"}, noise), harmless: ofSection},
	{name: "broken", args: slices.Concat([]string{"-detect", "atomrace,hb", "-sections", "none"}, noise), broken: true, harmless: confirmed},
	{name: "fuzz", try: (*tester).fuzz},
	{name: "replay", try: (*tester).replay, inside: true},
	{name: "planted", try: (*tester).planted, planted: true, inside: true},
	{name: "arm64", args: []string{"-detect", "fasttrack", "-exec", emulator}, missing: func() string {
		if runtime.GOARCH == "arm64" {
			return "another processor than arm64"
		}
		return lacks(emulator)
	}},
}

// emulator runs programs for linux/arm64.
const emulator = "qemu-aarch64-static"

// lacks returns what to say if the machine has none of some commands.
func lacks(commands ...string) string {
	for _, c := range commands {
		if _, err := exec.LookPath(c); err == nil {
			return ""
		}
	}
	return strings.Join(commands, " or ")
}

// ofSection is about violations of sections that heisen infers from source. A correct program may violate these.
func ofSection(f *report.Finding, _ []report.Finding) bool { return f.Kind == heisen.Atomicity }

// confirmed is about races that a detector of happens-before has found in the same run.
func confirmed(f *report.Finding, all []report.Finding) bool {
	byHB := func(f *report.Finding) bool { return f.Detector == "hb" || slices.Contains(f.Detectors, "hb") }
	return byHB(f) || slices.ContainsFunc(all, func(other report.Finding) bool {
		return byHB(&other) && other.Fingerprint == f.Fingerprint
	})
}

// A tester runs commands on batches.
type tester struct {
	*settings
	outer bugfuzz.Heisen // the command, in a process of its own
	kept  bugfuzz.Heisen // the command in this process, which builds a batch once
}

// newTester builds the command. dir is a folder for what it writes.
func newTester(ctx context.Context, s *settings, dir string) (*tester, error) {
	t := &tester{settings: s}
	here, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	t.outer = bugfuzz.Heisen{Corpus: here, Work: dir}
	if err := t.outer.Build(ctx); err != nil {
		return nil, err
	}
	t.kept = bugfuzz.Heisen{Work: dir}
	return t, t.kept.Keep()
}

// run tries a mode on a batch.
func (t *tester) run(ctx context.Context, m *mode, b *batch) (outcome, error) {
	t.outer.Corpus, t.kept.Corpus = b.dir, b.dir
	try := m.try
	if try == nil {
		try = (*tester).test
	}
	return try(t, ctx, m, b)
}

// plain runs the programs without heisen.
func (t *tester) plain(ctx context.Context, m *mode, b *batch) (o outcome, err error) {
	args := slices.Concat([]string{"test", "-count=1", "-v", "-parallel", "6", "-timeout", "20m"}, m.args, []string{"."})
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = b.dir
	processes.BindGo(cmd)
	if len(m.args) > 0 {
		cmd.Env = append(cmd.Environ(), "CGO_ENABLED=1")
	}
	printed, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return o, err
	}
	o.executions = len(b.programs)
	o.judge(b, cmd.ProcessState.ExitCode(), string(printed), false)
	return o, ctx.Err()
}

// test runs the programs under heisen test.
func (t *tester) test(ctx context.Context, m *mode, b *batch) (o outcome, err error) {
	found := filepath.Join(t.outer.Work, "found.json")
	args := []string{"test", "-count=1", "-v", "-parallel", "6", "-timeout", "20m", "-report", "json:" + found, "-report", "text"}
	if slices.Contains(m.args, "-noise") {
		args = append(args, "-noise-seed", fmt.Sprint(b.programs[0].seed))
	}
	if m.name == "predict" {
		args = append(args, "-schedules", filepath.Join(t.outer.Work, "schedules"))
	}
	var printed bytes.Buffer
	if m.name == "arm64" {
		defer restore("GOARCH", "arm64")()
	}
	status, err := t.outer.Run(ctx, &printed, &printed, append(append(args, m.args...), ".")...)
	if err != nil || ctx.Err() != nil {
		return o, errors.Join(err, ctx.Err())
	}
	findings, err := readFindings(found)
	if err != nil {
		return o, err
	}
	o.executions = len(b.programs)
	if m.broken {
		o.racy = programsOf(findings)
	}
	all := slices.Clone(findings)
	if m.harmless != nil {
		findings = slices.DeleteFunc(findings, func(f report.Finding) bool { return m.harmless(&f, all) })
	}
	o.report(b, findings)
	o.judge(b, status, printed.String(), len(all) > 0)
	return o, nil
}

// restore sets a variable of the environment and returns a function that undoes it.
func restore(key, value string) (undo func()) {
	was, had := os.LookupEnv(key)
	os.Setenv(key, value)
	return func() {
		if had {
			os.Setenv(key, was)
		} else {
			os.Unsetenv(key)
		}
	}
}

// readFindings reads findings from a file, and removes it. It is an error if the diagram of one does not show it.
func readFindings(file string) ([]report.Finding, error) {
	f, err := os.Open(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	defer os.Remove(file)
	defer f.Close()
	found, err := report.ReadJSON(f)
	for i := range found {
		err = errors.Join(err, diagramtest.Check(&found[i]))
	}
	return found, err
}

// fuzz explores each program by itself.
func (t *tester) fuzz(ctx context.Context, m *mode, b *batch) (o outcome, err error) {
	for _, p := range b.programs {
		try, err := t.kept.Fuzz(ctx, ".", p.name(), int(p.seed%1000)*10+1, t.explore)
		if ctx.Err() != nil {
			return o, ctx.Err()
		}
		if err != nil {
			o.wrong = append(o.wrong, failure{Programs: []uint64{p.seed}, Kind: crash, Text: err.Error()})
		}
		o.executions += try.Executions
		o.report(&batch{dir: b.dir, programs: []program{p}}, try.Findings)
	}
	return o, nil
}

// planted explores each program by itself and looks for its bug.
func (t *tester) planted(ctx context.Context, m *mode, b *batch) (o outcome, err error) {
	for _, p := range b.programs {
		h := hunt{Class: p.bug.class, Bug: p.bug.name}
		for i, limit := range bugfuzz.Times(t.search, 16*t.search) {
			found, err := t.hunt(ctx, &p, limit, &o)
			if err != nil {
				return o, err
			}
			if found {
				h.Found, h.Late = i == 0, i > 0
				break
			}
		}
		if !h.Found && !h.Late {
			o.wrong = append(o.wrong, failure{Programs: []uint64{p.seed}, Kind: missed, Text: p.bug.name})
		}
		o.hunts = append(o.hunts, h)
	}
	return o, nil
}

// hunt explores a program for a while and reports whether that has shown its bug.
func (t *tester) hunt(ctx context.Context, p *program, limit time.Duration, o *outcome) (found bool, err error) {
	wrong := func(kind, text string) {
		o.wrong = append(o.wrong, failure{Programs: []uint64{p.seed}, Kind: kind, Text: text})
	}
	try, err := t.kept.Fuzz(ctx, ".", p.name(), int(p.seed%1000)*10+1, limit)
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if err != nil {
		wrong(crash, err.Error())
		return false, nil
	}
	o.executions += try.Executions
	for i := range try.Findings {
		f := &try.Findings[i]
		switch {
		case p.bug.expects(f):
			found = true
			replayed, err := t.kept.Replays(ctx, f)
			if err != nil {
				return found, err
			}
			if !replayed {
				wrong(unlike, describe(f))
			}
		case !p.bug.explains(f):
			wrong(alarm, describe(f))
		}
	}
	return found, nil
}

// strategies are those of the schedules that replay makes.
var strategies = []string{"random-walk", "pct", "pos"}

// replay repeats a schedule of the whole batch until two executions are the same. The first two must be, unless heisen
// says that something else than the schedule may have decided.
func (t *tester) replay(ctx context.Context, m *mode, b *batch) (o outcome, err error) {
	seed := b.programs[0].seed
	schedule := fmt.Sprintf("heisen schedule 1\ncommand test %s\nargs -test.paniconexit0 -test.timeout=0 -test.v\npkgs all\nprocs 4\n"+
		"strategy %s\nseed %d\noutcome passed\nsteps 0\nchoices 0\nend\n", name, strategies[seed%3], seed)
	file := filepath.Join(b.dir, "s.schedule")
	if err := os.WriteFile(file, []byte(schedule), 0o666); err != nil {
		return o, err
	}
	var paces []string
	for range outsideReplays {
		var printed bytes.Buffer
		status, err := t.kept.Run(ctx, &printed, &printed, "replay", "-limit", "10m", file)
		if err != nil || ctx.Err() != nil {
			return o, errors.Join(err, ctx.Err())
		}
		o.executions++
		o.judge(b, status, printed.String(), false)
		last := pace(printed.String())
		if slices.Contains(paces, last) {
			return o, nil
		}
		if paces = append(paces, last); len(paces) > 1 && !dependsOutside.MatchString(printed.String()) {
			break
		}
	}
	o.wrong = append(o.wrong, failure{Programs: b.seeds(), Kind: unlike, Text: strings.Join(paces, ", then ")})
	return o, nil
}

// outsideReplays is how often a batch is repeated that depends on more than its schedule, until two executions are
// the same.
const outsideReplays = 5

// dependsOutside matches what heisen says of an execution whose order something else than the schedule may have
// decided. Input does not: it is there.
var dependsOutside = regexp.MustCompile(`(?m)^heisen: it also depends on (network|system call|signal|cgo|child process)`)

// pace returns what heisen says at the end about an execution: how it ended and how many steps it took.
func pace(printed string) string {
	said := ""
	for line := range strings.Lines(printed) {
		if strings.HasPrefix(line, "heisen: ") && strings.Contains(line, " steps") {
			said = strings.TrimSpace(line)
		}
	}
	return said
}
