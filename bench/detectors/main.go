// Command detectors compares the detectors of this module on generated traces: in their verdicts on planted
// races, by the distance of the accesses, and in their time, by the number of threads and of events.
//
//	go run ./bench/detectors [-events n] [-count n] [-seed n] [-detect list] [-format form]
//
// The traces are those of package corpus, whose pairs of accesses race or do not, and those of package
// bench/workload. Processor times are the least of -count runs, and include what a new detector allocates.
//
// A finding of eraser is a variable without a common lock, and one of hybrid is a suspect: neither claims a
// race. They are counted all the same, so that the table says how many of their findings are races.
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/bench"
	"github.com/heisen-go/heisen/bench/measure"
	"github.com/heisen-go/heisen/bench/results"
	"github.com/heisen-go/heisen/bench/workload"
	"github.com/heisen-go/heisen/corpus"
)

func main() {
	events := flag.Int("events", 200_000, "`number` of events of the traces with planted races, and of the longest one without")
	count := flag.Int("count", 3, "runs of which a time is the least")
	seed := flag.Uint64("seed", 1, "seed of the traces with planted races")
	detect := flag.String("detect", "fasttrack,hb,mcm,syncp,hybrid,eraser", "comma-separated `list` of detectors")
	format := results.Flag()
	flag.Parse()
	chosen, err := choose(*detect)
	if err != nil || flag.NArg() > 0 || *events < 1000 || *count < 1 {
		flag.Usage()
		os.Exit(2)
	}
	if err := compare(format.To(os.Stdout), chosen, *events, *count, *seed); err != nil {
		fmt.Fprintln(os.Stderr, "detectors:", err)
		os.Exit(1)
	}
}

// choose returns the detectors of a list.
func choose(list string) (chosen []bench.Detector, err error) {
	all := bench.Detectors()
	for name := range strings.SplitSeq(list, ",") {
		i := slices.IndexFunc(all, func(d bench.Detector) bool { return d.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no detector %q", name)
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

// compare prints all tables.
func compare(w io.Writer, detectors []bench.Detector, events, count int, seed uint64) error {
	if err := results.Conditions(w, "./bench/detectors"); err != nil {
		return err
	}
	verdicts, err := judge(detectors, corpus.Traces(events, seed))
	if err != nil {
		return err
	}
	if err := errors.Join(printVerdicts(w, verdicts), printDistances(w, verdicts)); err != nil {
		return err
	}
	fmt.Fprintf(w, "Nanoseconds of processor time per event by the number of threads: traces of %d events in which variables are protected by locks.\n\n", events/4)
	var sizes []workload.Params
	for threads := 2; threads <= 128; threads *= 4 {
		sizes = append(sizes, workload.Params{Threads: threads, Vars: 256, Events: events / 4, Seed: 1})
	}
	if err := printTimes(w, "threads", detectors, sizes, count, func(p workload.Params) int { return p.Threads }); err != nil {
		return err
	}
	fmt.Fprint(w, "The same by the number of events, with 16 threads.\n\n")
	sizes = nil
	for n := events; n >= 1000; n /= 4 {
		sizes = append(sizes, workload.Params{Threads: 16, Vars: 256, Events: n, Seed: 1})
	}
	slices.Reverse(sizes)
	return printTimes(w, "events", detectors, sizes, count, func(p workload.Params) int { return p.Events })
}

// verdicts are those of a detector on all traces.
type verdicts struct {
	detector string
	corpus.Verdict
}

// judge runs detectors on traces.
func judge(detectors []bench.Detector, traces []corpus.Trace) (all []verdicts, err error) {
	for _, d := range detectors {
		sum := verdicts{detector: d.Name}
		for i := range traces {
			findings, _, err := run(d, traces[i].Records)
			if err != nil {
				return nil, fmt.Errorf("%s, %s: %w", d.Name, traces[i].Name, err)
			}
			v := traces[i].Judge(findings)
			sum.Found, sum.Missed = append(sum.Found, v.Found...), append(sum.Missed, v.Missed...)
			sum.Wrong, sum.Other = append(sum.Wrong, v.Wrong...), append(sum.Other, v.Other...)
		}
		all = append(all, sum)
	}
	return all, nil
}

// run runs a new detector on a trace and returns what it finds and the processor time that it takes.
func run(d bench.Detector, records []heisen.Record) (findings []heisen.Finding, took time.Duration, err error) {
	start := measure.ProcessorTime()
	detector, err := d.New(func(f heisen.Finding) { findings = append(findings, f) })
	if err == nil {
		err = measure.Feed(detector, records)
	}
	return findings, measure.ProcessorTime() - start, err
}

// printVerdicts prints the number of pairs that are found, by shape.
func printVerdicts(w io.Writer, all []verdicts) error {
	planted := counts(slices.Concat(all[0].Found, all[0].Missed), shapeOf)
	shapes := slices.Sorted(maps.Keys(planted))
	wrong := map[string]int{}
	columns := []string{"detector"}
	for _, s := range shapes {
		columns = append(columns, fmt.Sprintf("%s, of %d", s, planted[s]))
	}
	for _, v := range all {
		maps.Copy(wrong, counts(v.Wrong, shapeOf))
	}
	orderly := slices.Sorted(maps.Keys(wrong))
	for _, s := range orderly {
		columns = append(columns, "false: "+s)
	}
	table := results.NewTable(append(columns, "false: others")...)
	for _, v := range all {
		row := []any{v.detector}
		for _, s := range shapes {
			row = append(row, counts(v.Found, shapeOf)[s])
		}
		for _, s := range orderly {
			row = append(row, counts(v.Wrong, shapeOf)[s])
		}
		table.Add(append(row, len(v.Other))...)
	}
	fmt.Fprint(w, "Planted pairs that are reported, by their shapes. Happens-before leaves those of plain and locks unordered; those of shadowed and inside must be predicted.\n\n")
	return table.Print(w)
}

// printDistances prints how many of the pairs that must be predicted are found, by their distances.
func printDistances(w io.Writer, all []verdicts) error {
	predictable := func(pairs []corpus.Pair) map[int]int {
		return counts(slices.DeleteFunc(slices.Clone(pairs), func(p corpus.Pair) bool { return p.Truth != corpus.Predictable }), magnitude)
	}
	planted := predictable(slices.Concat(all[0].Found, all[0].Missed))
	distances := slices.Sorted(maps.Keys(planted))
	columns := []string{"detector"}
	for _, d := range distances {
		columns = append(columns, fmt.Sprintf("from %d", d))
	}
	table := results.NewTable(columns...)
	for _, v := range all {
		row := []any{v.detector}
		for _, d := range distances {
			share := 100 * float64(predictable(v.Found)[d]) / float64(planted[d])
			row = append(row, results.Cell{Value: share, Text: fmt.Sprintf("%.0f", share)})
		}
		table.Add(row...)
	}
	fmt.Fprint(w, "Percentage of those that must be predicted, by the number of events between the accesses.\n\n")
	return table.Print(w)
}

func shapeOf(p corpus.Pair) string { return p.Shape }

// magnitude returns the power of ten that a distance has reached.
func magnitude(p corpus.Pair) int {
	m := 1
	for 10*m <= p.Distance {
		m *= 10
	}
	return m
}

// counts counts pairs by a property.
func counts[K cmp.Ordered](pairs []corpus.Pair, by func(corpus.Pair) K) map[K]int {
	n := map[K]int{}
	for _, p := range pairs {
		n[by(p)]++
	}
	return n
}

// printTimes prints the time of each detector by a dimension of a trace.
func printTimes(w io.Writer, name string, detectors []bench.Detector, sizes []workload.Params, count int, dimension func(workload.Params) int) error {
	columns := []string{name}
	for _, d := range detectors {
		columns = append(columns, d.Name)
	}
	table := results.NewTable(columns...)
	for _, size := range sizes {
		records := workload.LockProtected(size)
		row := []any{dimension(size)}
		for _, d := range detectors {
			least := time.Duration(0)
			for i := range count {
				_, took, err := run(d, records)
				if err != nil {
					return fmt.Errorf("%s: %w", d.Name, err)
				}
				if i == 0 || took < least {
					least = took
				}
			}
			row = append(row, float64(least.Nanoseconds())/float64(len(records)))
		}
		table.Add(row...)
	}
	return table.Print(w)
}
