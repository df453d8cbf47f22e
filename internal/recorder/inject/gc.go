//go:build heisen_inject

package runtime

// What the recorder does when the garbage collector runs. All functions run with the world
// stopped.

// heisenBarrier is called with the world stopped, when the collector knows which objects are dead
// and before their memory is reused. No hook is half done, so what was sent before this message is
// all that happened before. Accesses of two allocation epochs of an address cannot mix.
func heisenBarrier() {
	heisenForgetReads()
	if heisen.on {
		heisen.era++ // addresses begin new allocation epochs
		if heisen.overlaps {
			heisenOverlaps.table.Forget()
		}
		if heisen.races && heisenFinalizing() {
			heisenFastTrack.Collect()
		}
		if heisen.races {
			heisenReclaim()
		}
		if heisen.open {
			heisenFlushAll(heisenForever)
			heisenSend(heisenMsgBarrier, 0, 0, nil, 0)
		}
	}
}

// heisenMaxSpecials is the number of specials that heisenFinalizing examines while the world is
// stopped.
const heisenMaxSpecials = 4096

// heisenFinalizing reports whether the collector has found an object dead that has a finalizer or a
// cleanup, or may have. The goroutine that runs it is ordered after everything up to this
// collection (racefingo). Other collections order nothing, so goroutines need not begin a new
// epoch, in which they would record all their accesses anew.
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

// heisenEmptyPools empties the pools of package sync at the beginning of a collection. In a deterministic run only
// collections that the program asks for do that. When others happen depends on all that is in the heap, such as the
// environment, and a program sees whether a pool is empty.
func heisenEmptyPools() {
	if !heisenSched.on || work.userForced {
		poolcleanup()
	}
}
