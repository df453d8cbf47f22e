package field

import (
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/heisen-go/heisen/internal/option"
	"github.com/heisen-go/heisen/report"
)

// Option is an option of New.
type Option func(*config) error

type config struct {
	interval time.Duration
	share    float64
	signals  []os.Signal
	logger   *slog.Logger
	output   io.Writer
	each     func(report.Finding)
}

// The defaults of options.
const (
	defaultInterval = 10 * time.Minute
	defaultShare    = 0.01
)

// WithInterval sets how long Run waits between looks, 10 minutes by default. It must be positive.
func WithInterval(d time.Duration) Option {
	return func(c *config) error {
		if d <= 0 {
			return option.Errorf("WithInterval: %v, want more than 0", d)
		}
		c.interval = d
		return nil
	}
}

// WithShare sets which share of the time looks may take, 0.01 by default: after a look that took a second, the
// next one is a hundred seconds later at the earliest. It must be more than 0 and at most 1.
func WithShare(share float64) Option {
	return func(c *config) error {
		if !(share > 0 && share <= 1) {
			return option.Errorf("WithShare: %v, want more than 0 and at most 1", share)
		}
		c.share = share
		return nil
	}
}

// WithSignals makes Run look whenever the process receives one of the signals. Those signals no longer end the
// process then, as with os/signal.Notify.
func WithSignals(signals ...os.Signal) Option {
	return func(c *config) error {
		for i, s := range signals {
			if s == nil {
				return option.Errorf("WithSignals: signal %d is nil", i+1)
			}
		}
		c.signals = append(c.signals, signals...)
		return nil
	}
}

// WithLogger logs each new finding as a warning, and what cannot be looked for, once. Nil logs nothing, as
// without the option.
func WithLogger(logger *slog.Logger) Option {
	return func(c *config) error {
		c.logger = logger
		return nil
	}
}

// WithOutput writes each new finding as a line of JSON, in the form of report.WriteJSON. The commands of
// heisen read these lines.
func WithOutput(w io.Writer) Option {
	return func(c *config) error {
		if w == nil {
			return option.Errorf("WithOutput: the writer is nil")
		}
		c.output = w
		return nil
	}
}

// WithFunc calls a function with each new finding, on the goroutine that looks. It must not call the Watcher.
func WithFunc(f func(report.Finding)) Option {
	return func(c *config) error {
		if f == nil {
			return option.Errorf("WithFunc: the function is nil")
		}
		c.each = f
		return nil
	}
}
