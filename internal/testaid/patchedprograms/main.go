// Command patchedprograms tries to break heisen heal -patch. It generates random programs with races (package racyprograms), makes a
// patch for each, and explores the patched programs as heisen fuzz does. In no schedule may a patched program
//
//   - deadlock, hang, or leave a goroutine behind that waits;
//   - lose an update, by which its test fails;
//   - race on a field that is repaired.
//
// Programs with a finding that is refused are not explored: what is left is said, and may do what it did before.
//
// With -enforce, it tries to break heisen heal -enforce instead: it profiles runs of the programs that pass, and explores the programs
// with the overlay.
//
//	go run ./internal/testaid/patchedprograms [-enforce] [-n programs] [-seed n] [-time d] [-j n]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/cli"
	"github.com/heisen-go/heisen/internal/findingsfile"
	"github.com/heisen-go/heisen/internal/patch"
	"github.com/heisen-go/heisen/internal/testaid/racyprograms"
	"github.com/heisen-go/heisen/report"
)

func main() {
	var s settings
	flag.IntVar(&s.programs, "n", 100, "number of programs")
	flag.Uint64Var(&s.seed, "seed", 1, "seed of the first program")
	flag.DurationVar(&s.time, "time", 300*time.Millisecond, "time for the schedules of a program")
	flag.IntVar(&s.parallel, "j", runtime.NumCPU(), "number of patches and executions at a time")
	flag.StringVar(&s.keep, "keep", "", "keep the patched programs in a `folder`")
	flag.BoolVar(&s.enforced, "enforce", false, "enforce what passing runs show instead of patching")
	flag.Parse()
	r, err := s.run(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, "patchedprograms:", err)
		os.Exit(2)
	}
	for _, w := range r.wrong {
		fmt.Println(w)
	}
	fmt.Println(r)
	if len(r.wrong) > 0 {
		os.Exit(1)
	}
}

// settings say which programs are tried, and how long.
type settings struct {
	programs int
	seed     uint64
	time     time.Duration
	parallel int
	keep     string
	original bool // the programs are explored as they are, without patches
	enforced bool // with locks for what passing runs show, instead of patches
}

// result is what was found.
type result struct {
	programs, patched, refused int
	reasons                    map[string][]string // to the programs
	wrong                      []string
}

// String returns the numbers on one line, and how often each reason was given, with the first program.
func (r *result) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d programs: %d patched as a whole, %d with something refused, %d wrong", r.programs, r.patched, r.refused, len(r.wrong))
	var reasons []string
	for reason := range r.reasons {
		reasons = append(reasons, reason)
	}
	slices.SortFunc(reasons, func(a, b string) int { return len(r.reasons[b]) - len(r.reasons[a]) })
	for _, reason := range reasons {
		fmt.Fprintf(&b, "\n%5d %s (%s)", len(r.reasons[reason]), reason, slices.Min(r.reasons[reason]))
	}
	return b.String()
}

// run patches the programs, and explores those that are repaired as a whole.
func (s settings) run(ctx context.Context) (*result, error) {
	folder := s.keep
	if folder == "" {
		var err error
		if folder, err = os.MkdirTemp("", "patched"); err != nil {
			return nil, err
		}
		defer os.RemoveAll(folder)
	}
	if s.enforced {
		return s.enforce(ctx, folder)
	}
	r := &result{programs: s.programs, reasons: map[string][]string{}}
	var mu sync.Mutex
	var all sync.WaitGroup
	var failed error
	turns := make(chan bool, max(s.parallel, 1))
	for i := range s.programs {
		turns <- true
		all.Go(func() {
			defer func() { <-turns }()
			p := racyprograms.Generate(s.seed + uint64(i))
			text, refused, err := s.patch(ctx, p)
			mu.Lock()
			defer mu.Unlock()
			failed = errors.Join(failed, err)
			switch {
			case err != nil:
				return
			case len(refused) > 0:
				r.refused++
				reason := kind(refused[0].Reason)
				r.reasons[reason] = append(r.reasons[reason], p.Name)
				return
			}
			r.patched++
			failed = errors.Join(failed, write(filepath.Join(folder, p.Name), map[string]string{"c.go": text, "c_test.go": p.Tests}))
		})
	}
	all.Wait()
	if failed != nil {
		return nil, failed
	}
	if r.patched == 0 {
		return r, nil
	}
	if err := write(folder, map[string]string{"go.mod": goMod}); err != nil {
		return nil, err
	}
	found, err := s.fuzz(ctx, folder)
	for _, f := range found {
		r.wrong = append(r.wrong, fmt.Sprintf("%s: %s", f.Package, f.String()))
	}
	return r, err
}

const goMod = "module example.com/racy\n\ngo 1.25\n"

// kind leaves out of a reason what is different from program to program.
func kind(reason string) string {
	return strings.Map(func(c rune) rune {
		if c >= '0' && c <= '9' {
			return 'N'
		}
		return c
	}, reason)
}

// patch returns the patched source of a program, and what is refused.
func (s settings) patch(ctx context.Context, p racyprograms.Program) (string, []patch.Refusal, error) {
	if s.original {
		return p.Source, nil, nil
	}
	dir, err := os.MkdirTemp("", "patch")
	if err != nil {
		return "", nil, err
	}
	defer os.RemoveAll(dir)
	if err := write(dir, map[string]string{"go.mod": goMod, "c.go": p.Source, "c_test.go": p.Tests}); err != nil {
		return "", nil, err
	}
	var found []report.Finding
	for i, f := range p.Fields {
		at := report.Access{Op: "write", Variable: f.Expr, Stack: []report.Frame{{Func: "f", File: filepath.Join(dir, "c.go"), Line: f.Line}}}
		found = append(found, report.Finding{Kind: heisen.Race, Fingerprint: fmt.Sprintf("%016d", i), Accesses: []report.Access{at, at}})
	}
	done, err := patch.Make(ctx, dir, nil, found)
	if err != nil {
		return "", nil, fmt.Errorf("%s: %w\n%s", p.Name, err, p.Source)
	}
	if text, ok := done.Files()["c.go"]; ok {
		return text, done.Refused, nil
	}
	return p.Source, done.Refused, nil
}

func write(dir string, files map[string]string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			return err
		}
	}
	return nil
}

// fuzz runs heisen fuzz on all programs in a folder, and returns what it finds and is confirmed.
func (s settings) fuzz(ctx context.Context, folder string, flags ...string) ([]report.Finding, error) {
	file := filepath.Join(folder, "found.json")
	args := append([]string{
		"fuzz", "-C", folder, "-corpus", "none", "-time", s.time.String(), "-j", fmt.Sprint(max(s.parallel, 1)), "-minimize", "0", "-report", "json:" + file,
		"-schedules", filepath.Join(folder, "schedules"),
	}, append(flags, "./...")...)
	switch status, said := command(ctx, args...); status {
	case cli.Clean:
		return nil, nil
	case cli.Findings:
	default:
		return nil, fmt.Errorf("heisen fuzz: exit status %d\n%s", status, said)
	}
	found, err := findingsfile.Read(file)
	return slices.DeleteFunc(found, func(f report.Finding) bool { return f.Trials != nil && f.Trials.Confirmed == 0 }), err
}
