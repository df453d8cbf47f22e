package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/trace"
)

// traced has the programs whose traces are looked at, with the size of the problem.
var traced = []program{
	{"elevator", "40000"}, {"tsp", "10"}, {"hedc", "60"}, {"moldyn", "1"}, {"raytracer", "60"}, {"montecarlo", "1500"}, {"server", "20"},
}

// recordEach records a run of each program, and passes it with the trace. only selects programs by their names; it has
// all if it is empty.
func recordEach(only string, use func(p program, file string) error) error {
	dir, err := os.MkdirTemp("", "bench-focus-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	command := filepath.Join(dir, "heisen")
	if _, err := run("go", "build", "-o", command, "./cmd/heisen"); err != nil {
		return err
	}
	some := false
	for _, p := range traced {
		if only != "" && !slices.Contains(strings.Split(only, ","), p.name) {
			continue
		}
		some = true
		file := filepath.Join(dir, p.name+".heisen")
		if _, err := run(command, "record", "-o", file, "run", "./bench/focus/programs/"+p.name, "-n", p.small); err != nil {
			return err
		}
		if err := use(p, file); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		fmt.Fprintf(os.Stderr, "\r%s ", p.name)
	}
	fmt.Fprintln(os.Stderr)
	if !some {
		return fmt.Errorf("none of the programs is in %q", only)
	}
	return nil
}

// readTrace returns the events of a trace, and what their numbers mean.
func readTrace(file string) (records []heisen.Record, symbols *heisen.Symbols, err error) {
	r, err := trace.Open(file)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	batch := make([]heisen.Record, 1024)
	for {
		n, err := r.Next(batch)
		records = append(records, batch[:n]...)
		if err == io.EOF {
			return records, r.Symbols(), nil
		} else if err != nil {
			return nil, nil, err
		}
	}
}
