package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/heisen-go/heisen/internal/kept"
	"github.com/heisen-go/heisen/report"
)

var showCommand = command{
	name: "show", args: "[fingerprint...]",
	short: "print reported findings in full, without another run",
	long: `$heisen keeps the findings that it reports, in the user's cache folder: for each
module the latest 10,000, and no more than 64 MB, until nothing was found there for
30 days. Copies of a module in several folders do not share them. $heisen show prints those with the given fingerprints, or beginnings of
fingerprints, with whole stacks, addresses and schedules; in other formats with
-report. Without a fingerprint it lists those of the module that the present folder
is in, the latest first.

A finding is as it was at the end of the latest run that found it. Source lines are
those of that time.
`,
	run: (*invocation).show, foreign: true,
}

// show is heisen show. It prints what is kept.
func (inv *invocation) show() (int, error) {
	to := inv.reportFlag(formatsUsage + ". Text\nis in full. Without a file, the report goes to standard output")
	to.full, to.foreign = true, true
	if err := inv.parse(); err != nil {
		return Misused, err
	}
	if err := to.check(); err != nil {
		return Failed, err
	}
	here, err := os.Getwd()
	if err != nil {
		return Failed, err
	}
	folder, err := kept.Open(here)
	if err != nil {
		return Failed, err
	}
	lists := len(inv.args)+len(inv.rest) == 0
	var all []report.Finding
	if lists {
		all, err = inv.list(folder, here, to)
	} else {
		all, err = inv.kept(folder)
	}
	if err != nil {
		return Failed, err
	}
	if to.shows(asText) && !lists {
		err = writeEach(all, to.printTo(inv.Out, inv.raw.Out))
	}
	err = errors.Join(err, to.writeOutput(inv.Out, all, nil, jsonTo(inv.Out)), to.writeFiles(all, nil))
	if err != nil {
		return Failed, err
	}
	return Clean, nil
}

// kept returns the findings that the arguments name.
func (inv *invocation) kept(folder *kept.Folder) (all []report.Finding, err error) {
	for _, prefix := range append(inv.args, inv.rest...) {
		found, err := folder.Find(prefix)
		if errors.Is(err, kept.ErrUnknown) {
			return nil, fmt.Errorf("%w; %s show lists those of this module", err, inv.tool.Name)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// list prints the findings that are kept, one on a line, if text is wanted, and returns them.
func (inv *invocation) list(folder *kept.Folder, here string, to *reports) (all []report.Finding, err error) {
	entries, err := folder.All()
	if err != nil {
		return nil, err
	}
	for i := range entries {
		f := &entries[i].Finding
		all = append(all, *f)
		if to.shows(asText) {
			text := strings.TrimSuffix(f.String(), " ["+f.Fingerprint+"]")
			fmt.Fprintf(inv.Out, "%s  %s  %s\n", f.Fingerprint, entries[i].Time.Format(time.DateTime), text)
		}
	}
	if len(entries) == 0 {
		of, err := kept.Root(here)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(inv.Err, "%s: nothing that was found in %s is kept\n", inv.tool.Name, of)
	}
	return all, nil
}
