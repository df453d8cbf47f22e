package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// TestSoak is a small soak test: addresses, and the slots and states of goroutines, are reused many
// times. It does not check whether memory is flat.
func TestSoak(t *testing.T) {
	defer goleak.VerifyNone(t)
	o := options{goroutines: 40_000, touched: 20, heap: 4, every: time.Hour, out: t.Output(), progress: t.Output()}
	res, err := soak(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := res.verdict(o); err == nil || err.Error() != "0 samples are too few to tell whether memory is flat" {
		t.Errorf("verdict %v, want only that there are too few samples", err)
	}
}

// TestVerdict checks which results are wrong.
func TestVerdict(t *testing.T) {
	o := options{goroutines: 1000}
	same := func(uint64) uint64 { return 1 << 30 }
	run := func(program, analyzer func(i uint64) uint64) (samples []sample) {
		for i := range uint64(16) {
			samples = append(samples, sample{goroutines: i * 10_000_000, program: program(i), analyzer: analyzer(i)})
		}
		return samples
	}
	for _, test := range []struct {
		name string
		res  result
		want string
	}{
		{"flat", result{goroutines: 1000, samples: run(same, same)}, ""},
		{"program", result{goroutines: 1000, samples: run(func(i uint64) uint64 { return 1<<30 + i*400_000_000 }, same)}, "the program grows"},
		{"analyzer", result{goroutines: 1000, samples: run(same, func(i uint64) uint64 { return 1<<30 + i*60_000_000 })}, "the analyzer grows"},
		{"findings", result{goroutines: 1000, findings: 3, events: 6, threads: 4, samples: run(same, same)}, "3 findings"},
		{"few", result{goroutines: 500, samples: run(same, same)}, "only 500 goroutines"},
		{"sent", result{goroutines: 1000, threads: 7, samples: run(same, same)}, "0 events and 7 goroutines were sent"},
		{"short", result{goroutines: 1000}, "too few"},
	} {
		err := test.res.verdict(o)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
}
