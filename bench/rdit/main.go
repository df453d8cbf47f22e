// Command rdit measures the effect of BarrierPairs on public modules (tables 5.3 and 5.4 of the
// thesis "TREE and RDIT").
//
//	go run ./bench/rdit [-dir folder] [-run pattern] [-tables races,costs] [-runs n] [-count n]
//	[-window n] [-truth times]
//
// # Races
//
// Each row of the first table is one run of a client of a module, whose synchronizing packages are
// hidden. The recording contains their events all the same, so the detectors analyze the same run
// three times: complete, without the events of hidden packages, and as -hide records it, with their
// synchronization and with BarrierPairs in the place of their accesses. The true races for FastTrack are all racing pairs of places of the complete run. Those for
// mcm are these and all that mcm predicts in the complete run. Any other report is a false alarm.
//
// If two goroutines increment a variable, happens-before has up to three pairs of places: the first
// write and the second read, both writes, and the first read and the second write. The maximal
// causal model has only the first pair, because the second goroutine writes after it has read what
// the first one wrote. So mcm has fewer pairs for the same races. It also has no pairs whose
// accesses are further apart than its windows, which -window makes longer. Therefore each number of
// pairs is followed by the number of their variables, which can be compared.
//
// The events of hidden packages take room in windows. For the truth the windows of mcm are
// therefore longer, by the factor -truth, so that they reach as far as the others. A pair that mcm
// still misses counts as a false alarm. The last column is the number of queries that mcm left
// open.
//
// Result for clients of seven modules (bbolt, xsync, golang-lru, conc, btree, pond, ristretto;
// -tables races, one run each) with 7 racy variables: without the events of hidden packages FastTrack
// reported all of them and 17 false alarms. As -hide records it, it reported all 7 and no false
// alarm. mcm reported 5, as on the complete recordings, and no false alarm, but 12 without the events
// of hidden packages. The accesses to the variable in btree are further apart than its windows.
//
// # Costs
//
// The second table is the processor time of the client where everything is recorded, where the
// accesses of hidden packages are not, as for mcm, and where hidden packages are compiled without
// hooks, as for all other detectors.
package main

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/bench/download"
	"github.com/heisen-go/heisen/bench/results"
	"github.com/heisen-go/heisen/internal/build"
	"github.com/heisen-go/heisen/internal/private"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/internal/testaid/must"
	"github.com/heisen-go/heisen/mcm"
	"github.com/heisen-go/heisen/vclock"
)

//go:embed testdata/*.go
var clients embed.FS

// subject is a client of a module: its test functions that match run.
type subject struct {
	name            string
	module, version string
	pkg             string   // below the module, where the client is
	hide            []string // patterns
	client          string   // file in testdata that is copied into the package; empty if the module has a client
	run             string
}

var subjects = []subject{
	{"bbolt", "go.etcd.io/bbolt", "v1.5.0", ".", []string{"go.etcd.io/bbolt", "go.etcd.io/bbolt/internal/..."}, "bbolt_client_test.go", "^TestClient$"},
	{"xsync", "github.com/puzpuzpuz/xsync/v4", "v4.5.0", ".", []string{"github.com/puzpuzpuz/xsync/v4"}, "xsync_client_test.go", "^TestClient$"},
	{"golang-lru", "github.com/hashicorp/golang-lru/v2", "v2.0.7", "expirable", []string{"github.com/hashicorp/golang-lru/v2/..."}, "lru_client_test.go", "^TestClient$"},
	{"conc", "github.com/sourcegraph/conc", "v0.3.0", "pool", []string{"github.com/sourcegraph/conc/..."}, "conc_client_test.go", "^TestClient$"},
	{"btree", "github.com/google/btree", "v1.1.3", ".", []string{"github.com/google/btree"}, "btree_client_test.go", "^TestClient$"},
	{"pond", "github.com/alitto/pond/v2", "v2.6.0", ".", []string{"github.com/alitto/pond/v2/internal/future", "github.com/alitto/pond/v2/internal/linkedbuffer"}, "", "^TestResult"},
	{"pond-client", "github.com/alitto/pond/v2", "v2.6.0", ".", []string{"github.com/alitto/pond/v2/..."}, "pond_client_test.go", "^TestClient$"},
	{"ristretto-client", "github.com/dgraph-io/ristretto/v2", "v2.4.0", ".", []string{"github.com/dgraph-io/ristretto/v2", "github.com/dgraph-io/ristretto/v2/z/..."}, "ristretto_client_test.go", "^TestClient$"},
	{"ristretto", "github.com/dgraph-io/ristretto/v2", "v2.4.0", ".", []string{"github.com/dgraph-io/ristretto/v2/z/..."}, "", "^TestCache(Get|Del|Clear|Set|GetTTL|SetDel)$|^TestPolicy"},
}

func main() {
	if err := measure(); err != nil {
		fmt.Fprintln(os.Stderr, "rdit:", err)
		os.Exit(1)
	}
}

func measure() error {
	dir := flag.String("dir", filepath.Join(os.TempDir(), "heisen-rdit"), "keep modules and programs in this `folder`")
	pattern := flag.String("run", "", "only subjects whose name matches this `expression`")
	runs := flag.Int("runs", 3, "runs that a time is the least of")
	truth := flag.Int("truth", 8, "how many `times` as long mcm's windows are for the truth")
	window := flag.Int("window", 2000, "`events` that mcm looks at together")
	count := flag.Int("count", 1, "how often a client does its work where it is timed")
	tables := flag.String("tables", "races,costs", "which of the `tables` to make")
	format := results.Flag()
	flag.Parse()
	chosen, err := regexp.Compile(*pattern)
	if err != nil {
		return err
	}
	if err := private.Folder(*dir); err != nil { // programs in it are run
		return err
	}
	var races, costs [][]any
	var notes []string
	var failed error // a client may fail, because its tests depend on time; the others continue
	for _, s := range subjects {
		if !chosen.MatchString(s.name) {
			continue
		}
		if err := func() error {
			b, err := s.prepare(context.Background(), *dir)
			if err != nil {
				return err
			}
			defer func() { notes = append(notes, b.notes...) }()
			hidden := recorder.Hidden{Packages: b.hidden}
			if strings.Contains(*tables, "races") {
				row, err := b.compare(hidden, *window, *truth)
				if err != nil {
					return err
				}
				races = append(races, append([]any{s.name}, row...))
			}
			if !strings.Contains(*tables, "costs") {
				return nil
			}
			row, err := b.cost(hidden, *runs, *count)
			costs = append(costs, append([]any{s.name}, row...))
			return err
		}(); err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", s.name, err))
		}
	}
	return errors.Join(failed, printTables(format.To(os.Stdout), races, costs, notes))
}

// A program is the test binary of a client with the recorder inside.
type program struct {
	subject
	dir, path, plain string
	without          string // with hidden packages that have no hooks
	hidden           []string
	notes            []string // about the rows
}

// note returns a function that notes an error of the detector of a column.
func (p *program) note(column string) func(error) {
	return func(err error) {
		p.notes = append(p.notes, fmt.Sprintf("%s, %s: races may be missing, since %v", p.name, column, err))
	}
}

func (s subject) prepare(ctx context.Context, dir string) (*program, error) {
	source := filepath.Join(dir, strings.ReplaceAll(s.module+"@"+s.version, "/", "_"))
	if _, err := os.Stat(source); err != nil {
		if err := download.Module(ctx, s.module+"@"+s.version, source); err != nil {
			return nil, err
		}
	}
	p := &program{subject: s, dir: filepath.Join(source, filepath.FromSlash(s.pkg))}
	if s.client != "" {
		text, err := clients.ReadFile("testdata/" + s.client)
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(p.dir, s.client), text, 0o666); err != nil {
			return nil, err
		}
	}
	p.path, p.plain, p.without = filepath.Join(dir, s.name+".test"), filepath.Join(dir, s.name+".plain"), filepath.Join(dir, s.name+".without")
	args := func(out string) []string { return []string{"-c", "-mod=mod", "-vet=off", "-o", out, "."} }
	for _, calls := range []bool{true, false} {
		b, err := build.New(ctx, p.dir, "", build.MainModules)
		if err != nil {
			return nil, err
		}
		if p.hidden, err = b.Hide(ctx, p.dir, calls, s.hide...); err != nil {
			return nil, err
		}
		out := p.without
		if calls {
			out = p.path
		}
		if err := command(p.dir, b.Command(ctx, "test", args(out)...)); err != nil {
			return nil, err
		}
	}
	return p, command(p.dir, exec.CommandContext(ctx, "go", append([]string{"test"}, args(p.plain)...)...))
}

func command(dir string, cmd *exec.Cmd) error {
	var printed bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &printed, &printed
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%w\n%s", err, printed.Bytes())
	}
	return nil
}

// watch runs the client, in the binary path, and detectors on its events. It returns the processor time
// of the client.
func (p *program) watch(path string, hidden *recorder.Hidden, count int, with func(*heisen.Symbols) []heisen.Detector) (events uint64, took time.Duration, err error) {
	l, err := recorder.Listen()
	if err != nil {
		return 0, 0, err
	}
	defer l.Close()
	cmd := exec.Command(path, "-test.run="+p.run, fmt.Sprint("-test.count=", count))
	cmd.Dir = p.dir
	cmd.Env = append(cmd.Environ(), l.Env())
	var printed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &printed, &printed
	if err := cmd.Start(); err != nil {
		return 0, 0, err
	}
	connected, err := l.Accept()
	if err != nil {
		return 0, 0, err
	}
	stream, err := connected.Open(recorder.Want{Hidden: hidden})
	if err != nil {
		return 0, 0, err
	}
	events, err = heisen.Run(context.Background(), stream, with(stream.Symbols())...)
	err = errors.Join(err, connected.Close(0))
	if failed := cmd.Wait(); failed != nil {
		err = errors.Join(err, fmt.Errorf("%w\n%s", failed, printed.Bytes()))
	}
	return events, cpu(cmd), err
}

// cpu returns the processor time of a command that has ended.
func cpu(cmd *exec.Cmd) time.Duration {
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}

// compare returns a row of the table of races.
func (p *program) compare(hidden recorder.Hidden, window, longer int) (row []any, err error) {
	hidden.Show = true
	truth, plain, paired := races{}, races{}, races{}
	predictable, predicted, predictedPaired := races{}, races{}, races{}
	counts := &counter{}
	var refused error
	var predictors []*mcm.Detector
	predict := func(symbols *heisen.Symbols, found races, options ...mcm.DetectorOption) heisen.Detector {
		d, err := mcm.NewDetector(append(options, mcm.WithSymbols(symbols), mcm.WithSink(found.sink(symbols)))...)
		refused = errors.Join(refused, err)
		predictors = append(predictors, d)
		return d
	}
	events, _, err := p.watch(p.path, &hidden, 1, func(symbols *heisen.Symbols) []heisen.Detector {
		return []heisen.Detector{
			&part{Detector: must.Make(vclock.NewHappensBefore(vclock.WithSink(truth.sink(symbols)))), covered: true},
			&part{Detector: must.Make(vclock.NewFastTrack(vclock.WithSink(plain.sink(symbols)))), forgot: p.note("HB, incomplete")},
			&part{Detector: must.Make(vclock.NewFastTrack(vclock.WithSink(paired.sink(symbols)), vclock.WithBarrierPairs(symbols))), pairs: true,
				forgot: p.note("HB, BarrierPairs")},
			&part{Detector: predict(symbols, predictable, mcm.WithWindows(longer*window, longer*window/2),
				mcm.WithOccurrences(1000, 1_000_000), mcm.WithBudget(10_000, 10_000_000)), covered: true},
			&part{Detector: predict(symbols, predicted, mcm.WithWindows(window, window/2))},
			&part{Detector: predict(symbols, predictedPaired, mcm.WithWindows(window, window/2)), pairs: true},
			counts,
		}
	})
	if err := errors.Join(err, refused); err != nil {
		return nil, err
	}
	full := maps.Clone(predictable)
	maps.Copy(predictable, truth)
	unknown := 0
	for _, d := range predictors {
		unknown += d.Stats().Unknown
	}
	return []any{events, counts.covered, counts.pairs,
		truth, plain, plain.beyond(truth), paired, paired.beyond(truth),
		full, predicted, predicted.beyond(predictable),
		predictedPaired, predictedPaired.beyond(predictable), unknown}, nil
}

// cost returns a row of the table of costs: minimum times, and sizes in events.
func (p *program) cost(hidden recorder.Hidden, runs, count int) (row []any, err error) {
	asIs, all, calls, without := time.Hour, time.Hour, time.Hour, time.Hour
	var events, fewer uint64
	none := func(*heisen.Symbols) []heisen.Detector { return nil }
	for range runs {
		plain := exec.Command(p.plain, "-test.run="+p.run, fmt.Sprint("-test.count=", count))
		if err := command(p.dir, plain); err != nil {
			return nil, err
		}
		asIs = min(asIs, cpu(plain))
		for _, of := range []struct {
			path   string
			hidden *recorder.Hidden
			least  *time.Duration
			events *uint64
		}{{p.path, nil, &all, &events}, {p.path, &hidden, &calls, &fewer}, {p.without, nil, &without, new(uint64)}} {
			n, took, err := p.watch(of.path, of.hidden, count, none)
			if err != nil {
				return nil, err
			}
			*of.least, *of.events = min(*of.least, took), n
		}
	}
	ms := func(d time.Duration) string { return fmt.Sprintf("%.0f ms", float64(d)/1e6) }
	more := func(d time.Duration) string {
		return fmt.Sprintf("%s (%+.0f%%)", ms(d), 100*(float64(d)/float64(without)-1))
	}
	return []any{ms(asIs), more(all), events, more(calls), fewer, ms(without)}, nil
}

// races maps pairs of places, each a file and line, to the address of a variable that they access.
type races map[string]heisen.Object

func (r races) sink(symbols *heisen.Symbols) heisen.Sink {
	return func(f heisen.Finding) {
		if f.Kind != heisen.Race {
			return
		}
		pair := []string{place(symbols, f.Accesses[0].Site), place(symbols, f.Accesses[1].Site)}
		slices.Sort(pair)
		r[strings.Join(pair, " ")] = f.Object &^ 7
	}
}

// String returns the number of pairs and of their variables.
func (r races) String() string {
	variables := map[heisen.Object]bool{}
	for _, o := range r {
		variables[o] = true
	}
	return fmt.Sprintf("%d/%d", len(r), len(variables))
}

func place(symbols *heisen.Symbols, site heisen.Site) string {
	return fmt.Sprintf("%x", symbols.Site(site).PC) // the frames may not be known yet
}

func (r races) beyond(truth races) (n int) {
	for pair := range r {
		if _, ok := truth[pair]; !ok {
			n++
		}
	}
	return n
}

// A part is a detector that passes on part of a recording: all of it (covered), without what hidden code
// does, or only without its accesses (pairs).
type part struct {
	heisen.Detector
	covered, pairs bool
	forgot         func(error) // gets an error that says that accesses were forgotten; nil if that is an error of the run
}

// Flush ends the recording. That a detector has forgotten accesses of goroutines that have ended is no
// error, because without the events of hidden code hardly any goroutine is ordered with another.
func (p *part) Flush() error {
	err := p.Detector.Flush()
	if p.forgot != nil && errors.Is(err, vclock.ErrForgotten) && !errors.Is(err, vclock.ErrTooManyThreads) && !errors.Is(err, vclock.ErrEndedThread) {
		p.forgot(err)
		return nil
	}
	return err
}

func (p *part) Handle(e heisen.Event) {
	r := *heisen.AsRecord(e)
	isCall := r.Op == heisen.Hide || r.Op == heisen.Reveal
	if hidden := r.Flags&recorder.HiddenCode != 0; hidden && !p.covered && (!p.pairs || r.Op == heisen.Read || r.Op == heisen.Write) ||
		isCall && !p.pairs {
		return
	}
	r.Flags &^= recorder.HiddenCode
	p.Detector.Handle(r.Event())
}

// A counter counts BarrierPairs.
type counter struct{ covered, pairs int }

func (c *counter) Handle(e heisen.Event) {
	r := heisen.AsRecord(e)
	if r.Flags&recorder.HiddenCode != 0 {
		c.covered++
	}
	if r.Op == heisen.Hide {
		c.pairs++
	}
}

func (*counter) Flush() error { return nil }
