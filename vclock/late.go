package vclock

import "github.com/heisen-go/heisen"

// Late is the flag of a record that does not stand where it happened. Recorders
// that keep accesses back deliver them so, and only FastTrack understands them; no
// trace has any. What the flag means depends on the op:
//
//   - Read, Write: an access that the record's thread made a while ago, after it
//     had published Val times (see package heisen for what publishes). It may have
//     ended since.
//   - Send: it publishes like any Send, but does not count as a publication, so
//     what the thread does next cannot be told from what it did just before.
//   - End: the thread made its last access after it had published Val times.
//
// # What may be kept back
//
// Take the accesses to a byte in the order in which they happened, and cut them
// into reigns: maximal parts by the same thread. In every reign the first access,
// the first write, and every sync/atomic operation must be delivered as they
// are, in the order of their thread; with a sync/atomic operation all that is kept
// back of the byte is delivered before it, and from there on everything is
// delivered. In the first reign, nothing need be. Of the other accesses of a reign
// those are delivered late that no later one of the reign replaces, where a write
// replaces any access and a read reads; and that is done before, in stream order,
// every access of a later reign, and after those of earlier reigns that are
// late or first.
//
// Then FastTrack finds a race of the byte if and only if there is one.
//
// It is never wrong about two accesses, for it compares what happened at the
// epochs that it knows, and late accesses are only ever an earlier part of the
// comparison. So consider a race between x and a later access y, of the same byte,
// and let there be none before y. Both are in different reigns. If y is not
// delivered as it is, an earlier access of its reign is that conflicts with x and,
// as y would, is not ordered after x; so let y be that one, or the first write of
// its reign, which is such. If x was delivered late, or replaced by a late access,
// that came before y in the stream; it is remembered when y comes, or what took
// its place is: same thread and later, or a write that is ordered after it. If x
// was delivered as it was, it and y are compared by whichever comes later in the
// stream, as always. What a late access replaces is ordered before it, because
// what was delivered before in its own reign has been compared with it.
const Late heisen.Flags = 1 << 6

// late handles a record with the flag Late.
func (f *FastTrack) late(r *heisen.Record) {
	ts := &f.order.threads
	switch r.Code {
	case heisen.Begin:
		if t := ts.get(r.TID); t != nil {
			t.counted = true
		}
	case heisen.Read, heisen.Write:
		if e, ok := ts.past(r.TID, r.Val); ok {
			f.lateAccess(r, mark{e, placeOf(r)})
		}
	case heisen.Send:
		if t := ts.get(r.TID); t != nil {
			epoch := t.epoch
			f.order.merge(t, &f.order.object(r.Obj).published)
			t.epoch, t.said, t.shown = epoch, unsaid, epoch
		}
	case heisen.End:
		if t := ts.get(r.TID); t != nil {
			if e, ok := ts.past(r.TID, r.Val); ok && e.Slot() == t.epoch.Slot() {
				t.last = max(t.last, e)
			}
			f.order.leave(t, r)
		}
	}
}

// lateAccess remembers an access without a comparison.
func (f *FastTrack) lateAccess(r *heisen.Record, m mark) {
	for c := f.memory.Range(r.Obj, r.Size()); c.Next(); {
		if r.Code == heisen.Write {
			f.lateWrite(c.State(), m)
		} else {
			f.lateRead(c.State(), m)
		}
	}
}

func (f *FastTrack) lateWrite(v *variable, m mark) {
	if sameSlot(v.write, m.epoch) && v.write >= m.epoch {
		return
	}
	v.write, v.writePlace = m.epoch, m.place
	// Reads in a history stay until the next write: there may be later ones of the
	// same thread, and to remember too much is only a matter of cost.
	if !v.extended() && !(sameSlot(v.read, m.epoch) && v.read >= m.epoch) {
		v.read, v.readPlace = 0, place{}
	}
}

func (f *FastTrack) lateRead(v *variable, m mark) {
	switch {
	case sameSlot(v.write, m.epoch) && v.write >= m.epoch:
	case v.extended():
		reads := &f.histories.of(v).kinds[plainRead]
		if last := reads.get(m.epoch.Slot()); last == nil || last.epoch < m.epoch {
			f.histories.add(reads, m)
		}
	case v.read == 0 || sameSlot(v.read, m.epoch):
		if v.read < m.epoch {
			v.read, v.readPlace = m.epoch, m.place
		}
	default: // whether the other read is ordered before it cannot be told any more
		f.histories.add(&f.histories.extend(v).kinds[plainRead], m)
	}
}

func sameSlot(a, b Epoch) bool { return a != 0 && a.Slot() == b.Slot() }
