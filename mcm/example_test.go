package mcm_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/mcm"
	"github.com/heisen-go/heisen/trace"
)

// Two threads take turns at a lock, which orders what they do to x, in this run.
const hidden = `main|fork(T1)|1
main|fork(T2)|2
T1|w(x)|11
T1|acq(l)|12
T1|rel(l)|13
T2|acq(l)|21
T2|rel(l)|22
T2|w(x)|23
`

func ExampleNewDetector() {
	source, err := trace.NewReader(strings.NewReader(hidden))
	if err != nil {
		panic(err)
	}
	symbols := source.Symbols()
	d, err := mcm.NewDetector(mcm.WithSymbols(symbols), mcm.WithSink(func(f heisen.Finding) {
		fmt.Println(f.Message)
		for _, step := range f.Witness {
			fmt.Printf("  %s %v, line %s\n", symbols.Thread(step.Thread).Name, step.Op, symbols.Site(step.Site))
		}
	}))
	if err != nil {
		panic(err)
	}
	if _, err := heisen.Run(context.Background(), source, d); err != nil {
		panic(err)
	}
	s := d.Stats()
	fmt.Printf("%d query, %d left open\n", s.Queries, s.Unknown)
	// Output:
	// write can race with write (predicted, with a schedule)
	//   main fork, line 1
	//   main fork, line 2
	//   T2 acquire, line 21
	//   T2 release, line 22
	//   T1 write, line 11
	//   T2 write, line 23
	// 1 query, 0 left open
}

func ExampleModel_Race() {
	const x, l = 8, 16
	w := mcm.Window{Records: []heisen.Record{
		{Thread: 1, Op: heisen.Write, Object: x},
		{Thread: 1, Op: heisen.Acquire, Object: l},
		{Thread: 1, Op: heisen.Release, Object: l},
		{Thread: 2, Op: heisen.Acquire, Object: l},
		{Thread: 2, Op: heisen.Release, Object: l},
		{Thread: 2, Op: heisen.Write, Object: x},
	}}
	m, err := mcm.NewModel(w)
	if err != nil {
		panic(err)
	}
	verdict, witness, err := m.Race(context.Background(), 0, 5)
	if err != nil {
		panic(err)
	}
	fmt.Println(verdict, witness.Order, witness.Last)
	fmt.Println(w.Replay(witness))
	// Output:
	// possible [3 4 0 5] 2
	// <nil>
}
