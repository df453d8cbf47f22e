package lockset

import (
	"math"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/option"
)

// EraserOption is an option of NewEraser.
type EraserOption interface{ applyEraser(*eraserConfig) error }

// HybridOption is an option of NewHybrid.
type HybridOption interface{ applyHybrid(*hybridConfig) error }

// LockOrderOption is an option of NewLockOrder.
type LockOrderOption interface {
	applyLockOrder(*lockOrderConfig) error
}

// Option is an option that every constructor of the package accepts.
type Option interface {
	EraserOption
	HybridOption
	LockOrderOption
}

type eraserConfig struct {
	sink     heisen.Sink
	whole    bool
	byObject bool
	handOver bool
}

type hybridConfig struct {
	sink         heisen.Sink
	whole        bool
	orderAtomics bool
	maxAccesses  uint32 // 0 is unlimited
}

type lockOrderConfig struct {
	sink  heisen.Sink
	whole bool
	limit int
}

const (
	defaultMaxAccesses     = 512
	defaultMaxDependencies = 1 << 18
)

func discard(heisen.Finding) {}

func defaultEraser() eraserConfig { return eraserConfig{sink: discard} }
func defaultHybrid() hybridConfig {
	return hybridConfig{sink: discard, maxAccesses: defaultMaxAccesses}
}
func defaultLockOrder() lockOrderConfig {
	return lockOrderConfig{sink: discard, limit: defaultMaxDependencies}
}

type eraserOption func(*eraserConfig) error

func (o eraserOption) applyEraser(c *eraserConfig) error { return o(c) }

type hybridOption func(*hybridConfig) error

func (o hybridOption) applyHybrid(c *hybridConfig) error { return o(c) }

type lockOrderOption func(*lockOrderConfig) error

func (o lockOrderOption) applyLockOrder(c *lockOrderConfig) error { return o(c) }

type sinkOption struct{ sink heisen.Sink }

func (o sinkOption) applyEraser(c *eraserConfig) error       { c.sink = o.sink; return nil }
func (o sinkOption) applyHybrid(c *hybridConfig) error       { c.sink = o.sink; return nil }
func (o sinkOption) applyLockOrder(c *lockOrderConfig) error { c.sink = o.sink; return nil }

// WithSink sets where a detector reports its findings. Without it, or with nil, findings are
// counted and discarded.
func WithSink(sink heisen.Sink) Option {
	if sink == nil {
		sink = discard
	}
	return sinkOption{sink}
}

type wholeOption struct{}

func (wholeOption) applyEraser(c *eraserConfig) error       { c.whole = true; return nil }
func (wholeOption) applyHybrid(c *hybridConfig) error       { c.whole = true; return nil }
func (wholeOption) applyLockOrder(c *lockOrderConfig) error { c.whole = true; return nil }

// WithWholeStream says that the stream is the whole of an execution from its beginning, with all operations
// of its locks. The release of a lock that nobody holds is then a mistake of the source, and Flush returns
// an error that wraps heisen.ErrReleaseUnheld. Only who makes the stream can know that: not of a trace
// that was cut, or left packages out (trace.Gaps), nor behind a filter, which ends the check. A program
// that copies a lock while it is held has such releases, too.
func WithWholeStream() Option { return wholeOption{} }

// WithObjectGranularity makes an Eraser store one state per allocated object instead of one per
// variable, as the implementation in the paper does: one candidate set protects all fields. It is
// coarser and takes less memory. An object is the range of an Alloc event. Accesses outside of
// objects are still checked by variable.
func WithObjectGranularity() EraserOption {
	return eraserOption(func(c *eraserConfig) error {
		c.byObject = true
		return nil
	})
}

// WithHandOver lets a message hand over an exclusive variable of an Eraser to another thread, which
// then initializes it further without a lock; see Eraser. It costs a few nanoseconds per access to an
// exclusive variable.
func WithHandOver() EraserOption {
	return eraserOption(func(c *eraserConfig) error {
		c.handOver = true
		return nil
	})
}

// WithAtomicOrder makes a Hybrid treat sync/atomic operations as synchronization, as package
// heisen defines their order. It then reports fewer pairs, and misses races that an order of atomic
// operations hides; see Hybrid.
func WithAtomicOrder() HybridOption {
	return hybridOption(func(c *hybridConfig) error {
		c.orderAtomics = true
		return nil
	})
}

// WithMaxAccesses bounds how many accesses of a variable a Hybrid stores, and their combinations of
// site, op and locks to 512. The default is 512. With 0 neither has a bound. If a variable needs more,
// the Hybrid evicts accesses, counts them (see Hybrid.Evicted), and Flush returns an error
// that wraps ErrEvicted. Pairs that are reported are still right.
func WithMaxAccesses(n int) HybridOption {
	return hybridOption(func(c *hybridConfig) error {
		if n < 0 {
			return option.Errorf("WithMaxAccesses: %d, want at least 0", n)
		}
		c.maxAccesses = uint32(min(n, math.MaxInt32))
		return nil
	})
}

// WithMaxDependencies bounds how many lock dependencies a LockOrder stores, and how many paths of held locks. The
// default is 262144, about 120 MB, and 0 is no bound. Later dependencies are only compared with the stored
// ones, and Flush returns an error that wraps ErrLimit.
func WithMaxDependencies(n int) LockOrderOption {
	return lockOrderOption(func(c *lockOrderConfig) error {
		switch {
		case n < 0:
			return option.Errorf("WithMaxDependencies: %d, want at least 0", n)
		case n == 0:
			n = math.MaxInt
		}
		c.limit = n
		return nil
	})
}

// applyAll applies options, which are interfaces, by their apply methods.
func applyAll[C any, O comparable](constructor string, c *C, opts []O, apply func(O) func(*C) error) error {
	var none O
	functions := make([]func(*C) error, len(opts))
	for i, o := range opts {
		if o != none {
			functions[i] = apply(o)
		}
	}
	return option.Apply(constructor, c, functions)
}
