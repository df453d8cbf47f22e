// Command racefuzz measures how often strategies reproduce the races in Sen: Race Directed Random
// Testing of Concurrent Programs (PLDI 2008). It has two modes. The first runs models of the
// figures:
//
//	go run ./bench/racefuzz -curves [-runs n] [-statements list]
//
// Figure 2 has a race between its statements 8 and 10. There are so many statements before
// statement 8 that an undirected scheduler hardly ever has both pending at the same time (section
// 3.2). The table has, for each number of statements, the fraction of executions in which the two
// met and in which the program failed with ERROR. The seeds determine all numbers (1000 executions
// for each, 100 for the last row):
//
//	                      race-directed         random walk         PCT, depth 1         PCT, depth 2
//	      Figure 1, pair            met  error          met  error           met  error           met  error
//	              (5, 7)          1.000  0.505        0.153  0.893         0.161  0.320         0.163  0.535
//	             (1, 10)          0.000  1.000        0.000  0.893         0.000  0.320         0.000  0.535
//	Figure 2, statements            met  error          met  error           met  error           met  error
//	                  10          1.000  0.487        0.008  0.005         0.161  0.680         0.109  0.302
//	                 100          1.000  0.496        0.000  0.000         0.161  0.680         0.016  0.056
//	                1000          1.000  0.501        0.000  0.000         0.161  0.680         0.004  0.004
//	               10000          1.000  0.479        0.000  0.000         0.161  0.680         0.001  0.000
//	              100000          1.000  0.540        0.000  0.000         0.180  0.620         0.000  0.000
//
// The error of figure 1 is ERROR1, which can happen without a meeting. The error of figure 2 under
// PCT with depth 1 does not depend on the number of statements, because it depends only on which
// thread is first.
//
// The race-directed strategy reproduces both races in every execution, and the error in half of
// them, whatever the number of statements is. A random walk reproduces the race of figure 2 in 0.8
// % of the executions with ten statements, and in none of 1000 executions with a hundred.
//
// The second mode makes table 1 of the paper:
//
//	go run ./bench/racefuzz -table [-seeds n] [-passes n] [-plain n] [-programs list]
//
// Each program in examples/racefuzz stands for a row of that table. The columns are:
//
//   - hybrid: the suspects that the hybrid detector reports in three executions. Each is tried
//     under -seeds seeds.
//   - confirmed: the suspects that met. A meeting of a pair that does not race is an error.
//   - later: those that met only in further executions: -passes of them for each pair, in which goroutines may pass
//     up to 16 places of the pair before they are postponed, and some that follow others to where a pair has met. What
//     all these executions show is suspected and tried, too, until nothing new comes. Such pairs are in this column only.
//   - known: the pairs that are known to race. Below the table are those that did not meet.
//   - exceptions: for heisen the pairs whose meeting makes the program fail; for plain runs the
//     runs that failed.
//   - hit probability: the probability of a meeting in an execution, averaged over the confirmed
//     pairs.
//
// Beside them are the figures of the paper for the Java program of the row, which is larger. The seeds
// determine all of our columns but the times and the plain runs, except for programs that depend on
// more, such as upload. Time in the program is virtual, so a program that waits ends sooner than in a plain run.
//
// bench/RESULTS.md has both tables.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"

	"github.com/heisen-go/heisen/bench/models"
	"github.com/heisen-go/heisen/bench/results"
	"github.com/heisen-go/heisen/racefuzz"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	curves := flag.Bool("curves", false, "print the probabilities of the races of figures 1 and 2, by strategy")
	runs := flag.Int("runs", 1000, "executions for each number, a tenth of it with more than 10000 statements")
	rows := flag.Bool("table", false, "print table 1 of the paper for the programs in examples/racefuzz")
	passes := flag.Int("passes", 0, "table: further executions for each pair that has not met, in which goroutines may pass places before they are postponed")
	seeds := flag.Int("seeds", 10, "table: directed executions for each suspected pair")
	plain := flag.Int("plain", 100, "table: runs of each program as it is")
	parallel := flag.Int("j", 1, "table: directed executions at a time; with more than 1 the times mean little")
	programs := flag.String("programs", "", "table: comma-separated `list` of programs (default: all that stand for a row)")
	statements := flag.String("statements", "10,100,1000,10000,100000", "comma-separated `list` of numbers of statements before statement 8")
	format := results.Flag()
	flag.Parse()
	w := format.To(os.Stdout)
	if flag.NArg() > 0 || min(*runs, *seeds, *plain, *parallel) < 1 || *curves == *rows {
		flag.Usage()
		os.Exit(2)
	}
	var err error
	if *curves {
		err = errors.Join(results.Conditions(w, "./bench/racefuzz"), print(ctx, w, *runs, *statements))
	} else {
		t := &table{seeds: *seeds, passes: *passes, plain: *plain, parallel: *parallel}
		if t.programs, err = names(*programs); err == nil {
			err = errors.Join(results.Conditions(w, "./bench/racefuzz"), t.print(ctx, w))
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "racefuzz:", err)
		os.Exit(1)
	}
}

// print writes the tables of both figures.
func print(ctx context.Context, w io.Writer, runs int, statements string) error {
	var list []int
	for _, s := range strings.Split(statements, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(s))
		if err != nil || n < 2 {
			return fmt.Errorf("%q is no number of statements, of which there are 2 at least", s)
		}
		list = append(list, n)
	}
	fmt.Fprintf(w, "Fractions of %d executions, and of %d with more than 10,000 statements, in which the two statements met, and in which the program failed. The paper says of figure 2, whatever the number of statements: the race-directed strategy makes the race happen with probability 1, and ERROR with probability 0.5.\n\n",
		runs, max(runs/10, 1))
	pairs := newTable("figure 1, pair of statements")
	for _, pair := range [][2]string{{"5", "7"}, {"1", "10"}} {
		cells, err := row(ctx, models.Figure1, 12, pair, runs)
		if err != nil {
			return err
		}
		pairs.Add(append([]any{fmt.Sprintf("%s and %s", pair[0], pair[1])}, cells...)...)
	}
	if err := pairs.Print(w); err != nil {
		return err
	}
	lengths := newTable("figure 2, statements before the race")
	for _, n := range list {
		times := runs
		if n > 10000 {
			times = max(runs/10, 1)
		}
		cells, err := row(ctx, models.Figure2(n), uint64(n)+8, [2]string{"8", "10"}, times)
		if err != nil {
			return err
		}
		lengths.Add(append([]any{n}, cells...)...)
	}
	return lengths.Print(w)
}

// newTable returns a table with two columns for each strategy.
func newTable(first string) *results.Table {
	columns := []string{first}
	for _, strategy := range []string{"race-directed", "random walk", "PCT, depth 1", "PCT, depth 2"} {
		columns = append(columns, strategy+": met", "failed")
	}
	return results.NewTable(columns...)
}

// row executes a program of so many steps under each strategy, and returns two cells for each.
func row(ctx context.Context, program racefuzz.Program, steps uint64, pair [2]string, runs int) (cells []any, err error) {
	directed, err := racefuzz.RaceDirected(racefuzz.WithPostponeLimit(4 * steps))
	if err != nil {
		return nil, err
	}
	strategies := []racefuzz.Strategy{directed, racefuzz.RandomWalk()}
	for depth := 1; depth <= 2; depth++ {
		pct, err := racefuzz.PCT(depth, steps)
		if err != nil {
			return nil, err
		}
		strategies = append(strategies, pct)
	}
	for _, s := range strategies {
		met, failed := 0, 0
		for seed := range uint64(runs) {
			r, err := racefuzz.Run(ctx, program, s, seed, racefuzz.WithStepLimit(4*steps),
				racefuzz.WithRoles(racefuzz.First, pair[0]), racefuzz.WithRoles(racefuzz.Second, pair[1]))
			if err != nil {
				return nil, err
			}
			if len(r.Meetings) > 0 {
				met++
			}
			if r.Outcome == racefuzz.Failed {
				failed++
			}
		}
		for _, n := range []int{met, failed} {
			cells = append(cells, fmt.Sprintf("%.3f", float64(n)/float64(runs)))
		}
	}
	return cells, nil
}
