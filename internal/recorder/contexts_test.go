package recorder

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/core/wire"
	"github.com/heisen-go/heisen/internal/wording"
)

// TestLimits: beyond the limits contexts have less detail, but no errors. Calls are the outermost
// of the true ones; locks are some of the true ones, in order and with the true places; and the
// tables stop growing.
func TestLimits(t *testing.T) {
	small := heisen.Limits{CallPaths: 12, LockPaths: 6, OtherLock: manyLocksObject, Contexts: 20}
	coarse := 0
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 5))
		r := newRecorder(1)
		r.goroutine(0, true)
		type state struct {
			calls []uint32 // outermost first
			locks []heisen.HeldLock
		}
		var now state
		var want []state // at each access
		var pcs []uint32
		for range 200 {
			switch pc := 1 + rng.Uint32N(6); rng.IntN(6) {
			case 0:
				r.call(0, pc)
				now.calls = append(slices.Clone(now.calls), pc)
			case 1:
				n := rng.IntN(len(now.calls) + 1)
				r.leave(0, n)
				now.calls = now.calls[:len(now.calls)-n]
			case 2, 3:
				lock := 8 * (1 + rng.Uint64N(10))
				r.sync(0, 0, wire.OpAcquire, lock, pc)
				now.locks = append(slices.Clone(now.locks), heisen.HeldLock{Lock: heisen.Object(lock), Site: heisen.Site(pc)})
				want, pcs = append(want, state{now.calls, now.locks[:len(now.locks)-1]}), append(pcs, pc)
			case 4:
				if i := len(now.locks) - 1 - rng.IntN(2); i >= 0 {
					lock := now.locks[i].Lock
					for i = len(now.locks) - 1; now.locks[i].Lock != lock; i-- {
					}
					r.sync(0, 0, wire.OpRelease, uint64(lock), pc)
					want, pcs = append(want, now), append(pcs, pc)
					now.locks = slices.Delete(slices.Clone(now.locks), i, i+1)
				}
			case 5:
				r.access(0, 0, wire.OpWrite, 4096, pc, 1)
				want, pcs = append(want, now), append(pcs, pc)
			}
		}
		r.flushAll()
		r.rec = message(r.rec, wire.MsgBye, 0, 0)

		s, err := NewStream(bytes.NewReader(r.rec), nil)
		if err != nil {
			t.Fatal(err)
		}
		s.Symbols().SetLimits(small)
		events, err := drain(s)
		if err != nil {
			t.Fatal(err)
		}
		events = events[1:] // its Begin
		if len(events) != len(want) {
			t.Fatalf("seed %d: %d events, want %d", seed, len(events), len(want))
		}
		syms, complete := s.Symbols(), true
		pcOf := func(site heisen.Site) uint32 { return uint32(syms.Site(site).PC - testText) }
		for i, e := range events {
			w := want[i]
			if pcOf(e.Site) != pcs[i] {
				t.Fatalf("seed %d: event %d is at %d, want %d", seed, i, pcOf(e.Site), pcs[i])
			}
			calls := syms.Calls(e.Context)
			slices.Reverse(calls)
			for j, call := range calls {
				if j >= len(w.calls) || pcOf(call) != w.calls[j] {
					t.Fatalf("seed %d: event %d has calls %v, want the first of %v", seed, i, calls, w.calls)
				}
			}
			locks, at := syms.Locks(e.Context), 0
			for _, h := range locks {
				for at < len(w.locks) && (pcOf(h.Site) != uint32(w.locks[at].Site) || h.Lock != manyLocksObject && h.Lock != w.locks[at].Lock) {
					at++
				}
				if at++; at > len(w.locks) {
					t.Fatalf("seed %d: event %d has locks %v, want some of %v", seed, i, locks, w.locks)
				}
				complete = complete && h.Lock != manyLocksObject
			}
			complete = complete && len(calls) == len(w.calls) && len(locks) == len(w.locks)
		}
		if !complete && !s.Coarse() {
			t.Errorf("seed %d: contexts are incomplete, and the stream does not say so", seed)
		}
		if s.Coarse() {
			coarse++
		}
		all, _ := syms.Changes(heisen.Revision{})
		calls, locks, contexts := 1+len(all.CallPaths), 1+len(all.LockPaths), syms.NumContexts()
		if calls > small.CallPaths || locks > 2*small.LockPaths || contexts > small.Contexts+small.CallPaths {
			t.Fatalf("seed %d: %d paths of calls, %d of locks, %d contexts; the limits are %+v", seed, calls, locks, contexts, small)
		}
	}
	if coarse == 0 {
		t.Error("no limit was ever reached")
	}
}

// TestNamesOfLocks: reports recognize the names of locks that the recorder cannot tell apart.
func TestNamesOfLocks(t *testing.T) {
	if lostLockName != wording.LostLock || manyLocksName != wording.ManyLocks {
		t.Errorf("locks are called %q and %q", lostLockName, manyLocksName)
	}
}
