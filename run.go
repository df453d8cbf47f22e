package heisen

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// Source is a stream of events, such as a trace.Reader. It belongs to one goroutine.
type Source interface {
	// Next writes the next events of the stream to the start of batch and returns their number. It
	// waits until there is at least one. At the end of the stream the error is io.EOF itself. Any
	// other error, including one that wraps io.EOF, says where the stream is damaged. The records
	// counted by the result are valid whatever the error is.
	Next(batch []Record) (int, error)
}

// BatchSource is an optional capability of a [Source] that keeps records in memory of its own.
// [Run] asks for it by a type assertion and then needs no copy of the records.
type BatchSource interface {
	Source
	// NextBatch is like Next, but returns records of the source: at least one, or an error. The
	// slice is valid until the next call and must not be changed.
	NextBatch() ([]Record, error)
}

// ErrSource is wrapped by the error of [Run] if its source violates the contract of [Source]: it
// counts fewer than 0 records or more than there is room for, or returns neither records nor an
// error time and again.
var ErrSource = errors.New("source is at fault")

// maxEmpty is how often in a row a source may return neither records nor an error, as a Reader of
// package io may return no bytes.
const maxEmpty = 100

// batchSize is the number of records that Run reads at a time: 32 KiB, which stay in the
// first-level cache while each detector has its turn.
const batchSize = 1024

// Run reads events from source in batches and hands each batch to every detector, in their order.
// It stops at the end of the stream, at the stream's first error, or when ctx ends. Then it flushes
// every detector, so that no finding is lost. Nil detectors are left out.
//
// Run returns the number of events delivered, and the error of the stream or of ctx joined with
// those of the detectors. The regular end of a stream is no error. If ctx or source is nil, the
// error wraps [ErrOption].
func Run(ctx context.Context, source Source, detectors ...Detector) (events uint64, err error) {
	all := Tee(detectors...)
	switch {
	case ctx == nil:
		err = fmt.Errorf("heisen.Run: %w: the context is nil", ErrOption)
	case source == nil:
		err = fmt.Errorf("heisen.Run: %w: the source is nil", ErrOption)
	default:
		events, err = deliver(ctx, source, handlerOf(all))
	}
	return events, errors.Join(err, all.Flush())
}

// deliver hands the events of source to handle until its end, its first error or that of ctx.
func deliver(ctx context.Context, source Source, handle func([]Record)) (events uint64, err error) {
	next := nextOf(source)
	for empty := 0; ; {
		if err := ctx.Err(); err != nil {
			return events, err
		}
		batch, err := next()
		if len(batch) > 0 {
			handle(batch)
			events += uint64(len(batch))
			empty = 0
		} else if empty++; err == nil && empty == maxEmpty {
			err = fmt.Errorf("%w: it returned neither records nor an error %d times", ErrSource, empty)
		}
		switch {
		case err == io.EOF: // not errors.Is: a wrapped io.EOF is damage
			return events, nil
		case err != nil:
			return events, err
		}
	}
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

// Slice returns a Source that delivers the given records. It does not copy them.
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
