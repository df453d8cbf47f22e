package corpus

import (
	"slices"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/testaid/must"
	"github.com/heisen-go/heisen/mcm"
	"github.com/heisen-go/heisen/trace"
	"github.com/heisen-go/heisen/vclock"
)

// findings returns what a detector finds in a trace.
func findings(t *testing.T, tr *Trace, make func(heisen.Sink) (heisen.Detector, error)) (all []heisen.Finding) {
	t.Helper()
	d, err := make(func(f heisen.Finding) { all = append(all, f) })
	if err != nil {
		t.Fatal(err)
	}
	for i := range tr.Records {
		d.Handle(tr.Records[i].Event())
	}
	if err := d.Flush(); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestTruth: the pairs that are called Observed are those that happens-before leaves unordered, and with the
// Predictable ones they are all that the maximal causal model has in a window as long as the trace.
func TestTruth(t *testing.T) {
	for seed := range uint64(3) {
		for _, tr := range Traces(400, seed) {
			observed := tr.Judge(findings(t, &tr, func(s heisen.Sink) (heisen.Detector, error) { return vclock.NewHappensBefore(vclock.WithSink(s)) }))
			if len(observed.Wrong)+len(observed.Other) > 0 || slices.ContainsFunc(observed.Found, func(p Pair) bool { return p.Truth != Observed }) ||
				slices.ContainsFunc(observed.Missed, func(p Pair) bool { return p.Truth != Predictable }) {
				t.Errorf("%s, seed %d: happens-before has\n%+v", tr.Name, seed, observed)
			}
			all := tr.Judge(findings(t, &tr, func(s heisen.Sink) (heisen.Detector, error) {
				return mcm.NewDetector(mcm.WithSink(s), mcm.WithWindows(len(tr.Records), 0))
			}))
			if len(all.Missed)+len(all.Wrong)+len(all.Other) > 0 || len(all.Found) == 0 {
				t.Errorf("%s, seed %d: the maximal causal model has\n%+v", tr.Name, seed, all)
			}
		}
	}
}

// TestTraces: traces are valid and repeatable, and have pairs of each shape at each distance, with
// that many events between them, and no other accesses to their variables.
func TestTraces(t *testing.T) {
	traces := Traces(5000, 1)
	if again := Traces(5000, 1); !slices.Equal(again[0].Records, traces[0].Records) {
		t.Error("equal arguments give other traces")
	}
	if other := Traces(5000, 2); slices.Equal(other[0].Records, traces[0].Records) {
		t.Error("another seed gives the same trace")
	}
	for _, tr := range traces {
		valid := must.Make(trace.NewValidator(heisen.NewSymbols()))
		for i := range tr.Records {
			valid.Handle(tr.Records[i].Event())
		}
		valid.Flush()
		for _, problem := range valid.Problems() {
			t.Errorf("%s: %v", tr.Name, problem)
		}
		accesses := map[heisen.Object][]int{}
		for i, r := range tr.Records {
			if r.Op == heisen.Read || r.Op == heisen.Write {
				accesses[r.Object] = append(accesses[r.Object], i)
			}
		}
		type kind struct {
			shape     string
			magnitude int
		}
		number := map[kind]int{}
		for _, p := range tr.Pairs {
			magnitude := 10
			for 10*magnitude <= p.Distance {
				magnitude *= 10
			}
			number[kind{p.Shape, magnitude}]++
			at := accesses[p.Variable]
			if len(at) != 2 || tr.Records[at[0]].Site != p.First || tr.Records[at[1]].Site != p.Second || at[1]-at[0]-1 != p.Distance {
				t.Errorf("%s: %+v has accesses at %d", tr.Name, p, at)
			}
		}
		for _, s := range shapes {
			for _, magnitude := range []int{10, 100, 1000} {
				if n := number[kind{s.name, magnitude}]; n != perDistance {
					t.Errorf("%s: %d pairs of shape %s with distances from %d", tr.Name, n, s.name, magnitude)
				}
			}
		}
	}
}

// TestJudge: each pair is found, missed, wrong or none of these, and the rest is something else.
func TestJudge(t *testing.T) {
	tr := Trace{Pairs: []Pair{
		{Variable: 8, Truth: Observed}, {Variable: 16, Truth: Predictable}, {Variable: 24}, {Variable: 32}, {Variable: 40, Truth: Observed},
	}}
	v := tr.Judge([]heisen.Finding{{Object: 8}, {Object: 8}, {Object: 24}, {Object: 1}, {Object: 40}})
	variables := func(pairs []Pair) (all []heisen.Object) {
		for _, p := range pairs {
			all = append(all, p.Variable)
		}
		return all
	}
	if !slices.Equal(variables(v.Found), []heisen.Object{8, 40}) || !slices.Equal(variables(v.Missed), []heisen.Object{16}) ||
		!slices.Equal(variables(v.Wrong), []heisen.Object{24}) || len(v.Other) != 1 || v.Other[0].Object != 1 {
		t.Errorf("got %+v", v)
	}
}
