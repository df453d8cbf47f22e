package vclock

import "github.com/heisen-go/heisen"

// The rules of FastTrack that come after the same-epoch checks. Each takes the
// state v of a class of bytes whose lowest byte is at, and the access r by t.

func placeOf(r *heisen.Record) place { return place{r.Site, r.Context} }

func (f *FastTrack) read(t *thread, v *variable, r *heisen.Record, at heisen.Object) {
	here := mark{t.epoch, placeOf(r)}
	switch {
	case v.extended():
		x := f.histories.of(v)
		reads := &x.kinds[plainRead]
		if last := reads.get(t.epoch.Slot()); last != nil && last.epoch == t.epoch {
			return // [FT READ SAME EPOCH], of a vector
		}
		f.checkWrite(t, v, r, at)
		f.checkAll(t, x, atomicWrite, r, at)
		f.checkAll(t, x, atomicUpdate, r, at)
		f.histories.put(reads, here, t) // [FT READ SHARED]
	case t.covers(v.read): // [FT READ EXCLUSIVE]
		f.checkWrite(t, v, r, at)
		v.read, v.readPlace = here.epoch, here.place
	default: // [FT READ SHARE]
		f.checkWrite(t, v, r, at)
		x := f.histories.extend(v)
		f.histories.put(&x.kinds[plainRead], here, t)
	}
	t.touch()
}

func (f *FastTrack) write(t *thread, v *variable, r *heisen.Record, at heisen.Object) {
	f.checkWrite(t, v, r, at)
	if v.extended() { // [FT WRITE SHARED]
		x := f.histories.of(v)
		for k := range numKinds {
			f.checkAll(t, x, k, r, at)
		}
		f.histories.forget(v)
	} else { // [FT WRITE EXCLUSIVE]
		if !t.covers(v.read) {
			f.report(r, at, earlier{heisen.Read, mark{v.read, v.readPlace}})
		}
		v.read, v.readPlace = 0, place{}
	}
	v.write, v.writePlace = t.epoch, placeOf(r)
	t.touch()
}

// atomic is the rule of sync/atomic operations, which the paper leaves out: they
// conflict with plain accesses, of which one must be a write, and not with each
// other. Locks in memory are updated atomically.
func (f *FastTrack) atomic(t *thread, v *variable, r *heisen.Record, at heisen.Object) {
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
		return // the same epoch, as of reads
	}
	f.checkWrite(t, v, r, at)
	if k != atomicRead {
		f.checkAll(t, x, plainRead, r, at)
	}
	f.histories.put(marks, mark{t.epoch, placeOf(r)}, t)
	t.touch()
}

// checkWrite reports a race with the last plain write, if there is one.
func (f *FastTrack) checkWrite(t *thread, v *variable, r *heisen.Record, at heisen.Object) {
	if !t.covers(v.write) {
		f.report(r, at, earlier{heisen.Write, mark{v.write, v.writePlace}})
	}
}

// checkAll reports the races with the remembered accesses of a kind.
func (f *FastTrack) checkAll(t *thread, x *history, k kind, r *heisen.Record, at heisen.Object) {
	switch marks := &x.kinds[k]; marks.count {
	case 0:
	case 1:
		if !t.covers(marks.only.epoch) {
			f.report(r, at, earlier{k.op(), marks.only})
		}
	default:
		for _, m := range marks.table {
			if !t.covers(m.epoch) {
				f.report(r, at, earlier{k.op(), m})
			}
		}
	}
}

// earlier is the earlier access of a race.
type earlier struct {
	op heisen.Op
	mark
}

// lookBack bounds how many findings of the same event a new one is compared
// with.
const lookBack = 16

// report makes a finding of r and an earlier access that meet at a byte, unless
// the two have just met at another byte.
func (f *FastTrack) report(r *heisen.Record, at heisen.Object, e earlier) {
	if r.Len > 1 {
		for _, before := range f.found[max(0, len(f.found)-lookBack):] {
			if before == e {
				return
			}
		}
		f.found = append(f.found, e)
	}
	f.races++
	later := accessOf(r, f.events)
	f.sink(RaceOf(heisen.Access{
		Op: e.op, Thread: f.order.Thread(e.epoch), Object: at, Size: 1,
		Site: e.place.site, Context: e.place.ctx,
	}, later))
}

// RaceOf returns what a FastTrack reports of two accesses that race, of which the
// earlier one's object is the byte where they meet. It is for programs that follow
// happens-before by themselves and say only what they have found.
func RaceOf(earlier, later heisen.Access) heisen.Finding {
	return heisen.Finding{
		Detector: "fasttrack",
		Kind:     heisen.Race,
		Object:   earlier.Object,
		Message:  raceMessage(later.Op, earlier.Op),
		Accesses: []heisen.Access{earlier, later},
	}
}

// accessOf is heisen.AccessOf of a record that takes part in a race, as what it
// does so.
func accessOf(r *heisen.Record, index uint64) heisen.Access {
	a := heisen.AccessOf(r, index)
	a.Op = r.Access()
	return a
}

// raceMessage is the message of a race between two accesses.
func raceMessage(later, earlier heisen.Op) string {
	return later.String() + " races with earlier " + earlier.String()
}
