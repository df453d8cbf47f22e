package mcm

import (
	"context"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/option"
	"github.com/heisen-go/heisen/mcm/internal/cascade"
	"github.com/heisen-go/heisen/mcm/internal/window"
	"github.com/heisen-go/heisen/section"
)

// DetectorOption is an option of NewDetector.
type DetectorOption interface {
	apply(*config) error
	forDetectors()
}

// ModelOption is an option of NewModel and of NewDetector.
type ModelOption interface {
	DetectorOption
	forModels()
}

// Option is an option of NewDetector, NewModel and Window.Replay: it says what the events of a window
// mean.
type Option interface {
	ModelOption
	forReplays()
}

type (
	detectorOption func(*config) error
	modelOption    func(*config) error
	replayOption   func(*config) error
)

func (o detectorOption) apply(c *config) error { return o(c) }
func (o modelOption) apply(c *config) error    { return o(c) }
func (o replayOption) apply(c *config) error   { return o(c) }

func (detectorOption) forDetectors() {}
func (modelOption) forDetectors()    {}
func (modelOption) forModels()       {}
func (replayOption) forDetectors()   {}
func (replayOption) forModels()      {}
func (replayOption) forReplays()     {}

// config is what options set.
type config struct {
	ctx     context.Context
	rules   window.Rules
	cascade cascade.Config

	// For detectors.
	sink            heisen.Sink
	window, overlap int // in events
	parallel        int
	occurrences     int
	queries         int
	sections        []section.Section
	locator         section.Locator
}

const (
	defaultConflicts    = 200
	defaultPropagations = 200_000
	defaultWindow       = 2000
	defaultOccurrences  = 8
	defaultQueries      = 2000
)

func defaults() config {
	return config{
		ctx:     context.Background(),
		rules:   window.DefaultRules(),
		cascade: cascade.Config{Conflicts: defaultConflicts, Propagations: defaultPropagations},
		sink:    func(heisen.Finding) {},
		window:  defaultWindow, overlap: defaultWindow / 2,
		parallel: 1, occurrences: defaultOccurrences, queries: defaultQueries,
	}
}

// step is how many events one window starts after the one before.
func (c *config) step() int { return c.window - c.overlap }

// most is the number of records that a detector collects at most, if few of them matter.
func (c *config) most() int { return max(1<<17, 8*(c.window+(group-1)*c.step())) }

// applyOptions applies the options of a constructor.
func applyOptions[O DetectorOption](constructor string, c *config, opts []O) error {
	list := make([]func(*config) error, len(opts))
	for i, o := range opts {
		if any(o) != nil {
			list[i] = o.apply
		}
	}
	return option.Apply(constructor, c, list)
}

// WithControlFlow lets reads see other values if no decision depends on them. A read must see its
// value only if it has the flag heisen.Decides, if a Branch event of the same thread follows it before
// the query's instant, or if such a read depends on it through memory. More orders are feasible then.
// The option is sound only for streams that have a flag or a Branch event for every decision,
// including the choice of an address from a value. Atomic reads and updates without the flag count as
// Branch events.
func WithControlFlow() Option {
	return replayOption(func(c *config) error {
		c.rules.ControlFlow = true
		return nil
	})
}

// WithSymbols sets the symbols of the stream. They contain the objects that the hidden code of a Hide
// event may touch. Without them it may touch everything.
func WithSymbols(symbols *heisen.Symbols) Option {
	return replayOption(func(c *config) error {
		c.rules.Reach = func(r *heisen.Record) heisen.Objects { return symbols.Reach(r.Reach()) }
		return nil
	})
}

// WithBudget bounds the work on one query, in conflicts and propagations of the solver, so that
// findings do not depend on the machine. The defaults are 200 and 200,000. The bounds of all other
// stages, and of all queries of a Model together, are multiples of these. A query that would cost
// more gets the verdict Unknown. Both bounds are at least 1.
func WithBudget(conflicts, propagations int) ModelOption {
	return modelOption(func(c *config) error {
		if conflicts < 1 || propagations < 1 {
			return option.Errorf("WithBudget: %d conflicts and %d propagations, want at least 1 of each", conflicts, propagations)
		}
		c.cascade.Conflicts, c.cascade.Propagations = conflicts, propagations
		return nil
	})
}

// WithSink sets where findings go. Without it they are discarded.
func WithSink(sink heisen.Sink) DetectorOption {
	return detectorOption(func(c *config) error {
		if sink != nil {
			c.sink = sink
		}
		return nil
	})
}

// WithContext sets a context for the work of the detector, which takes long in some windows. When the
// context ends, so does the query that is being answered; the findings so far are reported, and what has
// not been queried is left out. Flush then returns an error that wraps the context's.
func WithContext(ctx context.Context) DetectorOption {
	return detectorOption(func(c *config) error {
		if ctx == nil {
			return option.Errorf("WithContext: the context is nil")
		}
		c.ctx = ctx
		return nil
	})
}

// WithWindows sets how many events the windows have, and how many of these are in the next window
// as well. Windows have from 1 to 1048576 events, and the overlap is from 0 to events-1. The defaults
// are 2000 and 1000. Only events count that can matter: accesses to memory that several threads access and one
// of them writes, and synchronization through an object that several threads use. A window extends over at most
// some 100,000 events, or eight times those of 16 windows.
func WithWindows(events, overlap int) DetectorOption {
	return detectorOption(func(c *config) error {
		if events < 1 || events > 1<<20 || overlap < 0 || overlap >= events {
			return option.Errorf("WithWindows: %d events with an overlap of %d, want 1 to %d events and an overlap below that", events, overlap, 1<<20)
		}
		c.window, c.overlap = events, overlap
		return nil
	})
}

// WithParallel sets how many windows are solved at the same time, at least 1. The default is 1. The
// findings do not depend on it.
func WithParallel(n int) DetectorOption {
	return detectorOption(func(c *config) error {
		if n < 1 {
			return option.Errorf("WithParallel: %d windows at a time, want at least 1", n)
		}
		c.parallel = n
		return nil
	})
}

// WithSections adds predictions of accesses by other threads that can come between the entry and the
// end of an atomic section. For the locator, and the errors of NewDetector, see section.NewTracker.
func WithSections(sections []section.Section, locator section.Locator) DetectorOption {
	return detectorOption(func(c *config) error {
		if len(sections) > 0 && locator.Site == nil {
			return option.Errorf("WithSections: %w: the locator has no function Site", section.ErrInvalid)
		}
		c.sections, c.locator = sections, locator
		return nil
	})
}

// WithOccurrences bounds the number of queries about the same places in a window, and the number of
// all queries in a window. A place pair whose verdict is Possible is not queried again. Both bounds are at least 1. The defaults are 8
// and 2000.
func WithOccurrences(same, all int) DetectorOption {
	return detectorOption(func(c *config) error {
		if same < 1 || all < 1 {
			return option.Errorf("WithOccurrences: %d queries about the same places, %d in all, want at least 1 of each", same, all)
		}
		c.occurrences, c.queries = same, all
		return nil
	})
}
