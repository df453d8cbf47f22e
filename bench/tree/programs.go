package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"time"

	"github.com/heisen-go/heisen"
	bm "github.com/heisen-go/heisen/bench/measure"
	"github.com/heisen-go/heisen/bench/results"
	"github.com/heisen-go/heisen/internal/build"
	"github.com/heisen-go/heisen/internal/recorder"
)

// A program is a row of table 5.1.
type program struct {
	name string
	pkg  string // below the module
	args []string
	more []string // for a run with many events; nil if there are none

	// The figures of the thesis: skipped events in percent, more memory in MB, less time in percent.
	// Empty if no program of the thesis is like this one.
	skipped, memory, speedup string
}

var programs = []program{
	{"moldyn", "examples/racefuzz/moldyn", []string{"-particles", "128", "-moves", "8"}, []string{"-particles", "128", "-moves", "16"}, "51.85", "16", "-0.95"},
	{"montecarlo", "examples/racefuzz/montecarlo", []string{"-walks", "60", "-steps", "2000"}, []string{"-walks", "2000", "-steps", "4000"}, "58.67", "388", "27.14"},
	{"raytracer", "examples/racefuzz/raytracer", []string{"-size", "24"}, []string{"-size", "150"}, "50.74", "68", "12.73"},
	{"sor", "examples/racefuzz/sor", []string{"-size", "48", "-turns", "20"}, []string{"-size", "100", "-turns", "20"}, "3.26", "0", "0.24"},
	{"upload (jigsaw)", "examples/racefuzz/upload", nil, []string{"-files", "200", "-size", "1024"}, "35.78", "35", "13.20"},
	{"search", "examples/racefuzz/search", nil, nil, "", "", ""},
	{"crawler", "examples/racefuzz/crawler", nil, nil, "", "", ""},
	{"cache", "examples/racefuzz/cache", nil, nil, "", "", ""},
	{"vector", "examples/racefuzz/collections", []string{"-of", "vector"}, nil, "", "", ""},
	{"treeset", "examples/racefuzz/collections", []string{"-of", "treeset"}, nil, "", "", ""},
	{"bank", "examples/bank", nil, nil, "", "", ""},
	{"metrics", "examples/metrics", nil, nil, "", "", ""},
	{"server", "examples/server", []string{"-requests", "4000"}, []string{"-requests", "40000"}, "", "", ""},
	{"jobs", "bench/jobs", []string{"-jobs", "5000"}, nil, "", "", ""},
}

// printPrograms measures the programs whose names match and prints table 5.1.
func printPrograms(ctx context.Context, w io.Writer, count, events int, match *regexp.Regexp) error {
	dir, err := os.MkdirTemp("", "heisen-tree-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	builder, err := build.New(ctx, "", "", build.MainModules)
	if err != nil {
		return err
	}
	table := results.NewTable("program", "events",
		"skipped %: heisen", "thesis's algorithm", "published",
		"speedup %: heisen", "thesis's algorithm", "published",
		"memory MiB: FastTrack", "more with heisen", "published, MB more",
		"racy variables: FastTrack", "heisen", "thesis's algorithm",
		"ms: hb", "filter", "ms: hybrid", "filter")
	for _, p := range programs {
		if !match.MatchString(p.name) {
			continue
		}
		trace, err := p.record(ctx, builder, dir, events)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		e, err := effects(trace, count)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		alone, with, thesis := e[0], e[1], e[2]
		var times []any
		for i, d := range detectors {
			if d.filter == nil {
				continue
			}
			events := trace
			if d.name == "hb" {
				events = trace[:min(len(trace), maxReference)]
			}
			without, with, err := leastTimes(events, count, i)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", p.name, d.name, err)
			}
			times = append(times, 1000*without.Seconds(), 1000*with.Seconds())
		}
		table.Add(append([]any{p.name, len(trace), 100 * with.skipped, 100 * thesis.skipped, p.skipped,
			speedup(alone, with), speedup(alone, thesis), p.speedup,
			mib(alone.heap), mib(with.heap) - mib(alone.heap), p.memory,
			len(alone.racy), len(with.racy), len(thesis.racy)}, times...)...)
		if len(with.racy) != len(alone.racy) {
			return fmt.Errorf("%s: %d racy variables with the filter, %d without", p.name, len(with.racy), len(alone.racy))
		}
	}
	return table.Print(w)
}

// record runs the program and returns its first events.
func (p *program) record(ctx context.Context, builder *build.Builder, dir string, events int) ([]heisen.Record, error) {
	exe, err := p.build(ctx, builder, dir)
	if err != nil {
		return nil, err
	}
	kept := &memory{limit: events}
	_, err = p.run(ctx, exe, p.args, recorder.Everything, kept)
	return kept.records, err
}

func (p *program) build(ctx context.Context, builder *build.Builder, dir string) (exe string, err error) {
	exe = filepath.Join(dir, path.Base(p.pkg))
	return exe, builder.Build(ctx, "", exe, nil, path.Join("github.com/heisen-go/heisen", p.pkg))
}

// large returns the arguments for a run with many events, if the program has such arguments.
func (p *program) large() []string {
	if p.more != nil {
		return p.more
	}
	return p.args
}

// run runs the program in a mode and hands its events to detectors. It returns the processor time of both.
func (p *program) run(ctx context.Context, exe string, args []string, mode recorder.Mode, detectors ...heisen.Detector) (time.Duration, error) {
	listener, err := recorder.Listen()
	if err != nil {
		return 0, err
	}
	defer listener.Close()
	began := bm.ProcessorTime()
	cmd := exec.CommandContext(ctx, exe, args...)
	cmd.Env = append(cmd.Environ(), listener.Env(), "GOMAXPROCS=4") // 4 threads in the thesis
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	err = func() error {
		connected, err := listener.Accept()
		if err != nil {
			return err
		}
		defer connected.Close(0)
		stream, err := connected.Open(recorder.Want{Mode: mode})
		if err != nil {
			return err
		}
		_, err = heisen.Run(ctx, stream, detectors...)
		return err
	}()
	if err != nil {
		cmd.Process.Kill()
	}
	var exit *exec.ExitError
	if failed := cmd.Wait(); err == nil && failed != nil && !errors.As(failed, &exit) { // a race may make a program fail
		err = failed
	}
	return bm.ProcessorTime() - began + cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), err
}

// memory is a detector that keeps events, up to a limit.
type memory struct {
	limit   int
	seen    int
	records []heisen.Record
}

// HandleRecords implements heisen.RecordHandler.
func (m *memory) HandleRecords(records []heisen.Record) {
	m.seen += len(records)
	m.records = append(m.records, records[:min(len(records), m.limit-len(m.records))]...)
}

// Handle implements heisen.Detector.
func (m *memory) Handle(e heisen.Event) { m.HandleRecords([]heisen.Record{*heisen.AsRecord(e)}) }

// Flush implements heisen.Detector.
func (m *memory) Flush() error { return nil }
