package docs_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/field"
	"github.com/heisen-go/heisen/heisentest"
	"github.com/heisen-go/heisen/lockset"
	"github.com/heisen-go/heisen/report"
	"github.com/heisen-go/heisen/trace"
	"github.com/heisen-go/heisen/tree"
	"github.com/heisen-go/heisen/vclock"
)

// The functions of this file are the Go code of the guides. TestCode compares the two.

func TestTransfer(t *testing.T) {
	heisentest.NoLeaks(t)
	heisentest.Explore(t, transfer)
}

func transfer(*testing.T) {}

// analyze reads a recorded trace and prints findings as text.
func analyze(file string) error {
	r, err := trace.Open(file)
	if err != nil {
		return err
	}
	defer r.Close()
	collector, err := report.NewCollector(report.WithSymbols(r.Symbols()))
	if err != nil {
		return err
	}
	defer collector.Close()
	sink := lockset.WithSink(collector.Add)
	eraser, err1 := lockset.NewEraser(sink)
	hybrid, err2 := lockset.NewHybrid(sink)
	lockOrder, err3 := lockset.NewLockOrder(sink)
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	_, err = heisen.Run(context.Background(), r, eraser, hybrid, lockOrder)
	for _, finding := range collector.Findings() {
		report.WriteText(os.Stdout, &finding)
	}
	return err
}

// A counter is a detector that counts the writes to each variable.
type counter map[heisen.Object]int

// Handle implements heisen.Detector.
func (c counter) Handle(e heisen.Event) {
	if e.Op() == heisen.Write {
		c[e.Object()]++
	}
}

// Flush implements heisen.Detector.
func (c counter) Flush() error { return nil }

// filtered puts the TREE filter in front of a detector.
func filtered(source heisen.Source, detector heisen.Detector) error {
	filter, err := tree.NewFilter(detector)
	if err != nil {
		return err
	}
	_, err = heisen.Run(context.Background(), source, filter)
	return err
}

func Example_analyze() {
	if err := analyze("../testdata/bank.std"); err != nil {
		fmt.Println(err)
	}
	// Output:
	// ==================
	// WARNING: LOCKING DISCIPLINE
	// read without the lock that was held at all accesses since it became shared
	// Found by eraser, fingerprint 48b94a35713d3161
	// Held until then: account1
	//
	// Read by teller2 at balance:
	//   bank.go:7
	//   holding account2 (write), acquired at bank.go:5
	//
	// Previous write by teller1 at balance:
	//   bank.go:7
	//   holding account1 (write), acquired at bank.go:5
	//
	// teller2 created by main at:
	//   bank.go:17
	//
	// teller1 created by main at:
	//   bank.go:17
	// ==================
	// ==================
	// WARNING: POTENTIAL DATA RACE
	// read may race with write
	// Found by hybrid, fingerprint 35a5ecb9c767aea5
	//
	// Read by teller2 at balance:
	//   bank.go:7
	//   holding account2 (write), acquired at bank.go:5
	//
	// Previous write by teller1 at balance:
	//   bank.go:7
	//   holding account1 (write), acquired at bank.go:5
	//
	// teller2 created by main at:
	//   bank.go:17
	//
	// teller1 created by main at:
	//   bank.go:17
	// ==================
	// ==================
	// WARNING: POTENTIAL DATA RACE
	// write may race with write
	// Found by hybrid, fingerprint d9196c3403a79c63
	//
	// Write by teller2 at balance:
	//   bank.go:7
	//   holding account2 (write), acquired at bank.go:5
	//
	// Previous write by teller1 at balance:
	//   bank.go:7
	//   holding account1 (write), acquired at bank.go:5
	//
	// teller2 created by main at:
	//   bank.go:17
	//
	// teller1 created by main at:
	//   bank.go:17
	// ==================
}

func Example_filtered() {
	detector, err := vclock.NewFastTrack(vclock.WithSink(func(f heisen.Finding) {
		fmt.Println(f.Accesses[1])
	}))
	if err != nil {
		fmt.Println(err)
	}
	stream := heisen.Slice([]heisen.Record{
		{Op: heisen.Fork, Thread: 0, Object: 1},
		{Op: heisen.Write, Thread: 0, Object: 8, Site: 1},
		{Op: heisen.Write, Thread: 0, Object: 8, Site: 1},
		{Op: heisen.Write, Thread: 1, Object: 8, Site: 2},
	})
	if err := filtered(stream, detector); err != nil {
		fmt.Println(err)
	}
	// Output: write by thread 1 at site 2, event 4
}

func Example_counter() {
	writes := counter{}
	stream := heisen.Slice([]heisen.Record{
		{Op: heisen.Write, Thread: 0, Object: 8, Site: 1},
		{Op: heisen.Write, Thread: 0, Object: 8, Site: 1},
		{Op: heisen.Write, Thread: 0, Object: 16, Site: 2},
	})
	if _, err := heisen.Run(context.Background(), stream, writes); err != nil {
		fmt.Println(err)
	}
	fmt.Println(writes)
	// Output: map[8:2 16:1]
}

func watch(ctx context.Context, mux *http.ServeMux) error {
	watcher, err := field.New(field.WithLogger(slog.Default()))
	if err != nil {
		return err
	}
	go watcher.Run(ctx)
	mux.Handle("/debug/heisen", watcher)
	return nil
}

func TestWatch(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	mux := http.NewServeMux()
	if err := watch(ctx, mux); err != nil {
		t.Fatal(err)
	}
	page := httptest.NewRecorder()
	mux.ServeHTTP(page, httptest.NewRequest(http.MethodGet, "/debug/heisen", nil))
	if page.Code != http.StatusOK || !strings.Contains(page.Body.String(), "looked at") {
		t.Errorf("status %d: %s", page.Code, page.Body)
	}
}
