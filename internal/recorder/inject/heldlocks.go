//go:build heisen_inject

package runtime

import "internal/runtime/atomic"

// The locks at accesses that overlap others. As in a shadow cell, the place of an access says where its
// goroutine had acquired the locks that it held, but there are no epochs that say when the access was.

// heisenNameHeld returns the ID of an access with the locks themselves in its place, as far as they are
// known: if the goroutine has released no lock since it held locks of these sites, they are those; else, if
// they were the same whenever it held locks of these sites. It must run on the system stack.
func heisenNameHeld(b *heisenBuf, accessID uint64) uint64 {
	id, place := uint32(accessID>>32), accessID&heisenFastTrackPlaceMask
	node := *heisenNode(uint32(place))
	if uint32(node>>32)&^(heisenMaxPlaces-1) != heisenNodeAccess {
		return accessID
	}
	for h := heisen.allG; h != nil; h = h.link {
		if k := h.locksHeld; k != nil && h.id == id && k.since(id, uint32(node), &b.past, &b.earlier) {
			return accessID&^heisenFastTrackPlaceMask | heisenNameAs(b, place, &b.past)
		}
	}
	return accessID
}

// since finds the locks of the sites of a set that goroutine id holds or has held. It reports whether they
// are known. It needs room for an earlier state.
func (k *heisenLocksHeld) since(id, set uint32, past, earlier *heisenPast) bool {
	ops, size, noted, ok := k.copyTo(past)
	if !ok {
		return false
	}
	if past.matches(set) {
		return true
	}
	*earlier = *past
	known, released, whole := false, false, noted <= size
	for i := noted; i != noted-min(noted, size); i-- {
		op := *k.op(ops, size, i-1)
		if atomic.Xadd(&k.noted, 0)-(i-1) >= size && k.ops == ops {
			return false // it was overwritten
		}
		if op.id != id {
			whole = true
			break
		}
		if !earlier.undo(&op) {
			return false
		}
		released = released || op.when&heisenLockAcquired == 0
		switch {
		case !earlier.matches(set):
		case !known:
			*past, known = *earlier, true
			if !released {
				return true
			}
		case !past.same(earlier):
			return false
		}
	}
	return known && whole
}

// same reports whether the locks are the same, in the same order.
func (past *heisenPast) same(other *heisenPast) bool {
	if past.count != other.count {
		return false
	}
	for i := range past.count {
		if past.held[i].lock != other.held[i].lock {
			return false
		}
	}
	return true
}
