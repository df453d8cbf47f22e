package model

// LockMask is the set of locks that a thread holds, as far as they are among the first 64 locks of
// the model: those that it holds in any mode, and those that it holds exclusively.
type LockMask struct{ Any, Exclusive uint64 }

// Excludes reports whether two nodes that hold these locks cannot be pending together, because a
// common lock excludes it.
func (h LockMask) Excludes(o LockMask) bool {
	return h.Any&o.Exclusive != 0 || h.Exclusive&o.Any != 0
}

// HeldLocks returns, by node, the locks that its thread holds just before it.
func (m *Model) HeldLocks() []LockMask {
	masks := make([]LockMask, m.Goal+1)
	now := make([]LockMask, len(m.Base)-1)
	counts := map[[2]int32]int{} // by lock and chain: its sections, since a lock may be held in both modes
	change := func(id int32, by int) {
		x := &m.Sections[id]
		if x.Lock >= 64 || x.Chain < 0 {
			return
		}
		bit := uint64(1) << x.Lock
		key := [2]int32{x.Lock, x.Chain}
		counts[key] += by
		h := &now[x.Chain]
		if counts[key] > 0 {
			h.Any |= bit
		} else {
			h.Any &^= bit
		}
		if !x.Shared {
			if by > 0 {
				h.Exclusive |= bit
			} else {
				h.Exclusive &^= bit
			}
		}
	}
	for i := range m.Sections {
		if m.Sections[i].Acquire == None {
			change(int32(i), 1)
		}
	}
	for _, n := range m.Observed[1:] {
		masks[n] = now[m.Chain[n]]
		if id := m.Begins[n]; id >= 0 {
			change(id, 1)
		}
		if id := m.Ends[n]; id >= 0 {
			change(id, -1)
		}
	}
	return masks
}
