package lockset_test

import (
	"errors"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/lockset"
)

// TestWrongOptions checks that each wrong option, nil ones included, is a heisen.ErrOption, and that
// a nil sink is not.
func TestWrongOptions(t *testing.T) {
	_, err1 := lockset.NewEraser(nil)
	_, err2 := lockset.NewHybrid(nil)
	_, err3 := lockset.NewLockOrder(nil)
	_, err4 := lockset.NewHybrid(lockset.WithMaxAccesses(-1))
	_, err5 := lockset.NewLockOrder(lockset.WithMaxDependencies(-1))
	for i, err := range []error{err1, err2, err3, err4, err5} {
		if !errors.Is(err, heisen.ErrOption) {
			t.Errorf("%d: %v is no heisen.ErrOption", i, err)
		}
	}
	d, err := lockset.NewHybrid(lockset.WithSink(nil))
	if err != nil {
		t.Fatal(err)
	}
	d.HandleRecords(twoLocks)
	if d.Pairs() != 1 {
		t.Errorf("%d pairs", d.Pairs())
	}
}

// TestZeroDetectors checks that detectors without a constructor work.
func TestZeroDetectors(t *testing.T) {
	var eraser lockset.Eraser
	var hybrid lockset.Hybrid
	var lockOrder lockset.LockOrder
	for _, d := range []heisen.Detector{&eraser, &hybrid, &lockOrder} {
		handleAll(d, twoLocks)
		if err := d.Flush(); err != nil {
			t.Error(err)
		}
	}
	if eraser.Violations() != 1 || hybrid.Pairs() != 1 {
		t.Errorf("%d violations and %d pairs, want one each", eraser.Violations(), hybrid.Pairs())
	}
	for _, d := range []heisen.Detector{new(lockset.Eraser), new(lockset.Hybrid), new(lockset.LockOrder)} {
		if err := d.Flush(); err != nil {
			t.Error(err)
		}
	}
}
