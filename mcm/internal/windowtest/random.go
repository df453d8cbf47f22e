package windowtest

import (
	"math/rand/v2"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/mcm/internal/window"
)

// Shape says what random windows are made of.
type Shape struct {
	Threads, Events, Vars, Locks int

	Values, Branches, Barriers, Messages, Atomics, Shared, Ranges, Lives, Held, wild, Nested, Again, Foreign bool
}

// RandomShape chooses what to mix.
func RandomShape(rng *rand.Rand, events int) Shape {
	s := Shape{
		Threads: 2 + rng.IntN(3), Events: 4 + rng.IntN(max(1, events-3)), Vars: 1 + rng.IntN(3), Locks: 1 + rng.IntN(2),
		Values: rng.IntN(3) == 0, Shared: rng.IntN(3) == 0, Messages: rng.IntN(4) == 0, Atomics: rng.IntN(4) == 0,
		Held: rng.IntN(4) == 0,
	}
	switch rng.IntN(8) {
	case 0:
		s.Barriers = true
	case 1:
		s.Ranges = true
	case 2:
		s.Lives = true
	case 3:
		s.wild = true
	case 4:
		s.Branches = true
	}
	return s
}

// RandomWindow makes a window that an execution could have shown. Wild ones have
// locks that are not used as locks.
func RandomWindow(rng *rand.Rand, s Shape) (*window.Window, *heisen.Symbols) {
	symbols := heisen.NewSymbols()
	w := &window.Window{}
	const lockBase, messageBase = 1 << 12, 1 << 13
	alive := make([]bool, s.Threads)
	ended := make([]bool, s.Threads)
	alive[0] = true
	for t := range alive {
		alive[t] = alive[t] || rng.IntN(2) == 0
	}
	h := window.NewLocks()
	add := func(r heisen.Record) {
		switch r.Op {
		case heisen.Acquire, heisen.Release, heisen.AcquireShared, heisen.ReleaseShared:
			if s.Ranges && r.Object == lockBase {
				r.Flags |= heisen.LockWord
			}
		}
		r.Site = heisen.Site(len(w.Records) + 1)
		w.Records = append(w.Records, r)
		h.Apply(&r)
	}
	holds := make([][]heisen.Record, s.Threads)
	if s.Held {
		t := rng.IntN(s.Threads)
		hold := window.HeldLock{Lock: lockBase, Thread: heisen.Thread(t), Shared: s.Shared && rng.IntN(2) == 0}
		if alive[t] {
			w.Held = append(w.Held, hold)
			code := heisen.Acquire
			if hold.Shared {
				code = heisen.AcquireShared
			}
			r := heisen.Record{Op: code, Object: hold.Lock, Thread: hold.Thread}
			h.Apply(&r)
			holds[t] = append(holds[t], r)
		}
	}
	memory := map[heisen.Object]uint64{}
	hidden := make([][]heisen.Record, s.Threads)
	variable := func() heisen.Object { return heisen.Object(16 + 8*rng.IntN(s.Vars)) }
	for tries := 0; len(w.Records) < s.Events && tries < 40*s.Events; tries++ {
		t := rng.IntN(s.Threads)
		r := heisen.Record{Thread: heisen.Thread(t)}
		if !alive[t] || ended[t] {
			continue
		}
		n := rng.IntN(20)
		if s.Foreign && rng.IntN(3) == 0 {
			n = 9 // a lock
		}
		if s.Nested && rng.IntN(2) == 0 {
			n = 9 // a lock
		}
		switch {
		case n < 9:
			r.Op, r.Object = heisen.Read, variable()
			if rng.IntN(5) < 2 {
				r.Op = heisen.Write
			}
			if s.Atomics && rng.IntN(3) == 0 {
				r.Op = []heisen.Op{heisen.AtomicRead, heisen.AtomicWrite, heisen.AtomicUpdate}[rng.IntN(3)]
			}
			if s.Ranges && rng.IntN(2) == 0 {
				r.Object += heisen.Object(rng.IntN(4))
				r.Len = uint16(1 + rng.IntN(9))
			}
			if s.Values && r.Op != heisen.AtomicUpdate && rng.IntN(8) > 0 {
				r.Flags = heisen.HasValue
				if r.Op.IsWrite() {
					r.Value = uint64(rng.IntN(2))
				} else {
					r.Value = memory[r.Object]
				}
			}
			if r.Op.IsWrite() {
				memory[r.Object] = r.Value
				if r.Flags == 0 {
					memory[r.Object] = 7
				}
			}
			if s.Values && r.Op == heisen.Read && memory[r.Object] == 7 {
				r.Flags, r.Value = 0, 0
			}
		case n < 14:
			if len(holds[t]) > 0 && (rng.IntN(2) == 0 || s.Nested && len(holds[t]) == s.Locks) {
				k := rng.IntN(len(holds[t]))
				a := holds[t][k]
				holds[t] = append(holds[t][:k:k], holds[t][k+1:]...)
				r.Op, r.Object = heisen.Release, a.Object
				if a.Op == heisen.AcquireShared {
					r.Op = heisen.ReleaseShared
				}
				if !s.Nested && rng.IntN(12) == 0 || (s.Again || s.Foreign) && rng.IntN(3) == 0 { // Go's locks have no owner
					if u := rng.IntN(s.Threads); alive[u] && !ended[u] {
						r.Thread = heisen.Thread(u)
					}
				}
			} else {
				r.Op, r.Object = heisen.Acquire, heisen.Object(lockBase+8*rng.IntN(s.Locks))
				if s.Shared && rng.IntN(2) == 0 {
					r.Op = heisen.AcquireShared
				}
				free := window.CanAcquire(h.Held[r.Object], r.Thread, r.Op == heisen.AcquireShared)
				if own := h.Held[r.Object]; free && len(own) > 0 && !(own[0].Shared && r.Op == heisen.AcquireShared) && (rng.IntN(4) > 0 && !s.Again || s.Foreign) {
					free = false // taking it again is rare
				}
				if !free && !(s.wild && rng.IntN(4) == 0) {
					continue
				}
				holds[t] = append(holds[t], r)
			}
		case n < 15:
			u := rng.IntN(s.Threads)
			switch {
			case u == t:
				continue
			case !alive[u]:
				alive[u] = true
				r.Op, r.Object = heisen.Fork, heisen.Object(u)
			case rng.IntN(2) == 0 && len(holds[u]) == 0 && len(hidden[u]) == 0:
				ended[u] = true
				r.Op, r.Object = heisen.Join, heisen.Object(u)
			default:
				continue
			}
		case n < 17:
			if !s.Messages {
				continue
			}
			r.Op, r.Object = heisen.Send, messageBase
			switch rng.IntN(6) {
			case 0, 1:
				r.Op = heisen.Receive
			case 2:
				r.Op = heisen.Observe
			case 3:
				r.Op = heisen.Change
			}
			if s.wild && rng.IntN(3) == 0 {
				r.Object = lockBase
			}
		case n < 18:
			if !s.Branches {
				continue
			}
			r.Op = heisen.Branch
		case n < 19:
			if !s.Barriers {
				continue
			}
			if len(hidden[t]) > 0 && rng.IntN(2) == 0 {
				last := hidden[t][len(hidden[t])-1]
				hidden[t] = hidden[t][:len(hidden[t])-1]
				r.Op, r.Object = heisen.Reveal, last.Object
				break
			}
			r.Op, r.Object = heisen.Hide, heisen.Object(100+len(w.Records))
			switch rng.IntN(6) {
			case 0: // everything
			case 1:
				r.Value = uint64(symbols.AddReach(heisen.NewObjects(heisen.Span{Start: heisen.ThreadObject(heisen.Thread(rng.IntN(s.Threads))), Len: 1})))
			case 2:
				r.Value = uint64(symbols.AddReach(heisen.NewObjects(heisen.Span{Start: 8, Len: 4}, heisen.Span{Start: variable(), Len: 8})))
			case 3:
				r.Value = uint64(symbols.AddReach(heisen.NewObjects(heisen.Span{Start: lockBase, Len: uint64(1 + rng.IntN(16))}, heisen.Span{Start: messageBase, Len: 1})))
			default:
				r.Value = uint64(symbols.AddReach(heisen.NewObjects(heisen.Span{Start: 8, Len: 4})))
			}
			hidden[t] = append(hidden[t], r)
		default:
			if s.Ranges && rng.IntN(2) == 0 { // a lock in memory
				r.Op, r.Object, r.Len = heisen.Write, lockBase, 8
				if rng.IntN(2) == 0 {
					r.Op = heisen.Read
				}
				break
			}
			if !s.Lives {
				continue
			}
			r.Op, r.Object, r.Value = heisen.Alloc, variable(), uint64(1+rng.IntN(12))
			if rng.IntN(3) == 0 {
				r.Op = heisen.Free
			}
		}
		add(r)
	}
	return w, symbols
}
