package atomicity_test

import (
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/atomicity"
	"github.com/heisen-go/heisen/internal/testaid/must"
)

// TestOperations: what happens within an operation is no violation, and what happens between two is one.
func TestOperations(t *testing.T) {
	const x, y, lock = 0x100, 0x108, 0x200
	type step struct {
		thread heisen.Thread
		op     heisen.Op
		object heisen.Object
		site   heisen.Site
	}
	begin := func(t heisen.Thread) step { return step{t, heisen.Enter, 1, 90} }
	end := func(t heisen.Thread) step { return step{t, heisen.Exit, 1, 91} }
	for _, test := range []struct {
		name  string
		steps []step
		sites []heisen.Site // of operations
		want  map[string]bool
	}{
		{"a read and a write of one operation", []step{
			begin(1), {1, heisen.AtomicRead, x, 1}, {2, heisen.AtomicWrite, x, 2}, {1, heisen.AtomicWrite, x, 1}, end(1),
		}, []heisen.Site{1}, map[string]bool{}},
		{"the same without operations", []step{
			begin(1), {1, heisen.AtomicRead, x, 1}, {2, heisen.AtomicWrite, x, 2}, {1, heisen.AtomicWrite, x, 1}, end(1),
		}, nil, map[string]bool{"serial": true, "blocks": true, "reduction": true}},
		{"two operations", []step{
			begin(1), {1, heisen.AtomicRead, x, 1}, {2, heisen.AtomicWrite, x, 2}, {1, heisen.AtomicWrite, x, 3}, end(1),
		}, []heisen.Site{1, 2, 3}, map[string]bool{"serial": true, "blocks": true, "reduction": true}},
		{"two variables of one operation, and of another", []step{
			begin(1), {1, heisen.AtomicRead, x, 1}, {2, heisen.Enter, 1, 92}, {2, heisen.AtomicWrite, x, 2}, {2, heisen.AtomicWrite, y, 2}, {2, heisen.Exit, 1, 93}, {1, heisen.AtomicRead, y, 1}, end(1),
		}, []heisen.Site{1, 2}, map[string]bool{}},
		{"a lock within an operation", []step{
			begin(1), {1, heisen.AtomicRead, x, 1}, {1, heisen.Acquire, lock, 1}, {1, heisen.AtomicWrite, x, 1}, {1, heisen.Release, lock, 1}, end(1),
			begin(2), {2, heisen.AtomicRead, x, 1}, {2, heisen.Acquire, lock, 1}, {2, heisen.AtomicWrite, x, 1}, {2, heisen.Release, lock, 1}, end(2),
		}, []heisen.Site{1}, map[string]bool{}},
		{"a send that is also a receive", []step{
			begin(1), {1, heisen.Send, x, 1}, {2, heisen.Receive, x, 2}, {2, heisen.Send, y, 2}, {1, heisen.Receive, y, 1}, end(1),
		}, []heisen.Site{1, 2}, map[string]bool{}},
	} {
		operation := func(a heisen.Access) heisen.Site {
			for _, s := range test.sites {
				if s == a.Site {
					return s
				}
			}
			return 0
		}
		found := map[string]bool{}
		sink := atomicity.WithSink(func(f heisen.Finding) { found[f.Detector] = true })
		for _, d := range []heisen.Detector{
			must.Make(atomicity.NewSerial(sink, atomicity.WithOperations(operation))),
			must.Make(atomicity.NewBlocks(sink, atomicity.WithOperations(operation))),
			must.Make(atomicity.NewReduction(sink, atomicity.WithOperations(operation))),
		} {
			for _, s := range test.steps {
				r := heisen.Record{Thread: s.thread, Op: s.op, Object: s.object, Site: s.site}
				d.Handle(r.Event())
			}
			if err := d.Flush(); err != nil {
				t.Errorf("%s: %v", test.name, err)
			}
		}
		for _, name := range []string{"serial", "blocks", "reduction"} {
			if found[name] != test.want[name] {
				t.Errorf("%s: %s reports: %v, want %v", test.name, name, found[name], test.want[name])
			}
		}
	}
}

// TestBlocksOfManyThreads: threads one after another do the same, so that nothing of them has to be dropped, and what
// the last of them does is still known.
func TestBlocksOfManyThreads(t *testing.T) {
	const threads = 1000
	var pairs int
	d := must.Make(atomicity.NewBlocks(atomicity.WithBoundaries(atomicity.CriticalSections), atomicity.WithSink(func(heisen.Finding) { pairs++ })))
	do := func(op heisen.Op, t heisen.Thread, o heisen.Object, site heisen.Site) {
		r := heisen.Record{Op: op, Thread: t, Object: o, Site: site}
		d.Handle(r.Event())
	}
	for t := heisen.Thread(1); t <= threads; t++ {
		do(heisen.Fork, 0, heisen.Object(t), 1)
		do(heisen.Acquire, t, 64, 2)
		for _, x := range []heisen.Object{0x100, 0x108} {
			do(heisen.Read, t, x, 3)
			do(heisen.Write, t, x, 4)
		}
		do(heisen.Release, t, 64, 5)
		do(heisen.End, t, 0, 0)
		if t < threads {
			do(heisen.Join, 0, heisen.Object(t), 6)
		}
	}
	if pairs != 0 {
		t.Errorf("%d findings", pairs)
	}
	do(heisen.Write, 0, 0x100, 7) // the last thread is not joined
	if err := d.Flush(); err != nil || pairs == 0 {
		t.Errorf("a write without the lock is not reported; error %v", err)
	}
}
