package focus_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/focus"
	"github.com/heisen-go/heisen/internal/testaid/heisencmd"
	"github.com/heisen-go/heisen/internal/testaid/must"
	"github.com/heisen-go/heisen/lockset"
	"github.com/heisen-go/heisen/trace"
)

func TestMain(m *testing.M) { heisencmd.Main(m) }

// TestFigure1AsProgram records the program of Figure 1. The names of functions in its contexts are those of a
// plan, and the unlocked call is reported.
func TestFigure1AsProgram(t *testing.T) {
	if testing.Short() {
		t.Skip("builds an instrumented program")
	}
	heisencmd.NeedInstrumentation(t)
	file := filepath.Join(t.TempDir(), "figure1.heisen")
	if r := heisencmd.Run(t, "record", "-o", file, "-pkgs", "work", "run", "./testdata/figure1"); r.Status != 0 {
		t.Fatalf("status %d\n%s%s", r.Status, r.Out, r.Err)
	}
	input, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer input.Close()
	source, err := trace.NewReader(input)
	if err != nil {
		t.Fatal(err)
	}
	symbols := source.Symbols()
	mu := focus.Guard{SameObject: true, Path: "mu"}
	value := focus.Variable{Package: "main", Type: "node", Name: "value"}
	plan := &focus.Plan{
		Variables: map[focus.Variable]focus.Protection{value: {Owner: focus.Owner{Kind: focus.Guarded, Guard: mu}, Unsafe: true}},
		Functions: map[focus.Function]focus.Properties{
			"main.(*node).setValue": {Typed: true, Requires: []focus.Guard{mu}},
			"main.main.func1":       {Typed: true},
		},
	}
	names := focus.Names{
		Variable: func(r *heisen.Record) (focus.Variable, bool) {
			frames := symbols.Site(r.Site).Frames
			switch {
			case len(frames) == 0 || filepath.Base(frames[0].File) != "main.go":
				return focus.Variable{}, false
			case r.Op == heisen.Acquire:
				return focus.Variable{Package: "main", Type: "node", Name: "mu"}, true
			}
			return value, frames[0].Func == "main.(*node).setValue"
		},
		Lock: func(r *heisen.Record, _ focus.Variable, _ focus.Guard) (heisen.Object, bool) {
			var n struct {
				mu    [8]byte // a sync.Mutex
				value int
			}
			return r.Object - heisen.Object(unsafe.Offsetof(n.value)), true
		},
		Symbols: symbols,
	}
	var own, behind []heisen.Finding
	eraser := must.Make(lockset.NewEraser(lockset.WithSink(func(f heisen.Finding) { behind = append(behind, f) })))
	filter := must.Make(focus.NewFilter(plan, eraser, names, focus.WithSink(func(f heisen.Finding) { own = append(own, f) })))
	discoverer := must.Make(focus.NewDiscoverer(names.Variable))
	if _, err := heisen.Run(context.Background(), source, heisen.Tee(filter, discoverer)); err != nil {
		t.Fatal(err)
	}
	if len(own) != 1 {
		t.Fatalf("%d findings of the filter, want 1: %v", len(own), own)
	}
	for i, want := range []string{"main.main.func1", "main.main.func2"} {
		a := own[0].Accesses[i]
		var functions []string
		for _, frame := range symbols.Stack(a.Site, a.Context) {
			functions = append(functions, frame.Func)
		}
		if !slices.Contains(functions, "main.(*node).setValue") || !slices.Contains(functions, want) {
			t.Errorf("access %d is in %s, want %s", i+1, strings.Join(functions, " < "), want)
		}
	}
	if !slices.ContainsFunc(behind, func(f heisen.Finding) bool { return f.Object == own[0].Object }) {
		t.Errorf("Eraser reports %v behind the filter, and nothing about %#x", behind, own[0].Object)
	}
	found := discoverer.Discoveries()
	if len(found) != 1 || found[0].Owner.Kind != focus.Unknown || found[0].Objects != 2 || found[0].Shared != 1 {
		t.Errorf("%+v, want an unknown owner, and one of two objects shared", found)
	}
}
