package tree

import "github.com/heisen-go/heisen"

// waiting are acquisitions that a detector which takes locks as what is held at
// accesses need not know of, for as long as no event is handed on: if the lock
// is released before, it need never know.
type waiting struct {
	list  []acquisition // in stream order
	count int           // of those that are left
	owned int           // how many of the list have records that are in copies
	late  []heisen.Record

	copies []heisen.Record
}

// acquisition is an Acquire that waits, or has waited if its object is nil.
type acquisition struct {
	object *object
	record *heisen.Record
}

// maxWaiting bounds the list.
const maxWaiting = 1 << 10

// add lets an Acquire wait, and reports whether there was room.
func (w *waiting) add(s *object, r *heisen.Record) bool {
	if len(w.list) == maxWaiting {
		return false
	}
	w.list = append(w.list, acquisition{s, r})
	w.count++
	s.waits = int32(len(w.list))
	return true
}

// remove takes out the Acquire of s.
func (w *waiting) remove(s *object) {
	w.list[s.waits-1].object = nil
	s.waits = 0
	if w.count--; w.count == 0 {
		w.list, w.owned = w.list[:0], 0
	}
}

// take returns all that waits, in stream order, and leaves nothing. The records
// are valid until the next call.
func (w *waiting) take() []heisen.Record {
	w.late = w.late[:0]
	for i := range w.list {
		if a := &w.list[i]; a.object != nil {
			a.object.waits = 0
			w.late = append(w.late, *a.record)
		}
	}
	w.list, w.count, w.owned = w.list[:0], 0, 0
	return w.late
}

// own copies the records, which are valid only as long as the batch that they
// came in.
func (w *waiting) own() {
	if len(w.list) == w.owned {
		return
	}
	if w.copies == nil {
		w.copies = make([]heisen.Record, maxWaiting)
	}
	for i := w.owned; i < len(w.list); i++ {
		if a := &w.list[i]; a.object != nil {
			w.copies[i] = *a.record
			a.record = &w.copies[i]
		}
	}
	w.owned = len(w.list)
}
