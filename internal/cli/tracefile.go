package cli

import (
	"io"
	"os"

	"github.com/heisen-go/heisen/internal/private"
	"github.com/heisen-go/heisen/trace"
)

// stdStream is the file name that stands for standard input or output.
const stdStream = "-"

// withTrace opens a trace, in either format, for work.
func (inv *invocation) withTrace(file string, work func(*trace.Reader) error) error {
	r, err := inv.openTrace(file)
	if err != nil {
		return err
	}
	defer r.Close()
	return work(r)
}

func (inv *invocation) openTrace(file string) (*trace.Reader, error) {
	if file == stdStream {
		return trace.NewReader(inv.In)
	}
	return trace.Open(file)
}

// create creates the file out. It must not be the file in, which is being read.
func (inv *invocation) create(out, in string) (io.WriteCloser, error) {
	if out == stdStream {
		return keepOpen{inv.raw.Out}, nil
	}
	if a, err := os.Stat(out); err == nil {
		if b, err := os.Stat(in); err == nil && os.SameFile(a, b) {
			return nil, misuse("%s is the trace to be read", out)
		}
	}
	return private.Create(out)
}

// keepOpen is a writer whose Close does nothing.
type keepOpen struct{ io.Writer }

func (keepOpen) Close() error { return nil }
