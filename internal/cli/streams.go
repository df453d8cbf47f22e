package cli

import (
	"cmp"
	"io"
	"os"
	"sync"

	"github.com/heisen-go/heisen/internal/printable"
)

// Streams are the standard streams of the command and of the programs that it runs.
type Streams struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer
}

// shared returns streams that several goroutines may write to: the output of a program is copied
// while findings are printed. Files need no lock, and programs inherit them.
func (s Streams) shared() Streams {
	mu := new(sync.Mutex) // one lock, because both may be the same writer
	return Streams{In: s.In, Out: share(s.Out, mu), Err: share(s.Err, mu)}
}

func share(w io.Writer, mu *sync.Mutex) io.Writer {
	if f, ok := w.(*os.File); ok {
		return f
	}
	return &sharedWriter{mu, w}
}

// printed has what went wrong with what heisen itself prints.
type printed struct {
	mu     sync.Mutex
	failed error // the first one
}

// printable returns streams to which heisen itself prints.
func (s Streams) printable() (Streams, *printed) {
	p := new(printed)
	return Streams{In: s.In, Out: printable.NewWriter(printedTo{s.Out, p}), Err: printable.NewWriter(printedTo{s.Err, p})}, p
}

// status returns the exit status of a command that would end with the given one. What could not be
// printed may be a verdict.
func (p *printed) status(status int) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failed != nil && status == Clean {
		status = Failed
	}
	return status, p.failed
}

type printedTo struct {
	w       io.Writer
	outcome *printed
}

func (p printedTo) Write(text []byte) (int, error) {
	n, err := p.w.Write(text)
	if err != nil {
		p.outcome.mu.Lock()
		p.outcome.failed = cmp.Or(p.outcome.failed, err)
		p.outcome.mu.Unlock()
	}
	return n, err
}

type sharedWriter struct {
	mu *sync.Mutex
	w  io.Writer
}

func (s *sharedWriter) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(p)
}
