package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/heisen-go/heisen/internal/confirm/controlled"
	"github.com/heisen-go/heisen/internal/observed"
	"github.com/heisen-go/heisen/internal/plural"
	"github.com/heisen-go/heisen/internal/racetag"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/internal/wording"
	"github.com/heisen-go/heisen/racefuzz"
	"github.com/heisen-go/heisen/report"
)

var replayCommand = command{
	name: "replay", args: "file.schedule",
	short: "repeat the execution of a schedule",
	long: `$heisen builds the program from its present sources, executes it once under the
schedule and shows its output. Run it in the folder in which $heisen fuzz ran. If the
execution differs from the schedule, $heisen says so. The name - is standard input.
The program itself has an empty one, as under $heisen fuzz.
`,
	run: (*invocation).replay,
}

// replay is heisen replay. It repeats the execution of a schedule.
func (inv *invocation) replay() (int, error) {
	limit := inv.flags.Duration("limit", time.Minute, "stop the execution after this time")
	to := inv.reportFlag(reportUsage)
	if err := inv.parse(); err != nil {
		return Misused, err
	}
	if len(inv.args) != 1 {
		return Misused, misuse("want one schedule")
	}
	if err := to.check(); err != nil {
		return Failed, err
	}
	schedule, err := readSchedule(inv.args[0], inv.In)
	if err != nil {
		return Failed, err
	}
	folder, err := os.Getwd()
	if err != nil {
		return Failed, err
	}
	source, plan, err := controlled.Restore(schedule, folder)
	if err != nil {
		return Failed, fmt.Errorf("%s: %w", inv.args[0], err)
	}
	fmt.Fprintf(inv.Err, "%s: repeating: %s\n", inv.tool.Name, commandOf(schedule))
	ctx, stop := inv.interruptible()
	defer stop()
	programs, with, giveUp, err := inv.buildControlled(ctx, &source)
	if err != nil {
		return Failed, err
	}
	defer giveUp()
	if len(programs) != 1 {
		return Failed, fmt.Errorf("%s: %d programs match %s", inv.args[0], len(programs), schedule.Program)
	}
	if schedule.Go != "" && schedule.Go != with.Version {
		fmt.Fprintf(inv.Err, "%s: the schedule was made with%s, and this is %s: the execution may differ\n", inv.tool.Name, quoted([]string{schedule.Go}), with.Version)
	}
	return inv.repeat(ctx, programs[0], observed.NewResolver(inv.resolver, with), plan, schedule, *limit, to)
}

// repeat executes a program under a schedule and prints what happens.
func (inv *invocation) repeat(ctx context.Context, p *controlled.Program, resolver *observed.Resolver, plan *recorder.Schedule, schedule *racefuzz.Schedule, limit time.Duration, to *reports) (int, error) {
	e, err := p.Execute(ctx, controlled.Plan{
		Schedule: plan, Process: controlled.Afresh, Mode: recorder.Unrepeated, Limit: limit, Output: inv.raw.Out, Errors: inv.raw.Err,
	}, resolver)
	if err != nil {
		return Failed, err
	}
	var found []report.Finding
	for _, f := range e.Findings() {
		if at := slices.IndexFunc(found, func(known report.Finding) bool { return known.Fingerprint == f.Fingerprint }); at >= 0 {
			found[at].AddPairs(&f)
			continue
		}
		found = append(found, f)
	}
	if to.shows(asText) {
		err = errors.Join(err, writeEach(found, to.printTo(inv.Err, inv.raw.Err)))
	}
	if f, failed := controlled.FailureOf(p, e); failed && len(found) == 0 {
		found = append(found, f)
		if to.shows(asText) && e.Outcome.Class == controlled.Exited { // of others, the program itself has printed the place
			f.Printed = nil // here, too
			err = errors.Join(err, to.printTo(inv.Err, inv.raw.Err)(&f))
		}
	}
	to.keepAll(found, nil)
	err = errors.Join(err, to.writeOutput(inv.Out, found, nil, jsonTo(inv.Out)), to.writeFiles(found, nil))
	if e.Stuck != nil {
		for i := range e.Blocked {
			fmt.Fprint(inv.Err, e.Blocked[i])
		}
	}
	fmt.Fprintf(inv.Err, "%s: %s, after %s\n", inv.tool.Name, endOf(found, e.Outcome), plural.Of(int(e.Steps), "step"))
	if text := likeness(schedule, e); text != "" {
		fmt.Fprintf(inv.Err, "%s: %s\n", inv.tool.Name, text)
	}
	if e.Awaited != "" {
		fmt.Fprintf(inv.Err, "%s: virtual time went past the real one while something could still answer (%s): what happened then may only be an assumption about time\n",
			inv.tool.Name, e.Awaited)
	}
	for _, from := range e.Outside {
		fmt.Fprintf(inv.Err, "%s: it also depends on %s\n", inv.tool.Name, from)
	}
	switch {
	case len(found) > 0 || e.Outcome.Class.Failed():
		return Findings, err
	case err != nil || e.Outcome.Class == controlled.Hung: // the limit is no bug, but it did not end
		return Failed, err
	}
	return Clean, nil
}

// endOf says how an execution has ended. That a program has passed does not say that nothing has happened in it.
func endOf(found []report.Finding, outcome controlled.Outcome) string {
	if len(found) == 0 || outcome.Class.Failed() {
		return outcome.String()
	}
	var titles, all []string
	for i := range found {
		titles = append(titles, strings.ToLower(wording.Title(&found[i])))
	}
	for i, title := range titles {
		if slices.Index(titles, title) == i {
			n := 0
			for _, other := range titles[i:] {
				if other == title {
					n++
				}
			}
			all = append(all, plural.Of(n, title))
		}
	}
	return strings.Join(all, ", ") + "; the program itself: " + outcome.String()
}

// likeness says whether an execution is that of a schedule; nothing, if the schedule does not tell. The execution of the
// schedule may itself have left the order that it was to follow.
func likeness(s *racefuzz.Schedule, e *controlled.Execution) string {
	switch {
	case s.Hash != 0 && s.Hash == e.Hash && s.Steps == e.Steps:
		return "the execution is that of the schedule"
	case e.Diverged > 0:
		return plural.Of(int(e.Diverged), "choice") + " of the schedule could not be followed: the program is not the same"
	case s.Hash != 0:
		return "the execution differs from that of the schedule: the program, or its input, has changed"
	}
	return ""
}

// commandOf returns what a schedule runs, as it could stand in a command line.
func commandOf(s *racefuzz.Schedule) string {
	text := s.Command
	tags, without := racetag.Split(s.Tags)
	if without {
		text += " -norace-files"
	}
	if len(tags) > 0 {
		text += " -tags" + quoted([]string{strings.Join(tags, ",")})
	}
	return text + quoted([]string{s.Program}) + quoted(s.Args)
}

// quoted returns arguments as they could stand in a command line, each after a blank.
func quoted(args []string) string {
	var b strings.Builder
	for _, arg := range args {
		if arg == "" || strings.ContainsFunc(arg, func(r rune) bool { return unicode.IsSpace(r) || r == '"' || !unicode.IsGraphic(r) }) {
			arg = strconv.Quote(arg)
		}
		b.WriteString(" " + arg)
	}
	return b.String()
}

// readSchedule reads a schedule from a file, or from standard input.
func readSchedule(name string, in io.Reader) (*racefuzz.Schedule, error) {
	if name != stdStream {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(bufio.NewReader(io.LimitReader(in, maxSchedule+1)))
	if err == nil && len(text) > maxSchedule {
		err = fmt.Errorf("more than %d bytes", maxSchedule)
	}
	var s racefuzz.Schedule
	if err == nil {
		err = s.UnmarshalText(text)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &s, nil
}

// maxSchedule bounds the size of a schedule's text.
const maxSchedule = 256 << 20
