package cli

import (
	"io"
	"os"

	"github.com/heisen-go/heisen/report"
)

// printTo returns a function that prints findings as text to a standard stream: in colors if raw is a
// terminal or the environment forces them, unless it asks for none, else to safe, which is the same stream behind a
// writer that lets no sequences through.
func (r *reports) printTo(safe, raw io.Writer) func(*report.Finding) error {
	if inColor(raw) {
		return r.textTo(raw, r.inFull(), true)
	}
	return r.textTo(safe, r.inFull(), false)
}

// inColor reports whether colors are welcome on a stream: on a terminal, or wherever FORCE_COLOR asks for
// them, as in the logs of CI systems, see no-color.org and force-color.org. NO_COLOR prevails.
func inColor(w io.Writer) bool {
	if os.Getenv("NO_COLOR") != "" {
		return false
	}
	switch os.Getenv("FORCE_COLOR") {
	case "", "0", "false":
		return isTerminal(w) && os.Getenv("TERM") != "dumb"
	}
	return true
}

// isTerminal reports whether what is written to w may appear on a terminal that understands sequences for colors and lines.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && takesSequences(f)
}
