package vclock

import (
	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/races"
)

// The rules of FastTrack that follow the same-epoch fast paths. Each takes the cell v of a class of
// bytes whose lowest byte is at, and the access r by t.

func locationOf(r *heisen.Record) location { return location{r.Site, r.Context} }

func (f *FastTrack) read(t *thread, v *cell, r *heisen.Record, at heisen.Object) {
	here := access{t.epoch, locationOf(r)}
	switch {
	case v.hasHistory():
		x := f.histories.of(v)
		reads := &x.kinds[plainRead]
		if last := reads.get(t.epoch.Slot()); last != nil && last.epoch == t.epoch {
			return // [FT READ SAME EPOCH], with a vector
		}
		f.checkWrite(t, v, r, at)
		f.checkAll(t, x, atomicWrite, r, at)
		f.checkAll(t, x, atomicUpdate, r, at)
		f.histories.put(reads, here, t) // [FT READ SHARED]
	case t.covers(v.read): // [FT READ EXCLUSIVE]
		f.checkWrite(t, v, r, at)
		v.read, v.readLocation = here.epoch, here.location
	default: // [FT READ SHARE]
		f.checkWrite(t, v, r, at)
		x := f.histories.extend(v)
		f.histories.put(&x.kinds[plainRead], here, t)
	}
	t.noteAccess()
}

func (f *FastTrack) write(t *thread, v *cell, r *heisen.Record, at heisen.Object) {
	f.checkWrite(t, v, r, at)
	if v.hasHistory() { // [FT WRITE SHARED]
		x := f.histories.of(v)
		for k := range numKinds {
			f.checkAll(t, x, k, r, at)
		}
		f.histories.forget(v)
	} else { // [FT WRITE EXCLUSIVE]
		if !t.covers(v.read) {
			f.report(r, at, earlierAccess{heisen.Read, access{v.read, v.readLocation}})
		}
		v.read, v.readLocation = 0, location{}
	}
	v.write, v.writeLocation = t.epoch, locationOf(r)
	t.noteAccess()
}

// atomic is the rule of sync/atomic operations, which are not in the paper. An atomic and a plain
// access conflict if one of them writes. Two atomic accesses do not conflict. An operation of a
// lock in memory is an atomic update.
func (f *FastTrack) atomic(t *thread, v *cell, r *heisen.Record, at heisen.Object) {
	k := atomicUpdate
	switch r.Op {
	case heisen.AtomicRead:
		k = atomicRead
	case heisen.AtomicWrite:
		k = atomicWrite
	}
	x := f.histories.extend(v)
	marks := &x.kinds[k]
	if last := marks.get(t.epoch.Slot()); last != nil && last.epoch == t.epoch {
		return // the same epoch
	}
	f.checkWrite(t, v, r, at)
	if k != atomicRead {
		f.checkAll(t, x, plainRead, r, at)
	}
	f.histories.put(marks, access{t.epoch, locationOf(r)}, t)
	t.noteAccess()
}

// checkWrite reports a race of r with the last plain write.
func (f *FastTrack) checkWrite(t *thread, v *cell, r *heisen.Record, at heisen.Object) {
	if !t.covers(v.write) {
		f.report(r, at, earlierAccess{heisen.Write, access{v.write, v.writeLocation}})
	}
}

// checkAll reports the races of r with the stored accesses of a kind.
func (f *FastTrack) checkAll(t *thread, x *accessHistory, k kind, r *heisen.Record, at heisen.Object) {
	switch marks := &x.kinds[k]; marks.count {
	case 0:
	case 1:
		if !t.covers(marks.only.epoch) {
			f.report(r, at, earlierAccess{k.op(), marks.only})
		}
	default:
		for _, m := range marks.table {
			if !t.covers(m.epoch) {
				f.report(r, at, earlierAccess{k.op(), m})
			}
		}
	}
}

// earlierAccess is the earlier access of a race, with its op.
type earlierAccess struct {
	op heisen.Op
	access
}

// maxCompared bounds how many findings of the same event a new one is compared with.
const maxCompared = 16

// report reports a race of r with an earlier access at a byte, unless it has just reported the same
// race at another byte.
func (f *FastTrack) report(r *heisen.Record, at heisen.Object, e earlierAccess) {
	if r.Len > 1 {
		for _, before := range f.found[max(0, len(f.found)-maxCompared):] {
			if before == e {
				return
			}
		}
		f.found = append(f.found, e)
	}
	f.races++
	later := accessOf(r, f.events)
	f.sink(races.Unordered("fasttrack", at, heisen.Access{
		Op: e.op, Thread: f.order.Thread(e.epoch), Object: at, Size: 1,
		Site: e.location.site, Context: e.location.ctx,
	}, later))
}

// accessOf is heisen.AccessOf with the op by which r accesses memory: for the acquisition of a
// lock in memory, an atomic update.
func accessOf(r *heisen.Record, index uint64) heisen.Access {
	a := heisen.AccessOf(r, index)
	a.Op = r.Access()
	return a
}
