package lockset

import (
	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/vclock"
)

// handOver follows messages for an Eraser, to know which exclusive variables have a new owner.
type handOver struct {
	order       vclock.Order
	messagesEnd heisen.Record // a Free, for an object whose messages end

	// The epoch of the thread of the last access, until something synchronizes.
	known  bool
	thread heisen.Thread
	epoch  vclock.Epoch
}

func newHandOver() *handOver {
	return &handOver{messagesEnd: heisen.Record{Op: heisen.Free, Value: 1}}
}

// synchronize follows an event that is no access. Locks order nothing here: whose turn it is, the
// scheduler decides.
func (h *handOver) synchronize(r *heisen.Record) {
	switch r.Op {
	case heisen.AtomicWrite: // messages that were sent to it cannot be received any more
		h.messagesEnd.Thread, h.messagesEnd.Object = r.Thread, r.Object
		h.order.Observe(&h.messagesEnd)
	case heisen.Fork, heisen.Join, heisen.End, heisen.Send, heisen.Receive, heisen.Alloc, heisen.Free:
		h.order.Observe(r)
		h.order.Publish(r)
	default:
		return
	}
	h.known = false
}

// present returns the epoch of a thread that makes an access, 0 after vclock.ErrTooManyThreads.
func (h *handOver) present(t heisen.Thread) vclock.Epoch {
	if !h.known || h.thread != t {
		h.known, h.thread, h.epoch = true, t, h.order.Access(t)
	}
	return h.epoch
}

// to reports whether a thread that accesses v becomes its owner: all accesses so far, of which the
// last is the last one of the owner, happen before by messages.
func (h *handOver) to(t heisen.Thread, v *variable) bool {
	e := v.owned()
	return e != 0 && h.present(t) != 0 && h.order.Before(e, t)
}

// An exclusive variable has no accesses by others, so the epoch of its owner's last access is kept in
// the place of those.

func (h *handOver) own(v *variable, t heisen.Thread) {
	v.setOwned(h.present(t))
}

func (v *variable) setOwned(e vclock.Epoch) {
	v.other = location{thread: heisen.Thread(e >> 32), site: heisen.Site(uint32(e))}
}

// grown reports whether so many threads have ended, after an event, that compactOrder pays.
func (h *handOver) grown(op heisen.Op) bool {
	return (op == heisen.End || op == heisen.Join) && h.order.Grown()
}

// keep names the epoch of an exclusive variable's owner to a compaction. If everything that can still
// come happens after the owner's last access, the next thread is the new owner, as of a virgin variable.
func (v *variable) keep(k *vclock.Compaction) {
	if v.state != exclusive {
		return
	}
	if e := v.owned(); k.Keep(&e) {
		v.setOwned(e)
	} else {
		*v = variable{}
	}
}

func (v *variable) owned() vclock.Epoch {
	return vclock.Epoch(v.other.thread)<<32 | vclock.Epoch(v.other.site)
}
