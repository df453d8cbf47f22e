package locksets

// compactAbove is the size of sets, in bytes, up to which a Compact costs more than it saves.
const compactAbove = 1 << 20

// Grown reports whether the sets take more than a MiB and twice as much as after the last Compact. A
// Compact whenever Grown is true bounds the sets by twice the size of those in use. It costs a
// constant per set ever stored and, for the caller, one visit of its IDs per MiB of new sets.
func (t *Table) Grown() bool { return t.bytes+t.nodes.bytes() > t.limit }

// A Compaction collects the sets that a Compact keeps.
type Compaction struct {
	old   *store
	next  store
	newID []ID   // by old ID; Empty if the set is not kept so far
	used  []bool // by Lock
	spare store  // the store before the last one, whose memory next reuses

	moved []uint32            // by node of old, its number in next
	seen  map[uint64]struct{} // nodes whose locks are in used, with the numbers of their first locks
}

// Compact drops all sets except those that keep hands to the Compaction, which get new IDs. All
// other IDs become invalid. The numbers of ended locks that are in no such set are given to new
// locks, so keep must also name the Locks that are stored outside of sets. The Compaction is only
// valid during the call.
func (t *Table) Compact(keep func(*Compaction)) {
	k := &t.compaction
	k.old, k.next = &t.store, store{
		sets:  append(k.spare.sets[:0], set{}),
		locks: k.spare.locks[:0],
		trees: k.spare.trees[:0],
		nodes: k.spare.nodes,
		most:  t.most,
	}
	k.next.nodes.reset()
	k.moved = append(k.moved[:0], make([]uint32, len(t.nodes.all))...)
	k.seen = map[uint64]struct{}{}
	k.newID = append(k.newID[:0], make([]ID, len(t.sets))...)
	k.used = append(k.used[:0], make([]bool, len(t.entries))...)
	keep(k)
	t.store, k.spare = k.next, t.store
	k.seen = nil
	t.limit = max(compactAbove, 2*(t.bytes+t.nodes.bytes()))
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
		t := k.old.trees[h.at]
		k.use(t.root, t.height, 0)
		t.root = k.next.nodes.move(&k.old.nodes, k.moved, t.root, t.height)
		moved.hash, moved.at = hashOfTree(t), uint32(len(k.next.trees))
		k.next.trees = append(k.next.trees, t)
		k.next.bytes += treeBytes
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

// use records the locks of a node of old, of which the first has the number base.
func (k *Compaction) use(at, height uint32, base Lock) {
	key := uint64(at)<<32 | uint64(base)
	if _, known := k.seen[key]; known || at == 0 {
		return
	}
	k.seen[key] = struct{}{}
	if height == 0 {
		for _, l := range k.old.nodes.appendBelow(nil, at, 0, base) {
			k.used[l] = true
		}
		return
	}
	for i, c := range k.old.nodes.all[at] {
		k.use(c, height-1, base|Lock(i)<<(leafBits+childBits*(height-1)))
	}
}

// SetCompactAbove sets the number of bytes of sets above which Grown reports true, until the next
// Compact.
func (t *Table) SetCompactAbove(bytes uint64) { t.limit = bytes }
