package main

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/heisen-go/heisen/bench/download"
	"github.com/heisen-go/heisen/bench/results"
	"github.com/heisen-go/heisen/driver"
	"github.com/heisen-go/heisen/internal/enforce"
)

// workloads is the source of programs with the bugs of table 1 of the paper, and with more to do than those in bugs. They
// end with status 0 if everything went well.
//
//go:embed testdata/workloads
var workloads embed.FS

// workload is a row of table 4.
type workload struct {
	name   string
	what   string
	source string // a folder of workloads, or a module and its version
	tests  string // a folder of workloads that is added to the tests of the module; empty for none

	profile [][]string // arguments of the kinds of runs that are profiled; for a module, of its tests
	run     []string   // of the runs that are measured
}

// table has the rows: the programs of table 1 of the paper, an example of the AtomRace paper, and two modules. The first was
// chosen before anything was measured, because it has benchmarks of its own. The second is a pool of goroutines, the kind of
// module that counts by atomic operations, some of which belong together.
var table = []workload{
	{name: "aget", what: "download of 128 MiB in 8 parts", source: "aget", profile: agetTests},
	{name: "pbzip", what: "compression of 12 MiB", source: "pbzip", profile: small("-n", "20")},
	{name: "nszip", what: "extraction of 8,000 files", source: "nszip", profile: small("-n", "50")},
	{name: "apache", what: "8,000 random requests", source: "apache", profile: small("-n", "200")},
	{name: "spidermonkey", what: "constraint solver", source: "spidermonkey", profile: small("-n", "10")},
	{name: "spidermonkey", what: "null script", source: "spidermonkey", profile: small("-script", "null", "-n", "10"),
		run: []string{"-script", "null", "-n", "20000"}},
	{name: "mysql", what: "oltp with 10,000 rows", source: "mysql", profile: mysqlTests},
	{name: "mysql", what: "reduced tpcc", source: "mysql", profile: mysqlTests, run: []string{"-workload", "tpcc", "-n", "400"}},
	{name: "closer", what: "2,000 sessions", source: "closer", profile: small("-n", "40")},
	{name: "golang-lru", what: "BenchmarkLRU_Rand, BenchmarkLRU_Freq", source: "github.com/hashicorp/golang-lru/v2@v2.0.7", profile: small("."),
		run: benchmark("^BenchmarkLRU_(Rand|Freq)$", "1000000x")},
	{name: "pond", what: "160,000 hashes of 4 KiB by 8 clients", source: "github.com/alitto/pond@v1.9.2", tests: "pond", profile: small("."),
		run: benchmark("^BenchmarkHashes$", "8x")},
}

// benchmark has the arguments of a test program that runs benchmarks.
func benchmark(pattern, times string) []string {
	return []string{"-test.run", "^$", "-test.bench", pattern, "-test.benchtime", times}
}

// small is a single kind of run that is profiled.
func small(args ...string) [][]string { return [][]string{args} }

// agetTests are a test of the log, which is written after each part, and one of parts at the same time. In a run with both at
// the same time, an access may be recorded some time before it happens, so that a log which is right looks interrupted.
var agetTests = [][]string{{"-calm", "-every", "0", "-n", "1"}, {"-every", "0", "-n", "1"}}

// mysqlTests are a test of renewals of the log, by one client after the other, one of transactions at the same time, in
// which the cache changes its size, and one in which two clients renew the log once each while both work. With more
// renewals at the same time, few runs pass. Without the last test nobody comes between a transaction and the next one of
// the same client, so that the lock of the log is held from the one to the other.
var mysqlTests = [][]string{
	{"-calm", "-renew", "10", "-n", "160"}, {"-renew", "0", "-resize", "20", "-n", "160", "-workers", "4"},
	{"-renew", "30", "-resize", "20", "-n", "64", "-workers", "2"},
}

// passing is how many passing runs of each kind are profiled, and tries how many runs there are at most.
const (
	passing = 3
	tries   = 30
)

// patience is how long a run may take before it counts as wrong.
const patience = 2 * time.Minute

// The ways to run a workload in table 4.
const (
	alone    = iota // on one processor
	original        // on all
	enforced4
	table4Ways // the number of ways
)

// overheads prints table 4 of the paper for overlays that heisen heal -enforce makes of passing runs with small inputs:
// each workload without and with the overlay, in turns. only selects rows by their names; it has all if it is empty.
func overheads(ctx context.Context, w io.Writer, dir string, runs, procs int, only []string) error {
	fmt.Fprintf(w, "Medians of %d runs in each way, in turns, with GOMAXPROCS=%d. Locks: variables with a lock; by object: those with one for each object. Speedup: of the original on %[2]d processors over one. P: acquisitions of the program's locks; R and X: acquisitions of inserted locks, Shared or Update, and Exclusive, with those that find the lock held already. Wrong: of these runs, without and with the overlay.\n\n", runs, procs)
	out := results.NewTable("program", "workload", "locks", "by object", "refused", "speedup", "P acq", "R/P", "X/P", "wrong", "overlay", "ms", "overlay", "overhead", "CPU ms", "overlay", "overhead")
	var elapsed, used []float64
	var notes []string
	for i, row := range table {
		if len(only) > 0 && !slices.Contains(only, row.name) {
			continue
		}
		m := &measured{workload: row, dir: filepath.Join(dir, strconv.Itoa(i)), procs: procs}
		err := m.build(ctx)
		if err == nil {
			err = m.measure(ctx, runs)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", row.name, err)
		}
		wall, cpu := m.overhead(m.elapsed), m.overhead(m.used)
		elapsed, used = append(elapsed, wall), append(used, cpu)
		out.Add(row.name, row.what, m.locks, m.objects, m.refused, ratio(median(m.elapsed[alone]), median(m.elapsed[original])),
			m.counts.Program, perProgram(m.counts.Shared+m.counts.Update, m.counts.Program), perProgram(m.counts.Exclusive, m.counts.Program),
			m.wrong[original], m.wrong[enforced4],
			milliseconds(median(m.elapsed[original])), milliseconds(median(m.elapsed[enforced4])), percent(wall),
			milliseconds(median(m.used[original])), milliseconds(median(m.used[enforced4])), percent(cpu))
		for _, note := range m.notes {
			if note = "- " + row.name + ": " + note; !slices.Contains(notes, note) {
				notes = append(notes, note)
			}
		}
	}
	if err := out.Print(w); err != nil {
		return err
	}
	slices.Sort(elapsed)
	slices.Sort(used)
	if n := len(elapsed); n > 0 {
		fmt.Fprintf(w, "Median overhead: %s of elapsed time, %s of processor time.\n\n", percent(elapsed[n/2]), percent(used[n/2]))
	}
	if len(notes) > 0 {
		fmt.Fprintf(w, "Not kept atomic, as heisen says:\n\n%s\n\n", strings.Join(notes, "\n"))
	}
	return publishedTable(w)
}

func percent(f float64) string { return fmt.Sprintf("%.1f %%", 100*f) }

// perProgram returns a number of acquisitions relative to those of the program, or the number itself if there are none.
func perProgram(n, program uint64) any {
	if program == 0 {
		return fmt.Sprintf("%d/0", n)
	}
	return float64(n) / float64(program)
}

// measured is a workload with what was measured.
type measured struct {
	workload
	dir    string // of its module
	procs  int
	exe    [table4Ways]string
	counts enforce.Counts
	// locks has the number of variables with inserted locks, objects those with one for each object, and refused those
	// without one.
	locks, objects, refused int
	notes                   []string

	elapsed, used [table4Ways][]time.Duration
	wrong         [table4Ways]int
}

// overhead returns by how much the overlay makes the median longer.
func (m *measured) overhead(times [table4Ways][]time.Duration) float64 {
	return ratio(median(times[enforced4]), median(times[original])) - 1
}

// module reports whether the workload is a benchmark of a public module.
func (m *measured) module() bool { return strings.Contains(m.source, "@") }

// build fetches the source, profiles it, and builds the program with and without the overlay. It also counts locks.
func (m *measured) build(ctx context.Context) error {
	if err := m.fetch(ctx); err != nil {
		return err
	}
	profile, err := m.profiled(ctx)
	if err != nil {
		return err
	}
	source, err := enforce.Load(ctx, m.dir, nil)
	if err != nil {
		return err
	}
	current, _, err := source.Current(profile)
	if err != nil {
		return err
	}
	plan, err := source.Plan(ctx, current)
	if err != nil {
		return err
	}
	m.locks = len(plan.Variables)
	for _, v := range plan.Variables {
		if v.Objects {
			m.objects++
		}
	}
	for _, r := range plan.Refused {
		if r.Function == "" {
			m.refused++
		}
		m.notes = append(m.notes, r.String())
	}
	folder := filepath.Join(m.dir, "..", filepath.Base(m.dir)+".healed")
	overlay, err := plan.Write(folder)
	if err != nil {
		return err
	}
	counting, err := plan.WriteCounting(folder + ".counting")
	if err != nil {
		return err
	}
	m.exe = [table4Ways]string{alone: m.dir + ".exe", original: m.dir + ".exe", enforced4: m.dir + ".healed.exe"}
	for exe, overlay := range map[string]string{m.exe[original]: "", m.exe[enforced4]: overlay, m.dir + ".counting.exe": counting} {
		args := []string{"build", "-o", exe}
		if m.module() {
			args = []string{"test", "-c", "-vet=off", "-o", exe}
		}
		if overlay != "" {
			args = append(args, "-overlay", overlay)
		}
		if _, err := m.command(ctx, "go", append(args, ".")...); err != nil {
			return err
		}
	}
	counts := m.dir + ".counts"
	variable, err := enforce.NewCounts(counts)
	if err != nil {
		return err
	}
	if _, _, _, err := m.execute(ctx, m.dir+".counting.exe", m.procs, variable); err != nil {
		return err
	}
	m.counts, err = enforce.ReadCounts(counts)
	return err
}

// command runs a command in the folder of the module.
func (m *measured) command(ctx context.Context, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = m.dir, append(os.Environ(), "GOWORK=off")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, &errs)
	}
	return out.Bytes(), nil
}

// fetch makes the folder of the module.
func (m *measured) fetch(ctx context.Context) error {
	if !m.module() {
		sub, err := fs.Sub(workloads, "testdata/workloads/"+m.source)
		if err == nil {
			err = os.CopyFS(m.dir, sub)
		}
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(m.dir, "go.mod"), []byte("module example.com/"+m.source+"\n\ngo 1.25\n"), 0o666)
	}
	if err := download.Module(ctx, m.source, m.dir); err != nil {
		return err
	}
	if m.tests != "" {
		more, err := fs.Sub(workloads, "testdata/workloads/"+m.tests)
		if err == nil {
			err = os.CopyFS(m.dir, more)
		}
		if err != nil {
			return err
		}
	}
	_, err := m.command(ctx, "go", "mod", "tidy")
	return err
}

// profiled returns the profile of passing runs with small inputs.
func (m *measured) profiled(ctx context.Context) (*enforce.Profile, error) {
	args := []string{"heal", "-profile", "passing.profile", "-pkgs", "work"}
	if m.module() {
		args = append(args, "test")
	} else {
		args = append(args, "run", ".")
	}
	for _, kind := range m.profile {
		if err := m.profileRuns(ctx, append(slices.Clone(args), kind...)); err != nil {
			return nil, err
		}
	}
	f, err := os.Open(filepath.Join(m.dir, "passing.profile"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return enforce.DecodeProfile(f)
}

// profileRuns runs heisen until enough runs have passed.
func (m *measured) profileRuns(ctx context.Context, args []string) error {
	passed := 0
	var said bytes.Buffer
	for range tries {
		said.Reset()
		status, err := runIn(ctx, m.dir, io.Discard, &said, args...)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil && status == driver.Clean:
			passed++
		case passed == 0 && status == driver.Misused:
			return fmt.Errorf("%v: %s", args, &said)
		}
		if passed == passing {
			return nil
		}
	}
	return fmt.Errorf("%v: %d of %d runs passed; the last said:\n%s", args, passed, tries, &said)
}

// measure runs the workload in all ways, in turns, in another order each time.
func (m *measured) measure(ctx context.Context, runs int) error {
	for n := range runs {
		for i := range table4Ways {
			way := (i + n) % table4Ways
			procs := m.procs
			if way == alone {
				procs = 1
			}
			right, elapsed, used, err := m.execute(ctx, m.exe[way], procs, "")
			if err != nil {
				return err
			}
			m.elapsed[way], m.used[way] = append(m.elapsed[way], elapsed), append(m.used[way], used)
			if !right {
				m.wrong[way]++
			}
		}
	}
	return nil
}

// execute runs the workload once. It returns whether all went well, and the times.
func (m *measured) execute(ctx context.Context, exe string, procs int, variable string) (right bool, elapsed, used time.Duration, err error) {
	waiting, stop := context.WithTimeout(ctx, patience)
	defer stop()
	cmd := exec.CommandContext(waiting, exe, m.run...)
	cmd.Dir, cmd.Env = m.dir, append(os.Environ(), "GOMAXPROCS="+strconv.Itoa(procs))
	if variable != "" {
		cmd.Env = append(cmd.Env, variable)
	}
	begin := time.Now()
	err = cmd.Run()
	elapsed = time.Since(begin)
	var failed *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return false, 0, 0, ctx.Err()
	case errors.As(err, &failed):
		right, err = false, nil
	case err != nil:
		return false, 0, 0, err
	default:
		right = true
	}
	return right, elapsed, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
}
