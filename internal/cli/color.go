package cli

import (
	"io"
	"os"

	"github.com/heisen-go/heisen/report"
)

// printTo returns a function that prints findings as text to a standard stream: in colors if raw is a
// terminal, unless the environment asks for none, else to safe, which is the same stream behind a
// writer that lets no sequences through.
func printTo(safe, raw io.Writer) func(*report.Finding) error {
	if !inColor(raw) {
		return textTo(safe)
	}
	return func(f *report.Finding) error { return report.WriteColorText(raw, f) }
}

// inColor reports whether a stream is a terminal on which colors are welcome, see no-color.org.
func inColor(w io.Writer) bool {
	return isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
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
