package main

import (
	"fmt"
	"io"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/bench/results"
	"github.com/heisen-go/heisen/bench/workload"
)

// usual has the dimensions that a row does not vary.
var usual = workload.Micro{Threads: 16, Iterations: 2000, Locks: 4, Burst: 100, Seed: 1}

// figures are the programs of the thesis, with what it says about its curves.
var figures = []struct {
	title, said string
	generate    func(workload.Micro) []heisen.Record
}{
	{"**Figures 5.1 and 5.2**: threads increment a variable under the same locks",
		"skipped events become close to 100 %, and time and memory improve more than linearly",
		workload.SharedLocks},
	{"**Figure 5.3**: each thread has its own locks",
		"up to 100 MB more memory with 100 threads and 100 locks, and up to 500 ms more time; with many iterations the filter pays",
		workload.PrivateLocks},
}

// dimensions are the parameters that the figures vary.
var dimensions = []struct {
	name   string
	values []int
	set    func(*workload.Micro, int)
}{
	{"threads", []int{2, 4, 16, 64, 100}, func(m *workload.Micro, n int) { m.Threads = n }},
	{"iterations", []int{100, 1000, 5000, 20_000}, func(m *workload.Micro, n int) { m.Iterations = n }},
	{"locks", []int{1, 4, 16, 64, 100}, func(m *workload.Micro, n int) { m.Locks = n }},
}

// printFigures measures the programs of the figures and prints a table for each.
func printFigures(w io.Writer, count int, scale float64) error {
	fmt.Fprintf(w, "Each row varies one of %d threads, %d iterations and %d locks.\n\n", usual.Threads, int(scale*float64(usual.Iterations)), usual.Locks)
	for _, figure := range figures {
		fmt.Fprintf(w, "%s. The thesis says: %s.\n\n", figure.title, figure.said)
		table := results.NewTable("", "events", "skipped %: heisen", "thesis's algorithm",
			"ms: FastTrack", "heisen", "thesis's algorithm", "MiB: FastTrack", "heisen", "thesis's algorithm")
		for _, d := range dimensions {
			for _, n := range d.values {
				m := usual
				d.set(&m, n)
				m.Iterations = max(1, int(scale*float64(m.Iterations)))
				trace := figure.generate(m)
				e, err := effects(trace, count)
				if err != nil {
					return err
				}
				alone, with, thesis := e[0], e[1], e[2]
				ms := func(e effect) float64 { return 1000 * e.took.Seconds() }
				table.Add(fmt.Sprintf("%d %s", n, d.name), len(trace), 100*with.skipped, 100*thesis.skipped,
					ms(alone), ms(with), ms(thesis), mib(alone.heap), mib(with.heap), mib(thesis.heap))
				if len(alone.racy) != len(with.racy) {
					return fmt.Errorf("%d %s: %d racy variables with the filter, %d without", n, d.name, len(with.racy), len(alone.racy))
				}
			}
		}
		if err := table.Print(w); err != nil {
			return err
		}
	}
	return nil
}
