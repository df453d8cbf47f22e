package lockset_test

import (
	"errors"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/bench/workload"
	"github.com/heisen-go/heisen/internal/testaid/must"
	"github.com/heisen-go/heisen/lockset"
	"github.com/heisen-go/heisen/vclock"
)

// recordsOf makes records of arbitrary bytes, four each.
func recordsOf(data []byte) (trace []heisen.Record) {
	for ; len(data) >= 4 && len(trace) < 80; data = data[4:] {
		r := heisen.Record{
			Op: heisen.Op(data[0] & 31), Flags: heisen.Flags(data[0] >> 5),
			Thread: heisen.Thread(data[1]), Object: heisen.Object(data[2]), Site: heisen.Site(data[2] >> 4),
			Len: uint16(data[3]), Value: uint64(data[3]),
		}
		if data[3] > 250 { // far corners
			r.Object, r.Thread, r.Value = ^r.Object, ^r.Thread, ^uint64(0)
		}
		trace = append(trace, r)
	}
	return trace
}

// FuzzDetectors feeds arbitrary records: no detector may panic, and each agrees
// with its plain version where that can follow, which goes byte by byte.
func FuzzDetectors(f *testing.F) {
	acquire, release := byte(heisen.Acquire), byte(heisen.Release)
	f.Add([]byte{
		byte(heisen.Fork), 0, 1, 0, acquire, 0, 64, 0, byte(heisen.Write), 0, 8, 0, release, 0, 64, 0,
		acquire, 1, 64, 0, byte(heisen.Write), 1, 8, 4, release, 1, 64, 0, byte(heisen.Read), 1, 9, 0,
	})
	f.Add([]byte{
		byte(heisen.Alloc), 0, 8, 16, byte(heisen.Write), 0, 8, 8, byte(heisen.AtomicWrite), 3, 8, 8,
		byte(heisen.Free), 0, 0, 255, byte(heisen.Read), 1, 9, 4, acquire | byte(heisen.LockWord)<<5, 1, 8, 0,
	})
	f.Fuzz(func(t *testing.T, data []byte) {
		trace := recordsOf(data)
		far := false
		for i := range trace {
			far = far || trace[i].Value > 255
		}
		for _, d := range []heisen.Detector{
			must.Make(lockset.NewEraser()), must.Make(lockset.NewEraser(lockset.WithObjectGranularity())),
			must.Make(lockset.NewHybrid(lockset.WithMaxAccesses(2))), must.Make(lockset.NewHybrid(lockset.WithAtomicOrder())),
		} {
			for i := range trace {
				d.Handle(trace[i].Event())
			}
			d.Flush()
		}
		hb, err := findingsOf(trace, func(s heisen.Sink) heisen.Detector { return must.Make(vclock.NewHappensBefore(vclock.WithSink(s))) })
		if err != nil {
			return
		}
		found, err := findingsOf(trace, hybrid(lockset.WithMaxAccesses(0)))
		if err != nil {
			t.Fatal(err)
		}
		pairs := map[spots]bool{}
		for _, f := range found {
			pairs[spotsOfFinding(f)] = true
		}
		for _, f := range hb {
			if !pairs[spotsOfFinding(f)] {
				t.Fatalf("a race, but no potential one: %+v\n%s", f, workload.Show(trace))
			}
		}
		if far {
			return
		}
		if want := allPairs(trace, false); len(want) != len(pairs) {
			t.Fatalf("%d pairs, want %d\n%s", len(pairs), len(want), workload.Show(trace))
		}
		for _, byObject := range []bool{false, true} {
			err := errors.Join(compareErasers(trace, byObject, false), compareErasers(trace, byObject, true))
			if err != nil {
				t.Fatalf("%v\n%s", err, workload.Show(trace))
			}
		}
	})
}
