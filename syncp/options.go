package syncp

import (
	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/option"
)

// Option is an option of NewDetector.
type Option func(*config) error

type config struct {
	sink   heisen.Sink
	memory int
	spill  string
}

const defaultMemory = 1 << 30

// WithSink sets where findings go. Without it they are discarded.
func WithSink(sink heisen.Sink) Option {
	return func(c *config) error {
		if sink != nil {
			c.sink = sink
		}
		return nil
	}
}

// WithMemory bounds what is stored of the stream, in bytes: at least a MiB. The default is 1 GiB. Beyond that
// the beginning of the stream is forgotten; see ErrForgotten.
func WithMemory(bytes int) Option {
	return func(c *config) error {
		if bytes < 1<<20 {
			return option.Errorf("WithMemory: %d bytes, want at least %d", bytes, 1<<20)
		}
		c.memory = bytes
		return nil
	}
}

// WithSpill sets the folder of a temporary file for the log, from which witnesses are made, so that it takes no more than a quarter
// of the memory. Flush removes the file.
func WithSpill(dir string) Option {
	return func(c *config) error {
		if dir == "" {
			return option.Errorf("WithSpill: no folder")
		}
		c.spill = dir
		return nil
	}
}
