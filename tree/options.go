package tree

import (
	"errors"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/option"
)

// ErrLockMisuse means that the stream contains a lock that did not exclude: while a thread held it, and
// accesses were dropped because the next holder would be ordered after them, another thread took it,
// or observed what was released through it. Findings may be missing.
var ErrLockMisuse = errors.New("a lock was observed by another thread while it was held")

// FilterOption is an option of NewFilter.
type FilterOption interface{ applyFilter(*config) error }

// Option is an option that every constructor of the package accepts.
type Option interface {
	FilterOption
	applySpanFilter(*config) error
}

type config struct {
	spans           bool
	messageOrder    bool
	thesisAlgorithm bool
	noBypass        bool
	budget          uint64
}

type filterOption func(*config) error

func (o filterOption) applyFilter(c *config) error { return o(c) }

type spanOption func(*config) error

func (o spanOption) applyFilter(c *config) error     { return o(c) }
func (o spanOption) applySpanFilter(c *config) error { return o(c) }

// WithMessageOrder is for detectors that compare locksets and order only by messages, such as
// lockset.Hybrid. Releases of locks publish nothing to them, so that accesses are
// redundant across releases, whichever thread takes the lock in between. In front of a detector to
// which locks are order, as in package vclock, this option loses races.
func WithMessageOrder() FilterOption {
	return filterOption(func(c *config) error {
		c.messageOrder = true
		return nil
	})
}

// WithThesisAlgorithm uses Algorithms 1 and 2 of the thesis: Γ is a path of held locks and
// messages, and Θ is looked up by program location, for at most two threads. Type and address of an access, which section 3.3 asks for,
// are part of the key. It drops more accesses
// than the other filters and loses races; docs/design/tree.md explains how. It exists for comparison. It
// cannot be combined with WithMessageOrder.
func WithThesisAlgorithm() FilterOption {
	return filterOption(func(c *config) error {
		c.thesisAlgorithm = true
		return nil
	})
}

// WithoutBypass makes the filter examine all events, even where that does not pay. Without it, the
// filter measures from time to time how long batches of events take with and without it, and forwards all accesses, or all events, as
// long as the detector alone is faster. A bypass loses no finding. Events that come one by one, by Handle, are not measured and not
// bypassed.
func WithoutBypass() Option {
	return spanOption(func(c *config) error {
		c.noBypass = true
		return nil
	})
}

const minBudget = 1 << 20

// WithMemory bounds the memory of the filter, in bytes. The least is 1 MiB, and without the option
// there is no bound for threads and locks. Under a bound the filter forgets locks that nobody holds, and does not look at the events of
// threads, and at the order of locks, for which there is no room: more events are forwarded then. No finding is lost.
func WithMemory(bytes uint64) Option {
	return spanOption(func(c *config) error {
		if bytes < minBudget {
			return option.Errorf("WithMemory: %d bytes, want at least %d", bytes, minBudget)
		}
		c.budget = bytes
		return nil
	})
}

// NewFilter returns a filter in front of next, which must not be nil. If next is a heisen.LockUser,
// the filter also drops lock operations that do not matter to next. The error
// wraps heisen.ErrOption.
func NewFilter(next heisen.Detector, opts ...FilterOption) (*Filter, error) {
	var c config
	apply := make([]filterOption, len(opts))
	for i, o := range opts {
		if o != nil {
			apply[i] = o.applyFilter
		}
	}
	return newFilter("tree.NewFilter", next, c, apply)
}

// NewSpanFilter returns a filter in front of next, a detector that reports only the first race of a
// variable, such as vclock.FastTrack. Within a span, the interval between two publications of a
// thread, it forwards the first access and the first write of each variable, whatever their sites
// (section 3.6). Behind it the same bytes race, and the first access of each byte that races with
// an earlier one is the same. The earlier access may be another one. The errors are those of NewFilter.
//
// The thesis claims that every access that races with the second of two accesses of a span also
// races with the first. But a read may come before the first write of its span, and the read does
// not race with other reads, with which the write races. So a write is redundant only after a
// write. As in NewFilter, a span continues over the release of a lock if the thread takes the lock
// again before any other thread has observed the release.
func NewSpanFilter(next heisen.Detector, opts ...Option) (*Filter, error) {
	c := config{spans: true}
	apply := make([]filterOption, len(opts))
	for i, o := range opts {
		if o != nil {
			apply[i] = o.applySpanFilter
		}
	}
	return newFilter("tree.NewSpanFilter", next, c, apply)
}
