package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/core/strategies"
	"github.com/heisen-go/heisen/internal/enforce"
	"github.com/heisen-go/heisen/internal/plural"
	"github.com/heisen-go/heisen/internal/private"
	"github.com/heisen-go/heisen/internal/recorder"
)

// loadModule type-checks the main module.
func (inv *invocation) loadModule() (*enforce.Program, error) {
	done := inv.progress("analyzing the module", time.Second)
	defer done()
	ctx, stop := inv.interruptible()
	defer stop()
	root, err := moduleRoot(ctx)
	if err != nil {
		return nil, err
	}
	return enforce.Load(ctx, root, inv.line.tags())
}

// profilePassing runs the tests or the program of the command line, and adds what the programs that pass show to the profile in a
// file. If seed is not 0, goroutines take turns by it. The exit status is that of the run.
func (inv *invocation) profilePassing(file string, seed uint64) (int, error) {
	known, err := readProfile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Failed, err
	}
	if err := isFolder(filepath.Dir(file)); err != nil {
		return Failed, err
	}
	program, err := inv.loadModule()
	if err != nil {
		return Failed, err
	}
	defer inv.holdSignals()()
	cmd, remove, err := inv.goCommand()
	if err != nil {
		return Failed, err
	}
	defer remove()
	observed, status, err := inv.profileOf(program, cmd, seed)
	if err != nil {
		return Failed, err
	}
	if known != nil {
		known.Merge(observed)
		observed = known
	}
	if err := private.Replace(file, observed.Encode); err != nil {
		return Failed, err
	}
	atomic := program.Atomic(observed.Pairs)
	pairs := 0
	for _, v := range atomic {
		pairs += len(v.Pairs)
	}
	fmt.Fprintf(inv.Err, "%s: %s: %s with %s that no lock keeps atomic\n", inv.tool.Name, file, plural.Of(len(atomic), "variable"), plural.Of(pairs, "pair"))
	if status != Clean {
		fmt.Fprintf(inv.Err, "%s: the run ended with exit status %d: what failed is not profiled\n", inv.tool.Name, status)
	}
	return status, nil
}

// profileOf runs a command and profiles the programs below it that pass. It returns the exit status of the command.
func (inv *invocation) profileOf(program *enforce.Program, cmd *exec.Cmd, seed uint64) (*enforce.Profile, int, error) {
	var mu sync.Mutex
	var all *enforce.Profile
	s, err := newSession(inv, recorder.Everything, nil, func(_ int, _ *recorder.Program, stream *recorder.Stream) (int32, error) {
		r, err := program.NewRecorder(stream.Symbols())
		if err != nil {
			return Failed, err
		}
		if _, err := heisen.Run(inv.ctx, stream, r); err != nil {
			return Failed, err
		}
		if !stream.Passed() {
			return Clean, nil
		}
		observed, notes, err := r.Finish()
		if err != nil {
			return Failed, err
		}
		mu.Lock()
		defer mu.Unlock()
		for _, note := range notes {
			fmt.Fprintf(inv.Err, "%s: %s\n", inv.tool.Name, note)
		}
		if all == nil {
			all = observed
		} else {
			all.Merge(observed)
		}
		return Clean, nil
	})
	if err != nil {
		return nil, Failed, err
	}
	if seed != 0 {
		s.schedule = &recorder.Schedule{Strategy: strategies.Config{Strategy: strategies.RandomWalk, Seed: seed}}
	}
	status, err := s.run(cmd)
	status = s.status(status, 0)
	switch {
	case err != nil:
		return nil, Failed, err
	case all == nil && status != Clean:
		return nil, Failed, fmt.Errorf("the run ended with exit status %d: only programs that pass are profiled", status)
	case all == nil:
		return nil, Failed, errors.New("no instrumented program ran, so nothing was profiled")
	}
	return all, status, nil
}

// readProfile reads the profile in a file.
func readProfile(file string) (*enforce.Profile, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	profile, err := enforce.DecodeProfile(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return profile, nil
}

// enforceProfile writes an overlay with locks that keep atomic what a profile in a file says.
func (inv *invocation) enforceProfile(file, folder string) (int, error) {
	profile, err := readProfile(file)
	if err != nil {
		return Failed, err
	}
	program, err := inv.loadModule()
	if err != nil {
		return Failed, err
	}
	current, stale, err := program.Current(profile)
	if err != nil {
		return Failed, err
	}
	for _, line := range stale {
		fmt.Fprintf(inv.Err, "%s: %s; its pairs are left out\n", inv.tool.Name, line)
	}
	ctx, stop := inv.interruptible()
	defer stop()
	plan, err := program.Plan(ctx, current)
	if err != nil {
		return Failed, err
	}
	for _, v := range plan.Variables {
		locks := ""
		if v.Objects {
			locks = ", with a lock for each object"
		}
		what := "single accesses only"
		if v.Pairs > 0 {
			what = plural.Of(v.Pairs, "pair") + " atomic"
		}
		fmt.Fprintf(inv.Err, "%s: %s: %s%s\n", inv.tool.Name, v.Name, what, locks)
	}
	for _, r := range plan.Refused {
		fmt.Fprintf(inv.Err, "%s: %v\n", inv.tool.Name, r)
	}
	for _, i := range plan.Interruptions {
		fmt.Fprintf(inv.Err, "%s: %v\n", inv.tool.Name, i)
	}
	if len(plan.Variables) == 0 {
		return Failed, errors.New("no variable gets a lock, so nothing is written")
	}
	overlay, err := plan.Write(folder)
	if err != nil {
		return Failed, err
	}
	here, err := absolute(".")
	if err != nil {
		return Failed, err
	}
	fmt.Fprintln(inv.Out, relative(here, overlay))
	if len(stale)+len(plan.Refused)+len(plan.Interruptions) > 0 {
		return Findings, nil
	}
	return Clean, nil
}
