package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/allocsite"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/report"
	"github.com/heisen-go/heisen/trace"
)

var analyzeCommand = command{
	name: "analyze", args: "trace...",
	short: "report the races in recorded traces",
	long: `A trace is in heisen's binary format or in the STD text format. The name - is
standard input. In a damaged trace, $heisen analyzes the part before the damage.
At a limit of memory or time, $heisen ends with an error and
reports what was found so far, as after a signal.
-filter tree keeps redundant accesses from hb and hybrid, where that is faster.
` + baselineHelp,
	run: (*invocation).analyze, foreign: true,
}

// analyze is heisen analyze. It runs detectors on recorded traces.
func (inv *invocation) analyze() (int, error) {
	detect := inv.detectFlag()
	filter := inv.filterFlag(false)
	known := inv.baselineFlags()
	to := inv.reportFlag(formatsUsage + ". Without a\nfile, the report goes to standard output. The flag may be given several times")
	to.foreign = true
	o := &atomraceFlags{}
	o.sectionsFlag(inv)
	limits := inv.allowanceFlags()
	files, err := inv.parseFiles()
	if err != nil {
		return Misused, err
	}
	if err := detect.onTrace(inv.tool.Name); err != nil {
		return Misused, err
	}
	if err := known.readFiles(); err != nil {
		return Failed, err
	}
	if err := to.check(); err != nil {
		return Failed, err
	}
	if o.sections != "" {
		if err := o.readSections(); err != nil {
			return Failed, err
		}
		detect.sections, detect.sectionsFile = o.read, o.sections
	}
	if *filter {
		detect.fronts = &traceFilters{}
	}
	print := to.printTo(inv.Out, inv.raw.Out)
	found := newFindings(inv.resolver, nil, known)
	if to.shows(asText) {
		// Predictions may take long, and are printed when they are found. The others are printed at the end, with their
		// counts, and because a trace may define names at its end.
		found.print, found.later = print, func(f *report.Finding) bool { return f.Witness == nil }
	}
	// A second signal may come while the report is written.
	defer inv.holdSignals()()
	g, stop := inv.guardFiles(limits, files...)
	defer stop()
	found.full = g.tooMany
	done := inv.progress("analyzing", time.Second)
	failed := g.do(func() error { return inv.analyzeFiles(g.ctx, files, detect, found) })
	done()
	left := errors.Is(failed, errLeft)
	if left {
		found.leave()
	}
	all, _ := found.all()
	to.keepAll(all, nil)
	failed = errors.Join(failed, to.writeOutput(inv.Out, all, nil, jsonTo(inv.Out)))
	if to.shows(asText) {
		failed = errors.Join(failed, writeEach(found.unprinted(), print))
		found.summary(inv.Out, nil)
	} else {
		known.summary(inv.Err, found.hidden)
	}
	failed = errors.Join(failed, to.writeFiles(all, nil))
	if !left {
		detect.fronts.summary(inv.Err, inv.tool.Name)
		detect.mcm.summary(inv.Err, inv.tool.Name)
	}
	failed = errors.Join(failed, known.writeBaseline(found))
	var refused *usageError
	switch {
	case errors.As(failed, &refused) && found.count() == 0:
		return Misused, failed
	case failed != nil:
		return Failed, failed
	case found.count() > 0:
		return Findings, nil
	}
	return Clean, nil
}

// analyzeFiles analyzes the files. It continues after a damaged one.
func (inv *invocation) analyzeFiles(ctx context.Context, files []string, detect *detection, found *findings) (failed error) {
	for _, file := range files {
		misused, err := inv.analyzeFile(ctx, file, detect, found)
		failed = errors.Join(failed, err)
		if misused || ctx.Err() != nil {
			break
		}
	}
	return failed
}

// analyzeFile analyzes a file. Some detectors have to know before they are made what stands in a trace. As a rule that is nothing
// special: so the file is read once, on trial, and again only if that turns out to be wrong.
func (inv *invocation) analyzeFile(ctx context.Context, file string, detect *detection, found *findings) (misused bool, err error) {
	detect.hidden, detect.marked = false, false
	if detect.onTrial() && isRegular(file) {
		trial := &opSearch{ops: hides}
		found.trial = &trialFindings{full: func() { trial.ended = true }}
		err := inv.withTrace(file, func(r *trace.Reader) error { return inv.analyzeTrace(ctx, file, r, detect, found, trial) })
		if found.endTrial(!trial.stopped()) {
			return false, err
		}
	}
	if err := inv.prepare(ctx, file, detect); err != nil {
		return true, err
	}
	return false, inv.withTrace(file, func(r *trace.Reader) error { return inv.analyzeTrace(ctx, file, r, detect, found, nil) })
}

// prepare reads of a trace what detectors have to know before they are made. An input that can be read only once may have hidden calls, and
// needs -transactions. Detectors that follow happens-before support hidden calls at a cost that other traces need not pay.
func (inv *invocation) prepare(ctx context.Context, file string, detect *detection) error {
	marks := detect.needsMarks()
	if file == stdStream || !isRegular(file) {
		detect.hidden = true
		if _, err := os.Stat(file); marks && (file == stdStream || err == nil) {
			return misuse("the detectors %s, %s and %s need -transactions for an input that can be read only once", serialName, blocksName, reductionName)
		}
		return nil
	}
	search := &opSearch{}
	if detect.needsHides() {
		search.ops |= hides
	}
	if marks {
		search.ops |= enters
	}
	inv.search(ctx, file, search)
	detect.hidden, detect.marked = search.found&hides != 0, search.found&enters != 0
	return nil
}

// isRegular reports whether a file can be read again.
func isRegular(file string) bool {
	info, err := os.Stat(file)
	return file != stdStream && err == nil && info.Mode().IsRegular()
}

func (inv *invocation) analyzeTrace(ctx context.Context, file string, r *trace.Reader, detect *detection, found *findings, trial *opSearch) error {
	from := origin{symbols: r.Symbols(), memory: &allocsite.Tracker{}, gaps: r.Gaps()}
	if detect.hidden && len(from.gaps.Hidden) == 0 {
		from.gaps.Hidden = []string{"..."} // the trace does not say which
	}
	if err := detect.refuses(from.gaps); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	collector, done := found.collect(from)
	defer done()
	detectors, err := detect.build(ctx, from, found.untilComplete(collector.Add))
	if err != nil {
		return err
	}
	source := inv.guard.source(r)
	if trial != nil {
		source = untilFound{source, trial}
	}
	_, err = heisen.Run(ctx, source, append([]heisen.Detector{from.memory, newThreadEnds(r.Symbols(), recorder.ThreadLimits())}, detectors...)...)
	return err
}

// threadEnds tells the symbols of a trace which threads have ended, so that they forget those that ended
// long ago, as the symbols of programs do.
type threadEnds struct{ symbols *heisen.Symbols }

func newThreadEnds(symbols *heisen.Symbols, limits heisen.Limits) threadEnds {
	symbols.SetLimits(limits)
	return threadEnds{symbols}
}

// Handle implements heisen.Detector.
func (e threadEnds) Handle(event heisen.Event) { e.handle(heisen.AsRecord(event)) }

// HandleRecords implements heisen.RecordHandler.
func (e threadEnds) HandleRecords(batch []heisen.Record) {
	for i := range batch {
		e.handle(&batch[i])
	}
}

func (e threadEnds) handle(r *heisen.Record) {
	if r.Op == heisen.End {
		e.symbols.EndThread(r.Thread)
	}
}

// Flush implements heisen.Detector.
func (threadEnds) Flush() error { return nil }

// opSearch is a search for events of some ops.
type opSearch struct {
	ops   opSet // to be found
	found opSet
	ended bool // without having found all
}

// opSet is a set of ops, a bit for each.
type opSet uint64

const (
	hides  opSet = 1 << heisen.Hide // of calls whose synchronization the trace does not have
	enters opSet = 1 << heisen.Enter
)

func (s *opSearch) stopped() bool { return s.ended || s.found == s.ops }

// until returns the number of records before the one that ends the search.
func (s *opSearch) until(batch []heisen.Record) int {
	for i := range batch {
		r := &batch[i]
		if s.ops>>r.Op&1 == 0 || r.Op == heisen.Hide && r.Reach() == heisen.Synchronized {
			continue
		}
		if s.found |= 1 << r.Op; s.stopped() {
			return i
		}
	}
	return len(batch)
}

// search looks for events in a trace. An error of the trace is left to the analysis, which meets it, too.
func (inv *invocation) search(ctx context.Context, file string, op *opSearch) {
	if op.stopped() {
		return // there is nothing to be found
	}
	inv.withTrace(file, func(r *trace.Reader) error {
		_, err := heisen.Run(ctx, untilFound{inv.guard.source(r), op}, newThreadEnds(r.Symbols(), heisen.Limits{EndedThreads: 1}))
		return err
	})
}

// untilFound is a trace up to the end of a search.
type untilFound struct {
	heisen.BatchSource
	search *opSearch
}

// NextBatch implements heisen.BatchSource.
func (s untilFound) NextBatch() ([]heisen.Record, error) {
	batch, err := s.BatchSource.NextBatch()
	n := s.search.until(batch)
	if s.search.stopped() {
		return batch[:n], io.EOF
	}
	return batch, err
}
