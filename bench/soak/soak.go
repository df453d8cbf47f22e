package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/metrics"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/bench/results"
	"github.com/heisen-go/heisen/internal/build"
	"github.com/heisen-go/heisen/internal/cli"
	"github.com/heisen-go/heisen/internal/recorder"
)

type options struct {
	goroutines, touched, heap int
	every                     time.Duration
	out, progress             io.Writer
}

// A sample is the memory of both processes at one time, in bytes.
type sample struct {
	seconds           float64
	goroutines        uint64 // started so far
	program, analyzer uint64
	live              uint64 // of the analyzer, after its latest collection
}

type result struct {
	samples    []sample
	goroutines uint64 // started in all
	events     uint64
	threads    int // threads that the analyzer received
	findings   int
}

// A census reads the output of the program: in each line the number of goroutines started so far.
// The largest number can be read at any time.
type census struct {
	line    []byte // beginning of the next line
	started atomic.Uint64
}

func (c *census) Write(p []byte) (int, error) {
	for _, b := range p {
		if b != '\n' {
			c.line = append(c.line, b)
			continue
		}
		n, err := strconv.ParseUint(string(c.line), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("the program prints %q", c.line)
		}
		c.started.Store(max(c.started.Load(), n))
		c.line = c.line[:0]
	}
	return len(p), nil
}

// soak builds the program, runs it and analyzes it as heisen run does.
func soak(ctx context.Context, o options) (res result, err error) {
	dir, err := os.MkdirTemp("", "heisen-soak-")
	if err != nil {
		return res, err
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "churn")
	builder, err := build.New(ctx, "", "")
	if err != nil {
		return res, err
	}
	if err := builder.Build(ctx, "", program, nil, "github.com/heisen-go/heisen/bench/soak/churn"); err != nil {
		return res, err
	}
	listener, err := recorder.Listen()
	if err != nil {
		return res, err
	}
	defer listener.Close()
	cmd := exec.CommandContext(ctx, program,
		"-goroutines", strconv.Itoa(o.goroutines), "-touched", strconv.Itoa(o.touched), "-live", strconv.Itoa((o.heap+1)/2))
	cmd.Env = append(cmd.Environ(), listener.Env())
	var printed bytes.Buffer
	counts := new(census)
	cmd.Stdout, cmd.Stderr = counts, &printed
	if err := cmd.Start(); err != nil {
		return res, err
	}
	err = res.watch(ctx, listener, cmd.Process.Pid, counts, o)
	if err != nil {
		cmd.Process.Kill()
	}
	if werr := cmd.Wait(); err == nil && werr != nil {
		err = fmt.Errorf("the program: %w\n%s", werr, printed.Bytes())
	}
	res.goroutines = counts.started.Load()
	return res, err
}

// watch analyzes the program that connects and samples memory at the same time.
func (res *result) watch(ctx context.Context, listener *recorder.Listener, pid int, counts *census, o options) error {
	chosen, err := cli.Choose("fasttrack")
	if err != nil {
		return err
	}
	program, err := listener.Accept()
	if err != nil {
		return err
	}
	stream, err := program.Open(recorder.Want{Mode: chosen.Mode(), Live: chosen.Live()})
	if err != nil {
		return errors.Join(err, program.Close(0))
	}
	built, err := chosen.New(stream, func(f heisen.Finding) {
		if res.findings++; res.findings <= 10 {
			fmt.Fprintf(o.out, "%+v\n", f)
		}
	})
	if err != nil {
		return errors.Join(err, program.Close(0))
	}
	stop := make(chan struct{})
	sampled := make(chan []sample)
	go func() { sampled <- sampleMemory(pid, counts, stop, o) }()
	res.events, err = heisen.Run(ctx, stream, built...)
	close(stop)
	res.samples = <-sampled
	all, _ := stream.Symbols().Changes(heisen.Revision{})
	res.threads = len(all.Threads)
	return errors.Join(err, program.Close(0))
}

// sampleMemory says and stores a sample at regular intervals.
func sampleMemory(pid int, counts *census, stop chan struct{}, o options) (samples []sample) {
	tick := time.NewTicker(o.every)
	defer tick.Stop()
	start := time.Now()
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	for {
		select {
		case <-stop:
			return samples
		case <-tick.C:
		}
		metrics.Read(live)
		s := sample{time.Since(start).Seconds(), counts.started.Load(), resident(pid), resident(os.Getpid()), live[0].Value.Uint64()}
		fmt.Fprintf(o.progress, "%.0f s: %d goroutines, program %d MiB, analyzer %d MiB\n", s.seconds, s.goroutines, s.program>>20, s.analyzer>>20)
		samples = append(samples, s)
	}
}

// print writes the table of samples.
func (res *result) print(w io.Writer) error {
	if err := results.Conditions(w, "./bench/soak"); err != nil {
		return err
	}
	table := results.NewTable("s", "goroutines", "program MiB", "analyzer MiB", "live of it")
	for _, s := range res.samples {
		table.Add(results.Cell{Value: s.seconds, Text: fmt.Sprintf("%.0f", s.seconds)}, s.goroutines, s.program>>20, s.analyzer>>20, s.live>>20)
	}
	return table.Print(w)
}

// resident returns the resident memory of a process, or 0 if the process has ended.
func resident(pid int) uint64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0
	}
	fields := bytes.Fields(text)
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseUint(string(fields[1]), 10, 64)
	return pages * uint64(os.Getpagesize())
}

// verdict describes what is wrong with a result, or returns nothing.
func (res *result) verdict(o options) error {
	var errs []error
	if res.findings > 0 {
		errs = append(errs, fmt.Errorf("%d findings in a program without bugs", res.findings))
	}
	// Batches that would begin beyond the number are not started.
	if res.goroutines < uint64(o.goroutines)*9/10 {
		errs = append(errs, fmt.Errorf("only %d goroutines were started, of %d", res.goroutines, o.goroutines))
	}
	if res.findings == 0 && (res.events > 0 || res.threads > 0) {
		errs = append(errs, fmt.Errorf("%d events and %d goroutines were sent, though nothing was found", res.events, res.threads))
	}
	n := len(res.samples)
	if n < 8 {
		return errors.Join(append(errs, fmt.Errorf("%d samples are too few to tell whether memory is flat", n))...)
	}
	// The heap reaches its final size in the first half of the run.
	early, late := peak(res.samples[n/2:n-n/4]), peak(res.samples[n-n/4:])
	for _, p := range []struct {
		name        string
		early, late uint64
	}{
		{"program", early.program, late.program},
		{"analyzer", early.analyzer, late.analyzer},
	} {
		if p.late > p.early+p.early/8 {
			errs = append(errs, fmt.Errorf("the %s grows: %d MiB in the third quarter, %d MiB in the last", p.name, p.early>>20, p.late>>20))
		}
	}
	return errors.Join(errs...)
}

// peak returns the maximum of each number of the samples.
func peak(samples []sample) (p sample) {
	for _, s := range samples {
		p.goroutines = max(p.goroutines, s.goroutines)
		p.program = max(p.program, s.program)
		p.analyzer = max(p.analyzer, s.analyzer)
	}
	return p
}
