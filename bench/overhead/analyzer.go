package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime/pprof"
	"syscall"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/cli"
	"github.com/heisen-go/heisen/internal/fold"
	"github.com/heisen-go/heisen/internal/recorder"
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
	Memory   float64 // peak of the analyzer in MiB
	Program  float64 // peak of the program in MiB
	Events   uint64
	Findings int
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
	a.Program = float64(cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss) * 1024 / mib
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
	found := fold.NewSet(stream.Symbols(), nil)
	built, err := chosen.New(stream, found.Add)
	if err != nil {
		return err
	}
	a.Events, err = heisen.Run(context.Background(), stream, built...)
	a.Findings = found.Len()
	return errors.Join(err, program.Close(0))
}

// write adds the cost of the analyzer itself and writes the analysis to a file.
func (a *analysis) write(path string) error {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return err
	}
	a.CPU = float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9
	a.Memory = float64(usage.Maxrss) * 1024 / mib
	text, err := json.Marshal(a)
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o666)
}
