package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/patch"
	"github.com/heisen-go/heisen/internal/private"
	"github.com/heisen-go/heisen/report"
)

const (
	// perPatch is how long the trial of a repair may take, apart from what the tests take twice.
	perPatch = 10 * time.Second
	// searchTime is the part of it in which other schedules are tried.
	searchTime = 3 * time.Second
)

// trial tries patches: it builds the module with one, runs its tests or its program under the detectors of the command line, and
// then the tests that come to what is changed under other schedules.
type trial struct {
	*invocation
	root   string
	folder string // for overlays and reports
	found  []report.Finding
	took   time.Duration // what the tests or the program took without the patch
	all    bool          // the tests of all packages run, and no others are named
	given  bool          // nothing has run yet

	known  []report.Finding     // what was found without a patch
	before map[heisen.Kind]bool // what other schedules show without a patch; nil: it is not known yet
}

// newTrial returns a trial, and a function that removes what it leaves.
func (inv *invocation) newTrial(root string, found []report.Finding, took time.Duration) (*trial, func(), error) {
	folder, err := private.NewTemporary()
	if err != nil {
		return nil, nil, err
	}
	return &trial{invocation: inv, root: root, folder: folder.Path, found: found, known: found, took: took}, func() { folder.Remove() }, nil
}

// repair makes a patch for findings that passes its trial. Repairs that do not pass, alone or together, are left out, and their
// findings are refused.
func (t *trial) repair(ctx context.Context) (*patch.Result, error) {
	found := t.found
	result, err := patch.Make(ctx, t.root, t.line.tags(), found)
	if err != nil || len(result.Repairs) == 0 {
		return result, err
	}
	why, err := t.fails(ctx, result)
	if err != nil || why == "" {
		return result, err
	}
	reasons := map[string]string{} // by fingerprint
	kept := found
	if len(result.Repairs) > 1 { // which of them is it?
		kept = nil
		for _, one := range result.Repairs {
			of := withFingerprints(found, one.Findings)
			alone, err := patch.Make(ctx, t.root, t.line.tags(), of)
			if err != nil {
				return nil, err
			}
			reason := ""
			if len(alone.Repairs) > 0 {
				if reason, err = t.fails(ctx, alone); err != nil {
					return nil, err
				}
			}
			if reason == "" {
				kept = append(kept, of...)
				continue
			}
			for _, fingerprint := range one.Findings {
				reasons[fingerprint] = reason
			}
		}
		for _, r := range result.Refused {
			kept = append(kept, withFingerprints(found, []string{r.Fingerprint})...)
		}
		if result, err = patch.Make(ctx, t.root, t.line.tags(), kept); err != nil {
			return nil, err
		}
		if why = ""; len(result.Repairs) > 0 {
			if why, err = t.fails(ctx, result); err != nil {
				return nil, err
			}
		}
	}
	if why != "" {
		for _, one := range result.Repairs {
			for _, fingerprint := range one.Findings {
				reasons[fingerprint] = why
			}
		}
		refused := result.Refused
		if result, err = patch.Make(ctx, t.root, t.line.tags(), nil); err != nil {
			return nil, err
		}
		result.Refused = refused
	}
	for i := range found {
		reason := reasons[found[i].Fingerprint]
		if reason == "" {
			continue
		}
		delete(reasons, found[i].Fingerprint) // it may have several pairs
		repaired, err := t.repaired(ctx, result, append(slices.Clip(kept), withFingerprints(found, []string{found[i].Fingerprint})...))
		if err != nil {
			return nil, err
		}
		if !repaired {
			result.Refuse(&found[i], "the patch was tried, and is not printed: "+reason)
		}
	}
	return result, nil
}

// repaired reports whether a patch repairs findings: the patch for them is the same, and refuses no more.
func (t *trial) repaired(ctx context.Context, result *patch.Result, found []report.Finding) (bool, error) {
	if result.Changed() == 0 {
		return false, nil
	}
	all, err := patch.Make(ctx, t.root, t.line.tags(), found)
	return err == nil && maps.Equal(all.Files(), result.Files()) && len(all.Refused) <= len(result.Refused), err
}

func withFingerprints(found []report.Finding, fingerprints []string) (out []report.Finding) {
	for i := range found {
		if slices.Contains(fingerprints, found[i].Fingerprint) {
			out = append(out, found[i])
		}
	}
	return out
}

// fails tries a patch, and returns what is wrong with it; "" if nothing is.
func (t *trial) fails(ctx context.Context, result *patch.Result) (string, error) {
	done := t.progress("trying the patch", time.Second)
	defer done()
	if err := t.runWithout(ctx); err != nil {
		return "", err
	}
	overlay, err := t.overlay(result)
	if err != nil {
		return "", err
	}
	if why, err := t.runs(ctx, overlay, result); why != "" || err != nil {
		return why, err
	}
	return t.searches(ctx, overlay, result)
}

// runWithout runs the tests or the program without a patch, unless they have run.
func (t *trial) runWithout(ctx context.Context) error {
	if !t.given {
		return nil
	}
	began := time.Now()
	end, err := t.command(ctx, 10*time.Minute, t.line.verb, t.arguments("")...)
	if err != nil {
		return err
	}
	t.given, t.known, t.took = false, append(slices.Clip(t.known), end.found...), time.Since(began)
	return nil
}

// overlay writes the changed files, and a file for the flag -overlay.
func (t *trial) overlay(result *patch.Result) (string, error) {
	folder, err := os.MkdirTemp(t.folder, "overlay")
	if err != nil {
		return "", err
	}
	replace := map[string]string{}
	for name, text := range result.Files() {
		file := filepath.Join(folder, fmt.Sprintf("%d-%s", len(replace), filepath.Base(name)))
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return "", err
		}
		replace[filepath.Join(t.root, filepath.FromSlash(name))] = file
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	file := filepath.Join(folder, "overlay.json")
	return file, os.WriteFile(file, text, 0o600)
}

// ended is how a command of heisen has ended.
type ended struct {
	status int
	found  []report.Finding
	said   string
	late   bool // it did not end in time
}

// command runs a command of heisen in the folder of the module.
func (t *trial) command(ctx context.Context, limit time.Duration, name string, args ...string) (*ended, error) {
	file := filepath.Join(t.folder, "found.json")
	if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var said bytes.Buffer
	args = append([]string{"-report", "json:" + file}, args...)
	if t.all {
		args = append([]string{"-C", t.root}, args...)
	}
	args = append([]string{name}, args...)
	status := t.subcommand(ctx, args, Streams{In: strings.NewReader(""), Out: &said, Err: &said})
	out := &ended{status: status, said: said.String(), late: ctx.Err() != nil}
	if info, err := os.Stat(file); err != nil || info.Size() == 0 {
		return out, nil
	}
	var err error
	out.found, err = findingsIn(file)
	return out, err
}

// runs runs the tests or the program with a patch, and again if they show what was not known, as long as half of the time is left.
func (t *trial) runs(ctx context.Context, overlay string, result *patch.Result) (string, error) {
	limit := 2*t.took + perPatch
	var end *ended
	for began := time.Now(); ; { // what it does not repair is no reason to fail, and must not hide one
		left := slices.DeleteFunc(slices.Clone(t.known), func(f report.Finding) bool { return repairs(t.found, result, &f) })
		baseline, err := t.baseline(left)
		if err != nil {
			return "", err
		}
		end, err = t.command(ctx, limit-time.Since(began), t.line.verb, append([]string{"-baseline=" + baseline}, t.arguments(overlay)...)...)
		switch {
		case err != nil:
			return "", err
		case ctx.Err() != nil:
			return "", ctx.Err()
		case end.late && t.signal.Load() != 0: // the user has ended it before, too
		case end.late:
			return fmt.Sprintf("the %s has not ended after %v", t.what(), limit.Round(time.Second)), nil
		}
		for _, f := range end.found {
			if repairs(t.found, result, &f) {
				return "what it repairs was still found: " + f.String(), nil
			}
		}
		t.known = append(slices.Clip(t.known), end.found...)
		if took := time.Since(began); end.status != Findings || len(end.found) == 0 || took > limit/2 {
			break
		}
	}
	if end.status == Failed || end.status == Misused {
		baseline, err := t.baseline(t.known)
		if err != nil {
			return "", err
		}
		before, err := t.command(ctx, limit, t.line.verb, append([]string{"-baseline=" + baseline}, t.arguments("")...)...)
		if err != nil {
			return "", err
		}
		if before.status == Clean || before.status == Findings {
			return fmt.Sprintf("the %s fails: %s", t.what(), firstFailure(end.said)), nil
		}
	}
	return "", nil
}

// baseline writes findings to a file for the flag -baseline.
func (t *trial) baseline(found []report.Finding) (string, error) {
	var b report.Baseline
	for _, f := range found {
		b.Add(f)
	}
	file := filepath.Join(t.folder, "known.json")
	return file, private.Replace(file, b.Write)
}

// repairs reports whether a finding is one of those that a patch is for, or is about the same variable.
func repairs(found []report.Finding, result *patch.Result, f *report.Finding) bool {
	return slices.ContainsFunc(result.Repairs, func(one patch.Repair) bool {
		return slices.Contains(one.Findings, f.Fingerprint) || slices.ContainsFunc(withFingerprints(found, one.Findings), func(of report.Finding) bool {
			return of.Kind == f.Kind && of.Package == f.Package && of.Expression() != "" && of.Expression() == f.Expression()
		})
	})
}

func (t *trial) what() string {
	if t.line.verb == "run" {
		return "program"
	}
	return "test run"
}

// firstFailure returns a line that says what has failed.
func firstFailure(said string) string {
	for _, mark := range []string{"panic: ", "fatal error: ", "--- FAIL", ": error", "FAIL"} {
		for line := range strings.Lines(said) {
			if strings.Contains(line, mark) {
				return strings.TrimSpace(line)
			}
		}
	}
	lines := strings.Split(strings.TrimSpace(said), "\n")
	return lines[len(lines)-1]
}

// bad are the kinds of findings that a patch may cause.
var bad = []heisen.Kind{heisen.Deadlock, heisen.Leak, heisen.Failure, heisen.Misuse}

// searches runs the tests that come to what is changed under other schedules.
func (t *trial) searches(ctx context.Context, overlay string, result *patch.Result) (string, error) {
	end, err := t.fuzz(ctx, overlay, result)
	if err != nil || end == nil {
		return "", err
	}
	for _, f := range end.found {
		if f.Trials != nil && f.Trials.Confirmed == 0 || !slices.Contains(bad, f.Kind) {
			continue
		}
		if t.before == nil {
			without, err := t.fuzz(ctx, "", result)
			if err != nil {
				return "", err
			}
			t.before = map[heisen.Kind]bool{}
			for _, f := range without.found {
				t.before[f.Kind] = true
			}
		}
		if !t.before[f.Kind] {
			return "another schedule shows what none did without it: " + f.String(), nil
		}
	}
	return "", nil
}

// fuzz runs heisen fuzz for the tests of a patch, or the program. It returns nil if there is nothing to run.
func (t *trial) fuzz(ctx context.Context, overlay string, result *patch.Result) (*ended, error) {
	var names, packages []string
	for _, one := range result.Repairs {
		for _, test := range one.Tests {
			names, packages = append(names, "^"+regexp.QuoteMeta(test.Name)+"$"), append(packages, test.Package)
		}
	}
	slices.Sort(names)
	slices.Sort(packages)
	names, packages = slices.Compact(names), slices.Compact(packages)
	all := searchTime * time.Duration(len(result.Repairs))
	flags := []string{"-corpus", noCorpus, "-schedules", filepath.Join(t.folder, "schedules")}
	if t.line.verb == "test" {
		if len(names) == 0 {
			return nil, nil
		}
		flags = append(flags, "-time", max(all/time.Duration(len(names)), 100*time.Millisecond).String(), "-run", strings.Join(names, "|"))
	} else {
		flags, packages = append(flags, "-time", all.String()), nil
	}
	return t.command(ctx, all+t.took+perPatch, "fuzz", append(flags, t.fuzzArguments(overlay, packages)...)...)
}

// own are the flags of heisen heal that heisen test and heisen run have not.
var own = []string{"patch", "try", "findings", "profile", "enforce", "seed", "into", "baseline", "write-baseline", "suppress"}

// arguments returns the arguments of heisen test or heisen run, with an overlay unless its name is empty.
func (t *trial) arguments(overlay string) (args []string) {
	if overlay != "" {
		args = append(args, "-overlay="+overlay)
	}
	t.flags.Visit(func(f *flag.Flag) {
		if !slices.Contains(own, f.Name) {
			args = append(args, "-"+f.Name+"="+f.Value.String())
		}
	})
	args = append(args, t.line.tagFlags()...)
	if t.line.verb == "test" {
		args = append(args, t.line.forTest()...)
		if t.all {
			args = append(args, "./...")
		}
		return args
	}
	args = append(args, texts(t.line.goFlags(handled...))...)
	packages := t.line.packages()
	if len(packages) == 0 {
		packages = []string{"."}
	}
	return append(append(args, packages...), t.line.program()...)
}

// fuzzArguments returns the arguments of heisen fuzz for some packages, or for the program.
func (t *trial) fuzzArguments(overlay string, packages []string) (args []string) {
	if overlay != "" {
		args = append(args, "-overlay="+overlay)
	}
	args = append(args, t.line.tagFlags()...)
	if t.line.verb == "test" {
		return append(args, packages...)
	}
	args = append(args, "run")
	names := t.line.packages()
	if len(names) == 0 {
		names = []string{"."}
	}
	return append(append(args, names...), t.line.program()...)
}
