package syncp

import (
	"github.com/google/btree"
	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/shadow"
)

// allocations has the latest allocation of each address: the Alloc or Free event with which its present allocation epoch
// begins.
type allocations struct {
	byStart *btree.BTreeG[allocation]
}

// allocation is a range of addresses.
type allocation struct {
	start, last heisen.Object
	by          prefix
}

func newAllocations() allocations {
	return allocations{btree.NewG(32, func(a, b allocation) bool { return a.start < b.start })}
}

// covering returns the event with which the allocation epoch of an address begins, or no event.
func (h *allocations) covering(o heisen.Object) (by prefix) {
	h.byStart.DescendLessOrEqual(allocation{start: o}, func(a allocation) bool {
		if o <= a.last {
			by = a.by
		}
		return false
	})
	return by
}

// begin begins an allocation epoch. What is left of the epochs before stays.
func (h *allocations) begin(n allocation) {
	var over []allocation
	h.byStart.DescendLessOrEqual(allocation{start: n.last}, func(a allocation) bool {
		if a.last < n.start {
			return false
		}
		over = append(over, a)
		return true
	})
	for _, a := range over {
		h.byStart.Delete(a)
		if a.start < n.start {
			h.byStart.ReplaceOrInsert(allocation{a.start, n.start - 1, a.by})
		}
		if a.last > n.last {
			h.byStart.ReplaceOrInsert(allocation{n.last + 1, a.last, a.by})
		}
	}
	h.byStart.ReplaceOrInsert(n)
}

// newShadow returns the shadow memory of variables.
func (d *Detector) newShadow() *shadow.Memory[uint32] {
	return shadow.New(d.memory.clone, func(v *uint32) {
		if *v == 0 {
			return
		}
		x := &d.memory.variables.all[*v]
		d.threads.learn(d.clearing, x.alloc, d.clearing.events+1)
		d.memory.each(x, func(_ *group, l *accesses) {
			d.threads.learn(d.clearing, prefix{l.thread, l.last + 1}, d.clearing.events+1)
		})
		d.memory.forget(*v)
	})
}

// newObjects returns the synchronization objects.
func (d *Detector) newObjects() objects {
	return objects{byAddress: shadow.New(nil, func(n *uint32) {
		if *n == 0 {
			return
		}
		o := d.objects.all[*n-1]
		for _, p := range append(o.touched, o.alloc) {
			d.threads.learn(d.clearing, p, d.clearing.events+1)
		}
		for _, h := range o.holds {
			u := d.threads.all[h.thread]
			u.sections[h.section].free = true
			u.leave(h.section, u.events)
		}
		o.holds = nil
	})}
}

// allocate takes an Alloc or Free event of t. It comes after all that concerned the range before.
func (d *Detector) allocate(t *thread, r *heisen.Record) {
	size := max(r.Value, 1)
	last := r.Object + heisen.Object(size-1)
	if last < r.Object {
		last = ^heisen.Object(0)
		size = uint64(last-r.Object) + 1
	}
	d.clearing = t
	d.shadow.Clear(r.Object, size)
	d.objects.byAddress.Clear(r.Object, size)
	d.allocations.begin(allocation{r.Object, last, prefix{t.number, t.events + 1}})
}
