package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"
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
// other runs relative to it, and geometric means.
func printTables(w io.Writer, configurations []configuration, rows []row) {
	for _, t := range []struct {
		title string
		what  func(cost) float64
	}{
		{"CPU s", func(c cost) float64 { return c.CPU }},
		{"wall s", func(c cost) float64 { return c.Wall }},
		{"MiB", func(c cost) float64 { return c.Memory }},
	} {
		printTable(w, t.title, configurations, rows, t.what)
		fmt.Fprintln(w)
	}
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(out, "heisen\tevents\tanalyzer CPU s\tns/event\tits MiB\tfindings\t\n")
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
			fmt.Fprintf(out, "%s %s\t%.0f\t%.2f\t%s\t%.0f\t%.0f\t\n", r.bench, conf.name, events, cpu, each,
				r.median(conf.name, func(c cost) float64 { return c.Host }),
				r.median(conf.name, func(c cost) float64 { return float64(c.Findings) }))
		}
	}
	out.Flush()
}

func printTable(w io.Writer, title string, configurations []configuration, rows []row, what func(cost) float64) {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(out, "%s\t", title)
	for _, conf := range configurations {
		fmt.Fprintf(out, "%s\t", conf.name)
	}
	for _, conf := range configurations {
		if conf.analyzer {
			fmt.Fprintf(out, "%s/race\t", conf.name)
		}
	}
	fmt.Fprintln(out)
	logs := make([]float64, 2*len(configurations))
	for _, r := range rows {
		plain, race := r.median("plain", what), r.median("race", what)
		fmt.Fprintf(out, "%s\t", r.bench)
		for i, conf := range configurations {
			v := r.median(conf.name, what)
			if i == 0 {
				fmt.Fprintf(out, "%.2f\t", v)
				continue
			}
			logs[i] += math.Log(v / plain)
			if plain == 0 { // no plain run
				fmt.Fprintf(out, "%.2f\t", v)
			} else {
				fmt.Fprintf(out, "%.2f (%.1fx)\t", v, v/plain)
			}
		}
		for i, conf := range configurations {
			if conf.analyzer {
				v := r.median(conf.name, what)
				logs[len(configurations)+i] += math.Log(v / race)
				fmt.Fprintf(out, "%s\t", times(2, v/race))
			}
		}
		fmt.Fprintln(out)
	}
	fmt.Fprint(out, "geometric mean\t\t")
	n := float64(len(rows))
	for i := range configurations[1:] {
		fmt.Fprintf(out, "%s\t", times(1, math.Exp(logs[i+1]/n)))
	}
	for i, conf := range configurations {
		if conf.analyzer {
			fmt.Fprintf(out, "%s\t", times(2, math.Exp(logs[len(configurations)+i]/n)))
		}
	}
	fmt.Fprintln(out)
	out.Flush()
}

// times formats a ratio, or "-" if there was nothing to compare with.
func times(digits int, ratio float64) string {
	if math.IsInf(ratio, 0) || math.IsNaN(ratio) {
		return "-"
	}
	return fmt.Sprintf("%.*fx", digits, ratio)
}
