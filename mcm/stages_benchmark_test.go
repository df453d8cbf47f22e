package mcm

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/bench/measure"
	"github.com/heisen-go/heisen/bench/workload"
	"github.com/heisen-go/heisen/mcm/internal/cascade"
	"github.com/heisen-go/heisen/mcm/internal/model"
	"github.com/heisen-go/heisen/mcm/internal/window"
	"github.com/heisen-go/heisen/mcm/internal/windowtest"
	"github.com/heisen-go/heisen/trace"
)

var (
	stageTraces = flag.String("stages.traces", "", "`pattern` of traces of programs, for BenchmarkStages")
	stageEvents = flag.Int("stages.events", 200_000, "`number` of events of each of these traces")
)

// BenchmarkStages leaves out each stage in turn. For each it asks the same queries, and reports how
// many are left open, and the processor time.
//
//	go test ./mcm -run '^$' -bench Stages -benchtime 1x -timeout 0 -args -stages.traces '/tmp/*.heisen'
func BenchmarkStages(b *testing.B) {
	for _, corpus := range stageCorpora(b) {
		for _, name := range append([]string{"none"}, stageNames()...) {
			b.Run(fmt.Sprintf("corpus=%s/without=%s", corpus.name, strings.ReplaceAll(name, " ", "_")), func(b *testing.B) {
				without := withStages(func(m *model.Model, conflicts, propagations int) (kept []cascade.Stage) {
					for _, s := range cascade.DefaultStages(m, conflicts, propagations) {
						if s.Name != name {
							kept = append(kept, s)
						}
					}
					return kept
				})
				var queries, open int
				start := measure.ProcessorTime()
				for range b.N {
					queries, open = 0, 0
					for _, ask := range corpus.runs {
						s := ask(b, without)
						queries, open = queries+s.Queries, open+s.Unknown
					}
				}
				b.ReportMetric((measure.ProcessorTime()-start).Seconds()/float64(b.N), "cpu-s")
				b.ReportMetric(float64(queries), "queries")
				b.ReportMetric(float64(open), "open")
			})
		}
	}
}

// stageNames returns the names of the stages that may be left out. What follows needs the others.
func stageNames() (names []string) {
	seen := map[string]bool{"known": true, "edges": true, "prepare searches": true}
	for _, many := range []bool{false, true} {
		quick := cascade.DefaultStages(&model.Model{Window: &window.Window{}}, 1, 1)
		for _, s := range append(quick, cascade.SearchStages(many, 1, 1)...) {
			if !seen[s.Name] {
				seen[s.Name] = true
				names = append(names, s.Name)
			}
		}
	}
	return names
}

// stageCorpus is a group of inputs with the same origin. A run asks the queries of one of them.
type stageCorpus struct {
	name string
	runs []func(testing.TB, DetectorOption) Stats
}

func stageCorpora(b *testing.B) []stageCorpus {
	places := func(records []heisen.Record, symbols *heisen.Symbols) func(testing.TB, DetectorOption) Stats {
		return func(tb testing.TB, without DetectorOption) Stats {
			d, err := NewDetector(WithSymbols(symbols), without)
			if err != nil {
				tb.Fatal(err)
			}
			d.HandleRecords(records)
			if err := d.Flush(); err != nil {
				tb.Fatal(err)
			}
			return d.Stats().Stats
		}
	}
	pairs := func(w window.Window, options ...DetectorOption) func(testing.TB, DetectorOption) Stats {
		return func(tb testing.TB, without DetectorOption) Stats {
			m, err := testModel(w, append(options, without)...)
			if err != nil {
				tb.Fatal(err)
			}
			for i, j := range m.Pairs() {
				if _, _, err := race(m, i, j); err != nil {
					tb.Fatal(err)
				}
			}
			return m.Stats()
		}
	}
	benchmarks, random, small := stageCorpus{name: "benchmarks"}, stageCorpus{name: "random"}, stageCorpus{name: "small"}
	for _, generate := range []func(workload.Params) []heisen.Record{workload.Mixed, workload.Locky, workload.Hot} {
		benchmarks.runs = append(benchmarks.runs, places(generate(workload.Params{Threads: 8, Events: 20_000, Seed: 1}), nil))
		for _, threads := range []int{2, 4, 8} {
			for seed := range uint64(3) {
				random.runs = append(random.runs, pairs(window.Window{Records: generate(workload.Params{Threads: threads, Events: 400, Seed: 10 + seed})}))
			}
		}
	}
	hot := stageCorpus{name: "hot"}
	for _, threads := range []int{4, 8} {
		for seed := range uint64(4) {
			hot.runs = append(hot.runs, pairs(window.Window{Records: workload.Hot(workload.Params{Threads: threads, Events: 1000, Seed: 1 + seed})}))
		}
	}
	for seed := range uint64(2000) {
		rng := rand.New(rand.NewPCG(seed, 7))
		shape := windowtest.RandomShape(rng, 60)
		w, symbols := windowtest.RandomWindow(rng, shape)
		options := []DetectorOption{WithSymbols(symbols)}
		if shape.Branches {
			options = append(options, WithControlFlow())
		}
		small.runs = append(small.runs, pairs(*w, options...))
	}
	traces := func(name, pattern string) stageCorpus {
		files, err := filepath.Glob(pattern)
		if err != nil {
			b.Fatal(err)
		}
		c := stageCorpus{name: name}
		for _, file := range files {
			records, symbols := firstRecords(b, file, *stageEvents)
			c.runs = append(c.runs, places(records, symbols))
		}
		return c
	}
	return []stageCorpus{benchmarks, hot, random, small, traces("public", "../trace/testdata/corpus/std/*.std"), traces("programs", *stageTraces)}
}

// firstRecords reads the first events of a trace.
func firstRecords(b *testing.B, file string, n int) (records []heisen.Record, symbols *heisen.Symbols) {
	r, err := trace.Open(file)
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	buffer := make([]heisen.Record, 4096)
	for len(records) < n {
		k, err := r.Next(buffer)
		records = append(records, buffer[:k]...)
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			b.Fatal(err)
		}
	}
	return records[:min(n, len(records))], r.Symbols()
}
