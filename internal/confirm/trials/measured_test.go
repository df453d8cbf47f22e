package trials

import (
	"testing"

	"github.com/heisen-go/heisen/internal/confirm/controlled"
	"github.com/heisen-go/heisen/internal/confirm/suspects"
	"github.com/heisen-go/heisen/internal/recorder"
)

// TestEndingMeasured: of the executions with an ending, one counts that is not due to what it measured.
func TestEndingMeasured(t *testing.T) {
	freed := recorder.MeasuredCollection | recorder.MeasuredFreed
	outcome := controlled.Outcome{Class: controlled.TestFailed, Message: "TestA"}
	trial := func(before recorder.MeasuredKinds) *Trial {
		e := &controlled.Execution{Outcome: outcome, Output: []byte("--- FAIL: TestA (0.00s)\n"), Measured: "something"}
		e.Execution.Measured = recorder.Measured{Kinds: freed, Failed: true, Before: before}
		return &Trial{Execution: e, First: -1}
	}
	v := Result{Suspect: &suspects.Suspect{}}
	for _, before := range []recorder.MeasuredKinds{freed, 0, freed} {
		v.Add(trial(before))
	}
	if len(v.Endings) != 1 || v.MayBeMeasured() {
		t.Errorf("%d endings, in doubt: %v", len(v.Endings), v.MayBeMeasured())
	}
}
