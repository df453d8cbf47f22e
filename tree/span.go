package tree

import "github.com/heisen-go/heisen"

// NewSpanFilter returns a filter in front of a detector that reports only the
// first race of a variable, such as vclock.FastTrack: within a span, the
// interval between two publications of a thread, it hands on the first access
// and the first write of each variable, whatever their sites (section 3.6).
//
// Behind it the same bytes race, and of each byte the first access that races
// with an earlier one is the same. The earlier one may be another.
//
// The thesis says of any two accesses in a span that what races with the second
// races with the first. A read, however, may come before the first write of its
// span, and does not race with what the write races with (other reads); so
// writes are redundant after writes only. A span goes on, as in NewFilter, over
// releases of locks that nobody else has seen when the thread takes the lock
// again.
func NewSpanFilter(d heisen.Detector, options ...Option) (*Filter, error) {
	return newFilter(d, true, options)
}
