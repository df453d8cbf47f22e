package vclock

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/heisen-go/heisen"
)

// cell is FastTrack's shadow cell of a class of bytes: 32 bytes, without pointers.
//
// The representation of the plain reads since the last plain write is adaptive, as in the paper:
// the epoch of the last read while the reads are ordered, and one access per slot otherwise. The
// latter is in an accessHistory. A cell with atomic accesses always has one.
type cell struct {
	write         Epoch // last plain write
	read          Epoch // last plain read since then, or a handle to the history
	writeLocation location
	readLocation  location // of read, if that is an epoch
}

// location is the site and context of an access.
type location struct {
	site heisen.Site
	ctx  heisen.Context
}

// access is a stored access.
type access struct {
	epoch    Epoch
	location location
}

// Handles of histories are epochs of the slot that does not exist.
const handleBase = Epoch(MaxSlots) << timeBits

func (v *cell) hasHistory() bool { return v.read >= handleBase }

// accessHistory is the part of a shadow cell that does not fit into the cell: the last access of
// each kind by each slot. The last one is enough, because the accesses of a slot are ordered: a
// later event that is not ordered after one of them is not ordered after the last.
type accessHistory struct {
	kinds    [numKinds]accessSet // all since the last plain write
	nextFree uint32
}

// kind is the op of an access in a history.
type kind uint8

const (
	plainRead kind = iota
	atomicRead
	atomicWrite
	atomicUpdate
	numKinds
)

func (k kind) op() heisen.Op {
	return [numKinds]heisen.Op{
		heisen.Read, heisen.AtomicRead, heisen.AtomicWrite, heisen.AtomicUpdate,
	}[k]
}

// accessSet is a set of accesses, at most one per slot. If the accesses are ordered, such as those
// within the critical sections of a lock, the last one suffices. Otherwise they are in a hash
// table with open addressing. Its hash is the slot itself, so that slots, which are usually small
// and dense, do not collide.
type accessSet struct {
	only  access   // the access, if count is 1
	table []access // the accesses, if count is more; an entry with epoch 0 is free; the length is a power of two
	count int
}

// get returns the access of a slot, or nil.
func (m *accessSet) get(slot uint32) *access {
	switch m.count {
	case 0:
		return nil
	case 1:
		if m.only.epoch.Slot() != slot {
			return nil
		}
		return &m.only
	}
	if at := m.find(slot); at.epoch != 0 {
		return at
	}
	return nil
}

// find returns the entry of slot in the table, or a free entry. The table must have a free entry.
func (m *accessSet) find(slot uint32) *access {
	mask := uint32(len(m.table) - 1)
	for i := slot & mask; ; i = (i + 1) & mask {
		if at := &m.table[i]; at.epoch == 0 || at.epoch.Slot() == slot {
			return at
		}
	}
}

// histories maps handles to histories, and recycles histories and tables.
type histories struct {
	all    []*accessHistory // the first is not used
	free   uint32
	tables [timeBits][][]access // zero, by the logarithm of their length
	kept   []access             // scratch of compactSet
}

// put adds an access by t. It replaces the last access of the slot, or the only access if that
// happens before t's present.
func (h *histories) put(m *accessSet, k access, t *thread) {
	if m.count == 1 && t.covers(m.only.epoch) {
		m.only = k
	} else {
		h.add(m, k)
	}
}

// add adds an access, and replaces the last access of the slot.
func (h *histories) add(m *accessSet, k access) {
	switch {
	case m.count == 0 || m.count == 1 && m.only.epoch.Slot() == k.epoch.Slot():
		m.only, m.count = k, 1
		return
	case m.count == 1:
		m.table = h.newTable(4)
		*m.find(m.only.epoch.Slot()) = m.only
	case 4*(m.count+1) > 3*len(m.table):
		h.grow(m)
	}
	at := m.find(k.epoch.Slot())
	if at.epoch == 0 {
		m.count++
	}
	*at = k
}

func (h *histories) grow(m *accessSet) {
	old := m.table
	m.table = h.newTable(2 * len(old))
	for _, k := range old {
		if k.epoch != 0 {
			*m.find(k.epoch.Slot()) = k
		}
	}
	h.recycle(old)
}

// newTable returns an empty table.
func (h *histories) newTable(size int) []access {
	free := &h.tables[bits.Len(uint(size))]
	n := len(*free)
	if n == 0 {
		return make([]access, size)
	}
	table := (*free)[n-1]
	*free = (*free)[:n-1]
	return table
}

func (h *histories) recycle(table []access) {
	if table != nil {
		clear(table)
		free := &h.tables[bits.Len(uint(len(table)))]
		*free = append(*free, table)
	}
}

func (h *histories) of(v *cell) *accessHistory { return h.all[v.read-handleBase] }

// extend returns v's history. If v has none, it makes one of v's last read.
func (h *histories) extend(v *cell) *accessHistory {
	if v.hasHistory() {
		return h.of(v)
	}
	last := access{v.read, v.readLocation}
	x := h.attach(v)
	if last.epoch != 0 {
		x.kinds[plainRead] = accessSet{only: last, count: 1}
	}
	return x
}

// attach gives v an empty history.
func (h *histories) attach(v *cell) *accessHistory {
	i := h.free
	if i != 0 {
		h.free = h.all[i].nextFree
	} else {
		if len(h.all) == 0 {
			h.all = append(h.all, nil)
		}
		i = uint32(len(h.all))
		h.all = append(h.all, new(accessHistory))
	}
	v.read = handleBase + Epoch(i)
	v.readLocation = location{}
	return h.all[i]
}

// forget drops the reads and atomic accesses of v.
func (h *histories) forget(v *cell) {
	if v.hasHistory() {
		x := h.of(v)
		for k := range x.kinds {
			h.recycle(x.kinds[k].table)
			x.kinds[k] = accessSet{}
		}
		x.nextFree, h.free = h.free, uint32(v.read-handleBase)
	}
	v.read, v.readLocation = 0, location{}
}

// clone gives v, a copy of another cell, a history of its own.
func (h *histories) clone(v *cell) {
	if !v.hasHistory() {
		return
	}
	from := h.of(v)
	to := h.attach(v)
	to.kinds = from.kinds
	for k := range to.kinds {
		if table := from.kinds[k].table; table != nil {
			to.kinds[k].table = h.newTable(len(table))
			copy(to.kinds[k].table, table)
		}
	}
}

// compact names the accesses of v to a compaction, and forgets those that are not kept.
func (h *histories) compact(v *cell, k *Compaction) {
	if v.write != 0 && !k.Keep(&v.write) {
		v.write, v.writeLocation = 0, location{}
	}
	if v.hasHistory() {
		x := h.of(v)
		for i := range x.kinds {
			h.compactSet(&x.kinds[i], k)
		}
	} else if v.read != 0 && !k.Keep(&v.read) {
		v.read, v.readLocation = 0, location{}
	}
}

// compactSet is compact for a set. Of accesses that now have the same slot it keeps the latest: whatever
// is unordered with an earlier one is unordered with that.
func (h *histories) compactSet(m *accessSet, k *Compaction) {
	if m.count == 0 {
		return
	}
	if m.count == 1 {
		if !k.Keep(&m.only.epoch) {
			*m = accessSet{}
		}
		return
	}
	h.kept = h.kept[:0]
	changed := false
	for _, a := range m.table {
		if a.epoch == 0 {
			continue
		}
		was := a.epoch
		if k.Keep(&a.epoch) {
			h.kept = append(h.kept, a)
			changed = changed || a.epoch != was
		} else {
			changed = true
		}
	}
	if !changed {
		return
	}
	slices.SortFunc(h.kept, func(a, b access) int { return cmp.Compare(a.epoch, b.epoch) })
	h.recycle(m.table)
	*m = accessSet{}
	for _, a := range h.kept {
		h.add(m, a)
	}
}
