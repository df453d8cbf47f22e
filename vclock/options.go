package vclock

import (
	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/option"
)

// DetectorOption is an option of NewFastTrack and NewHappensBefore.
type DetectorOption interface{ applyDetector(*detectorConfig) error }

// Option is an option that every constructor of the package accepts.
type Option interface {
	DetectorOption
	applyOrder(*orderConfig) error
}

type orderConfig struct {
	barrierPairs bool
	symbols      *heisen.Symbols
}

type detectorConfig struct {
	orderConfig
	sink  heisen.Sink
	whole bool
}

type detectorOption func(*detectorConfig) error

func (o detectorOption) applyDetector(c *detectorConfig) error { return o(c) }

type orderOption func(*orderConfig) error

func (o orderOption) applyDetector(c *detectorConfig) error { return o(&c.orderConfig) }
func (o orderOption) applyOrder(c *orderConfig) error       { return o(c) }

// WithSink sets where a detector reports its findings. Without it, or with nil, findings are
// counted and discarded.
func WithSink(sink heisen.Sink) DetectorOption {
	return detectorOption(func(c *detectorConfig) error {
		c.sink = sink
		return nil
	})
}

// WithWholeStream says that the stream is the whole of an execution from its beginning, with all operations
// of its locks. The release of a lock that nobody holds is then a mistake of the source, and Flush returns
// an error that wraps heisen.ErrReleaseUnheld. Only who makes the stream can know that: not of a trace
// that was cut, or left packages out (trace.Gaps), nor behind a filter, which ends the check. A program
// that copies a lock while it is held has such releases, too.
func WithWholeStream() DetectorOption {
	return detectorOption(func(c *detectorConfig) error {
		c.whole = true
		return nil
	})
}

// WithBarrierPairs makes Hide and Reveal events part of the order, as heisen.Hide and
// heisen.Reveal define it. A detector then reports no false alarm on a trace that lacks the events
// within hidden calls (TREE and RDIT, section 4.2). Symbols resolves the sets of objects that the
// calls may touch. If it is nil, every call may touch every object.
//
// Every event then looks up the objects that it touches and publishes its thread's clock there: an
// access costs some hundred nanoseconds and about 50 bytes per word, and an event of a pair costs
// a step per object that the pair may touch. The order is exact if any two spans in the sets are
// equal or disjoint, and every object is allocated and freed as a whole. Otherwise the order may
// contain too many edges, so that races are missed, but none are invented.
func WithBarrierPairs(symbols *heisen.Symbols) Option {
	return orderOption(func(c *orderConfig) error {
		c.barrierPairs, c.symbols = true, symbols
		return nil
	})
}

// newDetectorConfig applies the options of a detector's constructor.
func newDetectorConfig(constructor string, opts []DetectorOption) (c detectorConfig, err error) {
	apply := make([]detectorOption, len(opts))
	for i, o := range opts {
		if o != nil {
			apply[i] = o.applyDetector
		}
	}
	err = option.Apply(constructor, &c, apply)
	if c.sink == nil {
		c.sink = func(heisen.Finding) {}
	}
	return c, err
}
