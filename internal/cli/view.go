package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/htmlreport"
	"github.com/heisen-go/heisen/internal/private"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/internal/repository"
	"github.com/heisen-go/heisen/internal/tracewindow"
	"github.com/heisen-go/heisen/internal/wording"
	"github.com/heisen-go/heisen/trace"
)

var viewCommand = command{
	name: "view", args: "trace",
	short: "draw a part of a recorded trace",
	long: `The result is a page with a lane for each goroutine, its events from the top to the
bottom, arrows where an event happens before another one, and bars for locks that
are held. It needs no other files and no network.

Without -first and -last, $heisen draws the events around the first finding of the
detectors that is about the chosen goroutines and objects. If there is no finding,
it draws the first events. Events have the numbers that $heisen trace print shows.

Calls, allocations and states of channels are not drawn. Around a finding, $heisen
draws the goroutines of the finding and those that started them, and of the
accesses only those to its variables, unless -object or -goroutine say otherwise.
Where events are left out, the page says how many.

The trace is read several times, so it must be a file. Of a damaged trace, $heisen
draws the part before the damage. A finding does not change the exit status.
`,
	run: (*invocation).view, foreign: true,
}

// viewFlags are the flags of heisen view.
type viewFlags struct {
	query               tracewindow.Query
	out                 *string
	goroutines, objects list
}

// list is the value of a flag with a comma-separated list.
type list []string

func (l *list) String() string { return strings.Join(*l, ",") }

func (l *list) Set(value string) error {
	*l = append(*l, strings.Split(value, ",")...)
	return nil
}

func (inv *invocation) viewFlags() *viewFlags {
	f := &viewFlags{}
	f.out = inv.flags.String("o", "", "write the page to `file`; - is standard output (default: the name of the trace with\n.html after it)")
	inv.flags.StringVar(&f.query.Finding, "finding", "", "draw the events around this finding: its `number`, from 1 in the order in which they are found\n(with one detector, that of "+inv.tool.Name+" analyze), or its fingerprint")
	inv.flags.Uint64Var(&f.query.First, "first", 0, "draw events from this `number` on")
	inv.flags.Uint64Var(&f.query.Last, "last", 0, "draw events up to this `number`; without -first, the last ones before it")
	inv.flags.IntVar(&f.query.Events, "events", tracewindow.DefaultEvents, fmt.Sprintf("draw at most this `number` of events, up to %d", tracewindow.MaxEvents))
	inv.flags.Var(&f.goroutines, "goroutine", "draw only goroutines of this `list` of names, such as 7 or main, and the accesses of the\nfinding")
	inv.flags.Var(&f.objects, "object", "draw only events on objects of this `list`, and the accesses of the finding. An object is\na name or an address in the trace, or an expression in the source, such as b.mu")
	inv.flags.BoolVar(&f.query.Atomics, "atomics", false, "draw atomic operations and their order, too")
	return f
}

// view is heisen view. It draws a part of a trace.
func (inv *invocation) view() (int, error) {
	detect := inv.detectFlag()
	f := inv.viewFlags()
	o := &atomraceFlags{}
	o.sectionsFlag(inv)
	limits := inv.allowanceFlags()
	files, err := inv.parseFiles()
	if err != nil {
		return Misused, err
	}
	q := &f.query
	if err := detect.onTrace(inv.tool.Name); err != nil {
		return Misused, err
	}
	switch {
	case len(files) > 1:
		return Misused, misuse("view takes one trace")
	case files[0] == stdStream:
		return Misused, misuse("standard input can be read only once; name a file")
	case q.Events < 1 || q.Events > tracewindow.MaxEvents:
		return Misused, misuse("-events %d, want 1 to %d", q.Events, tracewindow.MaxEvents)
	case q.Last != 0 && q.Last < q.First:
		return Misused, misuse("-last %d is before -first %d", q.Last, q.First)
	}
	if info, err := os.Stat(files[0]); err == nil && !info.Mode().IsRegular() {
		return Failed, fmt.Errorf("%s is not an ordinary file", files[0])
	}
	if o.sections != "" {
		if err := o.readSections(); err != nil {
			return Failed, err
		}
		detect.sections = o.read
	}
	if *f.out == "" {
		*f.out = files[0] + ".html"
	}
	g, stop := inv.guardFiles(limits, files[0])
	defer stop()
	done := inv.progress("reading", time.Second)
	defer done()
	if err := g.do(func() error { return inv.draw(g.ctx, files[0], detect, f) }); err != nil {
		return Failed, err
	}
	return Clean, nil
}

// draw draws a part of a trace.
func (inv *invocation) draw(ctx context.Context, file string, detect *detection, f *viewFlags) error {
	if err := inv.prepare(ctx, file, detect); err != nil {
		return err
	}
	q := &f.query
	q.Name = file
	q.Goroutines, q.Objects = f.goroutines, f.objects
	q.Open = func() (tracewindow.Source, error) { return inv.openGuarded(file) }
	q.Resolver, q.Limits = inv.resolver, recorder.ThreadLimits()
	q.Detectors = func(symbols *heisen.Symbols, sink heisen.Sink) ([]heisen.Detector, error) {
		return detect.build(ctx, origin{symbols: symbols}, sink)
	}
	w, failed := tracewindow.Select(ctx, q)
	if w == nil {
		return failed
	}
	folder, err := os.Getwd()
	if err != nil {
		return errors.Join(failed, err)
	}
	page := &htmlreport.Trace{Name: filepath.Base(file), Range: rangeOf(w, detect), Diagram: w.Diagram(), Finding: w.Finding}
	if failed != nil {
		page.Problems = strings.Split(failed.Error(), "\n")
	}
	write := func(to io.Writer) error {
		return htmlreport.WriteTrace(to, page, inv.tool.Name+" "+toolVersion(), repository.Find(folder))
	}
	if *f.out == stdStream {
		return errors.Join(failed, write(inv.dataOut()))
	}
	if a, err := os.Stat(*f.out); err == nil {
		if b, err := os.Stat(file); err == nil && os.SameFile(a, b) {
			return fmt.Errorf("%s is the trace to be read", *f.out)
		}
	}
	if err := private.Replace(*f.out, write); err != nil {
		return errors.Join(failed, err)
	}
	inv.sayDrawn(*f.out, page)
	return failed
}

// guardedTrace is a trace file that is read under the guard of the command.
type guardedTrace struct {
	heisen.Source
	io.Closer
	reader *trace.Reader
}

// Symbols returns what has been read of the names.
func (t guardedTrace) Symbols() *heisen.Symbols { return t.reader.Symbols() }

func (inv *invocation) openGuarded(file string) (tracewindow.Source, error) {
	r, closer, err := inv.openTrace(file)
	if err != nil {
		return nil, err
	}
	return guardedTrace{inv.guard.source(r), closer, r}, nil
}

// rangeOf says which events a window has, and why.
func rangeOf(w *tracewindow.Window, detect *detection) string {
	first, last := w.Events[0].Number, w.Events[len(w.Events)-1].Number
	s := fmt.Sprintf("Events %d to %d of %d, %d of them drawn.", first, last, w.Total, len(w.Events))
	switch {
	case w.Finding != nil && w.Findings > 1:
		s += fmt.Sprintf(" Finding %d of %d by %s; -finding %d draws the next one.", w.Number, w.Findings, w.Finding.Detector, w.Number%w.Findings+1)
	case w.Finding != nil:
		s += fmt.Sprintf(" The only finding by %s.", w.Finding.Detector)
	case w.Findings == 0:
		s += fmt.Sprintf(" Nothing was found by %s.", detect)
	case w.Findings == 1:
		s += fmt.Sprintf(" The only finding by %s is not about them.", detect)
	default:
		s += fmt.Sprintf(" None of the %d findings by %s is about them.", w.Findings, detect)
	}
	if w.Ordered && w.Finding != nil && w.Finding.Kind == heisen.Race {
		s += " In this trace the two accesses are ordered; in another order of the same events they are not."
	}
	return s
}

// sayDrawn says what is in a page.
func (inv *invocation) sayDrawn(out string, page *htmlreport.Trace) {
	fmt.Fprintf(inv.Out, "%s: %s\n", out, page.Range)
	if f := page.Finding; f != nil {
		fmt.Fprintf(inv.Out, "  %s: %s [%s]\n", wording.Title(f), wording.Sentence(f), f.Fingerprint)
	}
	for _, note := range page.Diagram.Notes {
		fmt.Fprintf(inv.Out, "  %s\n", note)
	}
}
