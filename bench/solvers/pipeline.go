package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"time"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/bench/measure"
	"github.com/heisen-go/heisen/mcm"
	"github.com/heisen-go/heisen/trace"
)

// pipeline writes a line of the second table. times are the mean times of the other solvers for a
// query.
func pipeline(out io.Writer, name string, threads int, records []heisen.Record, most int, times []time.Duration) error {
	before := heap()
	start := measure.ProcessorTime()
	m, err := mcm.NewModel(mcm.Window{Records: records})
	if err != nil {
		return err
	}
	var pairs [][2]int
	for i, j := range m.Pairs() {
		pairs = append(pairs, [2]int{i, j})
	}
	var longest time.Duration
	queried := min(most, len(pairs))
	for k := range queried {
		begun := measure.ProcessorTime()
		p := pairs[k*len(pairs)/queried]
		if _, _, err := m.Race(context.Background(), p[0], p[1]); err != nil {
			return fmt.Errorf("%s, records %v: %w", name, p, err)
		}
		longest = max(longest, measure.ProcessorTime()-begun)
	}
	took := measure.ProcessorTime() - start
	each := took / time.Duration(max(queried, 1))
	held := heap() - before
	runtime.KeepAlive(m)
	start = measure.ProcessorTime()
	d, err := mcm.NewDetector(mcm.WithWindows(len(records), 0))
	if err != nil {
		return err
	}
	d.HandleRecords(records)
	if err := d.Flush(); err != nil {
		return err
	}
	detected := measure.ProcessorTime() - start
	fmt.Fprintf(out, "%-14s %7d %7d %s | %9.1f %9.1f %9.1f %7.1f | %6d %4d %9.1f", name, threads, len(pairs), stages(m.Stats()),
		ms(took), 1000*ms(each), ms(longest), float64(held)/1e6, d.Stats().Queries, d.Stats().Unknown, ms(detected))
	for _, t := range times {
		fmt.Fprintf(out, " %10.0f", float64(t)/float64(each))
	}
	fmt.Fprintln(out)
	return nil
}

// stages returns the columns with the number of queries by stage.
func stages(s mcm.Stats) string {
	return fmt.Sprintf("%7d %7d %7d | %6d %6d %6d %6d %6d %6d",
		s.Preserving+s.Greedy+s.Explored+s.Solved, s.Edges+s.Closure+s.Exhausted+s.Refuted, s.Unknown,
		s.Edges, s.Preserving, s.Closure, s.Greedy, s.Explored+s.Exhausted, s.Solved+s.Refuted)
}

// heap returns the memory in use.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// traces measures the detector on recorded traces, one window at a time, without the time to read
// them.
func traces(files []string) error {
	fmt.Printf("%-24s %9s %7s %6s %9s %7s %7s %7s | %6s %6s %6s %6s %6s %6s | %8s %9s\n", "trace", "events", "windows", "found",
		"queries", "yes", "no", "?", "edges", "order", "closure", "greedy", "states", "solver", "s", "events/s")
	for _, file := range files {
		if err := one(file); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return nil
}

func one(file string) error {
	r, err := trace.Open(file)
	if err != nil {
		return err
	}
	defer r.Close()
	var d *mcm.Detector
	var took time.Duration
	batch := make([]heisen.Record, 4096)
	for {
		n, err := r.Next(batch)
		start := measure.ProcessorTime()
		if d == nil {
			var wrong error
			if d, wrong = mcm.NewDetector(mcm.WithSymbols(r.Symbols())); wrong != nil {
				return wrong
			}
		}
		d.HandleRecords(batch[:n])
		took += measure.ProcessorTime() - start
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
	}
	start := measure.ProcessorTime()
	if err := d.Flush(); err != nil {
		return err
	}
	took += measure.ProcessorTime() - start
	s := d.Stats()
	fmt.Printf("%-24s %9d %7d %6d %9d %s | %8.2f %9.0f\n", name(file), s.Events, s.Windows, s.Races+s.Deadlocks+s.Violations,
		s.Queries, stages(s.Stats), took.Seconds(), float64(s.Events)/took.Seconds())
	return nil
}

// name returns the name of a file, or its last characters if it is long.
func name(file string) string {
	if n := len(file); n > 24 {
		return file[n-24:]
	}
	return file
}
