package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/heisen-go/heisen/bench/results"
	"github.com/heisen-go/heisen/driver"
	"github.com/heisen-go/heisen/heal"
	"github.com/heisen-go/heisen/internal/enforce"
)

// paper has the rows of table 3 of the paper, without its counts of statements.
var paper = [][]any{
	{"aget", "5/ 3", 0, 7, 1, 2, 2, 3, "0/ 9", "4/ 4", "0/ 0", "4/ 12"},
	{"pbzip", "18/ 17", 60, 16, 3, 24, 26, 15, "28/ 35", "13/ 28", "2/ 0", "76/ 104"},
	{"nszip", "2/ 2", 3, 7, 1, 1, 5, 2, "0/ 0", "4/ 3", "0/ 0", "9/ 8"},
	{"apache", "15/ 13", 11, 28, 9, 21, 29, 13, "6/ 13", "17/ 20", "1/ 1", "52/ 65"},
	{"spidermonkey", "16/ 9", 13, 26, 9, 36, 36, 8, "10/ 7", "18/ 39", "5/ 2", "36/ 108"},
	{"mysql", "66/ 20", 91, 181, 36, 222, 300, 15, "71/ 39", "99/ 431", "7/ 5", "249/ 959"},
}

// inserted is the column of table 3 with the number of inserted locks.
const inserted = 7

// placement profiles the programs of examples/atomicity, places locks, and prints what table 3 of the paper has: the
// variables that several goroutines access and those without a common lock, the atomic pairs, the locks of the
// program, the variables with an inserted lock and how many of them have one for each object, and the inserted operations before and after deadlock resolution. An acquisition in the mode Update, and one
// that keeps locks in order, counts by the mode in which it excludes others. The last columns are about the programs as
// they are and with the locks.
func placement(ctx context.Context, w io.Writer, dir string, runs, procs int) error {
	fmt.Fprintf(w, "Inserted: variables with a lock; by object: those with one for each object. Before/after: without and with the orders of locks. Wrong results: of %d runs each with GOMAXPROCS=%d.\n\n", runs, procs)
	table := results.NewTable("program", "shared/unprotected", "R pairs", "X pairs", "locks", "acq", "rel",
		"inserted", "by object", "R acq", "X acq", "degrade", "rel", "wrong", "enforced", "refused")
	for _, row := range paper {
		row = slices.Insert(slices.Clone(row), inserted+1, any(0))
		row[0] = fmt.Sprintf("%s (the paper's)", row[0])
		table.Add(row...)
	}
	for _, name := range programs {
		row, err := placed(ctx, filepath.Join(dir, name), name, runs, procs)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		table.Add(row...)
	}
	return table.Print(w)
}

// placed returns the row of a program. It makes a module of its own in dir.
func placed(ctx context.Context, dir, name string, runs, procs int) ([]any, error) {
	p := &program{name: name, procs: procs}
	current, plan, overlay, err := p.enforced(ctx, dir)
	if err != nil {
		return nil, err
	}
	s, err := plan.Statistics()
	if err != nil {
		return nil, err
	}
	wrong, enforced, err := p.compare(ctx, dir, overlay, runs)
	if err != nil {
		return nil, err
	}
	unprotected := 0
	pairs := map[heal.Mode]int{}
	for _, v := range current.Variables() {
		if len(v.Locks) == 0 {
			unprotected++
		}
	}
	for _, v := range current.Atomic() {
		for _, pair := range v.Pairs {
			pairs[pair.Mode]++
		}
	}
	both := func(counts ...[2]int) string {
		var sum [2]int
		for _, c := range counts {
			sum[0] += c[0]
			sum[1] += c[1]
		}
		return fmt.Sprintf("%d/ %d", sum[0], sum[1])
	}
	return []any{
		name, fmt.Sprintf("%d/ %d", len(current.Variables()), unprotected), pairs[heal.Shared], pairs[heal.Exclusive],
		s.ProgramLocks, s.ProgramAcquisitions, s.ProgramReleases, s.Locks, s.Tables,
		both(s.Shared, s.Update), both(s.Exclusive, s.Held), both(s.Degradations), both(s.Releases), wrong, enforced, len(plan.Refused),
	}, nil
}

// enforced makes a module of the program in dir, profiles it, and writes an overlay for what its runs show.
func (p *program) enforced(ctx context.Context, dir string) (current *heal.Profile, plan *enforce.Plan, overlay string, err error) {
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("examples", "atomicity", p.name))); err != nil {
		return nil, nil, "", err
	}
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example.com/"+p.name+"\n\ngo 1.25\n"), 0o666); err != nil {
		return nil, nil, "", err
	}
	p.exe[plain] = filepath.Join(dir, "plain.exe")
	if err := goBuild(ctx, dir, "-o", p.exe[plain]); err != nil {
		return nil, nil, "", err
	}
	if p.right, _, err = p.execute(ctx, plain, "-fixed"); err != nil {
		return nil, nil, "", err
	}
	profile, err := profiled(ctx, dir, p.right)
	if err != nil {
		return nil, nil, "", err
	}
	source, err := enforce.Load(ctx, dir, nil)
	if err != nil {
		return nil, nil, "", err
	}
	current, _, err = source.Current(profile)
	if err != nil {
		return nil, nil, "", err
	}
	plan, err = source.Plan(ctx, current)
	if err != nil {
		return nil, nil, "", err
	}
	overlay, err = plan.Write(filepath.Join(dir, "healed"))
	return current, plan, overlay, err
}

// profiled returns the profile of passing runs: those that print what is right.
func profiled(ctx context.Context, dir, right string) (*enforce.Profile, error) {
	const good, next = "passing.profile", "next.profile"
	passed := 0
	for n := 0; passed < passing; n++ {
		if n == tries {
			return nil, fmt.Errorf("%d of %d runs passed, fewer than %d", passed, tries, passing)
		}
		if err := os.Remove(filepath.Join(dir, next)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
		if passed > 0 {
			text, err := os.ReadFile(filepath.Join(dir, good))
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, next), text, 0o666)
			}
			if err != nil {
				return nil, err
			}
		}
		var out bytes.Buffer
		args := []string{"heal", "-profile", next, "-pkgs", "work", "run", "."}
		if status, err := runIn(ctx, dir, &out, os.Stderr, args...); err != nil || status != driver.Clean {
			return nil, fmt.Errorf("heisen heal: status %d: %w", status, err)
		}
		if strings.TrimSpace(out.String()) != right {
			continue
		}
		if err := os.Rename(filepath.Join(dir, next), filepath.Join(dir, good)); err != nil {
			return nil, err
		}
		passed++
	}
	f, err := os.Open(filepath.Join(dir, good))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return enforce.DecodeProfile(f)
}

// compare returns how many runs of the program have another result than its correct variant, as it is and under an
// overlay.
func (p *program) compare(ctx context.Context, dir, overlay string, runs int) (wrong, enforced int, err error) {
	p.exe[healed] = filepath.Join(dir, "healed.exe")
	if err := goBuild(ctx, dir, "-overlay", overlay, "-o", p.exe[healed]); err != nil {
		return 0, 0, err
	}
	for range runs {
		for _, way := range []int{plain, healed} {
			if err := p.run(ctx, way); err != nil {
				return 0, 0, err
			}
		}
	}
	return p.wrong[plain], p.wrong[healed], nil
}

// goBuild builds the program in a module.
func goBuild(ctx context.Context, dir string, flags ...string) error {
	cmd := exec.CommandContext(ctx, "go", slices.Concat([]string{"build"}, flags, []string{"."})...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build %v: %w\n%s", flags, err, out)
	}
	return nil
}
