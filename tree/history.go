package tree

import (
	"unsafe"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/shadow"
)

// entry is a forwarded access. key is its context, op and site, and time is its span. The zero entry
// is no access.
type entry struct {
	key, time uint64
}

// Layout of entry.key: 31 bits of context, one for writes, 32 of site.
const (
	contextShift = 33
	keyWrite     = 1 << 32
	maxContexts  = 1<<31 - 1
)

// variable is the concurrency history of a class of bytes: 40 bytes, without pointers. Entries that do
// not fit are in the overflow table, under the variable's number.
type variable struct {
	owner         uint32 // id+1 of the thread that accessed it first, or shared
	id            uint32 // number in the overflow table, or 0
	first, second entry
}

const shared = 1<<32 - 1

// history stores forwarded accesses by the bytes that they touch. It may forget any of them at any
// time: then the next access like it is forwarded too.
//
// With a memory budget there are two generations. New and reused entries go to the young one. When that
// takes half of the budget, it becomes the old one, and the previous old one is dropped.
// docs/design/tree.md compares this with a cache that has an admission policy.
type history struct {
	young, old *shadow.Memory[variable]
	overflow   overflow
	ids        uint32 // the latest number of a variable in the overflow table
	pairs      uint64 // entries created
	since      uint64 // entries before this time are obsolete
}

func newHistory() history {
	return history{young: newGeneration()}
}

func newGeneration() *shadow.Memory[variable] {
	return shadow.New(func(v *variable) { v.id = 0 }, nil)
}

// bytes returns the size of the history.
func (h *history) bytes() uint64 {
	n := h.young.Stats().Bytes + h.overflow.bytes()
	if h.old != nil {
		n += h.old.Stats().Bytes
	}
	return n
}

// clear forgets size bytes from o.
func (h *history) clear(o heisen.Object, size uint64) {
	h.young.Clear(o, size)
	if h.old != nil {
		h.old.Clear(o, size)
	}
}

// Upper bounds for what the shadow memory allocates for another page, another chunk of pages, and
// additional classes of words: a block of each of three sizes.
const (
	pageCost  = 64*(5+unsafe.Sizeof(variable{})) + 64
	chunkCost = 17000
	blockCost = 256 * (1 + 3 + 7) * (unsafe.Sizeof(variable{}) + 16)

	minBudget = 1 << 20
)

// makeRoom makes room to record an access of so many bytes within the limit. It reports whether there
// is room.
func (h *history) makeRoom(size, limit uint64) bool {
	pages := size/512 + 1
	need := pages*uint64(pageCost) + (pages/2048+1)*chunkCost + (size/2048+1)*uint64(blockCost)
	if size > 1 { // it may begin at the end of a page and of a chunk
		need += uint64(pageCost) + chunkCost
	}
	h.overflow.limit = limit / 4
	have := h.young.Stats().Bytes
	have += have / 16 // the table of chunks may be about to grow
	if have+need > (limit-min(limit, h.overflow.bytes()))/2 {
		h.old, h.young = h.young, newGeneration()
	}
	return h.shrink(need, limit)
}

// shrink drops as much as necessary for so many more bytes. It reports whether there is room for them.
func (h *history) shrink(need, limit uint64) bool {
	if h.bytes()+need > limit {
		h.old = nil
	}
	if h.bytes()+need > limit {
		h.forgetAll()
	}
	return h.bytes()+need <= limit
}

func (h *history) forgetAll() {
	h.young, h.old = newGeneration(), nil
	h.overflow = overflow{limit: h.overflow.limit}
}

// redundantByte reports whether an access of one byte, which isRepeatedAccess did not recognize, is
// redundant. If it is not, redundantByte records it.
func (f *Filter) redundantByte(t *thread, o heisen.Object, who uint64) bool {
	h := &f.history
	if f.budget != 0 && !h.makeRoom(1, f.allowance()) {
		return false
	}
	v := h.young.At(o)
	if v.owner == 0 && h.old != nil {
		if old := h.old.Peek(o); old != nil {
			*v = variable{owner: old.owner, first: old.first, second: old.second}
		}
	}
	return f.matches(t, v, who) || f.searchOverflow(t, v, who)
}

// redundantRange is redundantByte for any access, which is redundant if every byte of it is.
func (f *Filter) redundantRange(t *thread, r *heisen.Record, who uint64) bool {
	h := &f.history
	if f.budget != 0 && !h.makeRoom(r.Size(), f.allowance()) {
		return false
	}
	all := true
	for c := h.young.Range(r.Object, r.Size()); c.Next(); {
		if v := c.State(); !f.matches(t, v, who) && !f.searchOverflow(t, v, who) {
			all = false
		}
	}
	return all
}

// matches reports whether one of v's own entries makes an access by t redundant.
func (f *Filter) matches(t *thread, v *variable, who uint64) bool {
	if v.first.key == who && v.first.time >= t.validFrom {
		f.relyOn(t, v.first.time)
		return true
	}
	if v.second.key == who && v.second.time >= t.validFrom {
		f.relyOn(t, v.second.time)
		return true
	}
	if f.spans && who&keyWrite == 0 {
		return f.matches(t, v, who|keyWrite) // a read after a write is redundant too
	}
	return false
}

// relyOn records that an access is dropped because of one in the span that began at time.
func (f *Filter) relyOn(t *thread, time uint64) {
	if time != t.now {
		t.reliance++
	}
}

// searchOverflow reports whether an entry in the overflow table makes an access by t redundant. If there
// is none, it creates one.
func (f *Filter) searchOverflow(t *thread, v *variable, who uint64) bool {
	h := &f.history
	f.searches++
	if v.first.time < h.since && v.second.time < h.since {
		*v = variable{}
	}
	if me := uint32(t.id) + 1; !f.spans && v.owner != me && v.owner != shared {
		if v.owner == 0 {
			v.owner = me
		} else {
			*v = variable{owner: shared}
		}
	}
	if v.id != 0 {
		e := entry{who, h.overflow.get(v.id, who)}
		if f.spans && who&keyWrite == 0 && e.time < t.validFrom {
			e.time = h.overflow.get(v.id, who|keyWrite)
		}
		if e.time >= t.validFrom {
			if e.key == who { // the next access is likely to be the same
				if !f.obsolete(v.second) {
					h.overflow.put(f, v.id, v.second)
				}
				v.first, v.second = e, v.first
			}
			f.relyOn(t, e.time)
			return true
		}
	}
	now := entry{who, t.now}
	switch {
	case v.first.key == who:
		v.first = now
		return false
	case v.second.key == who:
		v.second = now
		return false
	}
	h.pairs++
	older := &v.first
	if v.second.time < older.time {
		older = &v.second
	}
	if !f.obsolete(*older) {
		if v.id == 0 {
			if h.ids++; h.ids == 0 {
				h.forgetAll() // the numbers have wrapped around
				return false
			}
			v.id = h.ids
		}
		h.overflow.put(f, v.id, *older)
	}
	*older = now
	return false
}

// obsolete reports whether an entry can no longer make any access redundant.
func (f *Filter) obsolete(e entry) bool {
	n := uint32(e.key >> contextShift)
	if c := f.contexts; c != nil {
		if int(n) >= len(c.nodes) {
			return true
		}
		n = c.nodes[n].thread
	}
	if e.time < f.history.since {
		return true
	}
	t := f.byNumber[n]
	return t == nil || e.time < t.base
}

// setShared records an access by t that is always forwarded, and that may make t the second thread. It
// forgets the bytes concerned, but not the other bytes of their class.
func (h *history) setShared(t *thread, r *heisen.Record) {
	last := r.Object + heisen.Object(min(r.Size()-1, uint64(^r.Object)))
	for _, memory := range []*shadow.Memory[variable]{h.young, h.old} {
		if memory == nil {
			continue
		}
		for o := r.Object; ; o++ {
			if v := memory.Peek(o); v != nil && v.owner != uint32(t.id)+1 && v.owner != shared {
				memory.Clear(o, 1)
			}
			if o == last {
				break
			}
		}
	}
}
