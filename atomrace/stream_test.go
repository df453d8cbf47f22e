package atomrace_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/atomrace"
	"github.com/heisen-go/heisen/bench/workload"
	"github.com/heisen-go/heisen/internal/testaid/must"
	"github.com/heisen-go/heisen/section"
	"github.com/heisen-go/heisen/trace"
	"github.com/heisen-go/heisen/vclock"
)

// kinds of random traces: few threads and objects, so that everything meets.
var kinds = map[string]workload.Small{
	"words":        {Threads: 3, Events: 60, Vars: 3, Syncs: 3, LockWords: true},
	"ranges":       {Threads: 3, Events: 60, Vars: 3, Syncs: 3, Ranges: true, LockWords: true},
	"lives":        {Threads: 4, Events: 80, Vars: 3, Syncs: 3, Ranges: true, Lives: true, LockWords: true},
	"same sites":   {Threads: 3, Events: 60, Vars: 2, Syncs: 2, Lives: true, Sites: 3},
	"many threads": {Threads: 12, Events: 100, Vars: 10, Syncs: 2},
}

// pair is the events of a race.
type pair struct{ earlier, later uint64 }

// overlapping returns the races of a trace in which the earlier access is pending, by
// the definition: its thread has done nothing since, nor been waited for, and the
// memory is what it was.
func overlapping(trace []heisen.Record) map[pair]bool {
	pending := map[heisen.Thread]int{}
	found := map[pair]bool{}
	for i := range trace {
		r := &trace[i]
		delete(pending, r.Thread)
		switch r.Op {
		case heisen.Join:
			delete(pending, r.Object.Thread())
		case heisen.Alloc, heisen.Free:
			maps.DeleteFunc(pending, func(_ heisen.Thread, at int) bool { return meet(&trace[at], r.Object, r.Value) })
		}
		op := r.Access()
		if op == heisen.Invalid {
			continue
		}
		for _, at := range pending {
			if e := &trace[at]; e.Op.Conflicts(op) && meet(e, r.Object, r.Size()) {
				found[pair{uint64(at + 1), uint64(i + 1)}] = true
			}
		}
		if !op.IsAtomic() {
			pending[r.Thread] = i
		}
	}
	return found
}

func meet(e *heisen.Record, first heisen.Object, size uint64) bool {
	return size > 0 && e.Object <= lastByte(first, size) && first <= lastByte(e.Object, e.Size())
}

func lastByte(first heisen.Object, size uint64) heisen.Object {
	return max(first, first+heisen.Object(size)-1) // to the end of the address space
}

// told is what two events are that race, without which of those that are the same in
// all: a thread that repeats an access while it is pending has one access pending.
func told(trace []heisen.Record, pairs map[pair]bool) map[[2]string]bool {
	out := map[[2]string]bool{}
	for p := range pairs {
		var sides [2]string
		for i, at := range []uint64{p.earlier, p.later} {
			r := trace[at-1]
			sides[i] = fmt.Sprint(r.Thread, r.Access(), r.Object, r.Size(), r.Site)
		}
		slices.Sort(sides[:])
		out[sides] = true
	}
	return out
}

// TestPromise checks random traces: what is found is what overlaps by definition, and
// each is a race in the happens-before order of the same trace.
func TestPromise(t *testing.T) {
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			total, missed := 0, 0
			for seed := range uint64(400) {
				trace := workload.Random(rand.New(rand.NewPCG(seed, 11)), kind)
				got := map[pair]bool{}
				d := newDetector(t, func(f heisen.Finding) {
					for _, a := range f.Accesses {
						r := &trace[a.Index-1]
						want := heisen.AccessOf(r, a.Index)
						want.Op = r.Access()
						if a != want {
							t.Fatalf("seed %d: access %+v, but the event is %+v", seed, a, want)
						}
					}
					got[pair{f.Accesses[0].Index, f.Accesses[1].Index}] = true
				}, atomrace.WithDedup(0))
				if _, err := heisen.Run(context.Background(), heisen.Slice(trace), d); err != nil {
					t.Fatal(err)
				}
				want := overlapping(trace)
				for p := range got {
					if !want[p] {
						t.Fatalf("seed %d: %v do not overlap", seed, p)
					}
				}
				if d.Missed() != (atomrace.Missed{}) {
					missed++
				} else if diff := cmp.Diff(told(trace, want), told(trace, got)); diff != "" {
					t.Fatalf("seed %d (-definition +detector):\n%s", seed, diff)
				}
				ordered(t, trace, got)
				total += len(got)
			}
			if total == 0 || missed > 200 {
				t.Errorf("%d races, bounds reached in %d traces", total, missed)
			}
			t.Logf("%d races; bounds reached in %d traces", total, missed)
		})
	}
}

// ordered checks that pairs of events are races in the happens-before order. The
// reference names the first of accesses of a thread that differ by their index only,
// so it is asked for sites and contexts.
func ordered(t *testing.T, trace []heisen.Record, pairs map[pair]bool) {
	t.Helper()
	type half struct {
		op     heisen.Op
		thread heisen.Thread
		object heisen.Object
		site   heisen.Site
		ctx    heisen.Context
		later  uint64
	}
	races := map[half]bool{}
	hb := must.Make(vclock.NewHappensBefore(vclock.WithSink(func(f heisen.Finding) {
		a := f.Accesses[0]
		races[half{a.Op, a.Thread, a.Object, a.Site, a.Context, f.Accesses[1].Index}] = true
	})))
	for i := range trace {
		hb.Handle(trace[i].Event())
	}
	for p := range pairs {
		r := &trace[p.earlier-1]
		if !races[half{r.Access(), r.Thread, r.Object, r.Site, r.Context, p.later}] {
			t.Fatalf("%v are ordered", p)
		}
	}
}

// TestCorpus runs over traces that other analysers are tried on: what is found are
// races in the happens-before order.
func TestCorpus(t *testing.T) {
	files, err := filepath.Glob("../trace/testdata/corpus/std/*")
	if err != nil || len(files) < 50 {
		t.Fatalf("%d traces, %v", len(files), err)
	}
	total, found := 0, 0
	for _, file := range files {
		r, err := trace.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		var events []heisen.Record
		batch := make([]heisen.Record, 1000)
		for {
			n, err := r.Next(batch)
			events = append(events, batch[:n]...)
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
		}
		r.Close()
		pairs := map[pair]bool{}
		d := newDetector(t, func(f heisen.Finding) { pairs[pair{f.Accesses[0].Index, f.Accesses[1].Index}] = true }, atomrace.WithDedup(0))
		d.HandleRecords(events)
		ordered(t, events, pairs)
		total += len(pairs)
		if len(pairs) > 0 {
			found++
		}
	}
	if found == 0 {
		t.Error("nothing was found")
	}
	t.Logf("%d races in %d of %d traces", total, found, len(files))
}

// TestCorrect: traces of correct programs have nothing to find, with every pair of
// accesses under a lock as a section besides.
func TestCorrect(t *testing.T) {
	params := workload.Params{Threads: 20, Vars: 50, Events: 30000, Seed: 3}
	for name, trace := range map[string][]heisen.Record{
		"lock-protected": workload.LockProtected(params),
		"sync-heavy":     workload.SyncHeavy(params),
		"thread-local":   workload.ThreadLocal(params),
		"read-shared":    workload.ReadShared(params),
	} {
		t.Run(name, func(t *testing.T) {
			d := newDetector(t, func(f heisen.Finding) { t.Errorf("%s: %s", brief(f), f.Message) })
			d.HandleRecords(trace)
			if err := d.Flush(); err != nil {
				t.Error(err)
			}
		})
	}
}

// foreign is an Event that is no Record.
type foreign struct{ heisen.Event }

// TestHandle feeds events one by one, as foreign Events too, and with others left out.
func TestHandle(t *testing.T) {
	for seed := range uint64(50) {
		trace := workload.Random(rand.New(rand.NewPCG(seed, 5)), workload.Small{Threads: 4, Events: 80, Vars: 2, Syncs: 2})
		var want, one, other []string
		a := newDetector(t, func(f heisen.Finding) { want = append(want, brief(f)) })
		b := newDetector(t, func(f heisen.Finding) { one = append(one, brief(f)) })
		c := newDetector(t, func(f heisen.Finding) { other = append(other, brief(f)) })
		a.HandleRecords(trace)
		for i := range trace {
			b.Handle(trace[i].Event())
			c.Handle(foreign{trace[i].Event()})
		}
		if !slices.Equal(want, one) || !slices.Equal(want, other) {
			t.Fatalf("seed %d: in batches %q, one by one %q, foreign %q", seed, want, one, other)
		}
	}
	var index uint64
	d := newDetector(t, func(f heisen.Finding) { index = f.Accesses[1].Index })
	d.Skip(10)
	d.HandleRecords([]heisen.Record{{Op: write, Thread: 1, Object: 8}})
	d.Skip(10)
	d.HandleRecords([]heisen.Record{{Op: write, Thread: 2, Object: 8}})
	if index != 22 {
		t.Errorf("index %d", index)
	}
}

// TestStreamSections is about what streams have and calls have not: contexts, calls,
// lives, threads that end.
func TestStreamSections(t *testing.T) {
	const x = 8
	type rec = heisen.Record
	access := func(t heisen.Thread, op heisen.Op, site heisen.Site, ctx heisen.Context) rec {
		return rec{Op: op, Thread: t, Object: x, Site: site, Context: ctx}
	}
	broken := []rec{access(1, read, 1, 2), access(2, write, 8, 3), access(1, write, 2, 2)}
	for name, test := range map[string]struct {
		depth func(heisen.Context) int
		trace []rec
		want  int
	}{
		"to the end of the stream":  {nil, broken, 1},
		"by contexts":               {func(c heisen.Context) int { return int(c) }, broken, 1},
		"left, by contexts":         {func(c heisen.Context) int { return int(c) }, []rec{broken[0], broken[1], access(1, write, 2, 1)}, 0},
		"left, by calls":            {nil, []rec{{Op: heisen.Call, Thread: 1}, broken[0], broken[1], {Op: heisen.Return, Thread: 1}, broken[2]}, 0},
		"not left":                  {nil, []rec{broken[0], broken[1], {Op: heisen.Call, Thread: 1}, {Op: heisen.Return, Thread: 1}, broken[2]}, 1},
		"returns too many":          {nil, []rec{{Op: heisen.Return, Thread: 1}, broken[0], broken[1], {Op: heisen.Return, Thread: 1}, broken[2]}, 1},
		"the end before the return": {nil, []rec{{Op: heisen.Call, Thread: 1}, broken[0], broken[1], broken[2], {Op: heisen.Return, Thread: 1}}, 1},
		"another life":              {nil, []rec{broken[0], broken[1], {Op: heisen.Alloc, Thread: 2, Object: x, Value: 8}, broken[2]}, 0},
		"another life of others":    {nil, []rec{broken[0], broken[1], {Op: heisen.Free, Thread: 2, Object: x + 1, Value: 1 << 62}, {Op: heisen.Free, Thread: 2}, broken[2]}, 1},
		"a life of itself":          {nil, []rec{broken[0], broken[1], broken[2], {Op: heisen.Alloc, Thread: 1, Object: x, Value: 8}}, 1},
		"ended":                     {nil, []rec{broken[0], broken[1], {Op: heisen.End, Thread: 1}, broken[2]}, 0},
		"its end before its End":    {nil, []rec{broken[0], broken[1], broken[2], {Op: heisen.End, Thread: 1}}, 1},
		"on a lock that is memory": {nil, []rec{
			broken[0], {Op: heisen.Acquire, Flags: heisen.LockWord, Thread: 2, Object: x, Site: 8},
			{Op: heisen.Release, Flags: heisen.LockWord, Thread: 1, Object: x, Site: 2}, broken[2],
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			located := at
			located.Depth = test.depth
			var found []heisen.Finding
			d := newDetector(t, func(f heisen.Finding) {
				if f.Kind == heisen.Atomicity {
					found = append(found, f)
				}
			}, atomrace.WithSections([]section.Section{sectionAt(1, section.Reads, 2, section.Writes)}, located))
			if _, err := heisen.Run(context.Background(), heisen.Slice(test.trace), d); err != nil {
				t.Fatal(err)
			}
			if len(found) != test.want {
				t.Fatalf("found %+v", found)
			}
			for _, f := range found {
				if f.Accesses[2].Index == 0 || f.Accesses[2].Context != 2 || f.Accesses[0].Context != 2 {
					t.Errorf("accesses %+v", f.Accesses)
				}
			}
		})
	}
}

// TestLocateIn finds places in symbols of programs and of text traces.
func TestLocateIn(t *testing.T) {
	s := heisen.NewSymbols()
	for _, test := range []struct {
		info heisen.SiteInfo
		file string // of the section, if it is found there
		not  string // where it is not found
	}{
		{heisen.SiteInfo{Frames: []heisen.Frame{{File: "/src/bank/a/b.go", Line: 3}, {File: "/src/c.go", Line: 3}}}, "a/b.go", "/src/c.go"},
		{heisen.SiteInfo{Frames: []heisen.Frame{{File: "/src/bank/b.go", Line: 3}}}, "/src/bank/b.go", "/src/banks/b.go"},
		{heisen.SiteInfo{Frames: []heisen.Frame{{File: "/src/banks/b.go", Line: 3}}}, "../banks/b.go", "b.go"},
		{heisen.SiteInfo{Text: "x.go:3"}, "/src/bank/x.go", "x.go:3"},
		{heisen.SiteInfo{Text: "./x.go:3"}, "x.go", "x"},
		{heisen.SiteInfo{Text: "L9"}, "", "L9"},
		{heisen.SiteInfo{Text: "a:b"}, "", "a"},
		{heisen.SiteInfo{PC: 12}, "", "12"},
	} {
		site := s.AddSite(test.info)
		for file, want := range map[string]int{test.file: 1, test.not: 0} {
			if file == "" {
				continue
			}
			one := section.Section{
				Entry: section.Location{File: file, Line: 3, Mode: section.Reads},
				Ends:  []section.End{{At: section.Location{File: file, Line: 3, Mode: section.Writes}}},
			}
			got := bothWays(t, []call{whole(1, read, 8, site), whole(2, write, 8, 0), whole(1, write, 8, site)},
				atomrace.WithSections([]section.Section{one}, section.LocateIn(s, "/src/bank/")))
			if len(got) != want {
				t.Errorf("%+v: in %q found %q", test.info, file, got)
			}
		}
	}
	ctx := s.Context(s.Call(s.Call(heisen.Cursor{}, 1), 2))
	if d := section.LocateIn(s, "").Depth(ctx); d != 2 {
		t.Errorf("depth %d", d)
	}
}

// decode makes a stream of anything.
func decode(data []byte) (trace []heisen.Record) {
	for len(data) >= 6 {
		r := heisen.Record{
			Op: heisen.Op(data[0]) % heisen.Op(heisen.NumOps+1), Thread: heisen.Thread(data[1] % 8), Object: heisen.Object(data[2]),
			Site: heisen.Site(data[3] % 16), Context: heisen.Context(data[4] % 4), Len: uint16(data[5] & 0x3f), Flags: heisen.Flags(data[5] >> 6 << 1),
		}
		r.Value = uint64(r.Len)
		data = data[6:]
		if r.Op == heisen.Branch && len(data) >= 14 { // wild numbers
			r.Op = heisen.Op(data[0]) % heisen.Op(heisen.NumOps)
			r.Object = heisen.Object(binary.LittleEndian.Uint64(data[1:]))
			r.Thread = heisen.Thread(binary.LittleEndian.Uint32(data[9:]))
			r.Site, r.Value = heisen.Site(r.Thread), uint64(r.Object)
			data = data[14:]
		}
		trace = append(trace, r)
	}
	return trace
}

// FuzzStream: whatever the events, nothing panics, and what is found overlapped.
func FuzzStream(f *testing.F) {
	f.Add([]byte{})
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 9))
		data := make([]byte, 600)
		for i := range data {
			data[i] = byte(rng.Uint32())
		}
		f.Add(data)
	}
	sections := []section.Section{
		sectionAt(1, section.Reads, 2, section.Writes), sectionAt(2, section.Writes, 3, section.Reads),
		{Entry: place(4, section.Writes), Circular: true, Ends: []section.End{{At: place(4, section.Writes)}}},
		{Entry: place(5, section.Reads), Recursive: true, Above: 1, Ends: []section.End{{At: place(6, section.Reads)}}},
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		trace := decode(data)
		overlaps := overlapping(trace)
		d := newDetector(t, func(f heisen.Finding) {
			first, last := f.Accesses[0], f.Accesses[len(f.Accesses)-1]
			switch f.Kind {
			case heisen.Race:
				if !overlaps[pair{first.Index, last.Index}] {
					t.Errorf("no overlap: %+v", f)
				}
			case heisen.Atomicity:
				if first.Thread != last.Thread || len(f.Accesses) < 3 || slices.ContainsFunc(f.Accesses[1:len(f.Accesses)-1],
					func(a heisen.Access) bool { return a.Thread == first.Thread }) {
					t.Errorf("no violation: %+v", f)
				}
			default:
				t.Errorf("%+v", f)
			}
		}, atomrace.WithSections(sections, at), atomrace.WithDedup(len(data)%3))
		wild := slices.ContainsFunc(trace, func(r heisen.Record) bool { return !r.Op.Valid() })
		if _, err := heisen.Run(context.Background(), heisen.Slice(trace), d); errors.Is(err, heisen.ErrOp) != wild || err != nil && !wild {
			t.Errorf("ops that are not valid: %t, error %v", wild, err)
		}
	})
}
