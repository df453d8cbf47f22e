// Solvers compares mcm/order with SMT solvers on the same formulas: race queries
// about synthetic windows, encoded in full. It prints CPU time per query, for
// other machines or other work on this one do not change it much.
//
//	go run ./bench/solvers [-z3 z3] [-queries 20] [-timeout 60s] [-seed 1]
//
// Columns: new is a new Solver for each query, without the time to tell it the
// formula, which told is, per window; shared is one Solver for all queries. Z3 is
// a process for each query; the time it takes to read the formula is measured by
// itself and subtracted, and of a query that is stopped at the timeout, which is
// wall time, the CPU time until then counts. It gets the formula over reals, in
// QF_RDL, which it answers faster than the same over integers.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/bench/maximal"
	"github.com/heisen-go/heisen/bench/workload"
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
}

func main() {
	z3 := flag.String("z3", "", "the Z3 binary; without it only this module's solver runs")
	queries := flag.Int("queries", 20, "queries per window")
	timeout := flag.Duration("timeout", 60*time.Second, "per query of Z3")
	seed := flag.Uint64("seed", 1, "of the windows")
	only := flag.String("only", "", "windows whose name, like hot1000x4, contains this")
	flag.Parse()
	fmt.Printf("%-14s %8s %8s %4s %4s %4s %9s %9s %9s %9s %9s %9s", "window", "clauses", "atoms",
		"yes", "no", "?", "told ms", "new ms", "max ms", "shared ms", "conflicts", "props")
	if *z3 != "" {
		fmt.Printf(" %9s %9s %8s %8s", "z3 ms", "start ms", "timeouts", "z3/new")
	}
	fmt.Println()
	for _, w := range windows {
		name := fmt.Sprintf("%s%dx%d", w.name, w.events, w.threads)
		if !strings.Contains(name, *only) {
			continue
		}
		f := maximal.Encode(w.generate(workload.Params{Threads: w.threads, Events: w.events, Seed: *seed}))
		if err := compare(name, f, *queries, *z3, *timeout); err != nil {
			fmt.Fprintln(os.Stderr, "solvers:", err)
			os.Exit(1)
		}
	}
}

func compare(name string, f *maximal.Formula, queries int, z3 string, timeout time.Duration) error {
	pairs := f.Pairs(queries)
	var verdicts []order.Verdict
	var count [3]int
	var told, fresh, most, shared time.Duration
	var conflicts, props int64
	var atoms int
	for _, p := range pairs {
		start := cpu()
		s, err := f.Solver()
		if err != nil {
			return err
		}
		begun := cpu()
		before := s.Stats()
		v := s.Solve(f.Race(p[0], p[1]), nil)
		d := cpu() - begun
		told += begun - start
		fresh += d
		most = max(most, d)
		st := s.Stats()
		conflicts += st.Conflicts - before.Conflicts
		props += st.Propagations - before.Propagations
		atoms = st.Atoms
		count[v]++
		verdicts = append(verdicts, v)
	}
	s, err := f.Solver()
	if err != nil {
		return err
	}
	start := cpu()
	for i, p := range pairs {
		if v := s.Solve(f.Race(p[0], p[1]), nil); v != verdicts[i] {
			return fmt.Errorf("%s, records %v: %v from a new solver, %v from a shared one", name, p, verdicts[i], v)
		}
	}
	shared = cpu() - start
	n := time.Duration(len(pairs))
	fmt.Printf("%-14s %8d %8d %4d %4d %4d %9.2f %9.3f %9.3f %9.3f %9d %9d", name, len(f.Clauses), atoms,
		count[order.Yes], count[order.No], count[order.Unknown],
		ms(told/n), ms(fresh/n), ms(most), ms(shared/n), conflicts/int64(n), props/int64(n))
	if z3 == "" {
		fmt.Println()
		return nil
	}
	q := f.Problem
	var text bytes.Buffer
	if err := q.WriteSMTLIB(&text); err != nil {
		return err
	}
	// To read the formula and not to solve it: the same text, without its last
	// command.
	read, _, err := run(z3, strings.TrimSuffix(text.String(), "(check-sat)\n"), timeout)
	if err != nil {
		return err
	}
	var total time.Duration
	late := 0
	for i, p := range pairs {
		q.Assume = f.Race(p[0], p[1])
		text.Reset()
		if err := q.WriteSMTLIB(&text); err != nil {
			return err
		}
		d, answer, err := run(z3, text.String(), timeout)
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			late++
		case err != nil:
			return err
		case answer == "sat" && verdicts[i] == order.No, answer == "unsat" && verdicts[i] == order.Yes:
			return fmt.Errorf("%s, records %v: %v, but Z3 says %s", name, p, verdicts[i], answer)
		}
		total += max(0, d-read)
	}
	fmt.Printf(" %9.1f %9.1f %8d %8.0f\n", ms(total/n), ms(read), late, float64(total)/float64(fresh))
	return nil
}

// run runs Z3 on a text and returns the CPU time that it took.
func run(z3, text string, timeout time.Duration) (time.Duration, string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, z3, "-in")
	cmd.Stdin = strings.NewReader(overReals.Replace(text))
	out, err := cmd.Output()
	if cmd.ProcessState == nil {
		return 0, "", fmt.Errorf("%s: %w", z3, err)
	}
	used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if ctx.Err() != nil {
		return used, "", ctx.Err()
	}
	if err != nil {
		return 0, "", fmt.Errorf("%s: %w: %s", z3, err, out)
	}
	return used, strings.TrimSpace(string(out)), nil
}

var overReals = strings.NewReplacer("QF_IDL", "QF_RDL", " Int)", " Real)")

// cpu is the CPU time of this process, with its garbage collection.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
