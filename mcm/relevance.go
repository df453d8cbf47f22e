package mcm

import (
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/shadow"
	"github.com/heisen-go/heisen/mcm/internal/window"
)

// relevance tells which of the records that a detector has collected can matter to a query: accesses to memory
// that several threads access and one of them writes, and synchronization through an object that several threads
// use. What one thread alone does constrains no order, and needs no room in a window. To allocate memory is to use it:
// another thread can use it only afterwards. With hidden code, which may touch anything, all records matter.
type relevance struct {
	words, objects *shadow.Memory[use] // of the memory that is accessed, by its 8-byte words, and of synchronization objects
	large          []allocation        // of more than maxSpan words; smaller ones are in words
	hidden         bool
}

// allocation is an allocated range of memory.
type allocation struct {
	span heisen.Span
	by   uint32 // thread, plus 1
}

// use is the use of a word or an object by the records.
type use struct {
	first   uint32 // thread, plus 1
	by      uint32 // the thread that has allocated it, plus 1; of words only
	events  uint32
	shared  bool
	written bool
}

func newRelevance() relevance {
	return relevance{words: shadow.New[use](nil, nil), objects: shadow.New[use](nil, nil)}
}

// matters reports whether the uses matter.
func (u *use) matters() bool { return u != nil && u.shared && u.written }

// add adds an event and returns how many events matter now that did not before. foreign is set if another thread has
// allocated the memory.
func (u *use) add(t heisen.Thread, foreign, writes bool) int {
	before := u.matters()
	if u.first == 0 {
		u.first = uint32(t) + 1
	}
	u.events++
	u.shared = u.shared || foreign || u.first != uint32(t)+1
	u.written = u.written || foreign || writes
	switch {
	case before:
		return 1
	case u.matters():
		return int(u.events)
	}
	return 0
}

// word returns the object that stands for the word of an address.
func word(o heisen.Object) heisen.Object { return o &^ 7 }

// add adds a record and returns about how many records matter now that did not before.
func (v *relevance) add(r *heisen.Record) (more int) {
	if r.Op == heisen.Hide {
		v.hidden = true
	}
	if access := r.Access(); access != heisen.Invalid {
		last := word(r.Object + heisen.Object(window.Extent(r).Len-1))
		for w := word(r.Object); w <= last; w += 8 {
			more = max(more, v.words.At(w).add(r.Thread, v.foreign(w, r.Thread), access.IsWrite()))
			if w+8 < w {
				break
			}
		}
		if r.Op.IsAccess() && !r.Op.IsAtomic() {
			return more
		}
	}
	switch {
	case window.IsLockOp(r.Op), window.IsMessage(r.Op), r.Op.IsAtomic():
		return max(more, v.objects.At(r.Object).add(r.Thread, v.foreign(word(r.Object), r.Thread), true))
	case r.Op == heisen.Alloc:
		v.allocate(r)
		return 0 // mostly of what one thread uses
	case r.Op == heisen.Free:
		return 0
	}
	return 1
}

// allocate adds an allocation.
func (v *relevance) allocate(r *heisen.Record) {
	s, by := window.AllocationSpan(r), uint32(r.Thread)+1
	if s.Len > 8*maxSpan || s.Start+heisen.Object(s.Len) < s.Start {
		v.large = append(v.large, allocation{s, by})
		return
	}
	for w := word(s.Start); w < s.Start+heisen.Object(s.Len); w += 8 {
		v.words.At(w).by = by
	}
}

// foreign reports whether another thread than t has allocated a word. If it was allocated several times, it may be an
// earlier one.
func (v *relevance) foreign(w heisen.Object, t heisen.Thread) bool {
	if u := v.words.Peek(w); u != nil && u.by != 0 && u.by != uint32(t)+1 {
		return true
	}
	return slices.ContainsFunc(v.large, func(a allocation) bool {
		return w-word(a.span.Start) < heisen.Object(a.span.Len) && a.by != uint32(t)+1
	})
}

// maxSpan is the number of words up to which an allocation is searched for one that matters.
const maxSpan = 1 << 12

// matters reports whether an added record matters.
func (v *relevance) matters(r *heisen.Record) bool {
	if v.hidden {
		return true
	}
	if r.Access() != heisen.Invalid {
		last := word(r.Object + heisen.Object(window.Extent(r).Len-1))
		for w := word(r.Object); w <= last; w += 8 {
			if v.words.Peek(w).matters() {
				return true
			}
			if w+8 < w {
				break
			}
		}
		if r.Op.IsAccess() && !r.Op.IsAtomic() {
			return false
		}
	}
	switch {
	case window.IsLockOp(r.Op), window.IsMessage(r.Op), r.Op.IsAtomic():
		return v.objects.Peek(r.Object).matters()
	case window.IsAllocation(r.Op):
		return v.allocates(r)
	}
	return true
}

// allocates reports whether an allocation may concern what matters.
func (v *relevance) allocates(r *heisen.Record) bool {
	s := window.AllocationSpan(r)
	if s.Len > 8*maxSpan || s.Start+heisen.Object(s.Len) < s.Start {
		return true
	}
	for w := word(s.Start); w < s.Start+heisen.Object(s.Len); w += 8 {
		if v.words.Peek(w).matters() {
			return true
		}
		for o := w; o < w+8; o++ {
			if v.objects.Peek(o).matters() {
				return true
			}
		}
	}
	return false
}
