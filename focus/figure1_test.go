package focus_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/focus"
	"github.com/heisen-go/heisen/internal/testaid/must"
	"github.com/heisen-go/heisen/lockset"
)

// Figure 1 of the paper, in Go:
//
//	type Node struct { mu sync.Mutex; value int }
//	func (n *Node) setValue(v int) { n.value = v } // requires n.mu
//	func main() {
//		n1, n2 := new(Node), new(Node)
//		n1.setValue(10)
//		go func() { n2.mu.Lock(); n2.setValue(30); n2.mu.Unlock() }() // func1
//		go func() { n2.setValue(20) }()                               // func2
//	}
const (
	node1, node2 heisen.Object = 0x1000, 0x2000 // mu is first, value is 8 bytes behind it
)

var (
	nodeValue = focus.Variable{Package: "main", Type: "Node", Name: "value"}
	nodeMu    = focus.Variable{Package: "main", Type: "Node", Name: "mu"}
)

// figure1 returns the run in which func1 comes first, or func2.
func figure1(lockedFirst bool) ([]heisen.Record, *heisen.Symbols) {
	symbols := heisen.NewSymbols()
	site := func(function string, line int) heisen.Site {
		return symbols.AddSite(heisen.SiteInfo{Frames: []heisen.Frame{{Func: function, File: "main.go", Line: line}}})
	}
	write := site("main.(*Node).setValue", 2)
	call := func(function string, line int) heisen.Context {
		return symbols.Context(symbols.Call(heisen.Cursor{}, site(function, line)))
	}
	locked := []heisen.Record{
		{Op: heisen.Acquire, Thread: 1, Object: node2},
		{Op: heisen.Write, Thread: 1, Object: node2 + 8, Site: write, Context: call("main.main.func1", 6)},
		{Op: heisen.Release, Thread: 1, Object: node2},
	}
	unlocked := []heisen.Record{{Op: heisen.Write, Thread: 2, Object: node2 + 8, Site: write, Context: call("main.main.func2", 7)}}
	records := []heisen.Record{
		{Op: heisen.Write, Object: node1 + 8, Site: write, Context: call("main.main", 5)},
		{Op: heisen.Fork, Object: 1},
		{Op: heisen.Fork, Object: 2},
	}
	if lockedFirst {
		return slices.Concat(records, locked, unlocked), symbols
	}
	return slices.Concat(records, unlocked, locked), symbols
}

// figure1Names names the fields of nodes.
func figure1Names(symbols *heisen.Symbols) focus.Names {
	return focus.Names{
		Variable: func(r *heisen.Record) (focus.Variable, bool) {
			if r.Object%0x1000 == 0 {
				return nodeMu, true
			}
			return nodeValue, true
		},
		Lock: func(r *heisen.Record, _ focus.Variable, _ focus.Guard) (heisen.Object, bool) {
			return r.Object - r.Object%0x1000, true
		},
		Symbols: symbols,
	}
}

// figure1Plan is what a static check finds of the figure: setValue and the functions that call it with the
// lock are typed, and value is race-unsafe because of the call without.
func figure1Plan() *focus.Plan {
	mu := focus.Guard{SameObject: true, Path: "mu"}
	return &focus.Plan{
		Variables: map[focus.Variable]focus.Protection{nodeValue: {Owner: focus.Owner{Kind: focus.Guarded, Guard: mu}, Unsafe: true}},
		Functions: map[focus.Function]focus.Properties{
			"main.(*Node).setValue": {Typed: true, Requires: []focus.Guard{mu}},
			"main.main.func1":       {Typed: true},
			"main.main.func2":       {},
			"main.main":             {},
		},
	}
}

// TestFigure1: the call without the lock is reported, and neither the one with it nor that of n1.
func TestFigure1(t *testing.T) {
	for _, test := range []struct {
		lockedFirst bool
		want        []heisen.Finding // of the filter
		behind      []heisen.Object  // that Eraser reports
	}{
		{true, []heisen.Finding{{
			Detector: "focus", Kind: heisen.Discipline, Object: node2 + 8,
			Message: "write of main.Node.value without the lock that guards it",
			Accesses: []heisen.Access{
				{Op: heisen.Write, Thread: 1, Object: node2 + 8, Size: 1, Site: 1, Context: 1},
				{Op: heisen.Write, Thread: 2, Object: node2 + 8, Size: 1, Site: 1, Context: 2, Index: 7},
			},
			Locks: []heisen.Object{node2},
		}}, []heisen.Object{node2 + 8}},
		{false, nil, nil}, // Eraser takes the first goroutine for one that initializes
	} {
		records, symbols := figure1(test.lockedFirst)
		var found []heisen.Finding
		var full, behind []heisen.Object
		eraser := func(found *[]heisen.Object) heisen.Detector {
			return must.Make(lockset.NewEraser(lockset.WithSink(func(f heisen.Finding) { *found = append(*found, f.Object) })))
		}
		feed(t, eraser(&full), records)
		f := must.Make(focus.NewFilter(figure1Plan(), eraser(&behind), figure1Names(symbols), focus.WithSink(func(f heisen.Finding) { found = append(found, f) })))
		feed(t, f, records)
		if diff := cmp.Diff(test.want, found); diff != "" {
			t.Errorf("locked first: %v (-want +got)\n%s", test.lockedFirst, diff)
		}
		if !slices.Equal(full, test.behind) || !slices.Equal(behind, test.behind) {
			t.Errorf("locked first: %v: Eraser reports %#x, and behind the filter %#x", test.lockedFirst, full, behind)
		}
	}
}

// TestFigure1Owners: value has no owner because of the call without the lock. Without that call it has
// mu, and in a run that does not come to the goroutines it is local, as n1 is.
func TestFigure1Owners(t *testing.T) {
	records, symbols := figure1(true)
	for _, test := range []struct {
		records []heisen.Record
		want    string
	}{
		{records, "unknown"},
		{records[:6], "local"},
		{records[:1], "local"},
	} {
		d := must.Make(focus.NewDiscoverer(figure1Names(symbols).Variable))
		feed(t, d, test.records)
		found := d.Discoveries()
		if len(found) != 1 || found[0].Variable != nodeValue || found[0].Owner.String() != test.want {
			t.Errorf("%d events: %+v, want %s", len(test.records), found, test.want)
		}
	}
}

// TestFigure1Atomicity: setValue is a mover if the lock is held.
func TestFigure1Atomicity(t *testing.T) {
	const mu focus.Lock = "n.mu"
	set := func(call func(focus.Function) focus.Atomicity) focus.Atomicity { return call("main.(*Node).setValue") }
	got := focus.InferAtomicity(map[focus.Function]focus.Body{
		"main.(*Node).setValue": func(func(focus.Function) focus.Atomicity) focus.Atomicity {
			return focus.Needs(mu, focus.Always(focus.Mover))
		},
		"main.main.func1": func(call func(focus.Function) focus.Atomicity) focus.Atomicity { return set(call).Within(mu) },
		"main.main.func2": set,
	})
	for f, want := range map[focus.Function]string{"main.(*Node).setValue": "n.mu ? mover", "main.main.func1": "n.mu ? mover : atomic", "main.main.func2": "n.mu ? mover"} {
		if got[f].String() != want {
			t.Errorf("%s is %v, want %s", f, got[f], want)
		}
	}
	sites := []focus.CallSite{{Callee: "main.(*Node).setValue", Held: []focus.Lock{mu}}, {Callee: "main.(*Node).setValue"}, {Callee: "main.main.func1"}, {Callee: "main.main.func2"}}
	if verified := focus.VerifiedAtomic(got, sites, nil); !slices.Equal(verified, []focus.Function{"main.main.func1"}) {
		t.Errorf("%v are atomic", verified)
	}
}
