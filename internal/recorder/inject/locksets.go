//go:build heisen_inject

package runtime

// The locks that a goroutine holds, if the program finds races itself: findings name them. The
// functions run in hooks of the goroutine, on its stack, nosplit; adding a place switches to the
// system stack.
//
// An entry of a shadow cell has no room for locks. It has a place, and a set of locks is a place,
// too: a chain of nodes. So the place of an access and the set make one number, of another place.
// The sets of entries say only where the locks were acquired, so there are few of them, however many
// locks there are. Which locks these were is found when there is something to report
// (lockhistory.go). Then sets have the locks, too, with three nodes for each. A node has its kind
// above the number of its parent:
//
//	heisenNodeSite   where a lock was acquired; the parent is the set without it
//	heisenNodeLow    the low half of a lock's address; the parent is the set without it
//	heisenNodeHigh   the high half, and whether the lock is shared
//	heisenNodeTaken  where it was acquired: this node is the set
//	heisenNodeAccess an access; the parent is its place, and the set stands instead of a pc

// heisenHeld is a lock that a goroutine holds, or held when it last held as many.
type heisenHeld struct {
	lock   uintptr
	pc     uint32 // where it was acquired, as a text offset
	below  uint32 // the set of sites without it, if set is known
	set    uint32 // the set with it, once it has been needed
	shared bool
	sent   bool // its acquisition was sent, see lockorder.go
}

const (
	heisenMaxHeld = 16 // locks that are named
	// heisenUnknownLockset is a set of locks that has not been needed yet.
	heisenUnknownLockset = 1<<32 - 1
)

// pushLock records that h has acquired a lock.
//
//go:nosplit
func (h *heisenG) pushLock(lock uintptr, shared bool, pc uint64) {
	if h.handed.Load() != 0 {
		heisenForgetHanded(h)
	}
	k := h.locksHeld
	if k == nil {
		k = heisenNewLocksHeld(h)
	}
	if k.count >= heisenMaxHeld {
		return
	}
	l := &k.held[k.count]
	k.begin()
	k.count++
	l.lock, l.sent = lock, false
	if l.set != 0 && l.pc == uint32(pc) && l.shared == shared && l.below == h.lockset {
		h.lockset = l.set // the same sites as last time
	} else {
		l.pc, l.shared, l.set = uint32(pc), shared, 0
		h.lockset = heisenUnknownLockset
	}
	k.note(h, l, true)
	k.end()
}

// findLock returns 1 plus the position of a lock among those that h holds, 0 if it is not known to
// hold it.
//
//go:nosplit
func (h *heisenG) findLock(lock uintptr, shared bool) uint32 {
	if h.handed.Load() != 0 {
		heisenForgetHanded(h)
	}
	k := h.locksHeld
	if k == nil {
		return 0
	}
	for i := min(k.count, heisenMaxHeld); i > 0; i-- {
		if l := &k.held[i-1]; l.lock == lock && l.shared == shared {
			return i
		}
	}
	return 0
}

// popLock records that h has released the lock that findLock has found at i.
//
//go:nosplit
func (h *heisenG) popLock(i uint32) {
	k := h.locksHeld
	k.begin()
	k.note(h, &k.held[(i-1)%heisenMaxHeld], false)
	k.count--
	for ; i <= k.count && i < heisenMaxHeld; i++ {
		k.held[i-1] = k.held[i]
		k.held[i-1].set = 0
	}
	h.lockset = 0
	if n := min(k.count, heisenMaxHeld); n != 0 {
		if h.lockset = k.held[(n-1)%heisenMaxHeld].set; h.lockset == 0 {
			h.lockset = heisenUnknownLockset
		}
	}
	k.end()
}

// heisenFollowLock records an operation of h on a lock, and nothing else.
//
//go:nosplit
//go:noinline
func heisenFollowLock(h *heisenG, op uint64, lock, fp uintptr) {
	shared := op == heisenOpReleaseShared || op == heisenOpAcquireShared || op == heisenOpTryAcquireShared
	if heisenAcquireOps>>op&1 != 0 {
		h.pushLock(lock, shared, heisenPC(heisenCaller(fp)))
	} else if held := h.findLock(lock, shared); held != 0 {
		h.popLock(held)
	} else {
		heisenHandOver(h, lock, shared)
	}
}

// currentLockset returns the set of the sites of the locks that h holds.
//
//go:nosplit
func (h *heisenG) currentLockset(b *heisenBuf) (set uint32) {
	if h.lockset != heisenUnknownLockset {
		return h.lockset
	}
	k := h.locksHeld
	n := min(k.count, heisenMaxHeld)
	known := n
	for known > 0 && k.held[(known-1)%heisenMaxHeld].set == 0 {
		known--
	}
	if known > 0 {
		set = k.held[(known-1)%heisenMaxHeld].set
	}
	for ; known < n; known++ {
		l := &k.held[known%heisenMaxHeld]
		l.below = set
		pc := l.pc
		if l.shared {
			pc |= heisenNodeShared
		}
		if l.set = b.place(heisenNodeSite|set, pc); l.set == 0 {
			break // there is no room
		}
		set = l.set
	}
	h.lockset = set
	return set
}

// heisenPlaceWithLocks returns the place of h at pc, with the locks it holds.
//
//go:nosplit
func heisenPlaceWithLocks(b *heisenBuf, h *heisenG, pc uintptr) uint64 {
	if h.handed.Load() != 0 {
		heisenForgetHanded(h)
	}
	key := heisenLockedPlaceKey(h.top, pc, h.lockset)
	if u := b.lockedPlace(key); u.key == key {
		return u.use(h)
	}
	return heisenFindLockedPlace(b, h, pc, h.currentLockset(b))
}

// heisenPlaceWithoutLocks is heisenPlaceWithLocks without the locks, for where little stack is
// left. A pc of 0 is not known.
//
//go:nosplit
func heisenPlaceWithoutLocks(b *heisenBuf, h *heisenG, pc uintptr) (place uint64) {
	key := heisenLockedPlaceKey(h.top, pc, 0)
	if u := b.lockedPlace(key); pc != 0 && u.key == key {
		return u.use(h)
	}
	systemstack(func() {
		if pc == 0 {
			place = heisenPlace(b, h, 0)
		} else {
			place = heisenFindLockedPlace(b, h, pc, 0)
		}
	})
	return place
}

// heisenPlaceFrom is heisenPlaceWithoutLocks with a frame pointer that leads to the place, unless
// pc is known. Inlined, it would take stack where little is left.
//
//go:nosplit
//go:noinline
func heisenPlaceFrom(b *heisenBuf, h *heisenG, pc, fp uintptr) uint64 {
	if pc == 0 {
		pc = heisenCaller(fp)
	}
	return heisenPlaceWithoutLocks(b, h, pc)
}

// heisenFindLockedPlace is heisenPlaceWithLocks for a given set of locks. It finds the place of the
// innermost call first, with which the cache may have the place.
//
//go:nosplit
func heisenFindLockedPlace(b *heisenBuf, h *heisenG, pc uintptr, set uint32) uint64 {
	if h.top != h.bottom {
		h.top.below().path(b)
	}
	key := heisenLockedPlaceKey(h.top, pc, set)
	if u := b.lockedPlace(key); u.key == key {
		return u.use(h)
	}
	return heisenAddLockedPlace(b, h, pc, set)
}

// heisenAddLockedPlace adds a place to the cache of places with locks. It leaves the cache of all
// places alone.
//
//go:nosplit
func heisenAddLockedPlace(b *heisenBuf, h *heisenG, pc uintptr, set uint32) uint64 {
	place := h.path(b)
	id := b.placeAt(place, uint32(heisenPC(pc)))
	if set != 0 {
		under := heisenFindPlace(uint64(heisenNodeAccess|id)<<32 | uint64(set))
		if under == 0 {
			under = b.place(heisenNodeAccess|id, set)
		}
		if under != 0 {
			id = under
		}
	}
	if h.top.from() != 0 {
		key := heisenLockedPlaceKey(h.top, pc, set)
		*b.lockedPlace(key) = heisenLockedPlace{key, place, id}
	}
	return uint64(id)
}

// heisenLockedPlace is an entry of a P's cache of places with locks: a key, the place of the
// innermost call and that of the access. So the place of a call that has just begun need not be
// looked up.
type heisenLockedPlace struct {
	key       uint64
	place, id uint32
}

// heisenLockedPlaceKey returns the key of an access: the innermost call and the place of the call
// below it, the pc and the set of locks, mixed into 64 bits. Two accesses have the same key with a
// probability of 2^-64.
//
//go:nosplit
func heisenLockedPlaceKey(f *heisenFrame, pc uintptr, set uint32) uint64 {
	key := (uint64(f.pc)<<32 ^ uint64(pc)) * 0x9E3779B97F4A7C15
	return (key ^ key>>32) + (uint64(f.from())<<32|uint64(set))*0xD6E8FEB86659FD93
}

// lockedPlace returns the cache entry with a key.
//
//go:nosplit
func (b *heisenBuf) lockedPlace(key uint64) *heisenLockedPlace {
	return &b.lockedPlaces[key>>(64-heisenLockedPlaceBits)]
}

// use returns the place of the access, which h makes, and sets the place of the innermost call.
//
//go:nosplit
func (u *heisenLockedPlace) use(h *heisenG) uint64 {
	h.top.place = u.place
	return uint64(u.id)
}
