package vclock

import (
	"math/bits"

	"github.com/heisen-go/heisen"
)

// variable is FastTrack's state of a class of bytes: 32 bytes, without pointers.
//
// The plain reads since the last plain write are, in the paper's words,
// adaptive: while they are ordered, the last one's epoch; once they are not, a
// vector, which is then in the variable's history. A variable that is also
// accessed atomically has a history at all times.
type variable struct {
	write      Epoch // last plain write
	read       Epoch // last plain read since then, or a handle to the history
	writePlace place
	readPlace  place // of read, if that is an epoch
}

// place is where a thread stood when it accessed something.
type place struct {
	site heisen.Site
	ctx  heisen.Context
}

// mark is one remembered access.
type mark struct {
	epoch Epoch
	place place
}

// Handles of histories stand in for epochs of a slot that does not exist.
const handleBase = Epoch(MaxSlots) << timeBits

func (v *variable) extended() bool { return v.read >= handleBase }

// history is what does not fit into a variable: at most one access of each kind
// per slot, the last one. That is enough, for the accesses of a slot are ordered:
// if a later event is not ordered after one of them, it is not ordered after the
// last.
type history struct {
	kinds    [numKinds]marks // all since the last plain write
	nextFree uint32
}

// kind is an op of which histories remember accesses.
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

// marks is a set of accesses, one per slot. Accesses that are ordered, such as
// those of a lock's holders, make a set of one. Others are in a hash table with
// open addressing whose hash is the slot itself, so that the usual slots, which
// are small and dense, never collide.
type marks struct {
	only  mark   // if count is 1
	table []mark // if count is more; empty where epoch is 0; length a power of two
	count int
}

// get returns the mark of a slot, or nil.
func (m *marks) get(slot uint32) *mark {
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

// find returns the place of slot in the table, or an empty one. The table must
// have an empty place.
func (m *marks) find(slot uint32) *mark {
	mask := uint32(len(m.table) - 1)
	for i := slot & mask; ; i = (i + 1) & mask {
		if at := &m.table[i]; at.epoch == 0 || at.epoch.Slot() == slot {
			return at
		}
	}
}

// histories holds histories by handle, and the tables of freed and grown marks
// for the next use.
type histories struct {
	all    []*history // the first is not used
	free   uint32
	tables [timeBits][][]mark // zero, by the logarithm of their length
}

// put remembers an access by t, instead of the slot's last, or of the only one if
// that happens before it.
func (h *histories) put(m *marks, k mark, t *thread) {
	if m.count == 1 && t.covers(m.only.epoch) {
		m.only = k
	} else {
		h.add(m, k)
	}
}

// add is put where it is not known what happens before the access.
func (h *histories) add(m *marks, k mark) {
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

func (h *histories) grow(m *marks) {
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
func (h *histories) newTable(size int) []mark {
	free := &h.tables[bits.Len(uint(size))]
	n := len(*free)
	if n == 0 {
		return make([]mark, size)
	}
	table := (*free)[n-1]
	*free = (*free)[:n-1]
	return table
}

func (h *histories) recycle(table []mark) {
	if table != nil {
		clear(table)
		free := &h.tables[bits.Len(uint(len(table)))]
		*free = append(*free, table)
	}
}

func (h *histories) of(v *variable) *history { return h.all[v.read-handleBase] }

// extend gives v a history, with the last read in it, if v has none.
func (h *histories) extend(v *variable) *history {
	if v.extended() {
		return h.of(v)
	}
	last := mark{v.read, v.readPlace}
	x := h.attach(v)
	if last.epoch != 0 {
		x.kinds[plainRead] = marks{only: last, count: 1}
	}
	return x
}

// attach gives v an empty history.
func (h *histories) attach(v *variable) *history {
	i := h.free
	if i != 0 {
		h.free = h.all[i].nextFree
	} else {
		if len(h.all) == 0 {
			h.all = append(h.all, nil)
		}
		i = uint32(len(h.all))
		h.all = append(h.all, new(history))
	}
	v.read = handleBase + Epoch(i)
	v.readPlace = place{}
	return h.all[i]
}

// forget makes v a variable that has not been read, nor accessed atomically.
func (h *histories) forget(v *variable) {
	if v.extended() {
		x := h.of(v)
		for k := range x.kinds {
			h.recycle(x.kinds[k].table)
			x.kinds[k] = marks{}
		}
		x.nextFree, h.free = h.free, uint32(v.read-handleBase)
	}
	v.read, v.readPlace = 0, place{}
}

// clone gives v, a copy of another variable, a history of its own.
func (h *histories) clone(v *variable) {
	if !v.extended() {
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
