package cli

import (
	"errors"
	"io"
	"os"
	"runtime"

	"github.com/heisen-go/heisen/internal/private"
	"github.com/heisen-go/heisen/trace"
)

// stdStream is the file name that stands for standard input or output.
const stdStream = "-"

// withTrace opens a trace, in either format, for work.
func (inv *invocation) withTrace(file string, work func(*trace.Reader) error) error {
	if file == stdStream {
		r, err := trace.NewReader(inv.guard.input(inv.In, true))
		if err != nil {
			return err
		}
		return work(r)
	}
	r, closer, err := inv.openTrace(file)
	if err != nil {
		return err
	}
	defer closer.Close()
	return work(r)
}

// openTrace opens the trace in a file, which the caller closes.
func (inv *invocation) openTrace(file string) (*trace.Reader, io.Closer, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	foreign, processors := err != nil || !info.Mode().IsRegular(), 1
	if !foreign {
		processors = runtime.GOMAXPROCS(0)
	}
	r, wrong := trace.NewReader(inv.guard.input(f, foreign), trace.WithName(file), trace.WithProcessors(processors))
	if wrong != nil {
		return nil, nil, errors.Join(wrong, f.Close())
	}
	return r, f, nil
}

// create creates the file out. It must not be the file in, which is being read.
func (inv *invocation) create(out, in string) (io.WriteCloser, error) {
	if out == stdStream {
		return keepOpen{inv.dataOut()}, nil
	}
	if a, err := os.Stat(out); err == nil {
		if b, err := os.Stat(in); err == nil && os.SameFile(a, b) {
			return nil, misuse("%s is the trace to be read", out)
		}
	}
	return private.Create(out)
}

// dataOut returns standard output for data. A file or a pipe gets them as they are. On a terminal, what
// may come from anybody must not act, so it is shown as everything else that heisen prints.
func (inv *invocation) dataOut() io.Writer {
	if isTerminal(inv.raw.Out) {
		return inv.Out
	}
	return inv.raw.Out
}

// keepOpen is a writer whose Close does nothing.
type keepOpen struct{ io.Writer }

func (keepOpen) Close() error { return nil }
