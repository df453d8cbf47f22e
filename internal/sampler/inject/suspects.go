//go:build heisen_inject

package runtime

import "internal/runtime/atomic"

// heisenSuspects has pairs of places at which different goroutines have come to the same variable, one of the two writing.
// Most are kept apart by locks. They are sampled more often than others.
type heisenSuspects struct {
	recent [1 << 12]heisenRecent
	pairs  [1 << 8]heisenSuspect // a ring
	added  uint32
}

// heisenRecent is who came last to a variable. Threads take it in turns by the lock; one that finds it taken goes on without.
type heisenRecent struct {
	lock  uint32
	place int32
	addr  uintptr
	goid  uint64
}

// heisenSuspect is two places, each as its number and 1.
type heisenSuspect struct{ a, b uint32 }

// came notes that a goroutine has come to a variable.
func (s *heisenSuspects) came(places []heisenPlace, i int32, addr uintptr, gp *g) {
	addr &^= 7
	r := &s.recent[uint64(addr>>3)*0x9E3779B97F4A7C15>>52]
	if !atomic.Cas(&r.lock, 0, 1) {
		return
	}
	if r.addr == addr && r.goid != gp.goid && (places[i].kind|places[r.place].kind)&heisenWrites != 0 {
		s.add(uint32(i)+1, uint32(r.place)+1)
	}
	r.addr, r.goid, r.place = addr, gp.goid, i
	atomic.Store(&r.lock, 0)
}

// add adds a pair unless it is there.
func (s *heisenSuspects) add(a, b uint32) {
	if a > b {
		a, b = b, a
	}
	for i := range min(atomic.Load(&s.added), uint32(len(s.pairs))) {
		if atomic.Load(&s.pairs[i].a) == a && atomic.Load(&s.pairs[i].b) == b {
			return
		}
	}
	p := &s.pairs[(atomic.Xadd(&s.added, 1)-1)%uint32(len(s.pairs))]
	atomic.Store(&p.a, a)
	atomic.Store(&p.b, b)
}

// random returns a place of a random pair.
func (s *heisenSuspects) random(number uint64) (place uint32, ok bool) {
	n := min(atomic.Load(&s.added), uint32(len(s.pairs)))
	if n == 0 {
		return 0, false
	}
	p := &s.pairs[number>>1%uint64(n)]
	place = atomic.Load(&p.a)
	if number&1 == 0 {
		place = atomic.Load(&p.b)
	}
	return place - 1, place != 0
}

// partners chooses places that were suspected together with one.
func (s *heisenSuspects) partners(place uint32, out []uint32, n int) int {
	place++
	for i := range min(atomic.Load(&s.added), uint32(len(s.pairs))) {
		if n == len(out) {
			break
		}
		p := &s.pairs[i]
		if a, b := atomic.Load(&p.a), atomic.Load(&p.b); a == place && b > 0 {
			out[n] = b - 1
			n++
		} else if b == place && a > 0 {
			out[n] = a - 1
			n++
		}
	}
	return n
}
