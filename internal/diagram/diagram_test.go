package diagram_test

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/diagram"
	"github.com/heisen-go/heisen/internal/testaid/diagramtest"
	"github.com/heisen-go/heisen/internal/wording"
	"github.com/heisen-go/heisen/report"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestGolden draws the findings of all kinds of package report.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("../../report/testdata/*.json.golden")
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	var all strings.Builder
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		found, err := report.ReadJSON(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		for i := range found {
			d := diagram.Of(&found[i])
			if err := diagramtest.Numbers(d); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			fmt.Fprintf(&all, "%s\n%s\n", filepath.Base(name), diagramtest.Text(d))
		}
	}
	golden := filepath.Join("testdata", "diagrams.golden")
	if *update {
		if err := os.MkdirAll("testdata", 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(golden, []byte(all.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), all.String()); diff != "" {
		t.Errorf("%s (-want +got; -update rewrites it):\n%s", golden, diff)
	}
}

// TestOrders draws random schedules and compares the edges with the happens-before order that the
// comments of heisen.Op define, computed from the steps event by event.
func TestOrders(t *testing.T) {
	ops := []heisen.Op{
		heisen.Read, heisen.Write, heisen.Acquire, heisen.Release, heisen.AcquireShared, heisen.ReleaseShared,
		heisen.Fork, heisen.Join, heisen.Send, heisen.Receive, heisen.AtomicRead, heisen.AtomicWrite, heisen.AtomicUpdate,
	}
	edges := 0
	for seed := range uint64(2000) {
		random := rand.New(rand.NewPCG(seed, 1))
		threads := 2 + random.IntN(3)
		name := func(t int) string { return fmt.Sprintf("goroutine %d", t) }
		f := report.Finding{Kind: heisen.Race, Detector: "mcm"}
		for range 3 + random.IntN(36) {
			op := ops[random.IntN(len(ops))]
			at := random.IntN(threads)
			object := fmt.Sprintf("0x%d", random.IntN(2))
			if op == heisen.Fork || op == heisen.Join {
				object = name(random.IntN(threads))
			}
			f.Witness = append(f.Witness, report.Step{Op: op.String(), Thread: heisen.Thread(at), Name: name(at), Object: object, Site: fmt.Sprint(len(f.Witness))})
		}
		selected := seed%2 == 1
		if selected {
			f.Trials = &report.Trials{}
		}
		d := diagram.Of(&f)
		if err := diagramtest.Numbers(d); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if len(d.Events) != len(f.Witness) {
			t.Fatalf("seed %d: %d events of %d steps", seed, len(d.Events), len(f.Witness))
		}
		before := happensBefore(f.Witness, !selected)
		for _, e := range d.Edges {
			edges++
			if e.Kind != diagram.Order || !before[e.From][e.To] {
				t.Fatalf("seed %d: %v is no happens-before edge of %v", seed, e, f.Witness)
			}
		}
		// The edges and the order within goroutines are the whole order. Without one of the edges they
		// are not.
		if got := closure(d, -1); !reflect.DeepEqual(got, before) {
			t.Fatalf("seed %d: the diagram shows the order %v, want %v in %v", seed, got, before, f.Witness)
		}
		for skip := range d.Edges {
			if reflect.DeepEqual(closure(d, skip), before) {
				t.Fatalf("seed %d: edge %v follows from the others in %v", seed, d.Edges[skip], f.Witness)
			}
		}
	}
	if edges < 2000 {
		t.Errorf("only %d edges", edges)
	}
}

// TestNarrow: where a schedule has many goroutines, the diagram shows those of the finding and some others, and between all events that it
// shows the same order as a diagram of all.
func TestNarrow(t *testing.T) {
	ops := []heisen.Op{
		heisen.Read, heisen.Write, heisen.Acquire, heisen.Release, heisen.Send, heisen.Receive, heisen.Fork, heisen.Join, heisen.AcquireShared, heisen.ReleaseShared,
	}
	narrowed, edges := 0, 0
	for seed := range uint64(2000) {
		random := rand.New(rand.NewPCG(seed, 2))
		threads := 5 + random.IntN(6)
		f := report.Finding{Kind: heisen.Atomicity, Detector: "mcm"}
		for range 10 + random.IntN(25) {
			op, at, object := ops[random.IntN(len(ops))], heisen.Thread(random.IntN(threads)), fmt.Sprintf("0x%d", random.IntN(5))
			if op == heisen.Fork || op == heisen.Join {
				object = fmt.Sprint("goroutine ", random.IntN(threads))
			}
			f.Witness = append(f.Witness, report.Step{Op: op.String(), Thread: at, Name: fmt.Sprint("goroutine ", at), Object: object, Site: fmt.Sprint(len(f.Witness))})
		}
		first := random.IntN(len(f.Witness) - 1)
		for _, at := range []int{first, first + 1 + random.IntN(len(f.Witness)-first-1)} {
			s := f.Witness[at]
			f.Accesses = append(f.Accesses, report.Access{Op: s.Op, Thread: s.Thread, Goroutine: s.Name, Object: s.Object, Site: s.Site})
		}
		d := diagram.Of(&f)
		if err := diagramtest.Numbers(d); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if len(d.Events) == len(f.Witness) || !d.Ordered {
			continue
		}
		narrowed++
		step := func(i int) int {
			n, err := strconv.Atoi(d.Events[i].Site)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		before, shown := happensBefore(f.Witness, true), closure(d, -1)
		for i := range d.Events {
			for j := range d.Events {
				if i < j && shown[i][j] != before[step(i)][step(j)] {
					t.Fatalf("seed %d: the diagram orders %d and %d: %v, but the steps %v\n%s", seed, i, j, shown[i][j], before[step(i)][step(j)], diagramtest.Text(d))
				}
			}
		}
		for skip := range d.Edges {
			edges++
			if reflect.DeepEqual(closure(d, skip), shown) {
				t.Fatalf("seed %d: edge %v follows from the others\n%s", seed, d.Edges[skip], diagramtest.Text(d))
			}
		}
	}
	if narrowed < 200 || edges < 1000 {
		t.Errorf("%d diagrams, %d edges: too few", narrowed, edges)
	}
}

// happensBefore returns the order of steps, with sets of earlier steps in the place of clocks.
func happensBefore(steps []report.Step, atomics bool) [][]bool {
	type set map[int]bool
	add := func(to set, from set) set {
		if to == nil {
			to = set{}
		}
		for i := range from {
			to[i] = true
		}
		return to
	}
	thread, l, r := map[string]set{}, map[string]set{}, map[string]set{}
	before := make([][]bool, len(steps))
	for i := range before {
		before[i] = make([]bool, len(steps))
	}
	for j, s := range steps {
		c := add(thread[s.Name], nil)
		joins := func(from set) { c = add(c, from) }
		switch s.Op {
		case "acquire":
			joins(l[s.Object])
			joins(r[s.Object])
		case "acquire-shared", "receive":
			joins(l[s.Object])
		case "atomic-read", "atomic-update":
			if atomics {
				joins(l[s.Object])
			}
		case "join":
			joins(thread[s.Object])
		}
		for i := range c {
			before[i][j] = true
		}
		c[j] = true
		switch s.Op {
		case "release", "send":
			l[s.Object] = add(l[s.Object], c)
		case "release-shared":
			r[s.Object] = add(r[s.Object], c)
		case "atomic-write":
			if atomics {
				l[s.Object], r[s.Object] = add(nil, c), nil
			}
		case "atomic-update":
			if atomics {
				l[s.Object] = add(l[s.Object], c)
			}
		case "fork":
			thread[s.Object] = add(thread[s.Object], c)
		}
		thread[s.Name] = c
	}
	return before
}

// closure returns the order that a diagram shows without one of its edges.
func closure(d *diagram.Diagram, skip int) [][]bool {
	n := len(d.Events)
	before := make([][]bool, n)
	for j := range n {
		before[j] = make([]bool, n)
	}
	for j := range n {
		from := func(i int) {
			before[i][j] = true
			for k := range n {
				before[k][j] = before[k][j] || before[k][i]
			}
		}
		for i := range j {
			if d.Events[i].Lane == d.Events[j].Lane {
				from(i)
			}
		}
		for k, e := range d.Edges {
			if e.To == j && k != skip {
				from(e.From)
			}
		}
	}
	return before
}

// TestContradiction draws an execution whose steps order the only accesses among them that are like
// those of the race: a lock was released and acquired between them.
func TestContradiction(t *testing.T) {
	step := func(op heisen.Op, thread heisen.Thread, object string) report.Step {
		return report.Step{Op: op.String(), Thread: thread, Name: fmt.Sprint("goroutine ", thread), Object: object, Site: "x.go:1"}
	}
	access := func(op heisen.Op, thread heisen.Thread) report.Access {
		return report.Access{Op: op.String(), Thread: thread, Goroutine: fmt.Sprint("goroutine ", thread), Object: "0x8", Site: "x.go:1"}
	}
	f := report.Finding{
		Kind: heisen.Race, Trials: &report.Trials{Confirmed: 1},
		Accesses: []report.Access{access(heisen.Write, 1), access(heisen.Read, 2)},
		Witness: []report.Step{
			step(heisen.Write, 1, "0x8"), step(heisen.Release, 1, "0x10"),
			step(heisen.Acquire, 2, "0x10"), step(heisen.Read, 2, "0x8"),
		},
	}
	d := diagram.Of(&f)
	if d.Ordered || len(d.Events) != 2 || d.Events[0].Row != d.Events[1].Row {
		t.Errorf("the contradiction is drawn:\n%s", diagramtest.Text(d))
	}
	f.Witness = append(f.Witness[:1], f.Witness[3])
	if d := diagram.Of(&f); !d.Ordered || len(d.Edges) != 1 || d.Edges[0].Kind != diagram.Conflict {
		t.Errorf("without the lock:\n%s", diagramtest.Text(d))
	}
	if d := diagram.Of(&report.Finding{}); len(d.Lanes) > 0 {
		t.Errorf("of nothing:\n%s", diagramtest.Text(d))
	}
}

// TestUnknownLocks: locks of which it is not known which ones they are have no numbers, which would say that they
// are different.
func TestUnknownLocks(t *testing.T) {
	access := func(thread heisen.Thread, lock string) report.Access {
		return report.Access{
			Op: "write", Thread: thread, Goroutine: fmt.Sprint("goroutine ", thread), Object: "0x8", Site: "x.go:2",
			Locks: []report.Lock{{Lock: lock, Mode: "write", Site: "x.go:1", Variable: "mu"}},
		}
	}
	for _, test := range []struct{ one, other, held, note string }{
		{"0x10", "0x20", "mu #1", "Locks with different numbers are"},
		{"0x10", "0x10", "mu", ""},
		{"0x10", wording.LostLock, "mu", "It is not known whether locks"},
		{wording.ManyLocks, wording.ManyLocks, "mu", "It is not known whether locks"},
	} {
		d := diagram.Of(&report.Finding{Kind: heisen.Race, Accesses: []report.Access{access(1, test.one), access(2, test.other)}})
		if d.Held[0][0] != test.held || test.note != "" && !strings.Contains(strings.Join(d.Notes, " "), test.note) {
			t.Errorf("%s and %s are held as %v: %v", test.one, test.other, d.Held, d.Notes)
		}
	}
}
