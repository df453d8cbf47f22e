package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// TestSoak is the soak test in small: addresses are used again many times, and
// goroutines' slots and states too. Whether memory is flat only the command can
// tell.
func TestSoak(t *testing.T) {
	defer goleak.VerifyNone(t)
	o := options{goroutines: 40_000, touched: 20, heap: 4, every: time.Hour, out: t.Output()}
	res, err := soak(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := res.verdict(o); err == nil || strings.Contains(err.Error(), "findings") || strings.Contains(err.Error(), "began") {
		t.Errorf("verdict %v, want only that there are too few samples", err)
	}
	if res.events < 3*uint64(o.goroutines) { // their starts and ends: accesses stay in the program
		t.Errorf("%d events of %d goroutines", res.events, o.goroutines)
	}
}

// TestVerdict checks what the verdict objects to.
func TestVerdict(t *testing.T) {
	o := options{goroutines: 1000}
	flat := func(analyser func(i uint64) uint64) (samples []sample) {
		for i := range uint64(16) {
			samples = append(samples, sample{threads: i * 1_000_000, program: 1 << 30, analyser: analyser(i)})
		}
		return samples
	}
	for _, test := range []struct {
		name string
		res  result
		want string
	}{
		{"flat", result{begun: 1000, threads: 1001, samples: flat(func(uint64) uint64 { return 1 << 30 })}, ""},
		{"threads", result{begun: 1000, threads: 1001, samples: flat(func(i uint64) uint64 { return 1<<30 + i*60_000_000 })}, ""},
		{"grows", result{begun: 1000, threads: 1001, samples: flat(func(i uint64) uint64 { return 1<<30 + i*200_000_000 })}, "the analyser grows"},
		{"findings", result{begun: 1000, threads: 1001, findings: 3, samples: flat(func(uint64) uint64 { return 1 })}, "3 findings"},
		{"wrapped", result{begun: 1000, threads: 500, samples: flat(func(uint64) uint64 { return 1 })}, "with numbers below 500"},
		{"short", result{begun: 1000, threads: 1001}, "too few"},
	} {
		err := test.res.verdict(o)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
}
