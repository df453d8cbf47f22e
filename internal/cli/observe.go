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
	"github.com/heisen-go/heisen/internal/confirm/suspects"
	"github.com/heisen-go/heisen/internal/observed"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/report"
	"github.com/heisen-go/heisen/trace"
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
	causality   suspects.Causality
	tested      map[string]bool // the packages whose tests have run
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
	if len(inv.hide) > 0 {
		if err := w.detect.refuses(trace.Gaps{Hidden: inv.hide}); err != nil {
			return err
		}
	}
	inv.calls, inv.pairs = w.detect.calls(), w.detect.needsPairs()
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
	live, end := w.reports.printTo(inv.Err, inv.raw.Err), jsonTo(inv.Out)
	if w.events != nil {
		live, end = w.events.printer(w.reports), w.events.finding
	}
	if !w.reports.shows(asText) {
		live = nil
	}
	w.found = newFindings(inv.resolver, live, w.known)
	guard := newLiveGuard(w.limits.liveMemory())
	defer guard.stop()
	s, status, err := w.observe(inv, cmd, guard)
	if s == nil {
		return Failed, err
	}
	if w.predictions != nil {
		err = errors.Join(err, w.confirmPredictions(inv))
	}
	if w.events != nil {
		err = errors.Join(err, w.events.Close())
	}
	all, _ := w.found.all()
	w.reports.keepAll(all, nil)
	if s.seen > 0 || status == Clean {
		err = errors.Join(err, w.reports.writeOutput(inv.Out, all, nil, end), w.reports.writeFiles(all, nil))
	} else if w.reports.inFiles() { // an empty report would say that there is nothing to find
		fmt.Fprintf(inv.Err, "%s: no program ran, so no report is written to a file\n", inv.tool.Name)
	}
	err = errors.Join(err, w.known.writeBaseline(w.found))
	if inv.line.runsAll() && (status == Clean || w.found.count() > 0) { // otherwise some tests may not have run
		w.known.could = w.couldFind
	}
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

// observe runs a command and adds the findings in the programs below it to w.found. It returns the status of the
// command. The session is nil if nothing ran.
func (w *observation) observe(inv *invocation, cmd *exec.Cmd, guard *liveGuard) (s *session, status int, err error) {
	w.found.standard = inv.standard
	if w.predictions != nil {
		w.predictions.standard = inv.standard
	}
	mode := w.filter.mode(w.detect)
	if inv.hidden != nil {
		mode = recorder.Everything
	}
	w.found.unrecorded = inv.unrecorded
	w.detect.races, w.detect.proved, w.detect.standard = mode.FindsRaces(), inv.proved, inv.standard
	w.detect.module = inv.module
	s, err = newSession(inv, mode, w.live, func(_ int, p *recorder.Program, stream *recorder.Stream) (int32, error) {
		from := origin{symbols: stream.Symbols(), pkg: testedPackage(p), memory: &allocsite.Tracker{}, gaps: inv.gaps(mode), program: stream}
		if inv.line.verb == "test" {
			w.noteTested(testedPackage(p))
		}
		collector, done := w.found.collect(from)
		w.overlaps.observe(stream, w.found, func(_ recorder.Overlap, f heisen.Finding) { collector.Add(f) })
		stream.OnCount(func() int { return w.found.reported(collector) })
		sink, reported := heisen.Sink(collector.Add), done
		if w.predictions != nil {
			predicted, ended := w.predictions.collect(from)
			sink = func(f heisen.Finding) {
				if predicts(f.Detector) {
					predicted.Add(f)
				} else {
					collector.Add(f)
				}
			}
			reported = func() int { ended(); return done() } // what is only predicted fails no test
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
			if f, is := observed.MisuseOf(m, stream.Symbols()); is {
				collector.Add(f)
			}
		}
		w.noteInputs(from.pkg, inv.tool.Name, stream.FailingInputs())
		if reported()+leaked() > 0 {
			return Findings, err
		}
		return Clean, err
	})
	if err != nil {
		return nil, Failed, err
	}
	s.hurry = guard.interrupt
	s.leaks, s.calls = w.detect.leaks(), w.detect.calls()
	s.guessed = w.overlaps.inferred && len(w.live.Noise.At) == 0
	if inv.runsGo {
		built := inv.building()
		s.connected = func() { built(true) }
		defer built(false)
	}
	said := &written{to: s.errors}
	s.errors = said
	status, err = s.run(cmd)
	reported, _ := w.found.all()
	failing := w.found.count()
	inv.passes.end(err == nil && !said.any.Load() && s.signal.Load() == 0 && len(reported) == failing && (status != Clean || failing == 0))
	if inv.calls {
		for _, name := range w.detect.transactions.notCalled() {
			fmt.Fprintf(inv.Err, "%s: -transactions: no function %s was called, or nothing was recorded in it\n", inv.tool.Name, name)
		}
	}
	return s, status, err
}

// couldFind reports whether the run could have found what an earlier one has found: in the tests of the same package, by the same detector.
func (w *observation) couldFind(known *report.Finding) bool {
	return w.tested[known.Package] && slices.Contains(w.detect.chosen, known.Detector)
}

// noteTested notes that a package's tests run.
func (w *observation) noteTested(pkg string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.tested == nil {
		w.tested = map[string]bool{}
	}
	w.tested[pkg] = true
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

// testedPackage returns the import path of the package whose tests a program runs, or that of the program. The path of a program that runs
// tests ends in .test, but not if the package is a program, too.
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
