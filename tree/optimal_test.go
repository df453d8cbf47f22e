package tree_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/testaid/randomtrials"
	"github.com/heisen-go/heisen/tree"
)

// TestForwardsNothingInVain is the second theorem: whatever the filter forwards, some continuation of the stream has a race that is lost
// without it. So no filter that decides when an access comes, or any bounded number of events later, drops more and loses nothing. In
// particular, no redundancy between threads is lossless. The continuation is that of the proof. With locksets that is so for the first
// access of each thread; later ones may be forwarded in vain where the thread holds more locks than before.
func TestForwardsNothingInVain(t *testing.T) {
	for name, test := range map[string]struct {
		detector func(heisen.Sink) heisen.Detector
		options  []tree.FilterOption
		follow   func(*observer) []heisen.Record
		first    bool // only first accesses
	}{
		"hb":     {reference, nil, (*observer).afterAllBut, false},
		"hybrid": {hybrid, []tree.FilterOption{tree.WithMessageOrder()}, (*observer).afterAllButUnderLocks, true},
	} {
		t.Run(name, func(t *testing.T) {
			tried, kept := 0, 0
			forRandomTraces(t, perKind, func(trace []heisen.Record) (outcome, error) {
				var o outcome
				trace, ok := plain(trace)
				if !ok {
					o.races, o.Accesses, o.DroppedAccesses = 1, 1, 1
					return o, nil
				}
				var k forwarded
				f, err := tree.NewFilter(&k, append(test.options, tree.WithoutBypass())...)
				if err != nil {
					return o, err
				}
				seen := newObserver()
				before := map[heisen.Record]bool{}
				for i := range trace {
					r := &trace[i]
					forwarded := len(k.records)
					f.Handle(r.Event())
					seen.see(r)
					if r.Op != heisen.Read && r.Op != heisen.Write || len(k.records) == forwarded {
						continue
					}
					if access := at(r.Site, r.Thread, r.Op, r.Object); test.first && before[access] {
						continue
					} else {
						before[access] = true
					}
					kept++
					if kept%5 != 0 { // the reference detector takes long
						continue
					}
					tried++
					seen.last = r
					full := slices.Concat(trace[:i+1], test.follow(seen))
					pair := locations{{r.Op, r.Site}, {heisen.Write, lateSite}}
					without := slices.Concat(trace[:i], full[i+1:])
					if got := analyze(full, test.detector, nil); got.err != nil || !got.pairs[pair] {
						return o, fmt.Errorf("event %d: the continuation does not race with it (%v)", i+1, got.err)
					}
					if got := analyze(without, test.detector, nil); got.pairs[pair] {
						return o, fmt.Errorf("event %d was forwarded in vain", i+1)
					}
				}
				o.Stats = f.Stats()
				o.races = 2
				if err := f.Flush(); errors.Is(err, tree.ErrLockMisuse) {
					o.refused = true
				}
				return o, nil
			})
			if tried < randomtrials.Count(perKind) {
				t.Errorf("only %d accesses were tried", tried)
			}
		})
	}
}

const (
	lateSite   heisen.Site   = 1 << 20
	lateThread heisen.Thread = 1 << 20
	lateObject heisen.Object = 1 << 40
)

// plain returns a trace without what continues no further: ends of threads and joins, and without ranges. It reports whether the locks of
// the trace are used as locks.
func plain(trace []heisen.Record) ([]heisen.Record, bool) {
	holders := map[heisen.Object]heisen.Thread{}
	kept := slices.DeleteFunc(slices.Clone(trace), func(r heisen.Record) bool {
		return r.Op == heisen.End || r.Op == heisen.Join || r.Op == heisen.Begin || r.Len > 1
	})
	for _, r := range kept {
		by, held := holders[r.Object]
		switch {
		case r.Flags != 0, r.Op == heisen.AcquireShared, r.Op == heisen.ReleaseShared, r.Op == heisen.Alloc, r.Op == heisen.Free, r.Op.IsAtomic():
			return nil, false
		case r.Op == heisen.Acquire && held, r.Op == heisen.Release && (!held || by != r.Thread):
			return nil, false
		case r.Op == heisen.Acquire:
			holders[r.Object] = r.Thread
		case r.Op == heisen.Release:
			delete(holders, r.Object)
		}
	}
	return kept, true
}

// observer knows what a thread can do that comes late.
type observer struct {
	threads  map[heisen.Thread]bool
	sent     map[heisen.Object]bool
	released map[heisen.Object]bool
	holders  map[heisen.Object]heisen.Thread
	last     *heisen.Record
}

func newObserver() *observer {
	return &observer{map[heisen.Thread]bool{}, map[heisen.Object]bool{}, map[heisen.Object]bool{}, map[heisen.Object]heisen.Thread{}, nil}
}

func (o *observer) see(r *heisen.Record) {
	o.threads[r.Thread] = true
	switch r.Op {
	case heisen.Fork: // the new thread can go on
		o.threads[r.Object.Thread()] = true
	case heisen.Send:
		o.sent[r.Object] = true
	case heisen.Acquire:
		o.holders[r.Object] = r.Thread
	case heisen.Release:
		delete(o.holders, r.Object)
		o.released[r.Object] = true
	}
}

// afterAllBut returns a continuation in which a new thread knows all that the others have done, and all that the thread of the last
// event has published, and then writes what the last event accesses.
func (o *observer) afterAllBut() (all []heisen.Record) {
	me := o.last.Thread
	for other := range o.threads {
		if other != me {
			all = append(all, do(other, heisen.Send, lateObject+8*heisen.Object(other)), do(lateThread, heisen.Receive, lateObject+8*heisen.Object(other)))
		}
	}
	for m := range o.sent {
		all = append(all, do(lateThread, heisen.Receive, m))
	}
	for l := range o.released {
		switch by, held := o.holders[l]; {
		case held && by == me:
			continue
		case held:
			all = append(all, do(by, heisen.Release, l))
		}
		all = append(all, do(lateThread, heisen.Acquire, l), do(lateThread, heisen.Release, l))
	}
	return append(all, at(lateSite, lateThread, heisen.Write, o.last.Object))
}

// afterAllButUnderLocks is afterAllBut for a detector that orders by messages and compares locksets: the thread holds all locks that the
// thread of the last event does not.
func (o *observer) afterAllButUnderLocks() (all []heisen.Record) {
	me := o.last.Thread
	all = o.afterAllBut()
	write := all[len(all)-1]
	all = all[:len(all)-1]
	locks := map[heisen.Object]bool{}
	for l := range o.released {
		locks[l] = true
	}
	for l, by := range o.holders {
		if by != me && !o.released[l] {
			all = append(all, do(by, heisen.Release, l))
		}
		locks[l] = by != me
	}
	for l := range locks {
		if by, held := o.holders[l]; !held || by != me {
			all = append(all, do(lateThread, heisen.Acquire, l))
		}
	}
	return append(all, write)
}
