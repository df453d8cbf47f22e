package locksets

// compactAbove is the size of sets, in bytes, up to which a Compact costs more than it saves.
const compactAbove = 1 << 20

// Grown reports whether the sets take more than a MiB and twice as much as after the last Compact. A
// Compact whenever Grown is true bounds the sets by twice the size of those in use. It costs a
// constant per set ever stored and, for the caller, one visit of its IDs per MiB of new sets.
func (t *Table) Grown() bool { return t.bytes > t.limit }

// A Compaction collects the sets that a Compact keeps.
type Compaction struct {
	old   *store
	next  store
	newID []ID   // by old ID; Empty if the set is not kept so far
	used  []bool // by Lock
	spare store  // the store before the last one, whose memory next reuses
}

// Compact drops all sets except those that keep hands to the Compaction, which get new IDs. All
// other IDs become invalid. The numbers of ended locks that are in no such set are given to new
// locks, so keep must also name the Locks that are stored outside of sets. The Compaction is only
// valid during the call.
func (t *Table) Compact(keep func(*Compaction)) {
	k := &t.compaction
	clear(k.spare.bitmaps)
	k.old, k.next = &t.store, store{
		sets:    append(k.spare.sets[:0], set{}),
		locks:   k.spare.locks[:0],
		bitmaps: k.spare.bitmaps[:0],
		most:    t.most,
	}
	k.newID = append(k.newID[:0], make([]ID, len(t.sets))...)
	k.used = append(k.used[:0], make([]bool, len(t.entries))...)
	keep(k)
	t.store, k.spare = k.next, t.store
	t.limit = max(compactAbove, 2*t.bytes)
	size := 64
	for size < 2*len(t.sets) {
		size *= 2
	}
	t.rebuild(size)
	t.with, t.without, t.intersections, t.disjointness = memo{}, memo{}, memo{}, memo{}
	for l := range t.entries {
		if e := &t.entries[l]; e.state == dead && !k.used[l] {
			e.state = free
			t.unused = append(t.unused, Lock(l))
		}
	}
}

// Keep keeps the set *id and sets *id to its new ID. It must be called exactly once for each
// variable that has an ID.
func (k *Compaction) Keep(id *ID) {
	if *id == Empty {
		return
	}
	if k.newID[*id] == Empty {
		k.newID[*id] = k.move(&k.old.sets[*id])
	}
	*id = k.newID[*id]
}

// KeepLock keeps the number l.
func (k *Compaction) KeepLock(l Lock) { k.used[l] = true }

// move copies a set to the new store. It is not in the index yet.
func (k *Compaction) move(h *set) ID {
	moved := *h
	if h.n > k.old.most {
		b := k.old.bitmaps[h.at]
		moved.at = uint32(len(k.next.bitmaps))
		k.next.bitmaps = append(k.next.bitmaps, b)
		k.next.bytes += b.GetSizeInBytes()
		b.Iterate(func(l uint32) bool { k.used[l] = true; return true })
	} else {
		moved.at = uint32(len(k.next.locks))
		k.next.locks = append(k.next.locks, k.old.small(h)...)
		k.next.bytes += 4 * uint64(h.n)
		for _, l := range k.old.small(h) {
			k.used[l] = true
		}
	}
	k.next.sets = append(k.next.sets, moved)
	k.next.bytes += setBytes
	return ID(len(k.next.sets) - 1)
}

// SetCompactAbove sets the number of bytes of sets above which Grown reports true, until the next
// Compact.
func (t *Table) SetCompactAbove(bytes uint64) { t.limit = bytes }
