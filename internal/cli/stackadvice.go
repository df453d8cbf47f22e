package cli

import (
	"bytes"
	"fmt"
	"io"

	"github.com/heisen-go/heisen/internal/build"
)

// firstLines passes on what is written, and keeps the lines that begin at the left margin. The linker indents the calls
// of a function that does not link, of which there may be thousands.
type firstLines struct {
	to   io.Writer
	line []byte // the last line, as far as it was written
	kept []byte
}

// mostKept bounds what a firstLines keeps.
const mostKept = 1 << 20

func (f *firstLines) Write(b []byte) (int, error) {
	for line := range bytes.Lines(b) {
		if f.line = append(f.line, line...); !bytes.HasSuffix(line, []byte("\n")) {
			break
		}
		if f.line[0] != ' ' && f.line[0] != '\t' && len(f.kept) < mostKept {
			f.kept = append(f.kept, f.line...)
		}
		f.line = f.line[:0]
	}
	return f.to.Write(b)
}

// adviseOnStack prints what to do about functions that did not link.
func adviseOnStack(w io.Writer, command, printed string) {
	for _, line := range build.StackAdvice(printed) {
		fmt.Fprintf(w, "%s: %s\n", command, line)
	}
}
