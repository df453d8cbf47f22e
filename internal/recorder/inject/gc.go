//go:build heisen_inject

package runtime

// What collections have to do with what is known of memory.

// heisenBarrier is called with the world stopped, when the collector knows what
// is dead and before any of it is used again. Nobody is inside a hook, so what
// the receiver has got after this message is all that happened before, and
// accesses to the former and the next life of an address cannot mix.
func heisenBarrier() {
	if heisen.on {
		heisen.era++ // addresses begin new lives
		if heisen.overlaps {
			heisenOverlaps.table.Forget()
		}
		if heisen.races && heisenFinalizing() {
			heisenFastTrack.Collect()
		}
		heisenFlushAll(heisenForever)
		heisenSend(heisenMsgBarrier, 0, 0, nil, 0)
	}
}

// heisenMaxSpecials is how many specials heisenFinalizing looks at: the world waits for it.
const heisenMaxSpecials = 4096

// heisenFinalizing reports whether the collector has found an object dead that has a finalizer or a cleanup, or may
// have. Whoever runs these learns what everybody did up to this collection (racefingo), and nobody learns anything
// of another one: so threads need not begin a new epoch for it, in which all that they access is to be noted anew.
func heisenFinalizing() (found bool) {
	looked := 0
	forEachSpecial(func(p uintptr, s *mspan, sp *special) bool {
		looked++
		if looked > heisenMaxSpecials {
			found = true
		} else if sp.kind == _KindSpecialFinalizer || sp.kind == _KindSpecialCleanup {
			// It may be set for an inner byte, as with tiny objects.
			found = !s.markBitsForIndex(sp.offset / s.elemsize).isMarked()
		}
		return !found
	})
	return found
}
