package model

import (
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/mcm/order"
)

// happensBefore is the order that the synchronization of a window shows. The hidden accesses of
// BarrierPairs whose synchronization is in the trace (heisen.Synchronized) race with nothing. So each
// of them sees what it saw if everything that happened before the events around it still does, and
// if nothing that happened after them comes earlier. Therefore the events of such pairs keep this
// order with all others.
type happensBefore struct {
	threads []past // by thread
	forks   map[int32]past
	objects map[heisen.Object]*syncPast
}

// past is what happened before an event: by chain, the latest node, plus one; nil if there is none.
type past struct {
	all    []order.Node
	hidden []order.Node // only of synchronized pairs
}

// syncPast is what was published on a synchronization object, and by readers of a lock.
type syncPast struct{ published, readers past }

func (p *past) join(q past) { p.all, p.hidden = later(p.all, q.all), later(p.hidden, q.hidden) }

// later returns the later nodes of two. It changes a.
func later(a, b []order.Node) []order.Node {
	if a == nil {
		return slices.Clone(b)
	}
	for c, n := range b {
		a[c] = max(a[c], n)
	}
	return a
}

// orderHidden puts node n, of record i, after the events of pairs that happened before it, and if it
// belongs to a pair, after all events that did.
func (b *builder) orderHidden(i int, n order.Node) {
	h := b.before
	if h == nil {
		return
	}
	r, own := &b.Records[i], &h.threads[b.thread[i]]
	h.observe(b, i, own)
	latest := own.hidden
	if b.synchronized[i] {
		latest = own.all
	}
	for _, e := range latest {
		if e != 0 {
			b.edge(e-1, n)
		}
	}
	c, width := b.Chain[n], len(b.Base)-1
	own.all = set(own.all, width, c, n)
	if b.synchronized[i] {
		own.hidden = set(own.hidden, width, c, n)
	}
	h.publish(r, b.threadOf, own)
}

// set sets the latest node of a chain.
func set(latest []order.Node, width int, chain int32, n order.Node) []order.Node {
	if latest == nil {
		latest = make([]order.Node, width)
	}
	latest[chain] = n + 1
	return latest
}

// observe adds what record i observes to the past of its thread.
func (h *happensBefore) observe(b *builder, i int, own *past) {
	r, t := &b.Records[i], b.thread[i]
	if f, ok := h.forks[t]; ok {
		own.join(f)
		delete(h.forks, t)
	}
	switch r.Op {
	case heisen.Join:
		if child, ok := b.threadOf[r.Object.Thread()]; ok {
			own.join(h.threads[child])
		}
	case heisen.Acquire:
		own.join(h.object(r.Object).readers)
		own.join(h.object(r.Object).published)
	case heisen.AcquireShared, heisen.Receive, heisen.AtomicRead, heisen.AtomicUpdate:
		own.join(h.object(r.Object).published)
	}
}

// publish publishes the past of a thread, with record r.
func (h *happensBefore) publish(r *heisen.Record, threadOf map[heisen.Thread]int32, own *past) {
	switch r.Op {
	case heisen.Fork:
		if child, ok := threadOf[r.Object.Thread()]; ok {
			var f past
			f.join(*own)
			h.forks[child] = f
		}
	case heisen.ReleaseShared:
		h.object(r.Object).readers.join(*own)
	case heisen.AtomicWrite:
		h.object(r.Object).published = past{}
		fallthrough
	case heisen.Release, heisen.Send, heisen.AtomicUpdate:
		h.object(r.Object).published.join(*own)
	}
}

// object returns what was published on a synchronization object.
func (h *happensBefore) object(o heisen.Object) *syncPast {
	at := h.objects[o]
	if at == nil {
		at = new(syncPast)
		h.objects[o] = at
	}
	return at
}
