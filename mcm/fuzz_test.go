package mcm

import (
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/mcm/internal/window"
	"github.com/heisen-go/heisen/mcm/internal/windowtest"
)

// decode returns the window that some bytes stand for, three for each event. It need not be a window
// that an execution can show.
func decode(data []byte) (*window.Window, *heisen.Symbols) {
	ops := []heisen.Op{
		heisen.Read, heisen.Write, heisen.Read, heisen.Write, heisen.Acquire, heisen.Release,
		heisen.AcquireShared, heisen.ReleaseShared, heisen.AtomicRead, heisen.AtomicWrite,
		heisen.AtomicUpdate, heisen.Fork, heisen.Join, heisen.Send, heisen.Receive, heisen.Begin,
		heisen.End, heisen.Enter, heisen.Exit, heisen.Hide, heisen.Reveal, heisen.Branch,
		heisen.Alloc, heisen.Free, heisen.Acquire, heisen.Release, heisen.Call, heisen.Done,
	}
	symbols := heisen.NewSymbols()
	w := &window.Window{}
	for ; len(data) >= 3 && len(w.Records) < 12; data = data[3:] {
		a, b, c := data[0], data[1], data[2]
		r := heisen.Record{
			Op: ops[int(a)%len(ops)], Thread: heisen.Thread(b % 3), Site: heisen.Site(len(w.Records) + 1),
			Object: heisen.Object(8 + c%4*4), Len: uint16(b >> 2 % 8),
		}
		switch r.Op {
		case heisen.Fork, heisen.Join:
			r.Object = heisen.Object(c % 3)
		case heisen.Hide:
			r.Value = uint64(symbols.AddReach(heisen.NewObjects(heisen.Span{Start: heisen.Object(8 + c>>4), Len: uint64(1 + b>>4)})))
			if c&8 != 0 {
				r.Value = 0
			}
		case heisen.Alloc, heisen.Free:
			r.Value = uint64(b >> 4)
		case heisen.Acquire, heisen.Release, heisen.AcquireShared, heisen.ReleaseShared:
			if c&8 != 0 {
				r.Flags = heisen.LockWord
			}
		default:
			if r.Op.IsAccess() && c&16 != 0 {
				r.Flags, r.Value = heisen.HasValue, uint64(c>>5%2)
			}
		}
		if c&128 != 0 && len(w.Records) == 0 {
			w.Held = append(w.Held, window.HeldLock{Lock: r.Object, Thread: r.Thread, Shared: b&1 != 0})
			continue
		}
		w.Records = append(w.Records, r)
	}
	return w, symbols
}

// FuzzExact compares the verdicts on any window with the enumeration of all feasible reorderings.
func FuzzExact(f *testing.F) {
	f.Add([]byte{11, 0, 1, 1, 0, 0, 4, 0, 1, 5, 0, 1, 4, 1, 1, 5, 1, 1, 1, 1, 0})
	f.Add([]byte{19, 0, 0, 1, 0, 0, 20, 0, 0, 19, 1, 0, 20, 1, 0, 0, 1, 0})
	f.Add([]byte{1, 0, 16, 0, 1, 16, 1, 2, 48, 1, 0, 16, 0, 1, 16, 21, 1, 0, 1, 1, 1})
	f.Add([]byte{24, 1, 8, 1, 1, 0, 25, 2, 8, 22, 0, 0, 13, 0, 0, 14, 1, 0, 8, 1, 4})
	f.Fuzz(func(t *testing.T, data []byte) {
		w, symbols := decode(data)
		options := []DetectorOption{WithSymbols(symbols), WithBudget(1<<20, 1<<30)}
		if len(data)%5 == 0 {
			options = append(options, WithControlFlow())
		}
		pairs := windowtest.RacyPairs(w)
		m, err := testModel(*w, options...)
		if err != nil {
			t.Fatal(err)
		}
		if len(pairs) == 0 {
			return
		}
		truth := enumerate(w, options...)
		for _, p := range pairs {
			verdict, _, err := race(m, p[0], p[1])
			if err != nil {
				t.Fatalf("%v: %v\n%s", p, err, show(w))
			}
			if possible := truth.Together(nil, p[0], p[1]); possible != (verdict == Possible) {
				t.Fatalf("%v is %v, possible: %v\n%s", p, verdict, possible, show(w))
			}
		}
	})
}
