// Package bugfuzz runs heisen fuzz on the programs of package corpus, and on others of their form.
package bugfuzz

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/heisen-go/heisen/internal/cli"
	"github.com/heisen-go/heisen/internal/confirm/controlled"
	"github.com/heisen-go/heisen/internal/processes"
	"github.com/heisen-go/heisen/internal/testaid/diagramtest"
	"github.com/heisen-go/heisen/report"
)

// Heisen runs the heisen command on the corpus.
type Heisen struct {
	Command string   // executable; if it is empty, Fuzz and Replays run the command in this process
	Corpus  string   // the folder of the corpus, or another one that the packages are relative to
	Work    string   // a folder for schedules and reports
	Flags   []string // of heisen fuzz, besides those for seeds, time and reports

	builds *controlled.Builds // of the command in this process
}

// Keep makes Fuzz and Replays run the command in this process, in the folder of the corpus, and build each package once.
// The package is built once more if Corpus changes. Close ends that.
func (h *Heisen) Keep() error {
	folder := filepath.Join(h.Work, "kept")
	h.Command, h.builds = "", controlled.NewBuilds(folder)
	return os.MkdirAll(folder, 0o777)
}

// Close gives up what Keep has made.
func (h *Heisen) Close() {
	if h.builds != nil {
		h.builds.Close()
	}
}

// Build builds the heisen command of the module into the folder Work.
func (h *Heisen) Build(ctx context.Context) error {
	h.Command = filepath.Join(h.Work, "heisen")
	build := exec.CommandContext(ctx, "go", "build", "-o", h.Command, "github.com/heisen-go/heisen/cmd/heisen")
	build.Dir = h.Corpus
	build.Stderr = os.Stderr
	return build.Run()
}

// Times returns increasing values for the flag -time of heisen fuzz, from the first one to the last one. It returns only the
// last one if the first one is zero. What is found in a shorter time needs no longer one.
func Times(first, last time.Duration) (times []time.Duration) {
	for t := first; t > 0 && t < last; t *= 4 {
		times = append(times, t)
	}
	return append(times, last)
}

// A Try is the result of one heisen fuzz on a test.
type Try struct {
	Findings   []report.Finding // that happened
	Executions int              // as far as heisen says it
	Took       time.Duration    // with the build
}

// executions matches what heisen fuzz says about the executions that it made.
var executions = regexp.MustCompile(`in (\d+) executions?\b`)

// Fuzz runs heisen fuzz on a test of a package, or on a program if the name of the test is empty. The
// seeds are ten from the given one.
func (h *Heisen) Fuzz(ctx context.Context, pkg, test string, seed int, limit time.Duration) (t Try, err error) {
	found := filepath.Join(h.Work, "findings.json")
	args := []string{"fuzz", "-corpus", "none", "-seeds", fmt.Sprintf("%d:%d", seed, seed+9), "-time", limit.String(),
		"-report", "json:" + found, "-report", "text", "-schedules", filepath.Join(h.Work, "schedules")}
	args = append(args, h.Flags...)
	if test != "" {
		args = append(args, "-run", "^"+test+"$", pkg)
	} else {
		args = append(args, "run", pkg)
	}
	start := time.Now()
	printed, err := h.run(ctx, args...)
	t.Took = time.Since(start)
	if err != nil {
		return t, err
	}
	for _, m := range executions.FindAllSubmatch(printed, -1) {
		n := 0
		fmt.Sscan(string(m[1]), &n)
		t.Executions += n
	}
	all, err := ReadFindings(found)
	t.Findings = slices.DeleteFunc(all, func(f report.Finding) bool { return !Happened(&f) })
	return t, err
}

// Happened reports whether heisen fuzz made a finding happen. The findings that it writes as JSON contain
// the suspects, too.
func Happened(f *report.Finding) bool {
	return f.Trials == nil || f.Trials.Confirmed > 0
}

// run runs the command in the folder of the corpus and returns what it printed. Findings are no error.
func (h *Heisen) run(ctx context.Context, args ...string) (printed []byte, err error) {
	var out bytes.Buffer
	status, err := h.Run(ctx, &out, &out, args...)
	if err == nil && status != cli.Clean && status != cli.Findings {
		err = fmt.Errorf("exit status %d", status)
	}
	if err != nil {
		err = fmt.Errorf("heisen %s: %w\n%s", strings.Join(args, " "), err, out.Bytes())
	}
	return out.Bytes(), err
}

// Run runs the command in the folder of the corpus and returns its exit status.
func (h *Heisen) Run(ctx context.Context, out, messages io.Writer, args ...string) (status int, failed error) {
	if h.Command == "" {
		from, err := os.Getwd()
		if err == nil {
			err = os.Chdir(h.Corpus)
		}
		if err != nil {
			return 0, err
		}
		defer func() { failed = errors.Join(failed, os.Chdir(from)) }()
		return cli.Main(ctx, cli.Tool{Builds: h.builds}, args, cli.Streams{In: strings.NewReader(""), Out: out, Err: messages}), nil
	}
	cmd := exec.CommandContext(ctx, h.Command, args...)
	cmd.Dir = h.Corpus
	cmd.Stdout, cmd.Stderr = out, messages
	processes.BindGo(cmd)
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode(), nil
	}
	return 0, err
}

// ReadFindings reads the findings in a file. It is an error if the diagram of one does not show it.
func ReadFindings(file string) ([]report.Finding, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	found, err := report.ReadJSON(f)
	for i := range found {
		err = errors.Join(err, diagramtest.Check(&found[i]))
	}
	return found, err
}

// Replays reports whether heisen replay repeats the execution of a finding.
func (h *Heisen) Replays(ctx context.Context, f *report.Finding) (bool, error) {
	schedule, is := strings.CutPrefix(f.Replay, "heisen replay ")
	if !is {
		return false, nil
	}
	var printed bytes.Buffer
	status, err := h.Run(ctx, &printed, &printed, "replay", schedule)
	return status != cli.Clean && bytes.Contains(printed.Bytes(), []byte("the execution is that of the schedule")), err
}
