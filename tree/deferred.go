package tree

import "github.com/heisen-go/heisen"

// deferredAcquires are acquisitions that a detector which takes locks as what is held at
// accesses need not know of, for as long as no event is handed on: if the lock
// is released before, it need never know.
type deferredAcquires struct {
	list      []acquisition // in stream order
	count     int           // of those that are left
	owned     int           // how many of the list have records that are in copies
	forwarded []heisen.Record

	copies []heisen.Record
}

// acquisition is an Acquire that waits, or has waited if its object is nil.
type acquisition struct {
	object *lock
	record *heisen.Record
}

// maxDeferred bounds the list.
const maxDeferred = 1 << 10

// add lets an Acquire wait, and reports whether there was room.
func (w *deferredAcquires) add(s *lock, r *heisen.Record) bool {
	if len(w.list) == maxDeferred {
		return false
	}
	w.list = append(w.list, acquisition{s, r})
	w.count++
	s.deferred = int32(len(w.list))
	return true
}

// remove takes out the Acquire of s.
func (w *deferredAcquires) remove(s *lock) {
	w.list[s.deferred-1].object = nil
	s.deferred = 0
	if w.count--; w.count == 0 {
		w.list, w.owned = w.list[:0], 0
	}
}

// take returns all that waits, in stream order, and leaves nothing. The records
// are valid until the next call.
func (w *deferredAcquires) take() []heisen.Record {
	w.forwarded = w.forwarded[:0]
	for i := range w.list {
		if a := &w.list[i]; a.object != nil {
			a.object.deferred = 0
			w.forwarded = append(w.forwarded, *a.record)
		}
	}
	w.list, w.count, w.owned = w.list[:0], 0, 0
	return w.forwarded
}

// own copies the records, which are valid only as long as the batch that they
// came in.
func (w *deferredAcquires) own() {
	if len(w.list) == w.owned {
		return
	}
	if w.copies == nil {
		w.copies = make([]heisen.Record, maxDeferred)
	}
	for i := w.owned; i < len(w.list); i++ {
		if a := &w.list[i]; a.object != nil {
			w.copies[i] = *a.record
			a.record = &w.copies[i]
		}
	}
	w.owned = len(w.list)
}
