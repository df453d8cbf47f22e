package mcm_test

import (
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/mcm"
)

// TestDecides has windows in which thread 1 writes y and x, and thread 2 reads x under the same lock and then writes y.
// The writes of y race unless it matters what thread 2 has read.
func TestDecides(t *testing.T) {
	const x, y, local, lock = 8, 16, 24, 32
	op := func(thread heisen.Thread, op heisen.Op, o heisen.Object) heisen.Record {
		return heisen.Record{Thread: thread, Op: op, Object: o}
	}
	decides := func(r heisen.Record) heisen.Record {
		r.Flags |= heisen.Decides
		return r
	}
	first := []heisen.Record{
		op(1, heisen.Write, y), op(1, heisen.Acquire, lock), op(1, heisen.Write, x), op(1, heisen.Release, lock),
		op(2, heisen.Acquire, lock),
	}
	read, release, write := op(2, heisen.Read, x), op(2, heisen.Release, lock), op(2, heisen.Write, y)
	for _, test := range []struct {
		name string
		rest []heisen.Record
		want mcm.Verdict
	}{
		{"read", []heisen.Record{read, release, write}, mcm.Possible},
		{"deciding read", []heisen.Record{decides(read), release, write}, mcm.Impossible},
		{"branch", []heisen.Record{read, release, op(2, heisen.Branch, 0), write}, mcm.Impossible},
		{"copied, not decided on", []heisen.Record{read, release, op(2, heisen.Write, local), op(2, heisen.Read, local), write}, mcm.Possible},
		{"copied and decided on", []heisen.Record{read, release, op(2, heisen.Write, local), decides(op(2, heisen.Read, local)), write}, mcm.Impossible},
		{"decides on an earlier copy", []heisen.Record{op(2, heisen.Write, local), read, release, decides(op(2, heisen.Read, local)), write}, mcm.Possible},
		{"decides on an earlier copy and a later one", []heisen.Record{op(2, heisen.Write, local), read, decides(op(2, heisen.Read, local)), release,
			op(2, heisen.Write, local), decides(op(2, heisen.Read, local)), write}, mcm.Impossible},
		{"decides on what it has not written", []heisen.Record{read, release, decides(op(2, heisen.Read, local)), write}, mcm.Possible},
		{"atomic operation", []heisen.Record{read, release, op(2, heisen.AtomicUpdate, local), write}, mcm.Impossible},
		{"atomic operation on its own", []heisen.Record{read, release, decides(op(2, heisen.AtomicUpdate, local)), write}, mcm.Possible},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := mcm.Window{Records: append(first[:len(first):len(first)], test.rest...)}
			m, err := mcm.NewModel(w, mcm.WithControlFlow())
			if err != nil {
				t.Fatal(err)
			}
			got, _, err := m.Race(t.Context(), 0, len(w.Records)-1)
			if err != nil || got != test.want {
				t.Errorf("%v, %v, want %v", got, err, test.want)
			}
		})
	}
}
