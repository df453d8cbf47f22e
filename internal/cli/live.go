package cli

import (
	"errors"
	"os/exec"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/rt"
)

// test is heisen test: the tests run under go test, each test binary sends its
// events here.
func (inv *invocation) test() (int, error) {
	watch := inv.watchFlags()
	if err := inv.parse(); err != nil {
		return Misused, err
	}
	cmd, err := inv.testCommand(inv.args)
	if err != nil {
		return Failed, err
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
	cmd, remove, err := inv.programCommand(inv.args)
	if err != nil {
		return Failed, err
	}
	defer remove()
	return watch.run(inv, cmd)
}

// watch is the flags of heisen test and heisen run, and what is found.
type watch struct {
	detect *detection
	filter *filtering
	json   *bool
	found  *findings
}

func (inv *invocation) watchFlags() *watch {
	return &watch{
		detect: inv.detectFlag(),
		filter: inv.filterFlag(true),
		json:   inv.flags.Bool("json", false, "print findings as JSON, one a line, on standard output when the program has ended"),
	}
}

// run runs a command and reports what the detectors find in the programs below
// it.
func (w *watch) run(inv *invocation, cmd *exec.Cmd) (int, error) {
	text := inv.Err
	if *w.json {
		text = nil
	}
	w.found = newFindings(text)
	s, err := newSession(inv, w.filter.mode(w.detect), func(_ int, stream *rt.Stream) (int32, error) {
		collector, done := w.found.collect(stream.Symbols())
		defer done()
		detectors, err := w.detect.build(stream.Symbols(), collector.Add)
		if err != nil {
			return Failed, err
		}
		_, err = heisen.Run(inv.ctx, stream, detectors...)
		if collector.Len() > 0 {
			return Findings, err
		}
		return Clean, err
	})
	if err != nil {
		return Failed, err
	}
	status, err := s.run(cmd)
	if *w.json {
		err = errors.Join(err, w.found.writeJSON(inv.Out))
	}
	w.found.summary(inv.Err)
	switch {
	case status == Clean && err != nil:
		status = Failed
	case status == Clean && w.found.count() > 0:
		status = Findings
	}
	return status, err
}
