package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/heisen-go/heisen/internal/testaid/leakprograms"
	"github.com/heisen-go/heisen/report"
)

// tryRun runs a program under heisen run -detect leak, with all processors and with Go's own profile of
// leaked goroutines. It returns the goroutines that heisen has reported, see leakprograms.In, and those of the
// expected ones that the profile has: they have leaked in this very run.
func (o *options) tryRun(ctx context.Context, p *leakprograms.Program) (seen []string, expected []leakprograms.Leak, err error) {
	file := filepath.Join(o.heisen.Work, "findings")
	if err := os.RemoveAll(file); err != nil {
		return nil, nil, err
	}
	cmd := exec.CommandContext(ctx, o.heisen.Command, "run", "-detect", "leak", "-report", "json:"+file, "./"+p.Folder, p.Name)
	cmd.Dir = o.heisen.Work
	if o.experiment {
		cmd.Env = append(cmd.Environ(), "GOEXPERIMENT=goroutineleakprofile")
	}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 66) {
		return nil, nil, fmt.Errorf("%w: %s", err, errs.Bytes())
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, nil, err
	}
	findings, err := report.ReadJSON(bytes.NewReader(text))
	if err != nil {
		return nil, nil, err
	}
	profiled := leaksInProfile(out.String())
	for _, l := range p.Leaks {
		for _, s := range profiled {
			if l.Pattern.MatchString(s) {
				expected = append(expected, l)
				break
			}
		}
	}
	return leakprograms.In(findings), expected, nil
}

var (
	leakedHeader = regexp.MustCompile(`^goroutine \d+ \[(.*?) \(leaked\)`)
	arguments    = regexp.MustCompile(`\([^()]*\)$`)
)

// leaksInProfile returns the leaked goroutines of a profile, in the form of leakprograms.In.
func leaksInProfile(profile string) (leaked []string) {
	for _, stack := range strings.Split(profile, "\n\n") {
		lines := strings.Split(strings.TrimSpace(stack), "\n")
		header := leakedHeader.FindStringSubmatch(lines[0])
		if header == nil {
			continue
		}
		for i, line := range lines {
			if strings.HasPrefix(line, "created by ") && i >= 2 {
				f := arguments.ReplaceAllString(lines[i-2], "()")
				leaked = append(leaked, strings.TrimPrefix(f, "main.")+" ["+header[1]+"]")
			}
		}
	}
	return leaked
}
