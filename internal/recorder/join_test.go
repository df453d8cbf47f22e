package recorder

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/core/wire"
)

// touch is an access to one byte. It lies between two events of synchronization.
type touch struct {
	after   int // events of synchronization before it
	thread  heisen.Thread
	op      heisen.Op
	site    heisen.Site
	context heisen.Context
	byte    heisen.Object
}

// touches counts the accesses of a recording to each byte.
func touches(out []heisen.Record) map[touch]int {
	all, syncs := map[touch]int{}, 0
	for i := range out {
		r := &out[i]
		if !r.Op.IsAccess() {
			syncs++
			continue
		}
		for b := range heisen.Object(r.Size()) {
			all[touch{syncs, r.Thread, r.Op, r.Site, r.Context, r.Object + b}]++
		}
	}
	return all
}

// loops records goroutines that take turns in loops over slices, and sometimes synchronize.
func loops(rng *rand.Rand) []byte {
	r := newRecorder(1)
	r.goroutine(0, true)
	r.goroutine(1, true)
	for range 40 {
		g := rng.IntN(2)
		size := uint64(1) << rng.IntN(4)
		from, to := uint64(varBase+rng.IntN(64)), uint64(varBase+4096+rng.IntN(64))
		for i := range uint64(rng.IntN(20)) {
			r.access(0, g, wire.OpRead, from+i*size, 1, size)
			if rng.IntN(8) > 0 {
				r.access(0, g, wire.OpWrite, to+i*size, uint32(1+rng.IntN(8)/7), size)
			}
		}
		if rng.IntN(3) == 0 {
			r.sync(0, g, wire.OpSend, msgBase, 3)
		}
	}
	return r.bye(0)
}

// TestJoin: accesses that are joined are the same accesses to the same bytes, of the same goroutines, between the same
// events of synchronization.
func TestJoin(t *testing.T) {
	before, after := 0, 0
	for seed := range uint64(200) {
		rec := loops(rand.New(rand.NewPCG(seed, 1)))
		_, plain, err := readAll(t, rec)
		if err != nil {
			t.Fatal(err)
		}
		s, err := NewStream(bytes.NewReader(rec), nil)
		if err != nil {
			t.Fatal(err)
		}
		s.joins = true
		joined, err := drain(s)
		if err != nil {
			t.Fatal(err)
		}
		if want, got := touches(plain), touches(joined); !maps.Equal(want, got) {
			t.Fatalf("seed %d: %d accesses of bytes, want %d", seed, len(got), len(want))
		}
		before, after = before+len(plain), after+len(joined)
	}
	if t.Logf("%d events of %d are left", after, before); after > before/3 {
		t.Errorf("%d events of %d are left", after, before)
	}
}
