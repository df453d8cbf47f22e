package cli

import (
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

// printable returns streams to which heisen itself prints.
func (s Streams) printable() Streams {
	return Streams{In: s.In, Out: printable.NewWriter(s.Out), Err: printable.NewWriter(s.Err)}
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
