// Command strategies compares the strategies of heisen fuzz, each alone, with the default of heisen fuzz,
// which tries suspects and then searches with all of them. The programs are those of package corpus, each
// of which has one bug.
//
//	go run ./bench/strategies [-n 200] [-times list] [-class list] [-run regexp]
//
// A strategy alone executes each program -n times, with the seeds from 1 on. The first table has the
// executions per second, all programs together and without the time for the build; the bugs that have
// happened after 1, 10, 50 and -n executions; and how many executions it took until a bug happened, the
// median of the bugs that did, also as time. The second table has the bugs that heisen fuzz finds with
// the values of -times for its flag -time, and its executions per second.
//
// Both are made in one run, program by program, so that other load on the machine concerns all alike.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/heisen-go/heisen/bench/results"
	"github.com/heisen-go/heisen/corpus"
	"github.com/heisen-go/heisen/internal/testaid/bugfuzz"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var c comparison
	flag.IntVar(&c.executions, "n", 200, "`number` of executions with each strategy")
	times := flag.String("times", "250ms,1s,2s,5s,10s", "increasing comma-separated `list` of values for the flag -time of heisen fuzz")
	class := flag.String("class", "", "only the classes in a comma-separated `list`")
	run := flag.String("run", "", "only the programs that match `regexp`")
	format := results.Flag()
	flag.Parse()
	var err error
	if c.times, err = parseTimes(*times); err != nil || flag.NArg() > 0 || c.executions < 2 {
		flag.Usage()
		os.Exit(2)
	}
	if err = c.load(ctx, *class, *run); err == nil {
		err = c.measure(ctx)
	}
	if err == nil {
		err = c.print(format.To(os.Stdout))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "strategies:", err)
		os.Exit(1)
	}
}

func parseTimes(list string) (times []time.Duration, err error) {
	for _, s := range strings.Split(list, ",") {
		d, err := time.ParseDuration(s)
		if err != nil {
			return nil, err
		}
		times = append(times, d)
	}
	if !slices.IsSorted(times) {
		return nil, fmt.Errorf("%q is not increasing", list)
	}
	return times, nil
}

// strategies are the values of the flag -strategy for a search without suspects.
var strategies = []string{"walk", "pct", "pos"}

// A comparison has the programs and what was measured on them.
type comparison struct {
	executions int
	times      []time.Duration
	programs   []corpus.Program
	heisen     bugfuzz.Heisen

	alone map[string]*alone
	found []int // bugs that heisen fuzz has found after each of times
	// What heisen fuzz did with the first of times, without its start.
	made int
	took time.Duration
}

// alone has the results of a strategy.
type alone struct {
	made  int           // executions
	took  time.Duration // for these
	first []int         // for each bug that happened, how many executions it took
}

// load reads the corpus.
func (c *comparison) load(ctx context.Context, class, run string) error {
	selected, err := regexp.Compile(run)
	if err != nil {
		return err
	}
	c.heisen.Corpus, c.programs, err = bugfuzz.Load(ctx, class, selected)
	if err == nil && len(c.programs) == 0 {
		err = errors.New("no programs are selected")
	}
	return err
}

// measure tries all strategies on each program.
func (c *comparison) measure(ctx context.Context) (err error) {
	if c.heisen.Work, err = os.MkdirTemp("", "heisen-strategies-"); err != nil {
		return err
	}
	defer os.RemoveAll(c.heisen.Work)
	if err := c.heisen.Keep(); err != nil {
		return err
	}
	defer c.heisen.Close()
	c.alone, c.found = map[string]*alone{}, make([]int, len(c.times))
	for _, s := range strategies {
		c.alone[s] = new(alone)
	}
	for i := range c.programs {
		p := &c.programs[i]
		if _, err := c.once(ctx, p); err != nil { // with the build
			return err
		}
		for _, s := range strategies {
			if err := c.try(ctx, p, s); err != nil {
				return err
			}
		}
		if err := c.fuzz(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// try executes a program under one strategy, once and then as often as the flags say: the difference is
// the time of the executions. The program is built before.
func (c *comparison) try(ctx context.Context, p *corpus.Program, strategy string) error {
	var took [2]time.Duration
	first := 0
	for i, n := range []int{1, c.executions} {
		h := c.heisen
		h.Flags = []string{"-strategy", strategy, "-minimize", "0", "-seeds", fmt.Sprintf("1:%d", n)}
		t, err := h.Fuzz(ctx, "./"+p.Class, p.Test, 1, 0)
		if err != nil {
			return err
		}
		took[i] = t.Took
		first = firstHit(p, &t)
	}
	a := c.alone[strategy]
	a.made, a.took = a.made+c.executions-1, a.took+took[1]-took[0]
	if first > 0 {
		a.first = append(a.first, first)
	}
	return nil
}

// firstHit returns the least seed with which the bug of a program happened, 0 if it did not happen. The
// default schedule, which comes before the first seed, counts as seed 1.
func firstHit(p *corpus.Program, t *bugfuzz.Try) (first int) {
	for i := range t.Findings {
		f := &t.Findings[i]
		if !p.Expects(f) || f.Trials == nil {
			continue
		}
		for _, e := range f.Trials.Endings {
			if seed := max(int(e.Seed), 1); first == 0 || seed < first {
				first = seed
			}
		}
	}
	return first
}

// fuzz runs heisen fuzz on a program for increasing times, until it finds the bug.
func (c *comparison) fuzz(ctx context.Context, p *corpus.Program) error {
	start, err := c.once(ctx, p)
	if err != nil {
		return err
	}
	for i, limit := range c.times {
		h := c.heisen
		h.Flags = []string{"-minimize", "0"}
		t, err := h.Fuzz(ctx, "./"+p.Class, p.Test, 1, limit)
		if err != nil {
			return err
		}
		if i == 0 {
			c.made, c.took = c.made+t.Executions, c.took+t.Took-start.Took
		}
		if firstHit(p, &t) > 0 {
			for k := i; k < len(c.times); k++ {
				c.found[k]++
			}
			return nil
		}
	}
	return nil
}

// once executes a program under one schedule.
func (c *comparison) once(ctx context.Context, p *corpus.Program) (bugfuzz.Try, error) {
	h := c.heisen
	h.Flags = []string{"-strategy", "walk", "-seeds", "1:1", "-minimize", "0"}
	return h.Fuzz(ctx, "./"+p.Class, p.Test, 1, 0)
}

// print writes the tables.
func (c *comparison) print(w io.Writer) error {
	if err := results.Conditions(w, "./bench/strategies"); err != nil {
		return err
	}
	marks := []int{1, 10, 50}
	marks = append(slices.DeleteFunc(marks, func(n int) bool { return n >= c.executions }), c.executions)
	fmt.Fprintf(w, "Bugs found, of %d programs with one bug each. The first table has each strategy alone, by the number of executions.\n\n", len(c.programs))
	columns := []string{"strategy", "executions/s"}
	for _, n := range marks {
		columns = append(columns, fmt.Sprintf("found after %d", n))
	}
	table := results.NewTable(append(columns, "median first hit")...)
	for _, s := range strategies {
		a := c.alone[s]
		rate := float64(a.made) / max(a.took.Seconds(), 1e-9)
		cells := []any{s, fmt.Sprintf("%.0f", rate)}
		for _, n := range marks {
			hits := 0
			for _, first := range a.first {
				if first <= n {
					hits++
				}
			}
			cells = append(cells, hits)
		}
		median := "-"
		if len(a.first) > 0 {
			slices.Sort(a.first)
			n := a.first[len(a.first)/2]
			median = fmt.Sprintf("%d, %.0f ms", n, 1000*float64(n)/rate)
		}
		table.Add(append(cells, median)...)
	}
	if err := table.Print(w); err != nil {
		return err
	}
	fmt.Fprint(w, "The second has heisen fuzz with all of them, by the value of -time.\n\n")
	columns, cells := []string{"strategy", "executions/s"}, []any{"default", fmt.Sprintf("%.0f", float64(c.made)/max(c.took.Seconds(), 1e-9))}
	for i, t := range c.times {
		columns, cells = append(columns, fmt.Sprintf("found with %v", t)), append(cells, c.found[i])
	}
	table = results.NewTable(columns...)
	table.Add(cells...)
	return table.Print(w)
}
