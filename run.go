package heisen

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// Source is a stream of events. trace.Reader is one.
type Source interface {
	// Next fills batch with the next events of the stream, waits for at least
	// one, and returns how many it filled. The end of the stream is io.EOF
	// itself; any other error, also one that wraps io.EOF, says where the
	// stream is damaged. Records filled are valid whatever the error.
	Next(batch []Record) (int, error)
}

// BatchSource is an optional capability of a Source: to hand out its own records
// instead of copying them. Run asks for it by type assertion.
type BatchSource interface {
	Source
	// NextBatch is Next with a batch of the source's own: at least one event,
	// in a slice that is valid until the next call and not to be changed, or an
	// error.
	NextBatch() ([]Record, error)
}

// ErrSource is the error of Run for a Source that breaks its contract.
var ErrSource = errors.New("heisen: source is at fault")

// batchSize is what Run reads at a time: 32 KiB of records, which stay in the
// first-level cache while each detector has its turn.
const batchSize = 1024

// Run feeds source to the detectors, in batches, until its end, its first error
// or the end of ctx, and then flushes every detector, so that nothing found is
// lost. It returns the number of events delivered, and the stream's error
// joined with those of the detectors; a stream that ended regularly is no
// error.
func Run(ctx context.Context, source Source, detectors ...Detector) (events uint64, err error) {
	handle := handlerOf(Tee(detectors...))
	next := nextOf(source)
	for err == nil {
		if err = ctx.Err(); err != nil {
			break
		}
		var batch []Record
		if batch, err = next(); len(batch) > 0 {
			handle(batch)
			events += uint64(len(batch))
		}
	}
	if err == io.EOF { // wrapped, it would be the end of something in the stream
		err = nil
	}
	return events, errors.Join(err, Tee(detectors...).Flush())
}

// nextOf returns the fastest way to get batches from source.
func nextOf(source Source) func() ([]Record, error) {
	if s, ok := source.(BatchSource); ok {
		return s.NextBatch
	}
	batch := make([]Record, batchSize)
	return func() ([]Record, error) {
		n, err := source.Next(batch)
		if n < 0 || n > len(batch) {
			return nil, errors.Join(fmt.Errorf("%w: it filled %d of %d records", ErrSource, n, len(batch)), err)
		}
		return batch[:n], err
	}
}

// Slice returns a Source that delivers the given records.
func Slice(records []Record) Source { return &slice{records} }

type slice struct{ rest []Record }

func (s *slice) Next(batch []Record) (int, error) {
	if len(s.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(batch, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}
