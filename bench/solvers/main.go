// Command solvers compares package mcm/order with SMT solvers on the same formulas: race queries
// about synthetic windows, encoded in full. It also compares all of package mcm with them on the
// same windows. Given traces, it measures mcm.Detector on these. It prints CPU times, which depend
// little on other load.
//
//	go run ./bench/solvers [-z3 z3] [-cvc5 cvc5] [-queries 20] [-timeout 60s] [-seed 1]
//	go run ./bench/solvers trace.heisen...
//
// The first table is about single formulas. "new" is a new Solver for each query, without the time
// to add the formula; "add" is that time, per window; "shared" is one Solver for all queries. Each
// window has two lines: the formula as clauses, as the other solvers get it, and natively, as reads
// and critical sections. The other solvers are a process per query. The time to read the formula is
// measured separately and subtracted. A query that is stopped counts with the time until the
// timeout; the ratios are then lower bounds. The other solvers get the formula over reals, in
// QF_RDL, which Z3 solves faster than the same formula over integers.
//
// The second table is about the pipeline: a Model of the window, which answers at most -pairs
// pairs, evenly chosen, with the default budget. The columns have the number of pairs by the stage
// that answered them; ms is the time of all; MB is the memory of the Model at the end, mostly
// states, points of a grid, and clauses; the ratio compares the means per query. The last columns
// are the number of queries of a Detector, which looks for pairs of places, and its time.
//
// Measurements. All pairs of a window of 1,000 events and 8 threads took 29 ms (mixed) and 25 ms
// (locky), of 10,000 events and 4 threads 0.28 s. Where eight threads share four variables of two
// values (hot), all 16,119 pairs took 1.7 s and 1,000 of them 0.55 s; with four threads, 14,113
// pairs took 1.6 s, half of it for the states of the whole window. With the seeds 2 to 4 it was
// 3.4, 6.0 and 1.7 s, and 1.2, 1.1 and 0.9 s. 300 pairs of such a window of 10,000 events and 8
// threads took 40 ms each (-pairs 300). No query stayed open. For a hot window of 1,000 events, a
// Detector takes 12 ms with 8 threads and 61 ms with 4 threads, as the mean of the seeds 1 to 48.
// The maxima are 85 and 580 ms. On a recording of bench/jobs with 5.9 million events and 3,712
// queries it processed 1,250,000 events a second. Verdicts agree with Z3 for 3,302 queries about
// 2,062 windows of 100 to 1,000 events (HEISEN_MCM_WINDOWS=2960 go test -run TestSMTWindows ./mcm;
// the answers of Z3 are stored).
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/bench/maximal"
	"github.com/heisen-go/heisen/bench/measure"
	"github.com/heisen-go/heisen/bench/results"
	"github.com/heisen-go/heisen/bench/workload"
	"github.com/heisen-go/heisen/internal/processes"
	"github.com/heisen-go/heisen/mcm/order"
)

var windows = []struct {
	name     string
	generate func(workload.Params) []heisen.Record
	events   int
	threads  int
}{
	{"mixed", workload.Mixed, 1000, 4},
	{"mixed", workload.Mixed, 1000, 8},
	{"hot", workload.Hot, 1000, 4},
	{"hot", workload.Hot, 1000, 8},
	{"locky", workload.Locky, 1000, 4},
	{"locky", workload.Locky, 1000, 8},
	{"mixed", workload.Mixed, 10000, 4},
	{"mixed", workload.Mixed, 10000, 8},
	{"hot", workload.Hot, 10000, 8},
}

func main() {
	z3 := flag.String("z3", "", "path of the Z3 binary; if empty, Z3 does not run")
	cvc5 := flag.String("cvc5", "", "path of the cvc5 binary; if empty, cvc5 does not run")
	queries := flag.Int("queries", 20, "queries per window of the first table")
	pairs := flag.Int("pairs", 20000, "pairs per window of the second table")
	timeout := flag.Duration("timeout", 60*time.Second, "CPU time per query of another solver, in whole seconds")
	seed := flag.Uint64("seed", 1, "seed of the windows")
	only := flag.String("only", "", "run only windows whose name, such as hot1000x4, contains this")
	format := results.Flag()
	flag.Parse()
	if err := compare(format.To(os.Stdout), *queries, *pairs, others(*z3, *cvc5), *timeout, *seed, *only); err != nil {
		fmt.Fprintln(os.Stderr, "solvers:", err)
		os.Exit(1)
	}
}

// compare prints both tables, or the table of the given traces.
func compare(w io.Writer, queries, pairs int, others []other, timeout time.Duration, seed uint64, only string) error {
	if err := results.Conditions(w, "./bench/solvers"); err != nil {
		return err
	}
	if flag.NArg() > 0 {
		return traces(w, flag.Args())
	}
	first, second := tables(others)
	for _, window := range windows {
		name := fmt.Sprintf("%s%dx%d", window.name, window.events, window.threads)
		if !strings.Contains(name, only) {
			continue
		}
		fmt.Fprintln(os.Stderr, name)
		records := window.generate(workload.Params{Threads: window.threads, Events: window.events, Seed: seed})
		var times []time.Duration
		if window.name != "hot" || window.events < 10000 { // a formula of three hundred million clauses
			f := maximal.Encode(records)
			pairs := f.Pairs(queries)
			row, verdicts, fresh, err := formula(name, "clauses", f, f.Solver, pairs)
			if err != nil {
				return err
			}
			var more []any
			if more, times, err = runOthers(name, f, pairs, verdicts, fresh, others, timeout); err != nil {
				return err
			}
			first.Add(append(row, more...)...)
			row, native, _, err := formula(name, "native", f, f.Native, pairs)
			if err != nil {
				return err
			}
			first.Add(row...)
			if !slices.Equal(native, verdicts) {
				return fmt.Errorf("%s: %v natively, %v in clauses", name, native, verdicts)
			}
		}
		row, err := pipeline(name, window.threads, records, pairs, times)
		if err != nil {
			return err
		}
		second.Add(row...)
	}
	return errors.Join(first.Print(w), second.Print(w))
}

// tables returns both tables without rows.
func tables(others []other) (first, second *results.Table) {
	columns := []string{"window", "form", "clauses", "atoms",
		"sat", "unsat", "?", "add ms", "new ms", "max ms", "shared ms", "conflicts", "props"}
	for _, o := range others {
		columns = append(columns, o.name+" ms", "start ms", "timeouts", "ratio")
	}
	first = results.NewTable(columns...)
	columns = slices.Concat([]string{"window", "threads", "pairs"}, stageColumns,
		[]string{"ms", "us/pair", "max ms", "MB", "queries", "?", "detect ms"})
	for _, o := range others {
		columns = append(columns, "ratio "+o.name)
	}
	return first, results.NewTable(columns...)
}

// other is another solver.
type other struct {
	name, path string
	args       []string
}

func others(z3, cvc5 string) (list []other) {
	for _, o := range []other{{"z3", z3, []string{"-in"}}, {"cvc5", cvc5, []string{"--lang=smt2", "-q"}}} {
		if o.path != "" {
			list = append(list, o)
		}
	}
	return list
}

// formula returns a row of the first table without the times of other solvers, the results, and the time
// of new Solvers.
func formula(name, how string, f *maximal.Formula, solver func(...order.Option) (*order.Solver, error), pairs [][2]int) (row []any, verdicts []order.Result, fresh time.Duration, err error) {
	var count [3]int
	var adding, most, shared time.Duration
	var conflicts, props int64
	var atoms, clauses int
	for _, p := range pairs {
		start := measure.ProcessorTime()
		s, err := solver()
		if err != nil {
			return nil, nil, 0, err
		}
		begun := measure.ProcessorTime()
		before := s.Stats()
		v, err := s.Solve(context.Background(), f.Race(p[0], p[1]), nil)
		if err != nil {
			return nil, nil, 0, err
		}
		d := measure.ProcessorTime() - begun
		adding += begun - start
		fresh += d
		most = max(most, d)
		st := s.Stats()
		conflicts += st.Conflicts - before.Conflicts
		props += st.Propagations - before.Propagations
		atoms, clauses = st.Atoms, st.Clauses
		count[v]++
		verdicts = append(verdicts, v)
	}
	s, err := solver()
	if err != nil {
		return nil, nil, 0, err
	}
	start := measure.ProcessorTime()
	for i, p := range pairs {
		v, err := s.Solve(context.Background(), f.Race(p[0], p[1]), nil)
		if err != nil {
			return nil, nil, 0, err
		}
		if v != verdicts[i] {
			return nil, nil, 0, fmt.Errorf("%s, records %v: %v from a new solver, %v from a shared one", name, p, verdicts[i], v)
		}
	}
	shared = measure.ProcessorTime() - start
	n := time.Duration(len(pairs))
	return []any{name, how, clauses, atoms, count[order.Sat], count[order.Unsat], count[order.Unknown],
		ms(adding / n), ms(fresh / n), ms(most), ms(shared / n), conflicts / int64(n), props / int64(n)}, verdicts, fresh, nil
}

// runOthers returns the cells of a row with the times of the other solvers, and their means.
func runOthers(name string, f *maximal.Formula, pairs [][2]int, verdicts []order.Result, fresh time.Duration, others []other, timeout time.Duration) (row []any, times []time.Duration, err error) {
	for _, o := range others {
		total, read, late, err := o.solve(name, f, pairs, verdicts, timeout)
		if err != nil {
			return nil, nil, err
		}
		times = append(times, total/time.Duration(len(pairs)))
		row = append(row, ms(total/time.Duration(len(pairs))), ms(read), late, fmt.Sprintf("%.0f", float64(total)/float64(fresh)))
	}
	return row, times, nil
}

// solve runs another solver on the queries of pairs. It returns the time for all queries, the time
// to read a formula, which is not included, and the number of queries without an answer at the
// timeout.
func (o *other) solve(name string, f *maximal.Formula, pairs [][2]int, verdicts []order.Result, timeout time.Duration) (total, read time.Duration, late int, err error) {
	q := f.Problem
	var text bytes.Buffer
	if err := q.WriteSMTLIB(&text); err != nil {
		return 0, 0, 0, err
	}
	// To measure reading without solving, leave out the last command.
	read, _, err = o.run(strings.TrimSuffix(text.String(), "(check-sat)\n"), timeout)
	if errors.Is(err, errLate) {
		n := len(pairs)
		return time.Duration(n) * read, 0, n, nil
	}
	if err != nil {
		return 0, 0, 0, err
	}
	for i, p := range pairs {
		q.Assume = f.Race(p[0], p[1])
		text.Reset()
		if err := q.WriteSMTLIB(&text); err != nil {
			return 0, 0, 0, err
		}
		d, answer, err := o.run(text.String(), timeout)
		switch {
		case errors.Is(err, errLate):
			late++
		case err != nil:
			return 0, 0, 0, err
		case answer == "sat" && verdicts[i] == order.Unsat, answer == "unsat" && verdicts[i] == order.Sat:
			return 0, 0, 0, fmt.Errorf("%s, records %v: %v, but %s says %s", name, p, verdicts[i], o.name, answer)
		}
		total += max(0, d-read)
	}
	return total, read, late, nil
}

// limitReached is the signal SIGXCPU, which ends a process that has used the processor time that it may use.
const limitReached = processes.Signal(24)

// errLate means that a solver has reached the timeout.
var errLate = errors.New("no answer in time")

// run runs the solver on a text and returns the CPU time that it took.
func (o *other) run(text string, timeout time.Duration) (time.Duration, string, error) {
	limit := fmt.Sprintf(`ulimit -t %d; exec "$0" "$@"`, int(timeout.Seconds()))
	cmd := exec.Command("sh", append([]string{"-c", limit, o.path}, o.args...)...)
	cmd.Stdin = strings.NewReader(overReals.Replace(text))
	out, err := cmd.Output()
	if cmd.ProcessState == nil {
		return 0, "", fmt.Errorf("%s: %w", o.path, err)
	}
	used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if by := processes.EndedBy(cmd.ProcessState); by == processes.Kill || by == limitReached {
		return used, "", errLate
	}
	if err != nil {
		return 0, "", fmt.Errorf("%s: %w: %s", o.path, err, out)
	}
	return used, strings.TrimSpace(string(out)), nil
}

var overReals = strings.NewReplacer("QF_IDL", "QF_RDL", " Int)", " Real)")

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
