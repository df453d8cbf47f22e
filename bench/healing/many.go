package main

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/heisen-go/heisen/bench/results"
	"github.com/heisen-go/heisen/driver"
)

// bugs is the source of a program with the bugs of table 1 of the paper that have counterparts in Go. Its file pause.go
// has the noise.
//
//go:embed testdata/bugs
var bugs embed.FS

// silence stands for pause.go while a patch is made: no patch holds a lock where goroutines yield.
const silence = "package main\n\nvar calm bool\n\nfunc pause() {}\n"

// The ways to build the program with the bugs.
const (
	buggy = iota
	overlaid
	patched
	manyWays
)

// repaired is a bug, and what was counted and measured in each way.
type repaired struct {
	name  string
	wrong [manyWays]int             // of the noisy runs
	times [manyWays][]time.Duration // of processes with as many runs without noise
}

// many runs each bug many times under noise: as it is, under an overlay made from passing runs, and with a patch. It
// prints how many runs went wrong, and what the repairs cost without noise.
func many(ctx context.Context, w io.Writer, dir string, runs, procs int) error {
	all, notes, err := repair(ctx, dir, runs, procs, 5)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "Wrong: of %d runs each, in which goroutines yield at random places, with GOMAXPROCS=%d. Times: medians of the processor time of 5 processes that do as many runs with one goroutine after the other, in ms.\n\n", runs, procs)
	table := results.NewTable("bug", "wrong", "overlay", "patch", "time", "overlay", "ratio", "patch", "ratio")
	for _, r := range all {
		base := median(r.times[buggy])
		table.Add(r.name, r.wrong[buggy], r.wrong[overlaid], r.wrong[patched], milliseconds(base),
			milliseconds(median(r.times[overlaid])), ratio(median(r.times[overlaid]), base),
			milliseconds(median(r.times[patched])), ratio(median(r.times[patched]), base))
	}
	if err := table.Print(w); err != nil {
		return err
	}
	for _, note := range notes {
		fmt.Fprintln(w, note)
	}
	return nil
}

// repair builds the program with the bugs in all ways in a folder and runs it. It also returns what heisen says that it does not
// repair.
func repair(ctx context.Context, dir string, runs, procs, processes int) (all []repaired, notes []string, err error) {
	asIs, fixed := filepath.Join(dir, "as-is"), filepath.Join(dir, "fixed")
	for _, to := range []string{asIs, fixed} {
		if err := copyBugs(to); err != nil {
			return nil, nil, err
		}
	}
	heisen := func(folder string, out io.Writer, args ...string) error {
		var said bytes.Buffer
		status, err := runIn(ctx, folder, out, &said, args...)
		if err != nil || status != driver.Clean && status != driver.Findings {
			return fmt.Errorf("heisen %v: status %d: %w\n%s", args, status, err, &said)
		}
		for line := range strings.Lines(said.String()) {
			if strings.Contains(line, "not repaired") || strings.Contains(line, "gets no lock") || strings.Contains(line, "left out") {
				notes = append(notes, strings.TrimSpace(line))
			}
		}
		return nil
	}
	for range 2 {
		if err := heisen(asIs, io.Discard, "heal", "-profile", "passing.profile", "-pkgs", "work", "run", ".", "-calm"); err != nil {
			return nil, nil, err
		}
	}
	if err := heisen(asIs, io.Discard, "heal", "-enforce", "passing.profile"); err != nil {
		return nil, nil, err
	}
	noise, err := fs.ReadFile(bugs, "testdata/bugs/pause.go")
	if err != nil {
		return nil, nil, err
	}
	pause := filepath.Join(fixed, "pause.go")
	if err := os.WriteFile(pause, []byte(silence), 0o666); err != nil {
		return nil, nil, err
	}
	var diff bytes.Buffer
	if err := heisen(fixed, &diff, "heal", "-patch", "-try=false", "-pkgs", "work", "-detect", "fasttrack,atomrace", "."); err != nil {
		return nil, nil, err
	}
	apply := exec.CommandContext(ctx, "git", "apply", "-")
	apply.Dir, apply.Stdin = fixed, &diff
	if out, err := apply.CombinedOutput(); err != nil {
		return nil, nil, fmt.Errorf("git apply: %w\n%s", err, out)
	}
	if err := os.WriteFile(pause, noise, 0o666); err != nil {
		return nil, nil, err
	}
	exe := [manyWays]string{}
	for way, from := range [manyWays]string{asIs, asIs, fixed} {
		exe[way] = filepath.Join(dir, strconv.Itoa(way)+".exe")
		args := []string{"build", "-o", exe[way]}
		if way == overlaid {
			args = append(args, "-overlay", filepath.Join("healed", "overlay.json"))
		}
		cmd := exec.CommandContext(ctx, "go", append(args, ".")...)
		cmd.Dir, cmd.Env = from, append(os.Environ(), "GOWORK=off")
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, nil, fmt.Errorf("go %v: %w\n%s", args, err, out)
		}
	}
	run := func(way int, args ...string) (string, time.Duration, error) {
		p := program{procs: procs}
		p.exe[plain] = exe[way]
		return p.execute(ctx, plain, args...)
	}
	for way := range exe {
		out, _, err := run(way, "-runs", strconv.Itoa(runs))
		if err != nil {
			return nil, nil, err
		}
		for i, line := range strings.Split(out, "\n") {
			var name string
			var wrong int
			if _, err := fmt.Sscan(line, &name, &wrong); err != nil {
				return nil, nil, fmt.Errorf("the program prints %q", line)
			}
			if way == buggy {
				all = append(all, repaired{name: name})
			}
			all[i].wrong[way] = wrong
		}
	}
	for i := range all {
		for range processes {
			for way := range exe {
				_, used, err := run(way, "-calm", "-runs", strconv.Itoa(runs), all[i].name)
				if err != nil {
					return nil, nil, err
				}
				all[i].times[way] = append(all[i].times[way], used)
			}
		}
	}
	return all, notes, nil
}

// copyBugs makes a module of the program with the bugs.
func copyBugs(dir string) error {
	sub, err := fs.Sub(bugs, "testdata/bugs")
	if err != nil {
		return err
	}
	if err := os.CopyFS(dir, sub); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example.com/bugs\n\ngo 1.25\n"), 0o666)
}

// runIn runs a heisen command in a folder.
func runIn(ctx context.Context, dir string, out, errs io.Writer, args ...string) (status int, err error) {
	back, err := os.Getwd()
	if err != nil {
		return 0, err
	}
	if err := os.Chdir(dir); err != nil {
		return 0, err
	}
	defer func() {
		if wrong := os.Chdir(back); err == nil {
			err = wrong
		}
	}()
	return driver.Run(ctx, args, nil, out, errs)
}
