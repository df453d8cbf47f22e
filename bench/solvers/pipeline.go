package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"time"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/bench/measure"
	"github.com/heisen-go/heisen/bench/results"
	"github.com/heisen-go/heisen/mcm"
	"github.com/heisen-go/heisen/trace"
)

// pipeline returns a row of the second table. times are the mean times of the other solvers for a
// query.
func pipeline(name string, threads int, records []heisen.Record, most int, times []time.Duration) (row []any, err error) {
	before := heap()
	start := measure.ProcessorTime()
	m, err := mcm.NewModel(mcm.Window{Records: records})
	if err != nil {
		return nil, err
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
			return nil, fmt.Errorf("%s, records %v: %w", name, p, err)
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
		return nil, err
	}
	d.HandleRecords(records)
	if err := d.Flush(); err != nil {
		return nil, err
	}
	detected := measure.ProcessorTime() - start
	row = append([]any{name, threads, len(pairs)}, stages(m.Stats())...)
	row = append(row, ms(took), 1000*ms(each), ms(longest), float64(held)/1e6, d.Stats().Queries, d.Stats().Unknown, ms(detected))
	for _, t := range times {
		row = append(row, fmt.Sprintf("%.0f", float64(t)/float64(each)))
	}
	return row, nil
}

// stageColumns are the answers, and the number of queries by stage.
var stageColumns = []string{"yes", "no", "?", "edges", "order", "closure", "greedy", "states", "solver"}

// stages returns the cells of stageColumns.
func stages(s mcm.Stats) []any {
	return []any{s.Preserving + s.Greedy + s.Explored + s.Solved, s.Edges + s.Closure + s.Exhausted + s.Refuted, s.Unknown,
		s.Edges, s.Preserving, s.Closure, s.Greedy, s.Explored + s.Exhausted, s.Solved + s.Refuted}
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
func traces(w io.Writer, files []string) error {
	columns := append([]string{"trace", "events", "windows", "found", "queries"}, stageColumns...)
	table := results.NewTable(append(columns, "s", "events/s")...)
	for _, file := range files {
		row, err := one(file)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		table.Add(row...)
	}
	return table.Print(w)
}

// one returns the row of a trace.
func one(file string) (row []any, err error) {
	r, err := trace.Open(file)
	if err != nil {
		return nil, err
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
				return nil, wrong
			}
		}
		d.HandleRecords(batch[:n])
		took += measure.ProcessorTime() - start
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	start := measure.ProcessorTime()
	if err := d.Flush(); err != nil {
		return nil, err
	}
	took += measure.ProcessorTime() - start
	s := d.Stats()
	row = append([]any{file, s.Events, s.Windows, s.Races + s.Deadlocks + s.Violations, s.Queries}, stages(s.Stats)...)
	return append(row, took.Seconds(), fmt.Sprintf("%.0f", float64(s.Events)/took.Seconds())), nil
}
