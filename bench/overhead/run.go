package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// cost is what a run took.
type cost struct {
	CPU      float64 `json:"cpu"`      // seconds of all processes
	Analyser float64 `json:"analyser"` // of that, the analyser's own
	Wall     float64 `json:"wall"`     // seconds
	Memory   float64 `json:"memory"`   // peaks in MiB, of the program and the analyser together
	Host     float64 `json:"host"`     // of that, the analyser's
	Events   uint64  `json:"events"`
	Findings int     `json:"findings"`
}

const mib = 1 << 20

// run runs a benchmark once.
func (r *runner) run(ctx context.Context, b benchmark, w way) (cost, error) {
	dir := filepath.Join(r.source(b), filepath.FromSlash(b.pkg))
	args := []string{
		r.program(b, w.program), "-test.run=^$", "-test.bench=" + b.name,
		fmt.Sprintf("-test.benchtime=%dx", max(1, int(float64(b.iterations)*r.scale))),
	}
	var report *os.File
	if w.analyser {
		self, err := os.Executable()
		if err != nil {
			return cost{}, err
		}
		if report, err = os.CreateTemp(r.dir, "report-*"); err != nil {
			return cost{}, err
		}
		defer report.Close()
		args = append([]string{self, analyserVerb, w.detectors}, args...)
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = dir
	cmd.Env = append(cmd.Environ(), "GORACE=atexit_sleep_ms=0") // or it sleeps a second when all is done
	if w.analyser {
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
	c.Memory = float64(state.SysUsage().(*syscall.Rusage).Maxrss) * 1024 / mib
	if w.analyser {
		var a analysis
		if err := json.NewDecoder(report).Decode(&a); err != nil {
			return c, fmt.Errorf("the analyser's report: %w", err)
		}
		c.Analyser, c.Host, c.Events, c.Findings = a.CPU, a.Memory, a.Events, a.Findings
		c.Memory = a.Program + a.Memory
	}
	return c, nil
}
