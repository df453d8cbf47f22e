package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/heisen-go/heisen/internal/private"
	"github.com/heisen-go/heisen/report"
)

// knownFindings has the findings that are not reported: those in a baseline, and those that a
// suppressions file names.
type knownFindings struct {
	baselineFile, newBaselineFile, suppressionsFile string // values of the flags

	baseline     *report.Baseline
	suppressions []report.Suppression
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
	return private.Replace(k.newBaselineFile, func(w io.Writer) error {
		if err := k.baseline.Write(w); err != nil {
			return err
		}
		all, _ := found.all()
		return writeEach(all, jsonTo(w))
	})
}

// hides reports whether a finding is not to be reported, and the suppression that matches it. The
// suppression is nil if the finding is in the baseline.
func (k *knownFindings) hides(f *report.Finding) (by *report.Suppression, hidden bool) {
	for i := range k.suppressions {
		if by = &k.suppressions[i]; by.Matches(f) {
			return by, true
		}
	}
	return nil, k.baseline.Contains(f)
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
	for i := range k.suppressions {
		s := &k.suppressions[i]
		if n := numbers[s]; n > 0 {
			fmt.Fprintf(w, "%d finding(s) suppressed by %v: %s\n", n, s, s.Reason)
		} else {
			fmt.Fprintf(w, "%v: unused suppression\n", s)
		}
	}
}
