package mcm

// heldMask is which locks a thread holds at a node: of the first 64 locks of the
// model those it holds at all, and those it holds exclusively.
type heldMask struct{ any, exclusive uint64 }

// excludes reports whether a common lock keeps two nodes apart.
func (h heldMask) excludes(o heldMask) bool {
	return h.any&o.exclusive != 0 || h.exclusive&o.any != 0
}

// masks returns the locks held at each node, just before it.
func (m *causal) masks() []heldMask {
	masks := make([]heldMask, m.goal+1)
	now := make([]heldMask, len(m.base)-1)
	counts := map[[2]int32]int{} // holds of a lock by a chain, for a lock may be held in both modes
	change := func(id int32, by int) {
		x := &m.sections[id]
		if x.lock >= 64 || x.chain < 0 {
			return
		}
		bit := uint64(1) << x.lock
		key := [2]int32{x.lock, x.chain}
		counts[key] += by
		h := &now[x.chain]
		if counts[key] > 0 {
			h.any |= bit
		} else {
			h.any &^= bit
		}
		if !x.shared {
			if by > 0 {
				h.exclusive |= bit
			} else {
				h.exclusive &^= bit
			}
		}
	}
	for i := range m.sections {
		if m.sections[i].acquire == none {
			change(int32(i), 1)
		}
	}
	for _, n := range m.hint[1:] {
		masks[n] = now[m.chain[n]]
		if id := m.begins[n]; id >= 0 {
			change(id, 1)
		}
		if id := m.ends[n]; id >= 0 {
			change(id, -1)
		}
	}
	return masks
}
