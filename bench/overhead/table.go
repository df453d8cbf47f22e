package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/heisen-go/heisen/bench/measure"
	"github.com/heisen-go/heisen/bench/results"
)

// A row has the runs of a benchmark, by configuration.
type row struct {
	bench benchmark
	runs  map[string][]cost
}

// median returns the median of one cost of the runs of a configuration, or 0 if there are none.
func (r row) median(name string, what func(cost) float64) float64 {
	var values []float64
	for _, c := range r.runs[name] {
		values = append(values, what(c))
	}
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}

// printTables prints a table for each kind of cost: the cost of the plain run, the costs of the
// other runs relative to it, and geometric means. The last table is about the analyzer. Below it stands what
// detectors have forgotten.
func printTables(w io.Writer, configurations []configuration, rows []row) error {
	for _, t := range []struct {
		title string
		what  func(cost) float64
	}{
		{"CPU s", func(c cost) float64 { return c.CPU }},
		{"wall s", func(c cost) float64 { return c.Wall }},
		{"MiB", func(c cost) float64 { return c.Memory }},
	} {
		if err := printTable(w, t.title, configurations, rows, t.what); err != nil {
			return err
		}
	}
	out := results.NewTable("heisen", "events", "analyzer CPU s", "ns/event", "its MiB", "findings")
	for _, r := range rows {
		for _, conf := range configurations {
			if !conf.analyzer {
				continue
			}
			events := r.median(conf.name, func(c cost) float64 { return float64(c.Events) })
			cpu := r.median(conf.name, func(c cost) float64 { return c.Analyzer })
			each := "-" // a program that detects races itself sends no events
			if events > 0 {
				each = fmt.Sprintf("%.0f", cpu*1e9/events)
			}
			out.Add(fmt.Sprintf("%s %s", r.bench, conf.name), fmt.Sprintf("%.0f", events), cpu, each,
				fmt.Sprintf("%.0f", r.median(conf.name, func(c cost) float64 { return c.Host })),
				fmt.Sprintf("%.0f", r.median(conf.name, func(c cost) float64 { return float64(c.Findings) })))
		}
	}
	if err := out.Print(w); err != nil {
		return err
	}
	return printLimits(w, configurations, rows)
}

// printLimits prints what the detectors had to give up in the first run of a configuration in which they did.
func printLimits(w io.Writer, configurations []configuration, rows []row) error {
	for _, r := range rows {
		for _, conf := range configurations {
			runs := r.runs[conf.name]
			i := slices.IndexFunc(runs, func(c cost) bool { return c.Limits != "" })
			if i < 0 {
				continue
			}
			if _, err := fmt.Fprintf(w, "- %s, %s: %s\n", r.bench, conf.name, strings.ReplaceAll(runs[i].Limits, "\n", "; ")); err != nil {
				return err
			}
		}
	}
	_, err := fmt.Fprintln(w)
	return err
}

func printTable(w io.Writer, title string, configurations []configuration, rows []row, what func(cost) float64) error {
	columns := []string{title}
	for _, conf := range configurations {
		columns = append(columns, conf.name)
	}
	for _, conf := range configurations {
		if conf.analyzer {
			columns = append(columns, conf.name+"/race")
		}
	}
	out := results.NewTable(columns...)
	ratios := make([][]float64, 2*len(configurations))
	for _, r := range rows {
		plain, race := r.median("plain", what), r.median("race", what)
		cells := []any{r.bench}
		for i, conf := range configurations {
			v := r.median(conf.name, what)
			if i == 0 {
				cells = append(cells, v)
				continue
			}
			ratios[i] = append(ratios[i], v/plain)
			if plain == 0 { // no plain run
				cells = append(cells, v)
			} else {
				cells = append(cells, results.Cell{Value: v, Text: fmt.Sprintf("%.2f (%.1fx)", v, v/plain)})
			}
		}
		for i, conf := range configurations {
			if conf.analyzer {
				v := r.median(conf.name, what)
				ratios[len(configurations)+i] = append(ratios[len(configurations)+i], v/race)
				cells = append(cells, times(2, v/race))
			}
		}
		out.Add(cells...)
	}
	means := []any{"geometric mean", ""}
	for i := range configurations[1:] {
		means = append(means, times(1, measure.GeometricMean(ratios[i+1])))
	}
	for i, conf := range configurations {
		if conf.analyzer {
			means = append(means, times(2, measure.GeometricMean(ratios[len(configurations)+i])))
		}
	}
	out.Add(means...)
	return out.Print(w)
}

// times returns the cell of a ratio, or "-" if there was nothing to compare with.
func times(digits int, ratio float64) results.Cell {
	if math.IsInf(ratio, 0) || math.IsNaN(ratio) {
		return results.Cell{Text: "-"}
	}
	return results.Cell{Value: ratio, Text: fmt.Sprintf("%.*fx", digits, ratio)}
}
