//go:build heisen_inject

package runtime

import (
	"internal/runtime/atomic"
	"unsafe"
)

// Object trees, made once (TREE and RDIT, section 4.4.3). The set of objects that a
// hidden call reaches is the union of those of its roots, and the set of a root is
// kept as long as nothing is written that may have been a pointer in a page with
// an object of the set. Every instrumented write is looked at, also of hidden
// packages. What is missed is pointers that are written otherwise: by packages that
// are not instrumented, by the runtime (into channels and maps), and while a set is
// being made.

const (
	heisenMaxRoots   = 64
	heisenTreeBits   = 13
	heisenTreePages  = 251
	heisenPagesSpan  = 1 << 38 // of the heap
	heisenVersionBit = 13      // of the size of a page
	heisenTooLarge   = 1 << 31 // in place of the number of a set: of all objects
)

// heisenTree is the set of a root. A page is an index into the versions.
type heisenTree struct {
	root  uintptr
	sum   uint64 // of the pages' versions
	id    uint32
	count uint32 // of pages
	pages [heisenTreePages]uint32
}

var heisenTrees struct {
	entries  uintptr // 1<<heisenTreeBits heisenTrees
	heap, lo uintptr // versions of pages of the heap, and where it starts
	data     uintptr // versions of pages of the data segments
	dataLo   uintptr
	roots    [heisenMaxRoots]heisenSpan
	ids      [heisenMaxRoots]uint64
}

// heisenInitTrees makes empty tables, and reports whether it could.
func heisenInitTrees() bool {
	t := &heisenTrees
	t.entries = uintptr(heisenReserve(unsafe.Sizeof(heisenTree{}) << heisenTreeBits))
	t.lo = racearenastart &^ (1<<heisenVersionBit - 1)
	t.heap = uintptr(heisenReserve(heisenPagesSpan >> heisenVersionBit * 4))
	t.dataLo = racedatastart &^ (1<<heisenVersionBit - 1)
	t.data = uintptr(heisenReserve(((racedataend-t.dataLo)>>heisenVersionBit + 1) * 4))
	return t.entries != 0 && t.heap != 0 && t.data != 0
}

// heisenVersionOf returns the version of the page of an address, nil if it has none.
//
//go:nosplit
func heisenVersionOf(addr uintptr) *uint32 {
	t := &heisenTrees
	switch {
	case addr-t.lo < heisenPagesSpan:
		return (*uint32)(unsafe.Pointer(t.heap + (addr-t.lo)>>heisenVersionBit*4))
	case addr-racedatastart < racedataend-racedatastart:
		return (*uint32)(unsafe.Pointer(t.data + (addr-t.dataLo)>>heisenVersionBit*4))
	}
	return nil
}

// heisenWritten is called before the program writes size bytes at addr.
//
//go:nosplit
func heisenWritten(addr, size uintptr) {
	if size <= 8 {
		// A word that is neither nil nor a pointer will not be one, for it has another
		// type.
		if !heisenShared(addr) {
			return
		}
		if v := *(*uintptr)(unsafe.Pointer(addr &^ 7)); v != 0 && !heisenShared(v) {
			return
		}
	}
	for end := addr + max(size, 1); addr < end; addr = (addr | (1<<heisenVersionBit - 1)) + 1 {
		if v := heisenVersionOf(addr); v != nil {
			atomic.Xadd(v, 1)
		}
	}
}

func (t *heisenTree) version() (sum uint64) {
	for _, p := range t.pages[:t.count] {
		sum += uint64(atomic.Load(heisenPageVersion(p)))
	}
	return sum
}

// heisenPageVersion is the version of a page by its number: those of the data
// segments have the highest bit set.
func heisenPageVersion(p uint32) *uint32 {
	if p>>31 != 0 {
		return (*uint32)(unsafe.Pointer(heisenTrees.data + uintptr(p&^(1<<31))*4))
	}
	return (*uint32)(unsafe.Pointer(heisenTrees.heap + uintptr(p)*4))
}

// note adds the pages of a span, and reports whether there is room.
func (t *heisenTree) note(s heisenSpan) bool {
	for addr := s.start; addr < s.start+s.size; addr = (addr | (1<<heisenVersionBit - 1)) + 1 {
		page := uint32((addr - heisenTrees.lo) >> heisenVersionBit)
		if addr-heisenTrees.lo >= heisenPagesSpan {
			page = uint32((addr-heisenTrees.dataLo)>>heisenVersionBit) | 1<<31
		}
		known := false
		for _, p := range t.pages[:t.count] {
			known = known || p == page
		}
		if known {
			continue
		}
		if t.count == heisenTreePages {
			return false
		}
		t.pages[t.count] = page
		t.count++
	}
	return true
}

// union returns the number of the set of what the roots in spans reach.
func (w *heisenHiddenState) union() uint32 {
	t := &heisenTrees
	count := uintptr(0)
	if w.n > heisenMaxRoots {
		w.full = true
		return 0
	}
	roots := w.n
	for i := range roots {
		t.roots[i] = w.spans[i]
	}
	for i := range roots {
		id := w.tree(t.roots[i])
		if w.full {
			return 0
		}
		at := count
		for at > 0 && t.ids[at-1] >= uint64(id) {
			at--
		}
		if at < count && t.ids[at] == uint64(id) {
			continue
		}
		for j := count; j > at; j-- {
			t.ids[j] = t.ids[j-1]
		}
		t.ids[at] = uint64(id)
		count++
	}
	if count == 1 {
		return uint32(t.ids[0])
	}
	set := heisenSet{sum: uint64(count), other: 1}
	for _, id := range t.ids[:count] {
		set.sum = heisenHash(set.sum ^ id)
		set.other = heisenHash(set.other + id*0xD6E8FEB86659FD93)
	}
	id, isNew := w.find(set)
	if isNew {
		heisenSend(heisenMsgUnion, id, 0, unsafe.Pointer(&t.ids), count*8)
	}
	w.full = id == 0
	return id
}

// tree returns the number of the set of what a root reaches.
func (w *heisenHiddenState) tree(root heisenSpan) uint32 {
	e := (*heisenTree)(unsafe.Pointer(heisenTrees.entries +
		uintptr(heisenHash(uint64(root.start))>>(64-heisenTreeBits))*unsafe.Sizeof(heisenTree{})))
	if e.root == root.start && e.id != 0 && e.version() == e.sum {
		w.full = e.id == heisenTooLarge
		return e.id
	}
	w.begin()
	w.add(root.start, root.size)
	id := uint32(heisenTooLarge)
	if w.follow(); !w.full {
		if id = w.number(); id == 0 {
			w.full = true
			return 0
		}
	}
	e.root, e.id, e.count = root.start, id, 0
	for i := range w.n {
		if !e.note(w.spans[i]) {
			if id != heisenTooLarge { // which is safe, however old it is
				e.id = 0
			}
			break
		}
	}
	e.sum = e.version()
	return id
}
