package maximal_test

import (
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/bench/maximal"
	"github.com/heisen-go/heisen/mcm/order"
)

const x, y, lock = 8, 16, 24

func event(t heisen.Thread, op heisen.Op, o heisen.Object, value ...uint64) heisen.Record {
	r := heisen.Record{Thread: t, Op: op, Object: o}
	if len(value) > 0 {
		r.Value, r.Flags = value[0], heisen.HasValue
	}
	return r
}

func TestRace(t *testing.T) {
	for _, test := range []struct {
		name    string
		records []heisen.Record
		i, j    int
		want    order.Result
	}{
		{"sections can change places", []heisen.Record{
			event(0, heisen.Write, x, 1), event(0, heisen.Acquire, lock), event(0, heisen.Release, lock),
			event(1, heisen.Acquire, lock), event(1, heisen.Release, lock), event(1, heisen.Read, x, 1),
		}, 0, 5, order.Sat},
		{"both hold the lock", []heisen.Record{
			event(0, heisen.Acquire, lock), event(0, heisen.Write, x, 1), event(0, heisen.Release, lock),
			event(1, heisen.Acquire, lock), event(1, heisen.Read, x, 1), event(1, heisen.Release, lock),
		}, 1, 4, order.Unsat},
		{"a read has to see a later write", []heisen.Record{
			event(0, heisen.Write, x, 1), event(0, heisen.Write, y, 1),
			event(1, heisen.Read, y, 1), event(1, heisen.Read, x, 1),
		}, 0, 3, order.Unsat},
		{"a read may see what was there before", []heisen.Record{
			event(0, heisen.Write, x, 1), event(0, heisen.Write, y, 0),
			event(1, heisen.Read, y, 0), event(1, heisen.Read, x, 1),
		}, 0, 3, order.Sat},
		{"a read may see another write of the value", []heisen.Record{
			event(2, heisen.Write, y, 1), event(0, heisen.Write, x, 1), event(0, heisen.Write, y, 1),
			event(1, heisen.Read, y, 1), event(1, heisen.Read, x, 1),
		}, 1, 4, order.Sat},
		{"the start of a thread", []heisen.Record{
			event(0, heisen.Write, x, 1), event(0, heisen.Fork, 1),
			event(1, heisen.Begin, 1), event(1, heisen.Read, x, 1),
		}, 0, 3, order.Unsat},
		// An infeasible section outside of the prefix does not matter: the value that thread 2 read
		// implies that it takes the lock last, but no event of it is needed.
		{"a section that is cut off", []heisen.Record{
			event(0, heisen.Acquire, lock), event(0, heisen.Write, y, 1), event(0, heisen.Write, x, 1), event(0, heisen.Release, lock),
			event(2, heisen.Read, y, 1), event(2, heisen.Acquire, lock), event(2, heisen.Release, lock),
			event(1, heisen.Read, x, 1),
		}, 2, 7, order.Sat},
	} {
		f := maximal.Encode(test.records)
		for name, solver := range map[string]func(...order.Option) (*order.Solver, error){"clauses": f.Solver, "native": f.Native} {
			s, err := solver()
			if err != nil {
				t.Fatal(err)
			}
			if v, err := s.Solve(t.Context(), f.Race(test.i, test.j), nil); err != nil || v != test.want {
				t.Errorf("%s, %s: %v, want %v", test.name, name, v, test.want)
			}
		}
	}
}
