package tree

import (
	"errors"
	"fmt"
	"time"

	"github.com/heisen-go/heisen"
)

// ErrOption is wrapped by the errors of NewFilter and NewSpanFilter.
var ErrOption = errors.New("tree: wrong option")

// ErrLock is wrapped by the error of Filter.Flush if accesses were dropped that
// should not have been, see there.
var ErrLock = errors.New("tree: lock was seen by others while it was held")

// Option changes what a Filter does.
type Option func(*Filter) error

// MessageOrder is for detectors that compare locksets and take nothing but
// messages as order, such as hybrid race detectors, and for Eraser: releases of
// locks publish nothing to them, so that accesses are redundant across releases,
// whoever takes the lock in between. In front of a detector that takes locks as
// order, as all of package vclock do, it loses races.
func MessageOrder() Option {
	return func(f *Filter) error {
		if f.literal != nil || f.spans {
			return fmt.Errorf("%w: MessageOrder goes with neither Literal nor span filters", ErrOption)
		}
		f.contexts = newContexts(defaultContexts)
		f.rest.sleeps = false
		return nil
	}
}

// Literal takes the thesis at its word: Algorithms 1 and 2, with Γ a path of
// held locks and messages and Θ looked up by program location alone, for at most
// two threads. It drops more than any other, and loses races, see the package
// documentation; it is there for comparison.
func Literal() Option {
	return func(f *Filter) error {
		if f.contexts != nil || f.spans {
			return fmt.Errorf("%w: Literal goes with neither MessageOrder nor span filters", ErrOption)
		}
		f.literal = newLiteral()
		f.neverRest()
		return nil
	}
}

// EveryLock hands on all lock operations, also to a detector that is a
// heisen.LockUser.
func EveryLock() Option {
	return func(f *Filter) error {
		f.use = heisen.LocksAsEvents
		return nil
	}
}

// NoRest lets the filter look at all events, also where that does not pay. Without
// it, it hands on all accesses for a while, or all
// events, when what it left out of the last ones was worth less than the look;
// then it looks again. Nothing is lost by that, and it depends on nothing but the
// stream and how it is cut into batches.
func NoRest() Option {
	return func(f *Filter) error {
		f.neverRest()
		return nil
	}
}

// defaultDetectorCost is what an event costs a typical detector, such as
// vclock.FastTrack.
const defaultDetectorCost = 14 * time.Nanosecond

// WithDetectorCost says what an event costs the detector behind the filter, on
// average. The filter rests when leaving events out saves the detector less than
// the look at all events costs; see NoRest. The default is 14 nanoseconds, as of
// vclock.FastTrack. perEvent must be positive.
func WithDetectorCost(perEvent time.Duration) Option {
	return func(f *Filter) error {
		if perEvent <= 0 {
			return fmt.Errorf("%w: WithDetectorCost: %v, want more than 0", ErrOption, perEvent)
		}
		f.rest.worth = perEvent.Nanoseconds()
		return nil
	}
}

// Memory sets how many bytes the filter may take, at least 1 MiB; without it
// there is no bound. What has not been of use for the longest time is forgotten,
// which costs time, never a finding. What is needed of threads and locks, about
// 200 bytes for each, is never forgotten; the histories have what that leaves.
func Memory(bytes uint64) Option {
	return func(f *Filter) error {
		if bytes < minBudget {
			return fmt.Errorf("%w: %d bytes of memory are too few, the least is %d", ErrOption, bytes, minBudget)
		}
		f.budget = bytes
		return nil
	}
}

// NewFilter returns a filter in front of d. If d is a heisen.LockUser, it goes
// without those lock operations too that it can do without; see EveryLock.
func NewFilter(d heisen.Detector, options ...Option) (*Filter, error) {
	return newFilter(d, false, options)
}
