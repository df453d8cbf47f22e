package tracewindow_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/tracewindow"
)

// recorded is a trace in memory.
type recorded struct {
	heisen.Source
	symbols *heisen.Symbols
}

func (r recorded) Symbols() *heisen.Symbols { return r.symbols }
func (recorded) Close() error               { return nil }

// query asks for a window of records. There are no detectors.
func query(records []heisen.Record) *tracewindow.Query {
	return &tracewindow.Query{
		Open: func() (tracewindow.Source, error) {
			return recorded{heisen.Slice(records), heisen.NewSymbols()}, nil
		},
		Detectors: func(*heisen.Symbols, heisen.Sink) ([]heisen.Detector, error) { return nil, nil },
		Events:    tracewindow.DefaultEvents,
	}
}

type set map[int]bool

func union(sets ...set) set {
	out := set{}
	for _, s := range sets {
		maps.Copy(out, s)
	}
	return out
}

// before returns for each event those before it: happens-before by the comments on heisen.Op, with sets of
// events. It shares nothing with the clocks of the package.
func before(records []heisen.Record, atomics bool) (all []set) {
	thread, l, r := map[heisen.Object]set{}, map[heisen.Object]set{}, map[heisen.Object]set{}
	for j, rec := range records {
		t, o := heisen.Object(rec.Thread), rec.Object
		c := union(thread[t])
		switch rec.Op {
		case heisen.Acquire:
			c = union(c, l[o], r[o])
		case heisen.AcquireShared, heisen.Receive:
			c = union(c, l[o])
		case heisen.AtomicRead, heisen.AtomicUpdate:
			if atomics {
				c = union(c, l[o])
			}
		case heisen.Join:
			c = union(c, thread[o])
		case heisen.Alloc, heisen.Free:
			for k := range rec.Value {
				delete(l, o+heisen.Object(k))
				delete(r, o+heisen.Object(k))
			}
		}
		all = append(all, c)
		c = union(c, set{j: true})
		switch rec.Op {
		case heisen.Release, heisen.Send:
			l[o] = union(l[o], c)
		case heisen.ReleaseShared:
			r[o] = union(r[o], c)
		case heisen.Fork:
			thread[o] = union(thread[o], c)
		case heisen.AtomicWrite:
			if atomics {
				l[o] = c
				delete(r, o)
			}
		case heisen.AtomicUpdate:
			if atomics {
				l[o] = union(l[o], c)
			}
		}
		thread[t] = union(thread[t], c)
	}
	return all
}

// drawnOrder returns the order that a window shows, by lanes and edges, and for each event those from which its
// lane or an edge leads to it.
func drawnOrder(w *tracewindow.Window) (order []set, from [][]int) {
	latest := map[heisen.Thread]int{}
	for j, e := range w.Events {
		from = append(from, nil)
		if i, ok := latest[e.Thread]; ok {
			from[j] = append(from[j], i)
		}
		latest[e.Thread] = j
		for _, edge := range w.Edges {
			if edge.To == j {
				from[j] = append(from[j], edge.From)
			}
		}
		order = append(order, set{})
		for _, i := range from[j] {
			order[j] = union(order[j], order[i], set{i: true})
		}
	}
	return order, from
}

// randomTrace returns a trace of a few goroutines and objects, which need not be possible.
func randomTrace(r *rand.Rand) (records []heisen.Record) {
	ops := []heisen.Op{
		heisen.Read, heisen.Write, heisen.AtomicRead, heisen.AtomicWrite, heisen.AtomicUpdate, heisen.Acquire, heisen.Release,
		heisen.AcquireShared, heisen.ReleaseShared, heisen.Send, heisen.Receive, heisen.Fork, heisen.Join, heisen.Begin, heisen.End,
		heisen.Alloc, heisen.Free, heisen.Call, heisen.Return,
	}
	threads := 2 + r.IntN(10)
	for range 10 + r.IntN(120) {
		rec := heisen.Record{Op: ops[r.IntN(len(ops))], Thread: heisen.Thread(r.IntN(threads)), Object: heisen.Object(8 + 8*r.IntN(4))}
		switch rec.Op {
		case heisen.Fork, heisen.Join:
			rec.Object = heisen.Object(r.IntN(threads))
		case heisen.Alloc, heisen.Free:
			rec.Value = uint64(8 * r.IntN(3))
		}
		records = append(records, rec)
	}
	return records
}

// TestOrder compares the edges of random windows with happens-before between all events of the trace: the
// window shows exactly this order of its events, although most events are not in it, and no edge follows
// from others.
func TestOrder(t *testing.T) {
	windows, edges, hidden := 0, 0, 0
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 29))
		records := randomTrace(r)
		q := query(records)
		q.Events, q.Atomics = 1+r.IntN(40), r.IntN(2) == 0
		switch r.IntN(4) {
		case 0:
			q.First = uint64(1 + r.IntN(len(records)))
		case 1:
			q.Last = uint64(1 + r.IntN(len(records)))
		case 2:
			q.Objects = []string{"0x8", "0x10"}
		}
		if r.IntN(3) == 0 {
			q.Goroutines = []string{"main", "2", "goroutine 3"}
		}
		w, err := tracewindow.Select(context.Background(), q)
		if err != nil {
			if w != nil || q.First == 0 && q.Last == 0 && q.Objects == nil && q.Goroutines == nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			continue
		}
		windows, edges = windows+1, edges+len(w.Edges)
		want := before(records, q.Atomics)
		shown, from := drawnOrder(w)
		for j, e := range w.Events {
			for i, d := range w.Events[:j] {
				if got, wanted := shown[j][i], want[e.Number-1][int(d.Number-1)]; got != wanted {
					t.Fatalf("seed %d: the window shows %v of events %d and %d, want %v\n%v", seed, got, d.Number, e.Number, wanted, records)
				}
			}
		}
		for _, e := range w.Edges {
			if w.Events[e.From].Thread == w.Events[e.To].Thread {
				t.Fatalf("seed %d: an edge within a lane", seed)
			}
			if slices.ContainsFunc(from[e.To], func(i int) bool { return shown[i][e.From] }) {
				t.Fatalf("seed %d: the edge from %d to %d follows from others", seed, w.Events[e.From].Number, w.Events[e.To].Number)
			}
			op := w.Events[e.From].Op
			if op == heisen.Read || op == heisen.Write || op == heisen.Begin {
				hidden++ // the synchronization is no event of the window
			}
		}
	}
	if windows < 1300 || edges < 1300 || hidden < 70 {
		t.Errorf("only %d windows with %d edges, %d of them by events that are not shown", windows, edges, hidden)
	}
}

// TestSelection compares the events of random windows with a selection from the whole trace.
func TestSelection(t *testing.T) {
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 7))
		records := randomTrace(r)
		q := query(records)
		q.Events, q.Atomics = 1+r.IntN(40), r.IntN(2) == 0
		if r.IntN(2) == 0 {
			q.First = uint64(1 + r.IntN(len(records)))
		}
		if r.IntN(2) == 0 {
			q.Last = q.First + uint64(r.IntN(len(records)))
		}
		if r.IntN(3) == 0 {
			q.Goroutines = []string{"1", "goroutine 2"}
		}
		var want []uint64
		var lanes []heisen.Thread
		others := uint64(0)
		ring := q.First == 0 && q.Last != 0
		for i, rec := range records {
			number := uint64(i + 1)
			switch rec.Op {
			case heisen.Alloc, heisen.Free, heisen.Call, heisen.Return:
				continue
			}
			if number < q.First || q.Last != 0 && number > q.Last || rec.Op.IsAtomic() && !q.Atomics ||
				q.Goroutines != nil && rec.Thread != 1 && rec.Thread != 2 {
				continue
			}
			if !slices.Contains(lanes, rec.Thread) && !ring {
				if len(lanes) == tracewindow.MaxLanes {
					others++
					continue
				}
				lanes = append(lanes, rec.Thread)
			}
			want = append(want, number)
		}
		left := uint64(max(0, len(want)-q.Events))
		if ring {
			want, left = want[left:], 0
			for _, n := range slices.Backward(want) {
				if rec := records[n-1]; !slices.Contains(lanes, rec.Thread) && len(lanes) < tracewindow.MaxLanes {
					lanes = append(lanes, rec.Thread)
				}
			}
			all := len(want)
			want = slices.DeleteFunc(want, func(n uint64) bool { return !slices.Contains(lanes, records[n-1].Thread) })
			others = uint64(all - len(want))
		} else {
			want = want[:len(want)-int(left)]
		}
		w, err := tracewindow.Select(context.Background(), q)
		if len(want) == 0 {
			if err == nil {
				t.Fatalf("seed %d: events of nothing", seed)
			}
			continue
		}
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		var got []uint64
		for _, e := range w.Events {
			got = append(got, e.Number)
		}
		if !slices.Equal(got, want) || w.Left != left || w.Others != others || w.Total != uint64(len(records)) {
			t.Fatalf("seed %d: events %v, %d left, %d of others, want %v, %d, %d\n%s", seed, got, w.Left, w.Others, want, left, others, fmt.Sprint(records))
		}
		w.Diagram()
	}
}
