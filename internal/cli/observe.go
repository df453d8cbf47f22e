package cli

import (
	"debug/buildinfo"
	"errors"
	"fmt"
	"os/exec"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/allocsite"
	"github.com/heisen-go/heisen/internal/observed"
	"github.com/heisen-go/heisen/internal/recorder"
)

// observation has the flags of heisen test and heisen run, and the findings.
type observation struct {
	detect   *detection
	filter   *filtering
	reports  *reports
	known    *knownFindings
	overlaps *atomraceFlags
	live     *recorder.Live
	limits   *allowance
	events   *testEvents // the output of go test -json; nil without -json
	found    *findings

	mu      sync.Mutex
	failing []string // what to say about the failing inputs of fuzz tests

	predictions *findings // findings to confirm before they are reported; nil without -predict
	folder      string    // of their schedules
}

func (inv *invocation) watchFlags() *observation {
	inv.buildFlags()
	inv.focusFlag()
	return &observation{
		detect:   inv.detectFlag(),
		filter:   inv.filterFlag(true),
		known:    inv.baselineFlags(),
		overlaps: inv.atomraceFlags().healFlag(inv),
		reports:  inv.reportFlag(reportUsage),
		limits:   inv.liveAllowanceFlag(),
	}
}

// prepare reads the files that the flags name.
func (w *observation) prepare(inv *invocation) (err error) {
	w.detect.live = true
	if w.live, err = w.overlaps.live(inv, w.detect); err != nil {
		return err
	}
	if err := w.canFocus(inv); err != nil {
		return err
	}
	inv.calls = w.detect.calls()
	if err := w.reports.check(); err != nil {
		return err
	}
	inv.standsAlone = w.standsAlone()
	return w.known.readFiles()
}

// run runs a command and reports the findings in the programs below it.
func (w *observation) run(inv *invocation, cmd *exec.Cmd) (int, error) {
	if inv.unconnected {
		return inv.runUnconnected(cmd)
	}
	live, end := printTo(inv.Err, inv.raw.Err), jsonTo(inv.Out)
	if w.events != nil {
		live, end = w.events.text, w.events.finding
	}
	if !w.reports.shows(asText) {
		live = nil
	}
	w.found = newFindings(inv.resolver, live, w.known)
	w.found.standard = inv.standard
	mode := w.filter.mode(w.detect)
	if inv.hidden != nil {
		w.detect.hidden, mode = true, recorder.Everything
	}
	w.detect.races, w.detect.proved, w.detect.standard = mode == recorder.Races, inv.proved, inv.standard
	w.detect.module = inv.module
	guard := newLiveGuard(w.limits.liveMemory())
	defer guard.stop()
	s, err := newSession(inv, mode, w.live, func(_ int, p *recorder.Program, stream *recorder.Stream) (int32, error) {
		from := origin{symbols: stream.Symbols(), pkg: testedPackage(p), memory: &allocsite.Tracker{}, doubts: w.doubts(inv, stream)}
		collector, done := w.found.collect(from)
		w.overlaps.observe(stream, w.found, func(_ recorder.Overlap, f heisen.Finding) { collector.Add(f) })
		stream.OnCount(func() int { return w.found.reported(collector) })
		sink, reported := heisen.Sink(collector.Add), done
		if w.predictions != nil {
			predicted, number := w.predictions.collect(from)
			sink = func(f heisen.Finding) {
				if f.Detector == mcmName {
					predicted.Add(f)
				} else {
					collector.Add(f)
				}
			}
			reported = func() int { return done() + number() }
		}
		analysis, end := guard.begin(inv.ctx, stream)
		defer end()
		sink = analysis.sink(sink)
		detectors, err := w.detect.build(analysis.ctx, from, sink)
		if err != nil {
			return Failed, err
		}
		always := []heisen.Detector{from.memory}
		leaked := func() int { return 0 }
		if w.detect.leaks() {
			var leaks *observed.Leaks
			leaks, leaked = w.observeLeaks(stream, mode, from)
			always = append(always, leaks)
		}
		err, _ = without(analysis.run(always, detectors), func(e error) bool {
			cut := errors.Is(e, errInterrupted) || analysis.interrupted() && errors.Is(e, errLeft)
			if cut {
				printError(inv.Err, inv.tool.Name+": "+programOf(p, stream), e)
			}
			return cut
		})
		for _, m := range stream.Execution().Misuses {
			collector.Add(observed.MisuseOf(m, stream.Symbols()))
		}
		w.noteInputs(from.pkg, inv.tool.Name, stream.FailingInputs())
		if reported()+leaked() > 0 {
			return Findings, err
		}
		return Clean, err
	})
	if err != nil {
		return Failed, err
	}
	s.hurry = guard.interrupt
	s.leaks, s.calls = w.detect.leaks(), w.detect.calls()
	s.guessed = w.overlaps.inferred && len(w.live.Noise.At) == 0
	status, err := s.run(cmd)
	if inv.calls {
		for _, name := range w.detect.transactions.notCalled() {
			fmt.Fprintf(inv.Err, "%s: -transactions: no function %s was called, or nothing was recorded in it\n", inv.tool.Name, name)
		}
	}
	if w.predictions != nil {
		err = errors.Join(err, w.confirmPredictions(inv))
	}
	if w.events != nil {
		err = errors.Join(err, w.events.Close())
	}
	all, _ := w.found.all()
	if s.seen > 0 || status == Clean {
		err = errors.Join(err, w.reports.writeOutput(inv.Out, all, nil, end), w.reports.writeFiles(all, nil))
	} else if w.reports.inFiles() { // an empty report would say that there is nothing to find
		fmt.Fprintf(inv.Err, "%s: no program ran, so no report is written to a file\n", inv.tool.Name)
	}
	err = errors.Join(err, w.known.writeBaseline(w.found))
	w.found.summary(inv.Err, nil)
	for _, note := range w.failing {
		fmt.Fprintln(inv.Err, note)
	}
	if !guard.left() {
		w.detect.mcm.summary(inv.Err, inv.tool.Name)
	}
	found := w.found.count()
	switch status = s.status(status, found); {
	case err != nil && (status == Clean || status == Findings):
		status = Failed
	case status == Clean && found > 0, status == Failed && s.goCommand && found > 0 && err == nil:
		status = Findings // go test has only one status for all that fails
	}
	return status, err
}

// doubts returns origin.doubts. What atomrace reports has happened whatever else synchronizes, and a search for goroutines does
// not judge an order. A prediction also depends on what the packages do that are not recorded.
func (w *observation) doubts(inv *invocation, stream *recorder.Stream) func(string) []string {
	return func(detector string) []string {
		if detector == atomraceName || searchesGoroutines(detector) {
			return nil
		}
		all := stream.Unseen().Reasons()
		if detector == mcmName && len(inv.pkgs) > 0 && !slices.Contains(inv.pkgs, "all") {
			all = append(all, "what -pkgs leaves out")
		}
		return all
	}
}

// noteInputs notes how to repeat the failing inputs that the fuzz tests of a package have saved.
func (w *observation) noteInputs(pkg, tool string, files []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, file := range files {
		test := path.Base(path.Dir(file)) + "/" + path.Base(file)
		w.failing = append(w.failing, fmt.Sprintf("Fuzzing of %s ended at %s; to repeat it: %s test -run=%s %[1]s", pkg, file, tool, test))
	}
}

// testedPackage returns the import path of the package whose tests a program runs, or that of the program.
func testedPackage(p *recorder.Program) string {
	path, _ := strings.CutSuffix(mainPackage(p), ".test")
	return path
}

// mainPackage returns the import path of a program's main package, or the empty string.
func mainPackage(p *recorder.Program) string {
	exe := p.Executable()
	if exe == nil {
		return ""
	}
	info, err := buildinfo.Read(exe)
	if err != nil {
		return ""
	}
	return info.Path
}
