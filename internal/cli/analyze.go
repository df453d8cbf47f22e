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
		if err := inv.prepare(ctx, file, detect); err != nil {
			return errors.Join(failed, err)
		}
		err := inv.withTrace(file, func(r *trace.Reader) error { return inv.analyzeTrace(ctx, file, r, detect, found) })
		failed = errors.Join(failed, err)
		if ctx.Err() != nil {
			break
		}
	}
	return failed
}

// prepare reads of a trace what detectors have to know before they are made.
func (inv *invocation) prepare(ctx context.Context, file string, detect *detection) (err error) {
	detect.hidden = inv.hasHidden(ctx, file)
	if detect.needsMarks() {
		detect.marked, err = inv.hasMarks(ctx, file)
	}
	return err
}

func (inv *invocation) analyzeTrace(ctx context.Context, file string, r *trace.Reader, detect *detection, found *findings) error {
	from := origin{symbols: r.Symbols(), memory: &allocsite.Tracker{}, gaps: r.Gaps()}
	if detect.hidden && len(from.gaps.Hidden) == 0 {
		from.gaps.Hidden = []string{"..."} // the trace does not say which
	}
	if err := detect.refuses(from.gaps); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	collector, done := found.collect(from)
	defer done()
	detectors, err := detect.build(ctx, from, collector.Add)
	if err != nil {
		return err
	}
	_, err = heisen.Run(ctx, inv.guard.source(r), append([]heisen.Detector{from.memory, newThreadEnds(r.Symbols(), recorder.ThreadLimits())}, detectors...)...)
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

// hasHidden reports whether a trace has hidden calls whose synchronization it does not have. It returns true for an input that can be read
// only once. Detectors that follow happens-before support hidden calls at a cost that other traces
// need not pay.
func (inv *invocation) hasHidden(ctx context.Context, file string) bool {
	if info, err := os.Stat(file); file == stdStream || err != nil || !info.Mode().IsRegular() {
		return true
	}
	hides := &opSearch{is: func(r *heisen.Record) bool { return r.Op == heisen.Hide && r.Reach() != heisen.Synchronized }}
	inv.search(ctx, file, hides)
	return hides.found
}

// opSearch is a search for an event.
type opSearch struct {
	is    func(*heisen.Record) bool
	found bool
}

// search looks for an event in a trace. An error of the trace is left to the analysis, which meets it, too.
func (inv *invocation) search(ctx context.Context, file string, op *opSearch) {
	inv.withTrace(file, func(r *trace.Reader) error {
		_, err := heisen.Run(ctx, untilOp{inv.guard.source(r), op}, newThreadEnds(r.Symbols(), heisen.Limits{EndedThreads: 1}))
		return err
	})
}

// untilOp is a trace up to the first event that is searched for.
type untilOp struct {
	heisen.Source
	search *opSearch
}

func (s untilOp) Next(batch []heisen.Record) (int, error) {
	n, err := s.Source.Next(batch)
	for i := range batch[:n] {
		if s.search.is(&batch[i]) {
			s.search.found = true
			return i, io.EOF
		}
	}
	return n, err
}
