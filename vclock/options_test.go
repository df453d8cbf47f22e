package vclock_test

import (
	"errors"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/vclock"
)

var race = []heisen.Record{
	{Thread: 1, Op: heisen.Write, Object: 8},
	{Thread: 2, Op: heisen.Write, Object: 8},
}

// TestNilOptions checks that a nil option is an error, and that a nil sink and nil symbols are not.
func TestNilOptions(t *testing.T) {
	if _, err := vclock.NewFastTrack(nil); !errors.Is(err, heisen.ErrOption) {
		t.Errorf("NewFastTrack(nil): %v", err)
	}
	if _, err := vclock.NewHappensBefore(nil); !errors.Is(err, heisen.ErrOption) {
		t.Errorf("NewHappensBefore(nil): %v", err)
	}
	if _, err := vclock.NewOrder(nil); !errors.Is(err, heisen.ErrOption) {
		t.Errorf("NewOrder(nil): %v", err)
	}
	d, err := vclock.NewFastTrack(vclock.WithSink(nil), vclock.WithBarrierPairs(nil))
	if err != nil {
		t.Fatal(err)
	}
	d.HandleRecords(race)
	if err := d.Flush(); err != nil || d.Races() != 1 {
		t.Errorf("%d races, %v", d.Races(), err)
	}
}

// TestZeroDetectors checks that detectors without a constructor work.
func TestZeroDetectors(t *testing.T) {
	var ft, batches vclock.FastTrack
	var hb vclock.HappensBefore
	for i := range race {
		ft.Handle(race[i].Event())
		hb.Handle(race[i].Event())
	}
	batches.HandleRecords(race)
	if err := errors.Join(ft.Flush(), batches.Flush(), hb.Flush(), new(vclock.FastTrack).Flush(), new(vclock.HappensBefore).Flush()); err != nil {
		t.Error(err)
	}
	if ft.Races() != 1 || batches.Races() != 1 || hb.Races() != 1 {
		t.Errorf("%d, %d and %d races, want 1", ft.Races(), batches.Races(), hb.Races())
	}
}

// TestZeroOrder checks that the methods of an Order that has seen no event return nothing.
func TestZeroOrder(t *testing.T) {
	var o vclock.Order
	if c := o.Clock(1); o.Slots() != 1 || c.String() != "[1@0]" {
		t.Errorf("clock %v, %d slots", &c, o.Slots())
	}
	o = vclock.Order{}
	o.Recycle(nil)
	if id := o.Thread(vclock.MakeEpoch(3, 4)); id != 0 || o.Err() != nil {
		t.Errorf("thread %d, %v", id, o.Err())
	}
}
