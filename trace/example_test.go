package trace_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/trace"
)

const sample = `main|fork(worker)|main.go:10
main|acq(mu)|main.go:12
main|w(balance)|main.go:13
main|rel(mu)|main.go:14
worker|r(balance)|worker.go:5
`

func ExampleReader() {
	r, err := trace.NewReader(strings.NewReader(sample))
	if err != nil {
		panic(err)
	}
	printer, err := trace.NewPrinter(os.Stdout, r.Symbols())
	if err != nil {
		panic(err)
	}
	events, err := heisen.Run(context.Background(), r, printer)
	fmt.Println(events, "events,", err)
	// Output:
	//        1  main     fork           worker  at main.go:10
	//        2  main     acquire        mu  at main.go:12
	//        3  main     write          balance  at main.go:13  holding mu
	//        4  main     release        mu  at main.go:14  holding mu
	//        5  worker   read           balance  at worker.go:5
	// 5 events, <nil>
}

// A text trace becomes a binary trace, and that becomes a text trace again.
func ExampleWriter() {
	text, err := trace.NewSTDReader(strings.NewReader(sample))
	if err != nil {
		panic(err)
	}
	var file bytes.Buffer
	w, err := trace.NewWriter(&file, text.Symbols())
	if err != nil {
		panic(err)
	}
	if _, err := heisen.Run(context.Background(), text, w); err != nil {
		panic(err)
	}
	if err := w.Close(); err != nil {
		panic(err)
	}

	binary, err := trace.NewReader(&file)
	if err != nil {
		panic(err)
	}
	out, err := trace.NewSTDWriter(os.Stdout, binary.Symbols())
	if err != nil {
		panic(err)
	}
	if _, err := heisen.Run(context.Background(), binary, out); err != nil {
		panic(err)
	}
	// Output:
	// main|fork(worker)|main.go:10
	// main|acq(mu)|main.go:12
	// main|w(balance)|main.go:13
	// main|rel(mu)|main.go:14
	// worker|r(balance)|worker.go:5
}

// The events of a trace that is cut off are delivered.
func ExampleSTDReader_Next() {
	r, err := trace.NewSTDReader(strings.NewReader("T0|w(x)|1\nT1|r(x)|2\nT1|w("))
	if err != nil {
		panic(err)
	}
	batch := make([]heisen.Record, 100)
	n, err := r.Next(batch)
	fmt.Println(n, err)
	n, err = r.Next(batch)
	fmt.Println(n, err, errors.Is(err, trace.ErrTruncated))
	// Output:
	// 2 <nil>
	// 0 line 3: trace is cut off: the line has no end true
}

func ExampleValidate() {
	source, err := trace.NewReader(strings.NewReader("T0|fork(T1)|1\nT0|acq(L)|2\nT1|rel(M)|3\nT1|rel(L)|4\n"))
	if err != nil {
		panic(err)
	}
	v, err := trace.Validate(context.Background(), source)
	if err != nil {
		panic(err)
	}
	for _, p := range v.Problems() {
		fmt.Println(p, "- unheld:", errors.Is(p, trace.ErrReleaseUnheld), "- warning:", p.Warning)
	}
	// Output:
	// event 3: thread T1: release of a lock that nobody holds: M - unheld: true - warning: false
	// event 4: thread T1: release of a lock that another thread holds: L (see event 2) - unheld: false - warning: true
}

func ExampleStats() {
	r, err := trace.NewReader(strings.NewReader(sample))
	if err != nil {
		panic(err)
	}
	var stats trace.Stats
	if _, err := heisen.Run(context.Background(), r, &stats); err != nil {
		panic(err)
	}
	fmt.Println(stats.Events, stats.Threads, stats.Variables, stats.Shared, stats.Ops[heisen.Acquire])
	// Output:
	// 5 2 1 1 1
}
