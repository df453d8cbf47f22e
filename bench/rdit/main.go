// Command rdit measures the effect of BarrierPairs on public modules (tables 5.3 and 5.4 of the
// thesis "TREE and RDIT").
//
//	go run ./bench/rdit [-dir folder] [-run pattern] [-tables races,costs] [-runs n] [-count n]
//	[-window n] [-truth times]
//
// With -keep it only writes the hidden calls of each client as traces, for the benchmark of sets of
// objects.
//
// # Races
//
// Each row of the first table is one run of a client of a module, whose synchronizing packages are
// hidden. The recording contains their events all the same, so the detectors analyze the same run
// three times: complete, without the events of hidden packages, and with BarrierPairs in their
// place. The true races for FastTrack are all racing pairs of places of the complete run. Those for
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
// -tables races, one run each) with 7 racy variables and 17 racing pairs of places: without the
// events of hidden packages FastTrack reported 14 of these pairs and 17 false alarms. With
// BarrierPairs it reported 6 pairs of 3 variables and no false alarm. mcm reported 6 of the
// variables, as on the complete recordings, and 12 false alarms. With BarrierPairs it reported 2
// variables and no false alarm. The accesses to the third one, in btree, are further apart than its
// windows; -window 64000 finds them. What both miss lies between calls that can reach the same
// objects, or all objects.
//
// # Costs
//
// The second table is the processor time of the client without the events of hidden packages,
// without sets of objects, with them, and with -hide.once.
//
// Result (-tables costs -count 10, least of three runs on a busy machine, relative to the run
// without sets of objects): btree takes 3.4 times as long, with -hide.once as long; pond 2.8 times,
// with -hide.once 2.2 times; bbolt 17 and 51 % longer; xsync and golang-lru, whose clients do
// little else than call hidden functions, 4.5 to 10 times, with -hide.once 2.3 to 3.4 times.
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
	"github.com/heisen-go/heisen/internal/build"
	"github.com/heisen-go/heisen/internal/private"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/internal/testaid/must"
	"github.com/heisen-go/heisen/mcm"
	"github.com/heisen-go/heisen/trace"
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
	limit := flag.Int("limit", recorder.DefaultReach, "objects that a hidden call reaches at most")
	count := flag.Int("count", 1, "how often a client does its work where it is timed")
	keep := flag.String("keep", "", "write the hidden calls of each client as a trace into this `folder`")
	tables := flag.String("tables", "races,costs", "which of the `tables` to make")
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
			hidden := recorder.Hidden{Packages: b.hidden, Limit: *limit}
			if *keep != "" {
				return b.keep(hidden, filepath.Join(*keep, s.name+".heisen"))
			}
			for _, once := range []bool{false, true} {
				if !strings.Contains(*tables, "races") {
					break
				}
				hidden, name := hidden, s.name
				if hidden.Once = once; once {
					name = "once"
				}
				row, err := b.compare(hidden, *window, *truth)
				if err != nil {
					return err
				}
				races = append(races, append([]any{name}, row...))
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
	if *keep != "" {
		return failed
	}
	return errors.Join(failed, printTables(os.Stdout, races, costs, notes))
}

// A program is the test binary of a client with the recorder inside.
type program struct {
	subject
	dir, path, plain string
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
	b, err := build.New(ctx, p.dir, "", build.MainModules)
	if err != nil {
		return nil, err
	}
	hiding, err := b.Hide(ctx, p.dir, nil, s.hide...)
	if err != nil {
		return nil, err
	}
	p.hidden = hiding.Packages
	p.path, p.plain = filepath.Join(dir, s.name+".test"), filepath.Join(dir, s.name+".plain")
	args := func(out string) []string { return []string{"-c", "-mod=mod", "-vet=off", "-o", out, "."} }
	if err := command(p.dir, b.Command(ctx, "test", args(p.path)...)); err != nil {
		return nil, err
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

// watch runs the client and detectors on its events. It returns the processor time of the client.
func (p *program) watch(hidden *recorder.Hidden, count int, with func(*heisen.Symbols) []heisen.Detector) (events uint64, took time.Duration, err error) {
	l, err := recorder.Listen()
	if err != nil {
		return 0, 0, err
	}
	defer l.Close()
	cmd := exec.Command(p.path, "-test.run="+p.run, fmt.Sprint("-test.count=", count))
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
	if connected.Stripped {
		return 0, 0, recorder.ErrStripped
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
	events, _, err := p.watch(&hidden, 1, func(symbols *heisen.Symbols) []heisen.Detector {
		counts.symbols = symbols
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
	objects := 0.0
	if n := counts.pairs - counts.unbounded; n > 0 {
		objects = float64(counts.objects) / float64(n)
	}
	return []any{events, counts.covered, counts.pairs, 100 * float64(counts.unbounded) / float64(max(counts.pairs, 1)), objects,
		truth, plain, plain.beyond(truth), paired, paired.beyond(truth),
		full, predicted, predicted.beyond(predictable),
		predictedPaired, predictedPaired.beyond(predictable), unknown}, nil
}

// cost returns a row of the table of costs: minimum times, and sizes in events.
func (p *program) cost(hidden recorder.Hidden, runs, count int) (row []any, err error) {
	asIs, all, bare, pairs, once := time.Hour, time.Hour, time.Hour, time.Hour, time.Hour
	var events uint64
	none := func(*heisen.Symbols) []heisen.Detector { return nil }

	for range runs {
		plain := exec.Command(p.plain, "-test.run="+p.run, fmt.Sprint("-test.count=", count))
		if err := command(p.dir, plain); err != nil {
			return nil, err
		}
		asIs = min(asIs, cpu(plain))
		_, took, err := p.watch(nil, count, none)
		if err != nil {
			return nil, err
		}
		all = min(all, took)
		unbounded := hidden
		unbounded.Limit = 1 // no pointer is followed
		if _, took, err = p.watch(&unbounded, count, none); err != nil {
			return nil, err
		}
		bare = min(bare, took)
		if events, took, err = p.watch(&hidden, count, none); err != nil {
			return nil, err
		}
		pairs = min(pairs, took)
		quick := hidden
		quick.Once = true
		if _, took, err = p.watch(&quick, count, none); err != nil {
			return nil, err
		}
		once = min(once, took)
	}
	ms := func(d time.Duration) string { return fmt.Sprintf("%.0f ms", float64(d)/1e6) }
	more := func(d time.Duration) string {
		return fmt.Sprintf("%s (%+.0f%%)", ms(d), 100*(float64(d)/float64(bare)-1))
	}
	return []any{ms(asIs), ms(all), events, ms(bare), more(pairs), more(once)}, nil
}

// keep writes a trace of the first hidden calls with their sets of objects.
func (p *program) keep(hidden recorder.Hidden, name string) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	var w *trace.Writer
	_, _, err = p.watch(&hidden, 1, func(symbols *heisen.Symbols) []heisen.Detector {
		made, wrong := trace.NewWriter(f, symbols)
		if wrong != nil {
			return nil
		}
		w = made
		return []heisen.Detector{&calls{Detector: w}}
	})
	if w != nil {
		err = errors.Join(err, w.Close())
	}
	return errors.Join(err, f.Close())
}

// keptCalls is the number of hidden calls that keep writes.
const keptCalls = 500

// calls is a detector that stores the Hide events of the first hidden calls.
type calls struct {
	heisen.Detector
	seen int
}

func (c *calls) Handle(e heisen.Event) {
	if r := *heisen.AsRecord(e); r.Op == heisen.Hide && c.seen < keptCalls {
		c.seen++
		r.Site, r.Context = 0, 0
		c.Detector.Handle(r.Event())
	}
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

// A part is a detector that passes on part of a recording: with or without the events of hidden
// code, and with or without BarrierPairs.
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
	if r.Flags&recorder.HiddenCode != 0 && !p.covered || !p.pairs && (r.Op == heisen.Hide || r.Op == heisen.Reveal) {
		return
	}
	r.Flags &^= recorder.HiddenCode
	p.Detector.Handle(r.Event())
}

// A counter counts BarrierPairs.
type counter struct {
	symbols                            *heisen.Symbols
	covered, pairs, unbounded, objects int
}

func (c *counter) Handle(e heisen.Event) {
	r := heisen.AsRecord(e)
	if r.Flags&recorder.HiddenCode != 0 {
		c.covered++
	}
	if r.Op == heisen.Hide {
		c.pairs++
		if r.Reach() == 0 {
			c.unbounded++
		} else {
			c.objects += len(c.symbols.Reach(r.Reach()))
		}
	}
}

func (*counter) Flush() error { return nil }
