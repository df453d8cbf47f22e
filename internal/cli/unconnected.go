package cli

import (
	"fmt"
	"os/exec"
	"slices"

	"github.com/heisen-go/heisen/internal/build"
	"github.com/heisen-go/heisen/internal/recorder"
)

// checkPort says once that heisen was not tested on the port for which it builds, unless tryRelease has said so. It returns
// an error if programs do not connect to heisen there and the command needs that.
func (inv *invocation) checkPort(t *build.Toolchain) error {
	if line := t.Untested(); line != "" && t.Tested() {
		fmt.Fprintf(inv.Err, "%s: %s\n", inv.tool.Name, line)
	}
	err := t.Connection()
	inv.unconnected = err != nil
	if inv.standsAlone {
		return nil
	}
	return err
}

// standsAlone reports whether programs find and print by themselves all that is asked for.
func (w *observation) standsAlone() bool {
	only := slices.Equal(w.detect.chosen, []string{fasttrackName})
	return only && w.live == nil && w.predictions == nil && w.events == nil && !w.reports.needsMore() && w.known.none()
}

// runUnconnected runs a command whose programs print the races that they find.
func (inv *invocation) runUnconnected(cmd *exec.Cmd) (int, error) {
	cmd.Env = recorder.Environ(cmd.Environ())
	s := &session{name: inv.tool.Name, goCommand: inv.runsGo, signal: &inv.signal, quitLooks: &inv.quitLooks, errors: inv.Err}
	return s.runAndWait(cmd)
}

// needsMore reports whether findings are reported in other formats than text, or to a file.
func (r *reports) needsMore() bool {
	return slices.ContainsFunc(r.all, func(to reportTo) bool { return !to.isText() || to.file != "" })
}

// none reports whether all findings are reported, and no baseline is written.
func (k *knownFindings) none() bool {
	return k.baselineFile == "" && k.newBaselineFile == "" && k.suppressionsFile == ""
}
