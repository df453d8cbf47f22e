//go:build heisen_inject

package runtime

// Synchronization through memory that has no shadow cells. It is neither in the heap nor in the data
// segments, such as mapped memory and that of C, or has lost its cells because address space is scarce
// (cellspace.go). The same bytes of a file may be mapped at several addresses, also by several calls, and
// addresses are used again without notice. So the object of such a synchronization is the offset in a
// page, which all addresses of a byte have in common. Objects that share one are ordered more than
// necessary: nothing is ever lost of an order, because all release as messages do. Races may be missed
// because of that, and none is made up.
//
// Plain accesses to this memory are not followed.

// heisenElsewherePage is the size of the smallest pages.
const heisenElsewherePage = 4 << 10

// heisenElsewhere has the cells, by offset.
var heisenElsewhere [heisenElsewherePage / 8]heisenFastTrackCell

// heisenElsewhereCell returns the cell for synchronization at an address that has none of its own.
//
//go:nosplit
func heisenElsewhereCell(addr uintptr) *heisenFastTrackCell {
	return &heisenElsewhere[addr%heisenElsewherePage/8]
}

// heisenSyncElsewhere is heisenSyncOrder for an object without a cell. No accesses of it are recorded.
//
//go:nosplit
//go:noinline
func heisenSyncElsewhere(h *heisenG, op uint64, obj, fp uintptr) {
	c := heisenElsewhereCell(obj)
	heisenSyncInElsewhere(h, op, obj, c, c.Lock())
	if heisenLockOps>>op&1 != 0 {
		heisenFollowLock(h, op, obj, fp)
	}
}

// heisenSyncInElsewhere is a synchronization through an object without a cell of its own. The cell that
// it shares is locked and has the given head. heisenSyncInElsewhere unlocks it.
//
//go:nosplit
//go:noinline
func heisenSyncInElsewhere(h *heisenG, op uint64, obj uintptr, c *heisenFastTrackCell, head uint64) {
	systemstack(func() {
		t, how := &heisenFastTrack, heisenSyncOps[op]
		if heisenShadow.beyond || t.Stale(&h.order) {
			t.BeginEpoch(&h.order, h.id)
		}
		switch {
		case how <= heisenFastTrackReceive:
			how = heisenFastTrackReceive
		case how < heisenFastTrackExchange:
			how = heisenFastTrackSend
		}
		if heisenShadow.beyond && how != heisenFastTrackSend {
			t.AcquireCollected(&h.order) // after what was released while the object had a cell
		}
		c.Unlock(t.Sync(&h.order, head, uint64(obj), how))
	})
}
