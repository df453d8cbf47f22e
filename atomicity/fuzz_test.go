package atomicity_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/atomicity"
	"github.com/heisen-go/heisen/internal/testaid/must"
)

// recordsOf makes records of arbitrary bytes, three each.
func recordsOf(data []byte) (trace []heisen.Record) {
	for ; len(data) >= 3 && len(trace) < 100; data = data[3:] {
		r := heisen.Record{
			Op: heisen.Op(data[0] & 31), Flags: heisen.Flags(data[0] >> 5), Thread: heisen.Thread(data[1] & 7),
			Object: heisen.Object(data[1]>>3) + 64, Len: uint16(data[2] & 15), Value: uint64(data[2]),
			Site: heisen.Site(len(trace) + 1),
		}
		if r.Op == heisen.Fork || r.Op == heisen.Join {
			r.Object &= 7
		}
		if data[2] > 250 { // far corners
			r.Object, r.Thread, r.Value = ^r.Object, ^r.Thread, ^uint64(0)
		}
		trace = append(trace, r)
	}
	return trace
}

// plain reports whether the graph of tests can follow a trace: threads do not outlive their end, locks
// exclude, and memory is not allocated again.
func plain(trace []heisen.Record) bool {
	started, ended := map[heisen.Thread]bool{}, map[heisen.Thread]bool{}
	holders := map[heisen.Object]heisen.Thread{}
	readers := map[heisen.Object]int{}
	for _, r := range trace {
		started[r.Thread] = true
		if ended[r.Thread] {
			return false
		}
		holder, held := holders[r.Object]
		switch r.Op {
		case heisen.Fork:
			if started[r.Object.Thread()] || heisen.Object(r.Object.Thread()) != r.Object {
				return false
			}
		case heisen.Join:
			if r.Object.Thread() == r.Thread || heisen.Object(r.Object.Thread()) != r.Object {
				return false
			}
			ended[r.Object.Thread()] = true
		case heisen.Acquire:
			if held || readers[r.Object] > 0 {
				return false
			}
			holders[r.Object] = r.Thread
		case heisen.Release:
			if !held || holder != r.Thread {
				return false
			}
			delete(holders, r.Object)
		case heisen.AcquireShared:
			if held {
				return false
			}
			readers[r.Object]++
		case heisen.ReleaseShared:
			if readers[r.Object] == 0 {
				return false
			}
			readers[r.Object]--
		case heisen.Alloc, heisen.Free, heisen.End:
			return false
		}
	}
	return true
}

// FuzzDetectors feeds arbitrary records: no detector may panic, and Serial agrees with the graph where
// that can follow.
func FuzzDetectors(f *testing.F) {
	enter, exit := byte(heisen.Enter), byte(heisen.Exit)
	read, write := byte(heisen.Read), byte(heisen.Write)
	f.Add([]byte{enter, 1, 0, read, 9, 4, write, 10, 0, read, 9, 8, exit, 1, 0})
	f.Add([]byte{byte(heisen.Fork), 8, 0, enter, 1, 0, byte(heisen.Send), 1, 0, byte(heisen.Receive), 2, 0, byte(heisen.Join), 17, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		trace := recordsOf(data)
		serial := must.Make(atomicity.NewSerial())
		for i := range trace {
			serial.Handle(trace[i].Event())
		}
		wild := func(r heisen.Record) bool { return !r.Op.Valid() }
		if err := serial.Flush(); errors.Is(err, heisen.ErrOp) != slices.ContainsFunc(trace, wild) {
			t.Errorf("error %v", err)
		}
		trace = slices.DeleteFunc(trace, wild)
		serialFindings(trace)
		blocks := must.Make(atomicity.NewBlocks(atomicity.WithBoundaries(atomicity.Boundaries(1 + len(data)%7))))
		for i := range trace {
			blocks.Handle(trace[i].Event())
		}
		_ = blocks.Flush() // what is dropped is no fault
		if !plain(trace) {
			return
		}
		if _, err := compareWithGraph(trace); err != nil {
			t.Errorf("%v\n%s", err, lines(trace))
		}
	})
}
