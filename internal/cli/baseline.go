package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/heisen-go/heisen/internal/private"
	"github.com/heisen-go/heisen/internal/repository"
	"github.com/heisen-go/heisen/internal/wording"
	"github.com/heisen-go/heisen/report"
)

// knownFindings has the findings that are not reported: those in a baseline, and those that a
// suppressions file names.
type knownFindings struct {
	baselineFile, newBaselineFile, suppressionsFile string // values of the flags
	newOnly                                         bool

	baseline     *report.Baseline
	suppressions []report.Suppression

	mu    sync.Mutex
	read  int                        // how many findings the file has
	found map[int]bool               // indexes of those that this run has found
	could func(*report.Finding) bool // whether this run could have found one of them; nil if that is not known
}

// baselineFlags defines -baseline, -write-baseline and -suppress.
func (inv *invocation) baselineFlags() *knownFindings {
	k := &knownFindings{}
	inv.flags.StringVar(&k.baselineFile, "baseline", "", "do not report the findings in `file`")
	inv.flags.StringVar(&k.newBaselineFile, "write-baseline", "", "write the baseline and the new findings to `file`")
	inv.flags.StringVar(&k.suppressionsFile, "suppress", "", "do not report findings that a line of `file` matches")
	return k
}

// readFiles reads the files that the flags name.
func (k *knownFindings) readFiles() error {
	if k.newBaselineFile != "" { // fail before the program runs
		if err := isFolder(filepath.Dir(k.newBaselineFile)); err != nil {
			return err
		}
	}
	k.baseline = &report.Baseline{}
	if k.baselineFile != "" {
		f, err := os.Open(k.baselineFile)
		if err != nil {
			return err
		}
		defer f.Close()
		if k.baseline, err = report.ReadBaseline(f); err != nil {
			return fmt.Errorf("%s: %w", k.baselineFile, err)
		}
		k.read = len(k.baseline.Findings())
	}
	if k.suppressionsFile != "" {
		f, err := os.Open(k.suppressionsFile)
		if err != nil {
			return err
		}
		defer f.Close()
		if k.suppressions, err = report.ReadSuppressions(k.suppressionsFile, f); err != nil {
			return err
		}
	}
	return nil
}

// writeBaseline writes the file of -write-baseline, if there is one: the old baseline and the
// reported findings.
func (k *knownFindings) writeBaseline(found *findings) error {
	if k.newBaselineFile == "" {
		return nil
	}
	folder, err := os.Getwd()
	if err != nil {
		return err
	}
	root := repository.Find(folder)
	next := k.baseline
	all, _ := found.all()
	for _, f := range all {
		next.Add(inRepository(f, root))
	}
	return private.Replace(k.newBaselineFile, next.Write)
}

// inRepository returns a finding that names the files of a repository relative to that, where it names the innermost functions.
func inRepository(f report.Finding, root repository.Root) report.Finding {
	short := func(stack []report.Frame) []report.Frame {
		if len(stack) == 0 {
			return nil
		}
		at := stack[0]
		if name, ok := root.Rel(at.File); ok {
			at.File = name
		}
		return []report.Frame{at}
	}
	f.Accesses, f.Blocked = slices.Clone(f.Accesses), slices.Clone(f.Blocked)
	for i := range f.Accesses {
		f.Accesses[i].Stack = short(f.Accesses[i].Stack)
	}
	for i := range f.Blocked {
		f.Blocked[i].Stack = short(f.Blocked[i].Stack)
	}
	return f
}

// hides reports whether a finding is not to be reported, and the suppression that matches it. The
// suppression is nil if the finding is in the baseline.
func (k *knownFindings) hides(f *report.Finding) (by *report.Suppression, hidden bool) {
	k.note(f)
	for i := range k.suppressions {
		if by = &k.suppressions[i]; by.Matches(f) {
			return by, true
		}
	}
	return nil, k.baseline.Contains(f)
}

// passes reports whether a finding is mentioned and does not count, because the run before has found it.
func (k *knownFindings) passes(f *report.Finding) bool {
	return k.newOnly && f.History != nil && f.History.State == "known"
}

// note notes which findings in the baseline are the same bug as one of this run.
func (k *knownFindings) note(f *report.Finding) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, i := range k.baseline.Matching(f) {
		if k.found == nil {
			k.found = map[int]bool{}
		}
		k.found[i] = true
	}
}

// summary prints how many findings were hidden, by suppression, and which suppressions matched
// nothing. hidden has the suppression of each hidden fingerprint.
func (k *knownFindings) summary(w io.Writer, hidden map[string]*report.Suppression) {
	numbers := map[*report.Suppression]int{}
	for _, by := range hidden {
		numbers[by]++
	}
	if n := numbers[nil]; n > 0 {
		fmt.Fprintf(w, "%d known finding(s) not shown: they are in %s\n", n, k.baselineFile)
	}
	k.sayStale(w)
	for i := range k.suppressions {
		s := &k.suppressions[i]
		if n := numbers[s]; n > 0 {
			fmt.Fprintf(w, "%d finding(s) suppressed by %v: %s\n", n, s, s.Reason)
		} else {
			fmt.Fprintf(w, "%v: unused suppression\n", s)
		}
	}
}

// sayStale names the findings in the baseline that the run could have found and has not: they may be repaired.
func (k *knownFindings) sayStale(w io.Writer) {
	if k.could == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	told := map[string]bool{}
	for i, f := range k.baseline.Findings()[:k.read] {
		if k.found[i] || told[f.Fingerprint] || !k.could(&f) {
			continue
		}
		told[f.Fingerprint] = true
		fmt.Fprintf(w, "%s, %s in %s, was not found: %s has it\n", f.Fingerprint, wording.About(&f), f.Package, k.baselineFile)
	}
}

// runsAll reports whether the command line leaves out no tests.
func (l *commandLine) runsAll() bool {
	return !slices.ContainsFunc([]string{"run", "skip", "short", "failfast", "list"}, func(name string) bool {
		_, given := l.value(name)
		return given
	})
}
