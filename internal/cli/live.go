package cli

import (
	"debug/buildinfo"
	"errors"
	"os/exec"
	"strings"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/allocsite"
	"github.com/heisen-go/heisen/internal/recorder"
)

// test is heisen test: the tests run under go test, each test binary sends its
// events here.
func (inv *invocation) test() (int, error) {
	watch := inv.watchFlags()
	predict := inv.flags.Bool("predict", false, "add mcm to the detectors: what other schedules of the same tests would show;\nthat is brought about under the schedules that it predicts")
	folder := inv.flags.String("o", schedules, "-predict: write schedules to `folder`")
	if err := inv.parse(); err != nil {
		return Misused, err
	}
	if *predict {
		watch.detect.add(mcmName)
		watch.predictions = newFindings(inv.resolver, nil, watch.known)
		watch.folder = *folder
	}
	if err := watch.prepare(inv); err != nil {
		return Failed, err
	}
	flags, err := checkTestFlags(inv.rest)
	if err != nil {
		return Misused, err
	}
	cmd, err := inv.testCommand(inv.args, flags)
	if err != nil {
		return Failed, err
	}
	if flags.json {
		watch.events = &testEvents{w: inv.Out}
		cmd.Stdout, cmd.WaitDelay = watch.events, grace
	}
	status, err := watch.run(inv, cmd)
	if status == Failed && watch.found.count() > 0 {
		status = Findings // go test has only one status for all that fails
	}
	return status, err
}

// runProgram is heisen run.
func (inv *invocation) runProgram() (int, error) {
	watch := inv.watchFlags()
	if err := inv.parse(); err != nil {
		return Misused, err
	}
	if err := watch.prepare(inv); err != nil {
		return Failed, err
	}
	cmd, remove, err := inv.programCommand(inv.args)
	if err != nil {
		return Failed, err
	}
	defer remove()
	return watch.run(inv, cmd)
}

// watch is the flags of heisen test and heisen run, and what is found.
type watch struct {
	detect   *detection
	filter   *filtering
	json     *bool
	known    *known
	overlaps *overlaps
	live     *recorder.Live
	events   *testEvents // the output of go test -json, if it is that
	found    *findings

	predictions *findings // that are to be brought about first; nil if none are
	folder      string    // for their schedules
}

func (inv *invocation) watchFlags() *watch {
	inv.buildFlags()
	return &watch{
		detect:   inv.detectFlag(),
		filter:   inv.filterFlag(true),
		known:    inv.knownFlags(),
		overlaps: inv.overlapFlags(),
		json:     inv.flags.Bool("json", false, "print findings as JSON, one a line, on standard output when the program has ended"),
	}
}

// prepare reads the files that flags name.
func (w *watch) prepare(inv *invocation) (err error) {
	w.detect.live = true
	if w.live, err = w.overlaps.live(inv, w.detect); err != nil {
		return err
	}
	return w.known.read()
}

// run runs a command and reports what the detectors find in the programs below
// it.
func (w *watch) run(inv *invocation, cmd *exec.Cmd) (int, error) {
	live, end := textTo(inv.Err), jsonTo(inv.Out)
	if w.events != nil {
		live, end = w.events.text, w.events.finding
	}
	if *w.json {
		live = nil
	}
	w.found = newFindings(inv.resolver, live, w.known)
	mode := w.filter.mode(w.detect)
	if inv.hidden != nil {
		w.detect.hidden, mode = true, recorder.Everything
	}
	w.detect.races = mode == recorder.Races
	s, err := newSession(inv, mode, w.live, func(_ int, p *recorder.Program, stream *recorder.Stream) (int32, error) {
		from := origin{symbols: stream.Symbols(), pkg: testedPackage(p), memory: &allocsite.Tracker{}}
		collector, done := w.found.collect(from)
		w.overlaps.observe(stream, w.found, func(_ recorder.Overlap, f heisen.Finding) { collector.Add(f) })
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
		detectors, err := w.detect.build(stream.Symbols(), sink)
		if err != nil {
			return Failed, err
		}
		_, err = heisen.Run(inv.ctx, stream, append([]heisen.Detector{from.memory}, detectors...)...)
		if reported() > 0 {
			return Findings, err
		}
		return Clean, err
	})
	if err != nil {
		return Failed, err
	}
	status, err := s.run(cmd)
	if w.predictions != nil {
		err = errors.Join(err, w.bringAbout(inv))
	}
	if w.events != nil {
		err = errors.Join(err, w.events.Close())
	}
	if *w.json {
		err = errors.Join(err, w.found.writeAll(end))
	}
	err = errors.Join(err, w.known.writeBaseline(w.found))
	w.found.summary(inv.Err)
	w.detect.maximal.summary(inv.Err, inv.tool.Name)
	switch {
	case status == Clean && err != nil:
		status = Failed
	case status == Clean && w.found.count() > 0:
		status = Findings
	}
	return status, err
}

// testedPackage is the import path of the package whose tests a program runs,
// empty if it does not say.
func testedPackage(p *recorder.Program) string {
	exe := p.Executable()
	if exe == nil {
		return ""
	}
	info, err := buildinfo.Read(exe)
	if err != nil {
		return ""
	}
	path, _ := strings.CutSuffix(info.Path, ".test")
	return path
}
