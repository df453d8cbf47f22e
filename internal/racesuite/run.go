package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/report"
	"github.com/heisen-go/heisen/internal/rt"
	"github.com/heisen-go/heisen/vclock"
)

// patience is how long a function may run: the slowest takes seconds.
const patience = 2 * time.Minute

// verdict is what one run of a function came to.
type verdict struct {
	reported bool
	skipped  bool   // by the function itself
	problem  string // what went wrong besides, if anything
	said     string // the reports and the program's output
}

// run runs a function once. procs is the number of processors, 0 for all.
func (s *suite) run(ctx context.Context, f function, procs int) verdict {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.exe, "-test.v", "-test.run=^"+f.name+"$")
	cmd.Dir = s.data // some functions read their own source
	cmd.Env = environment(procs)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out

	var v verdict
	var err error
	if s.tool == "race" {
		err = cmd.Run()
		v.reported = strings.Contains(afterStart(out.String()), "WARNING: DATA RACE")
	} else {
		v, err = observe(ctx, cmd)
	}
	v.said += out.String()
	v.skipped = strings.Contains(out.String(), "--- SKIP: "+f.name)
	switch {
	case ctx.Err() != nil:
		v.problem = "it does not end"
	case v.problem != "":
	case !strings.Contains(out.String(), "=== RUN   "+f.name+"\n"):
		v.problem = "it did not run"
	case err != nil && !s.expected(f, v):
		v.problem = err.Error()
	}
	return v
}

// expected reports whether a run may exit with an error. With a race, it may: the
// runtime notices some of maps, too, and ends the program. Go's race detector
// makes every run fail, for the initialisation of the data's packages has one.
func (s *suite) expected(f function, v verdict) bool {
	return f.racy && v.reported || s.tool == "race" && strings.Contains(v.said, "race detected")
}

// environment is what a function's process gets: without the variables that
// would change what is measured.
func environment(procs int) []string {
	var env []string
	for _, e := range os.Environ() {
		name, _, _ := strings.Cut(e, "=")
		switch name {
		case "GOMAXPROCS", "GODEBUG", "GORACE", "GOGC", "GOTRACEBACK":
		default:
			env = append(env, e)
		}
	}
	if procs > 0 {
		env = append(env, fmt.Sprint("GOMAXPROCS=", procs))
	}
	// As in Go's own test of the data: report what looks alike, too.
	return append(env, "GORACE=suppress_equal_stacks=0 suppress_equal_addresses=0")
}

// afterStart cuts off what was printed before the test began.
func afterStart(output string) string {
	_, after, _ := strings.Cut(output, "=== RUN")
	return after
}

// observe runs an instrumented command and listens to it. The error is the
// command's.
func observe(ctx context.Context, cmd *exec.Cmd) (verdict, error) {
	listener, err := rt.Listen()
	if err != nil {
		return verdict{problem: err.Error()}, nil
	}
	defer listener.Close()
	cmd.Env = append(cmd.Env, listener.Env())
	if err := cmd.Start(); err != nil {
		return verdict{problem: err.Error()}, nil
	}
	observed := make(chan verdict, 1)
	go func() {
		p, err := listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			observed <- verdict{problem: "it is not instrumented"}
		} else if err != nil {
			observed <- verdict{problem: err.Error()}
		} else {
			observed <- analyse(ctx, p)
		}
	}()
	err = cmd.Wait()
	listener.Stop()
	return <-observed, err
}

// analyse consumes the recording of a program.
func analyse(ctx context.Context, p *rt.Program) (v verdict) {
	defer p.Close(0)
	stream, err := p.Open(rt.Unrepeated)
	if err != nil {
		v.problem = err.Error()
		return v
	}
	var said strings.Builder
	found := report.NewCollector(stream.Symbols(), func(item report.Item) {
		f := report.Resolve(item, stream.Symbols(), nil)
		report.WriteText(&said, &f)
	})
	test := &gate{symbols: stream.Symbols()}
	test.detector = vclock.NewFastTrack(func(f heisen.Finding) {
		if test.open {
			found.Add(f)
		}
	})
	_, err = heisen.Run(ctx, stream, test)
	if err != nil {
		v.problem = err.Error()
	}
	v.reported = found.Len() > 0
	v.said = said.String()
	return v
}
