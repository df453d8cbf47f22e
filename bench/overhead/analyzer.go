package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime/pprof"
	"slices"
	"strings"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/atomicity"
	"github.com/heisen-go/heisen/bench/measure"
	"github.com/heisen-go/heisen/internal/cli"
	"github.com/heisen-go/heisen/internal/fold"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/internal/resident"
	"github.com/heisen-go/heisen/lockset"
	"github.com/heisen-go/heisen/vclock"
)

// The analyzer is this program in a process of its own, so that its CPU time and memory can be
// measured. Like heisen run, it starts the program and consumes its events.
const (
	analyzerVerb = "-analyze"
	reportEnv    = "OVERHEAD_REPORT"
	profileEnv   = "OVERHEAD_PROFILE"
)

// An analysis is the report of the analyzer about itself and the program.
type analysis struct {
	CPU      float64 // of the analyzer, in seconds
	Memory   float64 // peak of the analyzer in MiB, from the time when it waits for findings only
	Program  float64 // peak of the program in MiB
	Events   uint64
	Findings int
	Limits   string // what the detectors say that they had to give up; empty if nothing
}

func analyzerMain(detectors string, args []string) int {
	a, err := analyze(detectors, args)
	if err == nil {
		err = a.write(os.Getenv(reportEnv))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "analyzer:", err)
		return 1
	}
	return 0
}

func analyze(detectors string, args []string) (a analysis, err error) {
	listener, err := recorder.Listen()
	if err != nil {
		return a, err
	}
	defer listener.Close()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(cmd.Environ(), listener.Env())
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	// Started first: a process inherits its parent's size as its own peak.
	if err := cmd.Start(); err != nil {
		return a, err
	}
	if path := os.Getenv(profileEnv); path != "" {
		f, err := os.Create(path)
		if err != nil {
			return a, err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return a, err
		}
		defer pprof.StopCPUProfile()
	}
	err = a.consume(listener, detectors)
	if err := errors.Join(err, cmd.Wait()); err != nil {
		return a, err
	}
	a.Program = float64(measure.PeakMemory(cmd.ProcessState)) / mib
	return a, nil
}

// consume runs the detectors on the events of the program that connects.
func (a *analysis) consume(listener *recorder.Listener, detectors string) error {
	chosen, err := cli.Choose(detectors)
	if err != nil {
		return err
	}
	program, err := listener.Accept()
	if err != nil {
		return err
	}
	stream, err := program.Open(recorder.Want{Mode: chosen.Mode(), Live: chosen.Live()})
	if err != nil {
		return err
	}
	if chosen.Mode()&recorder.FindingsOnly != 0 { // as heisen run does
		resident.Shrink()
		os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // the peak so far; see proc(5)
	}
	found := fold.NewSet(stream.Symbols(), nil)
	built, err := chosen.New(stream, found.Add)
	if err != nil {
		return err
	}
	a.Events, err = heisen.Run(context.Background(), stream, built...)
	a.Findings = found.Len()
	if onlyLimits(err) {
		a.Limits, err = err.Error(), nil
	}
	return errors.Join(err, program.Close(0))
}

// limits are the errors by which detectors say that they have forgotten something.
var limits = []error{atomicity.ErrDropped, lockset.ErrEvicted, lockset.ErrLimit, vclock.ErrTooManyThreads}

// onlyLimits reports whether an error says nothing but that detectors have forgotten something, which does not keep
// their cost from being measured.
func onlyLimits(err error) bool {
	switch e := err.(type) {
	case interface{ Unwrap() []error }:
		return !slices.ContainsFunc(e.Unwrap(), func(err error) bool { return !onlyLimits(err) })
	case interface{ Unwrap() error }:
		return onlyLimits(e.Unwrap())
	}
	return slices.Contains(limits, err)
}

// write adds the cost of the analyzer itself and writes the analysis to a file.
func (a *analysis) write(path string) error {
	a.CPU = measure.ProcessorTime().Seconds()
	var err error
	if a.Memory, err = peak(); err != nil {
		return err
	}
	text, err := json.Marshal(a)
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o666)
}

// peak returns the largest resident size of this process so far, in MiB. Writing 5 to clear_refs sets it to
// the present one.
func peak() (float64, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(status), "\nVmHWM:")
	var kib float64
	if _, err := fmt.Sscanf(rest, "%f kB", &kib); err != nil {
		return 0, fmt.Errorf("/proc/self/status: VmHWM: %w", err)
	}
	return kib / 1024, nil
}
