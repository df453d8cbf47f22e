package heisen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// script is a source that gives what its steps say, then repeats the last.
type script struct {
	steps []step
	calls int
}

type step struct {
	n   int
	err error
}

func (s *script) Next(batch []Record) (int, error) {
	step := s.steps[min(s.calls, len(s.steps)-1)]
	s.calls++
	for i := range min(max(step.n, 0), len(batch)) {
		batch[i] = Record{Op: Read, Site: Site(s.calls)}
	}
	return step.n, step.err
}

// batchScript is a script that keeps its records.
type batchScript struct{ *script }

func (s *batchScript) NextBatch() ([]Record, error) {
	batch := make([]Record, batchSize)
	n, err := s.Next(batch)
	return batch[:n], err
}

// flushCounter counts what Run does to a detector.
type flushCounter struct {
	recorder
	flushed int
	err     error
}

func (d *flushCounter) Flush() error {
	d.flushed++
	return d.err
}

func TestRunErrors(t *testing.T) {
	damage := errors.New("block 7 is damaged")
	incomplete := errors.New("out of memory")
	for _, test := range []struct {
		name     string
		steps    []step
		detector error
		events   uint64
		want     []error // none for a regular end
	}{
		{name: "regular end", steps: []step{{n: 3}, {n: 2}, {err: io.EOF}}, events: 5},
		{name: "end with the last records", steps: []step{{n: 3}, {n: 2, err: io.EOF}}, events: 5},
		{name: "empty", steps: []step{{err: io.EOF}}},
		{name: "damage after records", steps: []step{{n: 3}, {n: 2, err: damage}}, events: 5, want: []error{damage}},
		{name: "damage and detector", steps: []step{{err: damage}}, detector: incomplete, want: []error{damage, incomplete}},
		{name: "detector only", steps: []step{{n: 1, err: io.EOF}}, detector: incomplete, events: 1, want: []error{incomplete}},
		{name: "cut off", steps: []step{{n: 1, err: io.ErrUnexpectedEOF}}, events: 1, want: []error{io.ErrUnexpectedEOF}},
		{name: "wrapped end", steps: []step{{n: 1, err: fmt.Errorf("block 7: %w", io.EOF)}}, events: 1, want: []error{io.EOF}},
		{name: "damage joined with end", steps: []step{{n: 1, err: errors.Join(damage, io.EOF)}}, events: 1, want: []error{damage}},
		{name: "too many", steps: []step{{n: 1}, {n: batchSize + 1}}, events: 1, want: []error{ErrSource}},
		{name: "negative", steps: []step{{n: -1}}, want: []error{ErrSource}},
		{name: "too many and damage", steps: []step{{n: batchSize + 1, err: damage}}, want: []error{ErrSource, damage}},
	} {
		t.Run(test.name, func(t *testing.T) {
			a, b := &flushCounter{err: test.detector}, &flushCounter{}
			events, err := Run(context.Background(), &script{steps: test.steps}, a, b)
			if events != test.events {
				t.Errorf("%d events, want %d", events, test.events)
			}
			if len(test.want) == 0 && err != nil {
				t.Errorf("error %v after a regular end", err)
			}
			for _, want := range test.want {
				if !errors.Is(err, want) {
					t.Errorf("error %v, want %v", err, want)
				}
			}
			for i, d := range []*flushCounter{a, b} {
				if uint64(len(d.got)) != test.events || d.flushed != 1 {
					t.Errorf("detector %d got %d events and was flushed %d times", i, len(d.got), d.flushed)
				}
			}
		})
	}
}

func TestRunStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	endless := &script{steps: []step{{n: 10}}}
	d := &flushCounter{}
	third := Filter(d, func(Event) bool {
		if endless.calls == 3 {
			cancel(errors.New("enough"))
		}
		return true
	})
	events, err := Run(ctx, endless, third)
	if events != 30 || len(d.got) != 30 {
		t.Errorf("%d events delivered, %d handled, want the 30 read before the end of the context", events, len(d.got))
	}
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if d.flushed != 1 {
		t.Errorf("flushed %d times", d.flushed)
	}
}

// TestRunEndsWithASourceThatHasNothing checks that Run does not ask for ever a source that returns
// neither records nor an error, and that a few such answers are no error.
func TestRunEndsWithASourceThatHasNothing(t *testing.T) {
	stalled := func(answers int) *script {
		s := &script{steps: []step{{n: 10}}}
		for range answers {
			s.steps = append(s.steps, step{})
		}
		s.steps = append(s.steps, step{n: 5}, step{err: io.EOF})
		return s
	}
	for answers, want := range map[int]error{1: nil, maxEmpty - 1: nil, maxEmpty: ErrSource} {
		for name, source := range map[string]Source{"source": stalled(answers), "batch source": &batchScript{stalled(answers)}} {
			d := &flushCounter{}
			events, err := Run(context.Background(), source, d)
			if !errors.Is(err, want) || want == nil && (err != nil || events != 15) || events < 10 || d.flushed != 1 {
				t.Errorf("%s, %d empty answers: %d events, error %v, want %v", name, answers, events, err, want)
			}
		}
	}
}

func TestRunDeliversSlice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		records := sites(rapid.IntRange(0, 3*batchSize).Draw(t, "records"))
		var byBatch recorder
		var byEvent journal
		events, err := Run(context.Background(), Slice(records), &byBatch, single{"d", &byEvent, nil})
		if err != nil || events != uint64(len(records)) {
			t.Fatalf("%d of %d events, error %v", events, len(records), err)
		}
		if !slices.Equal(byBatch.got, records) {
			t.Fatalf("%d records arrived, or in another order", len(byBatch.got))
		}
		if len(byEvent) != len(records)+1 {
			t.Fatalf("%d events handled one by one", len(byEvent)-1)
		}
	})
}

func ExampleRun() {
	trace := Slice([]Record{
		{Op: Write, Thread: 0, Object: 8},
		{Op: Fork, Thread: 0, Object: 1},
		{Op: Read, Thread: 1, Object: 8},
	})
	var counter accessCounter
	events, err := Run(context.Background(), trace, &counter)
	if err != nil {
		fmt.Println(err)
	}
	fmt.Println(events, "events,", counter.reads, "reads,", counter.writes, "writes")
	// Output: 3 events, 1 reads, 1 writes
}
