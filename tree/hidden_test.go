package tree_test

import (
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/testaid/must"
	"github.com/heisen-go/heisen/tree"
	"github.com/heisen-go/heisen/vclock"
)

// TestHiddenCalls shows why no filter may stand in front of a detector that accepts
// BarrierPairs: the second write to x says nothing new of x, but it comes after the one
// to y, and hidden code that reaches x may have waited for it.
func TestHiddenCalls(t *testing.T) {
	const x, y, call = 0x100, 0x200, 0x300
	symbols := heisen.NewSymbols()
	reach := symbols.AddReach(heisen.NewObjects(heisen.Span{Start: x, Len: 8}))
	trace := []heisen.Record{
		{Op: heisen.Write, Thread: 1, Object: x, Site: 1},
		{Op: heisen.Write, Thread: 1, Object: y, Site: 2},
		{Op: heisen.Write, Thread: 1, Object: x, Site: 1},
		{Op: heisen.Hide, Thread: 2, Object: call, Value: uint64(reach)},
		{Op: heisen.Reveal, Thread: 2, Object: call},
		{Op: heisen.Write, Thread: 2, Object: y, Site: 3},
	}
	alarms := func(front func(heisen.Detector) (*tree.Filter, error)) (n int) {
		var d heisen.Detector = must.Make(vclock.NewHappensBefore(vclock.WithSink(func(heisen.Finding) { n++ }), vclock.WithBarrierPairs(symbols)))
		if front != nil {
			f, err := front(d)
			if err != nil {
				t.Fatal(err)
			}
			d = f
		}
		for i := range trace {
			d.Handle(trace[i].Event())
		}
		if err := d.Flush(); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := alarms(nil); n != 0 {
		t.Errorf("%d races, and there are none", n)
	}
	for name, front := range map[string]func(heisen.Detector) (*tree.Filter, error){
		"filter": func(d heisen.Detector) (*tree.Filter, error) { return tree.NewFilter(d, tree.WithoutBypass()) },
		"span filter": func(d heisen.Detector) (*tree.Filter, error) {
			return tree.NewSpanFilter(d, tree.WithoutBypass())
		},
	} {
		if n := alarms(front); n != 1 {
			t.Errorf("behind the %s there are %d false alarms; the package documentation says that there is one", name, n)
		}
	}
}
