package tree_test

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/bench/workload"
	"github.com/heisen-go/heisen/tree"
)

// encode and decode turn records into bytes and back, 12 each, so that small
// changes of the bytes are small changes of the records.
func encode(trace []heisen.Record) (data []byte) {
	for _, r := range trace {
		b := [12]byte{byte(r.Op), byte(r.Thread), byte(r.Object), byte(r.Object >> 8), byte(r.Object >> 40), byte(r.Site), byte(r.Len), byte(r.Flags)}
		binary.LittleEndian.PutUint32(b[8:], uint32(r.Value))
		data = append(data, b[:]...)
	}
	return data
}

func decode(data []byte) (trace []heisen.Record) {
	for ; len(data) >= 12; data = data[12:] {
		r := heisen.Record{
			Op: heisen.Op(data[0]), Thread: heisen.Thread(data[1]),
			Object: heisen.Object(data[2]) | heisen.Object(data[3])<<8 | heisen.Object(data[4])<<40,
			Site:   heisen.Site(data[5]), Len: uint16(data[6]), Flags: heisen.Flags(data[7]),
			Value: uint64(binary.LittleEndian.Uint32(data[8:])),
		}
		if data[1] == 0xff {
			r.Thread = ^heisen.Thread(0) // the last thread, and the end of all memory
			r.Object = ^r.Object
			r.Len |= 0x0300
		}
		trace = append(trace, r)
	}
	return trace
}

// FuzzFilter feeds arbitrary records: no filter panics, and what it hands on is
// the trace without some plain accesses. For those of the traces that detectors
// understand it tests the theorem too.
func FuzzFilter(f *testing.F) {
	for seed := range uint64(10) {
		rng := rand.New(rand.NewPCG(seed, 1))
		s := workload.Small{Threads: 3, Events: 60, Vars: 2, Syncs: 2, Ranges: true, Lives: true, LockWords: true}
		f.Add(encode(workload.Random(rng, s)))
		f.Add(encode(workload.Loops(rng, s)))
	}
	f.Add(encode(figure34()))
	f.Fuzz(func(t *testing.T, data []byte) {
		trace := decode(data)
		if len(trace) > 500 {
			return
		}
		for _, build := range []func(heisen.Detector) (*tree.Filter, error){
			func(d heisen.Detector) (*tree.Filter, error) { return tree.NewFilter(d) },
			func(d heisen.Detector) (*tree.Filter, error) { return tree.NewFilter(d, tree.WithMemory(1<<20)) },
			func(d heisen.Detector) (*tree.Filter, error) { return tree.NewFilter(d, tree.WithMessageOrder()) },
			func(d heisen.Detector) (*tree.Filter, error) { return tree.NewFilter(d, tree.WithThesisAlgorithm()) },
			func(d heisen.Detector) (*tree.Filter, error) { return tree.NewSpanFilter(d) },
		} {
			var k forwarded
			filter, err := build(&k)
			if err != nil {
				t.Fatal(err)
			}
			filter.HandleRecords(trace)
			if err := filter.Flush(); err != nil && !errors.Is(err, tree.ErrLockMisuse) {
				t.Fatal(err)
			}
			rest := k.records
			dropped := uint64(0)
			for _, r := range trace {
				if len(rest) > 0 && rest[0] == r {
					rest = rest[1:]
				} else if dropped++; r.Op != heisen.Read && r.Op != heisen.Write {
					t.Fatalf("%v was dropped", r)
				}
			}
			if s := filter.Stats(); len(rest) > 0 || s.DroppedAccesses != dropped || s.Events != uint64(len(trace)) {
				t.Fatalf("%d events dropped, statistics %+v; %d too many", dropped, s, len(rest))
			}
		}
		trace = slices.DeleteFunc(trace, func(r heisen.Record) bool { return !r.Op.Valid() }) // detectors refuse these
		if _, err := sameLocations(trace, reference); err != nil {
			t.Error(err)
		}
		if _, err := sameLocations(trace, hybrid, tree.WithMessageOrder()); err != nil {
			t.Error(err)
		}
	})
}
