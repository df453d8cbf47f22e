package tree

import "unsafe"

// overflow is a 4-way set-associative hash table of the entries that do not fit into their variables. If
// a set is full, the table grows or, at its limit, replaces the oldest entry of the set.
type overflow struct {
	table []overflowEntry // length a power of two
	limit uint64          // of bytes, 0 if there is none
}

type overflowEntry struct {
	entry
	id uint32 // number of the variable; 0 if the place is free
}

const (
	firstOverflow = 1 << 10
	overflowWays  = 4
)

func (o *overflow) bytes() uint64 {
	return uint64(len(o.table)) * uint64(unsafe.Sizeof(overflowEntry{}))
}

// places returns the index of the set of an entry.
func (o *overflow) places(id uint32, who uint64) int {
	h := (who ^ uint64(id)<<20) * 0x9e3779b97f4a7c15
	return int(h>>32) & (len(o.table) - 1) &^ (overflowWays - 1)
}

// get returns the time of an entry, or 0.
func (o *overflow) get(id uint32, who uint64) uint64 {
	if len(o.table) == 0 {
		return 0
	}
	at := o.places(id, who)
	for i := range o.table[at : at+overflowWays] {
		if e := &o.table[at+i]; e.id == id && e.key == who {
			return e.time
		}
	}
	return 0
}

// put adds an entry, unless the limit is too small for any.
func (o *overflow) put(f *Filter, id uint32, e entry) {
	if len(o.table) == 0 && !o.resize(f, firstOverflow) {
		return
	}
	for {
		place, free := o.place(f, id, e.key)
		if free || !o.resize(f, 2*len(o.table)) {
			*place = overflowEntry{e, id}
			return
		}
	}
}

// place returns the place for an entry, and whether it is free or has an obsolete entry.
func (o *overflow) place(f *Filter, id uint32, who uint64) (place *overflowEntry, free bool) {
	at := o.places(id, who)
	for i := range o.table[at : at+overflowWays] {
		e := &o.table[at+i]
		switch {
		case e.id == id && e.key == who:
			return e, true
		case !free && (e.id == 0 || f.obsolete(e.entry)):
			place, free = e, true
		case place == nil || !free && e.time < place.time:
			place = e
		}
	}
	return place, free
}

// resize sets the length of the table, if that is within the limit. It reports whether it did. Obsolete
// entries are dropped.
func (o *overflow) resize(f *Filter, length int) bool {
	if o.limit != 0 && uint64(length)*uint64(unsafe.Sizeof(overflowEntry{})) > o.limit {
		return false
	}
	old := o.table
	o.table = make([]overflowEntry, length)
	for _, e := range old {
		if e.id != 0 && !f.obsolete(e.entry) {
			place, _ := o.place(f, e.id, e.key)
			*place = e
		}
	}
	return true
}
