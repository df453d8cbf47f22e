package confirm_test

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/examples/racefuzz"
	"github.com/heisen-go/heisen/internal/confirm/controlled"
	"github.com/heisen-go/heisen/internal/confirm/repro"
	"github.com/heisen-go/heisen/internal/confirm/suspects"
	"github.com/heisen-go/heisen/internal/confirm/trials"
	"github.com/heisen-go/heisen/internal/observed"
	schedules "github.com/heisen-go/heisen/racefuzz"
	"github.com/heisen-go/heisen/report"
	"github.com/heisen-go/heisen/section"
)

// folder is where the programs are.
const folder = "../../examples/racefuzz"

// known returns a program by its name.
func known(t *testing.T, name string) *racefuzz.Program {
	t.Helper()
	for _, p := range racefuzz.Programs() {
		if p.Name == name {
			return &p
		}
	}
	t.Fatalf("there is no program %s", name)
	return nil
}

// lab is a built program with what is needed to survey it and to confirm its suspects.
type lab struct {
	t       *testing.T
	origin  controlled.Origin
	program *controlled.Program
	survey  suspects.Survey
	hunt    trials.Confirmer
}

// open builds the program, which gets the arguments, or the tests of its package.
func open(t *testing.T, p *racefuzz.Program, args ...string) *lab {
	t.Helper()
	if testing.Short() {
		t.Skip("builds instrumented programs")
	}
	l := &lab{t: t}
	l.origin.Verb, l.origin.Packages = "run", []string{folder + "/" + p.Package}
	if p.Test != "" {
		l.origin.Verb = "test"
	}
	programs, with, err := l.origin.Build(t.Context(), t.TempDir())
	if err != nil || len(programs) != 1 {
		t.Fatalf("%d programs, error %v", len(programs), err)
	}
	if l.origin.Folder, err = filepath.Abs("."); err != nil {
		t.Fatal(err)
	}
	l.program = programs[0]
	t.Cleanup(l.program.Close)
	words, err := report.NewResolver()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(words.Close)
	resolver := observed.NewResolver(words, with)
	l.survey = suspects.Survey{Races: true, Deadlocks: true, Limit: time.Minute, Virtual: time.Minute, Resolver: resolver}
	l.hunt = trials.Confirmer{
		From: 1, To: 10, Parallel: runtime.NumCPU(), Limit: time.Minute, Virtual: time.Minute,
		Wait: 100 * time.Millisecond, Resolver: resolver,
	}
	return l.with(p, args...)
}

// with returns a lab of the same program with other arguments.
func (l *lab) with(p *racefuzz.Program, args ...string) *lab {
	other := *l
	program := *l.program
	if p.Test != "" {
		program.Args = append([]string{"-test.run=^" + p.Test + "$"}, args...)
	} else {
		program.Args = slices.Concat(p.Args, args)
	}
	other.program = &program
	return &other
}

// suspects surveys the program. It also returns how the program ends.
func (l *lab) suspects() ([]*suspects.Suspect, *controlled.Execution) {
	l.t.Helper()
	found, err := l.survey.Run(l.t.Context(), l.program)
	if err != nil || len(found.Skipped) > 0 {
		l.t.Fatalf("skipped: %q, error %v", found.Skipped, err)
	}
	return found.Suspects, found.Runs[0].Execution
}

// seeds tries suspects with the seeds from 1 to n.
func (l *lab) seeds(n uint64, found ...*suspects.Suspect) []*trials.Result {
	l.t.Helper()
	l.hunt.To = n
	verdicts, err := l.hunt.Run(l.t.Context(), found)
	if err != nil || len(verdicts) != len(found) {
		l.t.Fatalf("%d verdicts on %d suspects, error %v", len(verdicts), len(found), err)
	}
	return verdicts
}

// placesOf returns a race's places.
func placesOf(truth *racefuzz.Truth, f *report.Finding) (a, b racefuzz.Place) {
	at := func(a *report.Access) racefuzz.Place { return truth.Place(a.Op, a.Stack[0].File, a.Stack[0].Line) }
	return at(&f.Accesses[0]), at(&f.Accesses[1])
}

// between returns the suspected race of two places.
func between(t *testing.T, p *racefuzz.Program, found []*suspects.Suspect, a, b racefuzz.Place) *suspects.Suspect {
	t.Helper()
	truth, err := p.Truth()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range found {
		if x, y := placesOf(truth, &s.Finding); x == a && y == b || x == b && y == a {
			return s
		}
	}
	t.Fatalf("%s: the pair of %q and %q is not suspected", p.Name, a, b)
	return nil
}

// failed counts the executions with an outcome.
func failed(v *trials.Result, class controlled.Class, message string) (n int) {
	for _, e := range v.Endings {
		if e.Outcome.Class == class && e.Outcome.Message == message {
			n += e.Count
		}
	}
	return n
}

// half reports whether a count is within five standard deviations of half of n.
func half(count, n int) bool {
	return math.Abs(float64(count)-float64(n)/2) <= 5*math.Sqrt(float64(n))/2
}

// TestFigure1: statements 5 and 7 meet with every seed, which leads to ERROR1 in half of the
// executions. Statements 1 and 10 never meet.
func TestFigure1(t *testing.T) {
	t.Parallel()
	const seeds = 100
	p := known(t, "figure1")
	l := open(t, p)
	found, _ := l.suspects()
	real := between(t, p, found, "read 5", "write 7")
	apart := between(t, p, found, "write 1", "read 10")
	verdicts := l.seeds(seeds, real, apart)
	if v := verdicts[0]; v.Confirmed != seeds {
		t.Errorf("5 and 7 meet in %d of %d executions", v.Confirmed, seeds)
	}
	if n := failed(verdicts[0], controlled.Panicked, "ERROR1"); !half(n, seeds) || n+failed(verdicts[0], controlled.Passed, "") != seeds {
		t.Errorf("5 and 7: ERROR1 in %d of %d executions; %v", n, seeds, verdicts[0].Endings)
	}
	if v := verdicts[1]; v.Confirmed != 0 {
		t.Errorf("1 and 10 meet in %d executions", v.Confirmed)
	}
}

// TestFigure2: confirming the race does not depend on how many statements come before it.
func TestFigure2(t *testing.T) {
	t.Parallel()
	const seeds = 50
	p := known(t, "figure2")
	l := open(t, p)
	for _, n := range []string{"10", "1000"} {
		l := l.with(p, "-n", n)
		found, _ := l.suspects()
		v := l.seeds(seeds, between(t, p, found, "read 8", "write 10"))[0]
		if v.Confirmed != seeds {
			t.Errorf("-n %s: 8 and 10 meet in %d of %d executions", n, v.Confirmed, seeds)
		}
		if n := failed(v, controlled.Panicked, "ERROR"); !half(n, seeds) || n+failed(v, controlled.Passed, "") != seeds {
			t.Errorf("ERROR in %d of %d executions; %v", n, seeds, v.Endings)
		}
	}
}

// TestTruth: the real races are confirmed and no others, executions end as they can, and end in the
// same way again under their schedules. In the repaired programs nothing is confirmed and nothing
// fails.
func TestTruth(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"cache", "search", "crawler", "linkedlist", "hashset"} {
		t.Run(name, func(t *testing.T) {
			p := known(t, name)
			l := open(t, p)
			testTruth(t, p, l, 10)
			testFixed(t, p, l.with(p, "-fixed"), 3)
		})
	}
}

func testTruth(t *testing.T, p *racefuzz.Program, l *lab, seeds uint64) {
	truth, err := p.Truth()
	if err != nil {
		t.Fatal(err)
	}
	found, survey := l.suspects()
	confirmed, harmful := 0, 0
	for _, v := range l.seeds(seeds, found...) {
		a, b := placesOf(truth, &v.Suspect.Finding)
		pair, races, isKnown := truth.Of(a, b)
		switch {
		case !isKnown:
			t.Errorf("nothing is known of %q and %q", a, b)
		case v.Confirmed > 0 && !races:
			t.Errorf("%q and %q do not race, and are confirmed in %d executions", a, b, v.Confirmed)
		}
		for _, e := range v.Endings {
			checkEnding(t, p, &e)
		}
		if v.Confirmed == 0 {
			continue
		}
		confirmed++
		if v.Report(survey.Outcome).Trials.Harmful {
			harmful++
			if !pair.Harmful {
				t.Errorf("%q and %q do harm: %v", a, b, v.Endings[0].Outcome)
			}
		}
		if x, y := placesOf(truth, &v.Finding); x != a || y != b {
			t.Errorf("%q and %q have met, %q and %q were to", x, y, a, b)
		}
		checkReplay(t, l, v)
	}
	if confirmed == 0 || p.Harm != "" && harmful == 0 {
		t.Errorf("%d of %d suspects are confirmed, %d of them harmful", confirmed, len(found), harmful)
	}
	t.Logf("%d of %d suspects are confirmed, %d of them harmful", confirmed, len(found), harmful)
}

// checkEnding checks that an execution ends in a way that is possible for the program.
func checkEnding(t *testing.T, p *racefuzz.Program, e *trials.Ending) {
	t.Helper()
	printed := string(e.Trial.Execution.Output)
	ok := regexp.MustCompile(`^(?:` + p.Output + `)$`).MatchString(printed)
	if e.Outcome.Class != controlled.Passed {
		ok = p.Harm != "" && regexp.MustCompile(p.Harm).MatchString(printed)
	}
	if !ok {
		t.Errorf("seed %d ends with %v:\n%s", e.Trial.Seed, e.Outcome, printed)
	}
}

// checkReplay checks that its schedule repeats the worst execution of a result, also after the
// schedule was written and read.
func checkReplay(t *testing.T, l *lab, v *trials.Result) *repro.Reproduction {
	t.Helper()
	proof, err := repro.Repeater{Confirmer: &l.hunt}.Reproduce(t.Context(), v, 12)
	if err != nil {
		t.Fatal(err)
	}
	ending := v.Endings[0]
	if !proof.Replayed || !proof.Shrunk {
		t.Errorf("%s, seed %d: replayed %v, shrunk %v", v.Finding.Message, ending.Trial.Seed, proof.Replayed, proof.Shrunk)
	}
	if !proof.Execution.Outcome.Same(ending.Outcome) {
		t.Errorf("the outcome is %v, under the schedule it is %v", ending.Outcome, proof.Execution.Outcome)
	}
	text, read := rewritten(t, l, proof)
	source, restored, err := controlled.Restore(read, l.origin.Folder)
	if err != nil || source.Verb != l.origin.Verb {
		t.Fatalf("%+v, error %v", source, err)
	}
	program := *l.program
	program.Args = source.Args
	plan := controlled.Plan{Schedule: restored, Limit: l.hunt.Limit}
	e, err := program.Execute(t.Context(), plan, l.hunt.Resolver)
	if err != nil {
		t.Fatal(err)
	}
	happened := len(e.Meetings) > 0 || e.Stuck != nil ||
		slices.ContainsFunc(e.Observed, func(f report.Finding) bool { return f.Fingerprint == v.Finding.Fingerprint })
	if e.Hash != read.Hash || e.Steps != read.Steps || e.Diverged > 0 || !e.Outcome.Same(ending.Outcome) || !happened {
		t.Errorf("%s\nbecomes %d steps, hash %x, %d choices not made, %d meetings, %v", text, e.Steps, e.Hash, e.Diverged, len(e.Meetings), e.Outcome)
	}
	return proof
}

// rewritten writes the schedule of a reproduction and reads it again.
func rewritten(t *testing.T, l *lab, proof *repro.Reproduction) (text []byte, read *schedules.Schedule) {
	t.Helper()
	text, err := l.origin.Schedule(l.program, proof.Tests, proof.Schedule, proof.Execution).MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	read = new(schedules.Schedule)
	if err := read.UnmarshalText(text); err != nil {
		t.Fatal(err)
	}
	return text, read
}

// testFixed checks that nothing is confirmed in a repaired program.
func testFixed(t *testing.T, p *racefuzz.Program, l *lab, seeds uint64) {
	found, survey := l.suspects()
	if survey.Outcome.Class != controlled.Passed {
		t.Errorf("-fixed: %v:\n%s", survey.Outcome, survey.Output)
	}
	for _, v := range l.seeds(seeds, found...) {
		if v.Confirmed > 0 {
			t.Errorf("-fixed: %s is confirmed", v.Finding.Message)
		}
		for _, e := range v.Endings {
			if e.Outcome.Class != controlled.Passed {
				t.Errorf("-fixed: seed %d ends with %v:\n%s", e.Trial.Seed, e.Outcome, e.Trial.Execution.Output)
			}
		}
	}
}

// TestHidden: each bug in tests is found separately, with the name of its test.
func TestHidden(t *testing.T) {
	t.Parallel()
	const seeds = 10
	dial, transfer, reserve := known(t, "dial"), known(t, "transfer"), known(t, "reserve")
	all := open(t, &racefuzz.Program{Package: dial.Package, Test: "Test.*"})
	all.survey.Sections, all.survey.Violations = sections(t, reserve), true
	found, _ := all.suspects()
	tests := map[string]heisen.Kind{}
	for _, s := range found {
		tests[s.Tests] = s.Finding.Kind
		if a := s.Finding.Accesses[0]; "^("+a.Test+")$" != s.Tests {
			t.Errorf("%s is seen in %s, and looked for in %s", s.Finding.Message, a.Test, s.Tests)
		}
	}
	want := map[string]heisen.Kind{
		"^(TestDial)$": heisen.PotentialRace, "^(TestTransfer)$": heisen.Deadlock, "^(TestReserve)$": heisen.Atomicity,
	}
	if len(found) != len(want) || !reflect.DeepEqual(tests, want) {
		t.Fatalf("%d suspects: %v, want %v", len(found), tests, want)
	}
	for _, v := range all.seeds(seeds, found...) {
		class, message := controlled.TestFailed, strings.Trim(v.Suspect.Tests, "^()$")
		if v.Suspect.Finding.Kind == heisen.Deadlock {
			class, message = controlled.Deadlocked, "no goroutine can go on"
		}
		if v.Confirmed != seeds || failed(v, class, message) == 0 {
			t.Errorf("%s: confirmed in %d of %d executions: %v", v.Suspect.Tests, v.Confirmed, seeds, v.Endings)
		}
		if v.Confirmed > 0 {
			proof := checkReplay(t, all, v)
			if v.Suspect.Finding.Kind == heisen.Deadlock {
				checkBlocked(t, proof.Execution.Blocked)
			}
		}
	}
	for _, p := range []*racefuzz.Program{dial, transfer, reserve} {
		testFixed(t, p, all.with(p, "-fixed"), 3)
	}
}

// sections reads the sections of a program's package.
func sections(t *testing.T, p *racefuzz.Program) []section.Section {
	t.Helper()
	lines, err := p.Lines()
	if err != nil {
		t.Fatal(err)
	}
	at := func(place racefuzz.Place) section.Location {
		line := lines[place.Mark()]
		file, err := filepath.Abs(folder + "/" + line.File)
		if err != nil {
			t.Fatal(err)
		}
		mode := section.Reads
		if place.Op() == "write" {
			mode = section.Writes
		}
		return section.Location{File: filepath.ToSlash(file), Line: line.Line, Mode: mode}
	}
	return []section.Section{{
		Entry: at(p.Section.Entry), Ends: []section.End{{At: at(p.Section.End), Allow: section.Reads}},
	}}
}

// checkBlocked checks that a deadlock shows where each goroutine waits, and for which one.
func checkBlocked(t *testing.T, blocked []report.Blocked) {
	t.Helper()
	truth, err := known(t, "transfer").Truth()
	if err != nil {
		t.Fatal(err)
	}
	waiting := 0
	wanted, held := map[string]bool{}, map[string]bool{}
	for _, b := range blocked {
		if b.Reason != "sync.Mutex.Lock" {
			continue
		}
		waiting++
		if at := truth.Place("acquire", b.Stack[0].File, b.Stack[0].Line); at != "acquire inner" || b.Test != "TestTransfer" {
			t.Errorf("%s (%s) waits at %q", b.Goroutine, b.Test, at)
		}
		wanted[b.Object] = true
		for _, l := range b.Locks {
			held[l.Lock] = true
		}
	}
	if waiting != 2 || len(wanted) != 2 || !reflect.DeepEqual(wanted, held) {
		t.Errorf("%d goroutines wait for %v and hold %v", waiting, wanted, held)
	}
}

// TestParallel: results do not depend on how many executions run at a time.
func TestParallel(t *testing.T) {
	t.Parallel()
	p := known(t, "linkedlist")
	l := open(t, p)
	found, _ := l.suspects()
	var all [2]string
	for i, parallel := range []int{1, 4} {
		l.hunt.Parallel = parallel
		for _, v := range l.seeds(4, found[:4]...) {
			all[i] += fmt.Sprintf("%s %d of %d\n", v.Finding.Fingerprint, v.Confirmed, v.Tried)
			for _, e := range v.Endings {
				all[i] += fmt.Sprintf("  %v first %d %v %d, seed %d, hash %x\n", e.Outcome, e.First, e.Confirmed, e.Count, e.Trial.Seed, e.Trial.Execution.Hash)
			}
		}
	}
	if all[0] != all[1] {
		t.Errorf("one at a time:\n%sfour at a time:\n%s", all[0], all[1])
	}
}

// TestInterrupted: Run returns the results so far when the context ends.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	l := open(t, known(t, "figure1"))
	found, _ := l.suspects()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	l.hunt.Parallel, l.hunt.To = 1, math.MaxUint64
	tried := 0
	l.hunt.OnTrial = func(*suspects.Suspect, *trials.Trial) {
		if tried++; tried == 3 {
			stop()
		}
	}
	verdicts, err := l.hunt.Run(ctx, found)
	if err != context.Canceled || len(verdicts) != 2 || verdicts[0].Tried+verdicts[1].Tried != 3 {
		t.Errorf("%d verdicts, error %v", len(verdicts), err)
	}
}

// TestPredicted: following the schedule of a prediction confirms it, in both orders and at the
// first attempt. That holds even if random schedules hardly ever lead there, and if goroutines are
// created in another order. A bug that only seems possible is not confirmed, and the result says
// why.
func TestPredicted(t *testing.T) {
	t.Parallel()
	relay, farm, guest := known(t, "relay"), known(t, "farm"), known(t, "guest")
	l := open(t, &racefuzz.Program{Package: relay.Package, Test: "Test.*"})
	l.survey.Predict, l.survey.Races = true, false
	found, _ := l.suspects()
	for _, c := range []struct {
		p       *racefuzz.Program
		a, b    racefuzz.Place
		harm    string
		follow  trials.FollowResult
		at, all int
	}{
		{relay, "write judge", "read arrive", "TestRelay", trials.Followed, 2, 2},
		{farm, "write plan", "read work", "TestFarm", trials.Followed, 2, 2},
		{guest, "write host", "read guest", "", trials.Diverged, 0, 4},
	} {
		v := l.seeds(2, between(t, c.p, found, c.a, c.b))[0]
		if !v.Suspect.Predicted || v.Follow != c.follow || v.Confirmed != c.at || v.Tried != c.all {
			t.Errorf("%s: %q, confirmed in %d of %d executions: %v", c.p.Name, v.Follow, v.Confirmed, v.Tried, v.Endings)
		}
		if c.harm == "" {
			continue
		}
		if failed(v, controlled.TestFailed, c.harm) != 1 || failed(v, controlled.Passed, "") != 1 {
			t.Errorf("%s: %v", c.p.Name, v.Endings)
		}
		proof, err := repro.Repeater{Confirmer: &l.hunt}.Reproduce(t.Context(), v, 10)
		if err != nil || !proof.Replayed {
			t.Fatalf("%s: replayed %v, error %v", c.p.Name, proof.Replayed, err)
		}
		text, read := rewritten(t, l, proof)
		_, schedule, err := controlled.Restore(read, l.origin.Folder)
		if err != nil || !reflect.DeepEqual(schedule.Strategy.Turns, proof.Schedule.Strategy.Turns) {
			t.Errorf("%s: %v, %v from\n%s", c.p.Name, schedule, err, text)
		}
	}
}

// TestLongWitness: a witness is followed from the start, however many events come before the
// predicted bug.
func TestLongWitness(t *testing.T) {
	t.Parallel()
	p := known(t, "far")
	l := open(t, p)
	l.survey.Predict, l.survey.Races, l.survey.Walks = true, false, 2
	found, _ := l.suspects()
	v := l.seeds(1, between(t, p, found, "write far.post", "read far.wait"))[0]
	if v.Follow != trials.Followed || v.Confirmed != 2 || failed(v, controlled.TestFailed, p.Test) != 1 {
		t.Errorf("%q: %v", v.Follow, v.Endings)
	}
}

// TestAgain: an iterator goes down at a node of the tree only if a goroutine has changed the tree within its step, so no
// run of the survey shows the pair. Executions in which other pairs have met do, and lead to it.
func TestAgain(t *testing.T) {
	t.Parallel()
	p := known(t, "treeset")
	truth, err := p.Truth()
	if err != nil {
		t.Fatal(err)
	}
	l := open(t, p)
	l.survey.Walks = 10
	found, _ := l.suspects()
	down := func(s *suspects.Suspect) bool {
		a, b := placesOf(truth, &s.Finding)
		return a == "read tree.down" || b == "read tree.down"
	}
	if slices.ContainsFunc(found, down) {
		t.Error("the survey shows the pair")
	}
	var shown []suspects.Shown
	l.hunt.Parallel = 1
	l.hunt.OnTrial = func(s *suspects.Suspect, trial *trials.Trial) {
		if trial.Confirmed && len(trial.Execution.Meetings) > 0 {
			shown = append(shown, suspects.Shown{Suspect: s, Schedule: trial.Schedule})
		}
	}
	l.seeds(10, found...)
	further, skipped, err := l.survey.Again(t.Context(), shown)
	if err != nil || len(skipped) > 0 {
		t.Fatalf("skipped %q, error %v", skipped, err)
	}
	for _, s := range further {
		if slices.Contains(found, s) {
			t.Errorf("suspected again: %s", s.Finding.Message)
		}
	}
	pair := between(t, p, further, "read tree.down", "write tree.replace.left")
	if v := l.seeds(2, pair)[0]; v.Confirmed == 0 || v.Follow != trials.Followed {
		t.Errorf("confirmed %d of %d, followed: %q", v.Confirmed, v.Tried, v.Follow)
	}
	if again, _, err := l.survey.Again(t.Context(), shown); len(again) > 0 || err != nil {
		t.Errorf("%d new suspects in the same executions, error %v", len(again), err)
	}
}
