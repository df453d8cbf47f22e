package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/heisen-go/heisen/bench/results"
	"github.com/heisen-go/heisen/examples/racefuzz"
	"github.com/heisen-go/heisen/internal/confirm/controlled"
	"github.com/heisen-go/heisen/internal/confirm/suspects"
	"github.com/heisen-go/heisen/internal/confirm/trials"
	"github.com/heisen-go/heisen/internal/observed"
	"github.com/heisen-go/heisen/report"
)

// table is the configuration of the table.
type table struct {
	seeds, passes, plain, parallel int
	programs                       []string // names; all that stand for a row if empty

	dir   string // of binaries
	built map[string]*binaries
	notes []string
	wrong int // pairs that met and do not race, and unknown pairs
}

// binaries are the plain and the instrumented build of a package.
type binaries struct {
	plain    string
	program  *controlled.Program
	resolver *observed.Resolver
}

// measures is a row of the table.
type measures struct {
	hybrid, confirmed, harmful int
	later                      int     // confirmed only by executions in which goroutines pass places
	failed                     int     // plain runs
	hit                        float64 // mean fraction of executions in which a confirmed pair met

	plain, survey, directed time.Duration // means
}

const (
	packages = "github.com/heisen-go/heisen/examples/racefuzz/"
	limit    = time.Minute // of an execution
	walks    = 2           // in which suspects are collected, as heisen fuzz does

	placesPassed = 16 // at most, as in the search of heisen fuzz
	meetingsKept = 16 // executions for each pair, in which further suspects are looked for
)

// published has the figures of the paper's table 1 by row: pairs that the hybrid detector reports, that
// are real, and that were known; pairs that raise an exception in RaceFuzzer, and with the usual
// scheduler; the probability of hitting a race; and the time in RaceFuzzer relative to a plain run.
var published = map[string][7]string{
	"moldyn":     {"59", "2", "0", "0", "0", "1.00", "20.47"},
	"raytracer":  {"2", "2", "2", "0", "0", "1.00", "1.17"},
	"montecarlo": {"5", "1", "1", "0", "0", "1.00", "1.85"},
	"cache4j":    {"18", "2", "-", "1", "0", "1.00", "1.19"},
	"sor":        {"8", "0", "0", "0", "0", "-", "1.44"},
	"hedc":       {"9", "1", "1", "1", "0", "0.86", "1.01"},
	"weblech":    {"27", "2", "1", "1", "1", "0.83", "1.49"},
	"jigsaw":     {"547", "36", "-", "0", "0", "0.90", "-"},
	"vector 1.1": {"9", "9", "9", "0", "0", "0.94", "1.82"},
	"LinkedList": {"12", "12", "-", "5", "0", "0.85", "1.38"},
	"ArrayList":  {"14", "7", "-", "7", "0", "0.55", "1.38"},
	"HashSet":    {"11", "11", "-", "8", "1", "0.54", "1.56"},
	"TreeSet":    {"13", "8", "-", "8", "1", "0.41", "1.41"},
}

// print measures the programs one after the other and prints their rows.
func (t *table) print(ctx context.Context, w io.Writer) error {
	dir, err := os.MkdirTemp("", "racefuzz-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	defer func() {
		for _, b := range t.built {
			b.program.Close()
		}
	}()
	t.dir, t.built = dir, map[string]*binaries{}
	out := results.NewTable("program", "row", "pairs: hybrid", "confirmed", "later", "known", "exceptions: heisen", "plain", "hit probability",
		"ms: plain", "survey", "directed", "directed/plain",
		"published: hybrid", "confirmed", "known", "exceptions", "plain", "hit probability", "directed/plain")
	for _, p := range t.chosen() {
		m, err := t.measure(ctx, &p)
		if err != nil {
			return fmt.Errorf("%s: %w", p.Name, err)
		}
		hit := "-"
		if m.confirmed > 0 {
			hit = fmt.Sprintf("%.2f", m.hit)
		}
		row := []any{p.Name, p.Row, m.hybrid, m.confirmed, m.later, len(p.Races), m.harmful, m.failed, hit,
			ms(m.plain), ms(m.survey), ms(m.directed), float64(m.directed) / float64(m.plain)}
		for _, figure := range published[p.Row] {
			row = append(row, figure)
		}
		out.Add(row...)
	}
	if err := out.Print(w); err != nil {
		return err
	}
	for _, note := range t.notes {
		fmt.Fprintln(w, "- "+note)
	}
	if t.wrong > 0 {
		return fmt.Errorf("%d pairs contradict what is known", t.wrong)
	}
	return nil
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f", float64(d)/float64(time.Millisecond)) }

// chosen returns the programs of the table.
func (t *table) chosen() (all []racefuzz.Program) {
	for _, p := range racefuzz.Programs() {
		if len(t.programs) == 0 && p.Row != "" || slices.Contains(t.programs, p.Name) {
			all = append(all, p)
		}
	}
	return all
}

// build builds the package of the program, once.
func (t *table) build(ctx context.Context, p *racefuzz.Program) (*binaries, error) {
	if b := t.built[p.Package]; b != nil {
		return b, nil
	}
	if p.Test != "" {
		return nil, errors.New("it is a test")
	}
	dir := filepath.Join(t.dir, p.Package)
	if err := os.Mkdir(dir, 0o777); err != nil {
		return nil, err
	}
	b := &binaries{plain: filepath.Join(dir, "plain")}
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", b.plain, packages+p.Package).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go build: %w\n%s", err, out)
	}
	source := controlled.Source{Verb: "run", Packages: []string{packages + p.Package}}
	programs, with, err := source.Build(ctx, dir)
	if err != nil {
		return nil, err
	}
	b.program, b.resolver = programs[0], observed.NewResolver(new(report.Resolver), with)
	t.built[p.Package] = b
	return b, nil
}

// measure measures a row.
func (t *table) measure(ctx context.Context, p *racefuzz.Program) (*measures, error) {
	b, err := t.build(ctx, p)
	if err != nil {
		return nil, err
	}
	program := *b.program
	program.Args = p.Args
	if p.Small != nil {
		program.Args = p.Small
	}
	m := &measures{}
	for range t.plain {
		took, ok, err := run(ctx, b.plain, program.Args)
		if err != nil {
			return nil, err
		}
		m.plain += took / time.Duration(t.plain)
		if !ok {
			m.failed++
		}
	}
	survey := &suspects.Survey{Races: true, Walks: walks, Limit: limit, Resolver: b.resolver}
	found, err := survey.Run(ctx, &program)
	if err != nil {
		return nil, err
	}
	for _, why := range found.Skipped {
		t.note(p, "passed over: %s", why)
	}
	m.hybrid = len(found.Suspects)
	for _, look := range found.Runs {
		m.survey += look.Execution.Took / time.Duration(len(found.Runs))
	}
	var took time.Duration
	var shown meetings
	runs := 0
	hunt := &trials.Confirmer{
		From: 1, To: uint64(t.seeds), Parallel: t.parallel, Limit: limit, Wait: 100 * time.Millisecond, Resolver: b.resolver,
		OnTrial: func(s *suspects.Suspect, trial *trials.Trial) {
			took += trial.Execution.Took
			runs++
			shown.add(s, trial)
		},
	}
	verdicts, err := hunt.Run(ctx, found.Suspects)
	if err != nil {
		return nil, err
	}
	m.directed = took / time.Duration(max(runs, 1))
	verdicts, late, err := t.goOn(ctx, survey, hunt, &shown, verdicts)
	if err != nil {
		return nil, err
	}
	return m, t.judge(p, program.Usual, verdicts, late, m)
}

// goOn makes executions in which goroutines pass some places before they are postponed, -passes of them for each pair that
// has not met. Then it looks for suspects in what all these executions have shown and tries them in the same way,
// until there are no new ones. It returns the verdicts of all pairs, and which of them it has made.
func (t *table) goOn(ctx context.Context, survey *suspects.Survey, hunt *trials.Confirmer, shown *meetings, verdicts []*trials.Result) (all []*trials.Result, late map[*trials.Result]bool, err error) {
	if t.passes == 0 {
		return verdicts, nil, nil
	}
	further := *hunt
	further.To, further.Passes, further.OnTrial = uint64(t.passes), placesPassed, shown.add
	late = map[*trials.Result]bool{}
	var apart []*suspects.Suspect
	for _, v := range verdicts {
		if v.Confirmed > 0 {
			all = append(all, v)
		} else {
			apart = append(apart, v.Suspect)
		}
	}
	for {
		results, err := further.Run(ctx, apart)
		if err != nil {
			return nil, nil, err
		}
		for _, v := range results {
			late[v] = true
		}
		all = append(all, results...)
		if apart, _, err = survey.Again(ctx, shown.take()); err != nil || len(apart) == 0 {
			return all, late, err
		}
	}
}

// meetings collects executions in which a pair has met: for each pair the first ones with different orders of operations.
type meetings struct {
	fresh []suspects.Shown
	known map[*suspects.Suspect][]uint64 // orders
}

// add takes an execution.
func (m *meetings) add(s *suspects.Suspect, t *trials.Trial) {
	order := t.Execution.Order
	if !t.Confirmed || len(t.Execution.Meetings) == 0 || len(m.known[s]) == meetingsKept || slices.Contains(m.known[s], order) {
		return
	}
	if m.known == nil {
		m.known = map[*suspects.Suspect][]uint64{}
	}
	m.known[s] = append(m.known[s], order)
	m.fresh = append(m.fresh, suspects.Shown{Suspect: s, Schedule: t.Schedule})
}

// take returns the executions since the last call.
func (m *meetings) take() []suspects.Shown {
	fresh := m.fresh
	m.fresh = nil
	return fresh
}

// run runs a plain build and reports whether it succeeded.
func run(ctx context.Context, name string, args []string) (took time.Duration, ok bool, err error) {
	start := time.Now()
	err = exec.CommandContext(ctx, name, args...).Run()
	took = time.Since(start)
	var exit *exec.ExitError
	if errors.As(err, &exit) && ctx.Err() == nil {
		return took, false, nil
	}
	return took, true, err
}

// judge counts the confirmed pairs, those of late apart, and records differences from the known races.
func (t *table) judge(p *racefuzz.Program, usual controlled.Outcome, verdicts []*trials.Result, late map[*trials.Result]bool, m *measures) error {
	truth, err := p.Truth()
	if err != nil {
		return err
	}
	judged := map[[2]racefuzz.Place]bool{}
	for _, v := range verdicts {
		place := func(a *report.Access) racefuzz.Place { return truth.Place(a.Op, a.Stack[0].File, a.Stack[0].Line) }
		x, y := place(&v.Suspect.Finding.Accesses[0]), place(&v.Suspect.Finding.Accesses[1])
		pair, races, known := truth.Of(x, y)
		judged[[2]racefuzz.Place{pair.A, pair.B}] = true
		harmful := v.Confirmed > 0 && v.Report(usual).Trials.Harmful
		switch {
		case !known:
			t.wrong++
			t.note(p, "nothing is known of %s and %s", x, y)
		case v.Confirmed > 0 && !races:
			t.wrong++
			t.note(p, "%s and %s do not race, and met in %d executions", x, y, v.Confirmed)
		case harmful && !pair.Harmful:
			t.wrong++
			t.note(p, "%s and %s do no harm, and did: %v", x, y, v.Endings[0].Outcome)
		case races && v.Confirmed == 0:
			t.note(p, "%s and %s race, and did not meet", x, y)
		}
		switch {
		case v.Confirmed > 0 && late[v]:
			m.later++
		case v.Confirmed > 0:
			m.confirmed++
			m.hit += float64(v.Confirmed) / float64(v.Tried)
		}
		if harmful {
			m.harmful++
		}
	}
	for _, pair := range p.Races {
		if !judged[[2]racefuzz.Place{pair.A, pair.B}] {
			t.note(p, "%s and %s race, and were not suspected", pair.A, pair.B)
		}
	}
	m.hit /= float64(max(m.confirmed, 1))
	return nil
}

func (t *table) note(p *racefuzz.Program, format string, args ...any) {
	t.notes = append(t.notes, p.Name+": "+fmt.Sprintf(format, args...))
}

// names parses a comma-separated list of programs.
func names(list string) (all []string, err error) {
	if list == "" {
		return nil, nil
	}
	for _, name := range strings.Split(list, ",") {
		name = strings.TrimSpace(name)
		if !slices.ContainsFunc(racefuzz.Programs(), func(p racefuzz.Program) bool { return p.Name == name && p.Test == "" }) {
			return nil, fmt.Errorf("there is no program %q", name)
		}
		all = append(all, name)
	}
	return all, nil
}
