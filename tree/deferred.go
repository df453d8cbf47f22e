package tree

import (
	"unsafe"

	"github.com/heisen-go/heisen"
)

// deferredAcquires is the acquisitions that are not forwarded yet, in front of a detector that compares
// locksets. If the lock is released before the next forwarded event, both operations are dropped.
type deferredAcquires struct {
	most      int           // acquisitions in the list
	list      []acquisition // in stream order
	count     int           // number of acquisitions in the list
	owned     int           // length of the prefix of the list whose records are in copies
	forwarded []heisen.Record

	copies []heisen.Record
}

// acquisition is a deferred Acquire. Its lock is nil if it was removed.
type acquisition struct {
	object *lock
	record *heisen.Record
}

// defaultDeferred bounds the list.
const defaultDeferred = 1 << 10

// add defers an Acquire. It reports whether there was room.
func (w *deferredAcquires) add(s *lock, r *heisen.Record) bool {
	if len(w.list) >= w.most {
		return false
	}
	w.list = append(w.list, acquisition{s, r})
	w.count++
	s.deferred = int32(len(w.list))
	return true
}

// remove removes the Acquire of s.
func (w *deferredAcquires) remove(s *lock) {
	w.list[s.deferred-1].object = nil
	s.deferred = 0
	if w.count--; w.count == 0 {
		w.list, w.owned = w.list[:0], 0
	}
}

// take removes and returns all deferred acquisitions, in stream order. The records are valid until the
// next call.
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

func (w *deferredAcquires) bytes() uint64 {
	return uint64(cap(w.list))*uint64(unsafe.Sizeof(acquisition{})) + uint64(cap(w.forwarded)+cap(w.copies))*uint64(unsafe.Sizeof(heisen.Record{}))
}

// own copies the records, which are only valid as long as their batch.
func (w *deferredAcquires) own() {
	if len(w.list) == w.owned {
		return
	}
	if w.copies == nil {
		w.copies = make([]heisen.Record, w.most)
	}
	for i := w.owned; i < len(w.list); i++ {
		if a := &w.list[i]; a.object != nil {
			w.copies[i] = *a.record
			a.record = &w.copies[i]
		}
	}
	w.owned = len(w.list)
}
