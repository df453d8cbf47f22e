package cli

import (
	"bytes"
	"context"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/trace"
)

// TestThreadEnds: the analysis of a trace forgets the threads that ended long ago, and no others.
func TestThreadEnds(t *testing.T) {
	const threads = 1<<19 + 100
	symbols := heisen.NewSymbols()
	var file bytes.Buffer
	w, err := trace.NewWriter(&file, symbols)
	if err != nil {
		t.Fatal(err)
	}
	for id := range heisen.Thread(threads) {
		symbols.SetThread(id+1, heisen.ThreadInfo{Name: "worker"})
		err := w.Write([]heisen.Record{{Op: heisen.Fork, Object: heisen.Object(id + 1)}, {Op: heisen.End, Thread: id + 1}})
		if err != nil {
			t.Fatal(err)
		}
	}
	symbols.SetThread(threads+1, heisen.ThreadInfo{Name: "last"})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := trace.NewReader(&file)
	if err != nil {
		t.Fatal(err)
	}
	events, err := heisen.Run(context.Background(), r, newThreadEnds(r.Symbols(), recorder.ThreadLimits()))
	if err != nil || events != 2*threads {
		t.Fatalf("%d events, error %v", events, err)
	}
	for id, want := range map[heisen.Thread]string{
		1: recorder.ThreadLimits().OtherThread, 100: recorder.ThreadLimits().OtherThread,
		101: "worker", threads: "worker", threads + 1: "last",
	} {
		if got := r.Symbols().Thread(id).Name; got != want {
			t.Errorf("thread %d is %q, not %q", id, got, want)
		}
	}
}
