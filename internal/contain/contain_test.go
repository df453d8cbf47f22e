package contain_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/contain"
)

// faulty is a detector that panics at an event, or in Flush, and counts what it gets.
type faulty struct {
	at, seen, flushed, skipped int
	inFlush                    bool
	value                      any
}

func (f *faulty) Handle(heisen.Event) {
	f.seen++
	if f.seen == f.at {
		f.fail()
	}
}

func (f *faulty) fail() {
	if f.value != nil {
		panic(f.value)
	}
	var none []int
	none[f.seen]++
}

func (f *faulty) Skip(n uint64) { f.skipped += int(n) }

func (f *faulty) LockUse() heisen.LockUse { return heisen.LocksAsOrder }

func (f *faulty) Flush() error {
	f.flushed++
	if f.inFlush {
		f.fail()
	}
	return nil
}

// batched is a faulty detector that takes batches.
type batched struct{ faulty }

func (b *batched) HandleRecords(batch []heisen.Record) {
	for i := range batch {
		b.Handle(batch[i].Event())
	}
}

// TestPanic: one detector panics, in one way or another; it is named, gets nothing more, and the others
// get all events.
func TestPanic(t *testing.T) {
	records := make([]heisen.Record, 5000)
	for i := range records {
		records[i] = heisen.Record{Op: heisen.Read, Object: 8, Len: 8}
	}
	cause := errors.New("its cause\nin two lines")
	single := func(f faulty) (heisen.Detector, *faulty) { return &f, &f }
	batches := func(f faulty) (heisen.Detector, *faulty) { b := &batched{f}; return b, &b.faulty }
	for _, c := range []struct {
		name    string
		faulty  faulty
		make    func(faulty) (heisen.Detector, *faulty)
		seen    int
		flushed int
		says    string
	}{
		{"first event", faulty{at: 1}, single, 1, 0, "event 1 or"},
		{"index", faulty{at: 1500}, single, 1500, 0, "index out of range"},
		{"batch", faulty{at: 1500}, batches, 1500, 0, "event 1025 or"},
		{"error", faulty{at: 3, value: cause}, batches, 3, 0, "its cause in two lines"},
		{"text", faulty{at: 3, value: "a text"}, single, 3, 0, "a text"},
		{"last event", faulty{at: 5000}, batches, 5000, 0, "event 4097 or"},
		{"flush", faulty{inFlush: true}, batches, 5000, 1, "at the end of the stream"},
		{"none", faulty{}, batches, 5000, 1, ""},
	} {
		d, f := c.make(c.faulty)
		other := &batched{}
		_, err := heisen.Run(context.Background(), heisen.Slice(records), contain.New("wild", d), contain.New("other", other))
		if f.seen != c.seen || f.flushed != c.flushed || other.seen != 5000 || other.flushed != 1 {
			t.Errorf("%s: it has seen %d events and %d ends, the other one %d and %d", c.name, f.seen, f.flushed, other.seen, other.flushed)
		}
		var failed *contain.PanicError
		if c.says == "" {
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		if !errors.As(err, &failed) || failed.Detector != "wild" || !strings.Contains(err.Error(), c.says) ||
			!strings.Contains(err.Error(), "contain_test.go:") || !strings.Contains(err.Error(), "please report") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", c.name, err)
		}
		if c.faulty.value == any(cause) && !errors.Is(err, cause) {
			t.Errorf("%s: the cause is lost", c.name)
		}
		if c.faulty.value == nil {
			if _, ok := failed.Value.(runtime.Error); !ok {
				t.Errorf("%s: value %v", c.name, failed.Value)
			}
		}
	}
}

// TestTransparent: the capabilities of a detector are those behind it, also after a panic.
func TestTransparent(t *testing.T) {
	f := &faulty{at: 2}
	c := contain.New("wild", f)
	c.(heisen.Skipper).Skip(3)
	if got := c.(heisen.LockUser).LockUse(); got != heisen.LocksAsOrder || f.skipped != 3 {
		t.Errorf("lock use %v, %d skipped", got, f.skipped)
	}
	for range 4 {
		c.Handle((&heisen.Record{Op: heisen.Read}).Event())
	}
	c.(heisen.Skipper).Skip(3)
	if f.seen != 2 || f.skipped != 3 {
		t.Errorf("after the panic: %d seen, %d skipped", f.seen, f.skipped)
	}
	if contain.New("none", nil) != nil {
		t.Error("nil does not stay nil")
	}
}

// TestSplit: panics come out of joined errors, and everything else stays.
func TestSplit(t *testing.T) {
	a, b, other := &contain.PanicError{Detector: "a"}, &contain.PanicError{Detector: "b"}, errors.New("other")
	for _, c := range []struct {
		err    error
		panics int
		rest   error
	}{
		{nil, 0, nil},
		{other, 0, other},
		{a, 1, nil},
		{errors.Join(a, errors.Join(nil, b)), 2, nil},
		{errors.Join(other, errors.Join(a, b)), 2, other},
	} {
		panics, rest := contain.Split(c.err)
		if len(panics) != c.panics || (rest == nil) != (c.rest == nil) || !errors.Is(rest, c.rest) {
			t.Errorf("%v: %v, %v", c.err, panics, rest)
		}
	}
}
