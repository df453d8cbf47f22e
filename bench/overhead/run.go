package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/heisen-go/heisen/bench/measure"
)

// A cost is the cost of a run.
type cost struct {
	CPU      float64 `json:"cpu"`      // seconds of all processes
	Analyzer float64 `json:"analyzer"` // CPU time of the analyzer
	Wall     float64 `json:"wall"`     // seconds
	Memory   float64 `json:"memory"`   // peaks in MiB, of the program and the analyzer together
	Host     float64 `json:"host"`     // peak of the analyzer in MiB
	Events   uint64  `json:"events"`
	Findings int     `json:"findings"`
	Limits   string  `json:"limits,omitempty"`
}

const mib = 1 << 20

// run runs a benchmark once.
func (r *runner) run(ctx context.Context, b benchmark, w configuration) (cost, error) {
	dir := filepath.Join(r.source(b), filepath.FromSlash(b.pkg))
	args := []string{
		r.program(b, w.program), "-test.run=^$", "-test.bench=" + b.name,
		fmt.Sprintf("-test.benchtime=%dx", max(1, int(float64(b.iterations)*r.scale))),
	}
	var report *os.File
	if w.analyzer {
		self, err := os.Executable()
		if err != nil {
			return cost{}, err
		}
		if report, err = os.CreateTemp(r.dir, "report-*"); err != nil {
			return cost{}, err
		}
		defer report.Close()
		args = append([]string{self, analyzerVerb, w.detectors}, args...)
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = dir
	cmd.Env = append(cmd.Environ(), "GORACE=atexit_sleep_ms=0") // otherwise it sleeps for a second at exit
	if w.analyzer {
		cmd.Env = append(cmd.Env, reportEnv+"="+report.Name())
		if r.profile != "" {
			name := strings.NewReplacer(" ", "-", "/", "-", "%", "").Replace(b.String() + "-" + w.name)
			path, err := filepath.Abs(filepath.Join(r.profile, name+".pprof"))
			if err != nil {
				return cost{}, err
			}
			cmd.Env = append(cmd.Env, profileEnv+"="+path)
		}
	}
	start := time.Now()
	out, err := cmd.CombinedOutput()
	c := cost{Wall: time.Since(start).Seconds()}
	if err != nil {
		return c, fmt.Errorf("%w\n%s", err, out)
	}
	if !strings.Contains(string(out), "ns/op") {
		return c, fmt.Errorf("no such benchmark:\n%s", out)
	}
	state := cmd.ProcessState
	c.CPU = (state.UserTime() + state.SystemTime()).Seconds()
	c.Memory = float64(measure.PeakMemory(state)) / mib
	if w.analyzer {
		var a analysis
		if err := json.NewDecoder(report).Decode(&a); err != nil {
			return c, fmt.Errorf("the analyzer's report: %w", err)
		}
		c.Analyzer, c.Host, c.Events, c.Findings, c.Limits = a.CPU, a.Memory, a.Events, a.Findings, a.Limits
		c.Memory = a.Program + a.Memory
	}
	return c, nil
}
