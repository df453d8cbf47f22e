package cli

import (
	"testing"

	"github.com/heisen-go/heisen"
)

// TestOperations: which sites are those of operations, by the events that calls make there.
func TestOperations(t *testing.T) {
	const (
		read, write, update = heisen.AtomicRead, heisen.AtomicWrite, heisen.AtomicUpdate
		lock, unlock        = heisen.Acquire, heisen.Release
	)
	type event struct {
		thread heisen.Thread
		op     heisen.Op
		object heisen.Object
		site   heisen.Site
	}
	for _, test := range []struct {
		name   string
		events []event
		want   []heisen.Site
	}{
		{"a store into a sync.Map, and a load of it", []event{{1, read, 8, 1}, {1, lock, 16, 1}, {1, write, 24, 1}, {1, unlock, 16, 1}, {2, read, 8, 2}, {2, read, 24, 2}}, []heisen.Site{1, 2}},
		{"a load alone", []event{{1, read, 8, 1}, {1, read, 24, 1}}, nil},
		{"a value that is stored", []event{{1, read, 8, 1}, {1, update, 8, 1}, {1, write, 16, 1}, {1, write, 8, 1}}, []heisen.Site{1}},
		{"a loop over atomic variables", []event{{1, update, 8, 1}, {1, update, 16, 1}, {1, update, 24, 1}, {1, read, 8, 2}, {1, read, 16, 2}}, nil},
		{"a swap that fails and is tried again", []event{{1, read, 8, 1}, {1, update, 8, 1}, {1, read, 8, 2}}, nil},
		{"a send that meets a receive", []event{{1, heisen.Send, 8, 1}, {1, heisen.Receive, 16, 1}}, []heisen.Site{1}},
		{"a lock that is taken in a loop", []event{{1, lock, 8, 1}, {1, lock, 16, 1}, {1, unlock, 16, 2}, {1, unlock, 8, 2}}, nil},
		{"a wait of a sync.Cond", []event{{1, lock, 8, 1}, {1, update, 16, 2}, {1, unlock, 8, 2}, {1, heisen.Receive, 24, 2}, {1, lock, 8, 2}}, nil},
		{"two threads at one site", []event{{1, read, 8, 1}, {2, write, 16, 1}}, nil},
		{"memory that is used again", []event{{1, read, 8, 1}, {1, lock, 16, 1}, {1, write, 24, 1}, {1, unlock, 16, 1}, {1, heisen.Free, 24, 0}, {2, read, 24, 2}}, []heisen.Site{1}},
		{"no site", []event{{1, read, 8, 0}, {1, write, 16, 0}}, nil},
	} {
		o := newOperations(heisen.NewSymbols(), newStandardLibrary(""))
		for _, e := range test.events {
			r := heisen.Record{Thread: e.thread, Op: e.op, Object: e.object, Site: e.site}
			if e.op == heisen.Free {
				r.Value = 8
			}
			o.Handle(r.Event())
		}
		for site := range heisen.Site(4) {
			is, want := o.of(heisen.Access{Site: site}) != 0, false
			for _, w := range test.want {
				want = want || w == site
			}
			if is != want {
				t.Errorf("%s: site %d is one: %v, want %v", test.name, site, is, want)
			}
		}
	}
}
