package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/heisen-go/heisen/report"
)

// known is what need not be reported: findings of a baseline, by fingerprint, and
// those that a suppressions file names.
type known struct {
	baseline, write, suppress string // the flags' files

	old          []report.Finding
	inBaseline   map[string]bool
	suppressions []report.Suppression
}

// knownFlags defines -baseline, -write-baseline and -suppress.
func (inv *invocation) knownFlags() *known {
	k := &known{}
	inv.flags.StringVar(&k.baseline, "baseline", "", "do not report the findings in `file`")
	inv.flags.StringVar(&k.write, "write-baseline", "", "write the findings to `file`, after those of -baseline")
	inv.flags.StringVar(&k.suppress, "suppress", "", "do not report what `file` names")
	return k
}

// read reads the files that the flags name.
func (k *known) read() error {
	k.inBaseline = map[string]bool{}
	if k.write != "" { // sooner than after the program has run
		if info, err := os.Stat(filepath.Dir(k.write)); err != nil {
			return err
		} else if !info.IsDir() {
			return fmt.Errorf("%s is not a folder", filepath.Dir(k.write))
		}
	}
	if k.baseline != "" {
		f, err := os.Open(k.baseline)
		if err != nil {
			return err
		}
		defer f.Close()
		if k.old, err = report.ReadJSON(f); err != nil {
			return fmt.Errorf("%s: %w", k.baseline, err)
		}
		for _, old := range k.old {
			k.inBaseline[old.Fingerprint] = true
		}
	}
	if k.suppress != "" {
		f, err := os.Open(k.suppress)
		if err != nil {
			return err
		}
		defer f.Close()
		if k.suppressions, err = report.ReadSuppressions(k.suppress, f); err != nil {
			return err
		}
	}
	return nil
}

// writeBaseline writes the old baseline and what was found beside it, if asked to.
func (k *known) writeBaseline(found *findings) error {
	if k.write == "" {
		return nil
	}
	return replaceFile(k.write, func(w io.Writer) error {
		write := jsonTo(w)
		for i := range k.old {
			if err := write(&k.old[i]); err != nil {
				return err
			}
		}
		return found.writeAll(write)
	})
}

// hides reports whether a finding need not be reported, and the suppression that
// says so; nil if it is the baseline.
func (k *known) hides(f *report.Finding) (by *report.Suppression, hidden bool) {
	for i := range k.suppressions {
		if by = &k.suppressions[i]; by.Matches(f) {
			return by, true
		}
	}
	return nil, k.inBaseline[f.Fingerprint]
}

// summary says what was not reported, by fingerprint and suppression, and which
// suppressions there was no need for.
func (k *known) summary(w io.Writer, hidden map[string]*report.Suppression) {
	numbers := map[*report.Suppression]int{}
	for _, by := range hidden {
		numbers[by]++
	}
	if n := numbers[nil]; n > 0 {
		fmt.Fprintf(w, "%d known finding(s) not shown: they are in %s\n", n, k.baseline)
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
