package syncp

import (
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/locksets"
)

// variable is what is stored of bytes that are always accessed together, in one allocation epoch.
type variable struct {
	alloc         prefix // the allocation of the bytes
	writer        prefix // the latest write
	overwrite     prefix // the latest write that is no operation on a lock
	groups        uint32 // the first one
	owner         number // the only thread that has accessed it, if shared is false
	reads, writes uint32 // how many there were
	shared        bool
	isLock        bool // a lock operates on it
}

// group is the accesses to a variable with the same place, op and locks.
type group struct {
	next     uint32 // of the variable
	site     heisen.Site
	held     locksets.Held
	op       heisen.Op
	accesses uint32            // those of a thread, the first in a list
	threads  uint32            // that have accesses
	low      []uint32          // by thread below lowThreads, if there are not few
	byThread map[number]uint32 // likewise, by other threads
}

// lowThreads bounds the threads that a group finds by index.
const lowThreads = 256

// of returns the accesses of a thread, if there are not few threads.
func (g *group) of(t number) uint32 {
	if t < lowThreads {
		if int(t) < len(g.low) {
			return g.low[t]
		}
		return 0
	}
	return g.byThread[t]
}

// set sets the accesses of a thread.
func (g *group) set(t number, a uint32) {
	switch {
	case t >= lowThreads:
		if g.byThread == nil {
			g.byThread = map[number]uint32{}
		}
		g.byThread[t] = a
	case int(t) < len(g.low):
		g.low[t] = a
	default:
		g.low = append(g.low, make([]uint32, int(t)+1-len(g.low))...)
		g.low[t] = a
	}
}

// accesses are those of a thread in a group. Of several in one span of the thread only the last one is stored.
// The closures of the others are the same but for the thread's own events, so whatever races with one of the others, or contains the last one, says the same of the last one.
type accesses struct {
	next    uint32 // of the group
	thread  number
	span    uint32   // of the latest access
	seen    uint32   // what others had done to the variable at the latest access; see checked
	last    uint32   // how many events the thread made before the latest access
	older   []uint32 // likewise, of the earlier ones, ascending
	dropped []prefix // by thread of later accesses: how many of the earlier ones cannot race with any further one
}

// memory has the variables and their accesses, by number from 1 on. Those of freed variables are used again.
type memory struct {
	variables arena[variable]
	groups    arena[group]
	accesses  arena[accesses]
	older     int // entries in the lists accesses.older
}

// arena has values by number, from 1 on.
type arena[T any] struct {
	all  []T
	free []uint32
}

// add returns the number of a new value.
func (a *arena[T]) add(v T) (n uint32) {
	if k := len(a.free); k > 0 {
		n, a.free = a.free[k-1], a.free[:k-1]
		a.all[n] = v
		return n
	}
	if len(a.all) == 0 {
		a.all = make([]T, 1)
	}
	a.all = append(a.all, v)
	return uint32(len(a.all) - 1)
}

// used returns how many values there are.
func (a *arena[T]) used() int { return len(a.all) - len(a.free) }

func (a *arena[T]) remove(n uint32) {
	var none T
	a.all[n] = none
	a.free = append(a.free, n)
}

// clone replaces the number of a variable by that of a copy of it. It is for shadow.New.
func (m *memory) clone(v *uint32) {
	if *v == 0 {
		return
	}
	x := m.variables.all[*v]
	from := x.groups
	x.groups = 0
	for ; from != 0; from = m.groups.all[from].next {
		g := m.groups.all[from]
		list := g.accesses
		g.next, g.accesses, g.low, g.byThread = x.groups, 0, nil, nil
		for ; list != 0; list = m.accesses.all[list].next {
			l := m.accesses.all[list]
			l.next, l.older, l.dropped = g.accesses, slices.Clone(l.older), slices.Clone(l.dropped)
			m.older += len(l.older)
			g.accesses = m.accesses.add(l)
			if g.threads >= fewThreads {
				g.set(l.thread, g.accesses)
			}
		}
		x.groups = m.groups.add(g)
	}
	*v = m.variables.add(x)
}

// forget frees a variable.
func (m *memory) forget(v uint32) {
	for g := m.variables.all[v].groups; g != 0; {
		for a := m.groups.all[g].accesses; a != 0; {
			next := m.accesses.all[a].next
			m.older -= len(m.accesses.all[a].older)
			m.accesses.remove(a)
			a = next
		}
		next := m.groups.all[g].next
		m.groups.remove(g)
		g = next
	}
	m.variables.remove(v)
}

// each calls visit with all accesses to a variable.
func (m *memory) each(x *variable, visit func(*group, *accesses)) {
	for g := x.groups; g != 0; g = m.groups.all[g].next {
		for a := m.groups.all[g].accesses; a != 0; a = m.accesses.all[a].next {
			visit(&m.groups.all[g], &m.accesses.all[a])
		}
	}
}

// find returns the group of an access, and the accesses of the thread in it; nil for what there is not.
func (m *memory) find(x *variable, t number, site heisen.Site, op heisen.Op, held locksets.Held) (*group, *accesses) {
	for i := x.groups; i != 0; {
		g := &m.groups.all[i]
		if g.site != site || g.op != op || g.held != held {
			i = g.next
			continue
		}
		if g.threads >= fewThreads {
			if a := g.of(t); a != 0 {
				return g, &m.accesses.all[a]
			}
			return g, nil
		}
		for a := g.accesses; a != 0; a = m.accesses.all[a].next {
			if l := &m.accesses.all[a]; l.thread == t {
				return g, l
			}
		}
		return g, nil
	}
	return nil, nil
}

// fewThreads is the number of threads up to which those of a group are searched one by one.
const fewThreads = 8

// add adds the accesses of a thread to a group, or to a new one if g is nil.
func (m *memory) add(x *variable, g *group, like group, l accesses) {
	if g == nil {
		like.next = x.groups
		x.groups = m.groups.add(like)
		g = &m.groups.all[x.groups]
	}
	l.next = g.accesses
	g.accesses = m.accesses.add(l)
	switch g.threads++; {
	case g.threads == fewThreads:
		for a := g.accesses; a != 0; a = m.accesses.all[a].next {
			g.set(m.accesses.all[a].thread, a)
		}
	case g.threads > fewThreads:
		g.set(l.thread, g.accesses)
	}
}

// access takes an access of t, by op, to the bytes of r.
func (d *Detector) access(t *thread, r *heisen.Record, op heisen.Op) {
	if r.Len <= 1 {
		d.accessOf(t, r, op, d.shadow.At(r.Object), r.Object)
		return
	}
	for c := d.shadow.Range(r.Object, r.Size()); c.Next(); {
		d.accessOf(t, r, op, c.State(), c.Object())
	}
}

// accessOf takes the part of an access that touches the variable whose number is in v, and whose first byte is at.
func (d *Detector) accessOf(t *thread, r *heisen.Record, op heisen.Op, v *uint32, at heisen.Object) {
	if *v == 0 {
		*v = d.memory.variables.add(variable{owner: t.number, alloc: d.allocations.covering(at)})
	}
	x := &d.memory.variables.all[*v]
	d.threads.learn(t, x.alloc, t.events)
	x.shared = x.shared || x.owner != t.number
	g, own := d.memory.find(x, t.number, r.Site, op, d.held)
	if x.shared && (own == nil || own.span != t.span || own.seen != x.conflicting(op)) {
		d.checkRaces(t, r, op, x, at)
	}
	if op.IsWrite() {
		x.writes++
	} else {
		x.reads++
	}
	d.store(t, r, op, x, g, own)
	this := prefix{t.number, t.events + 1}
	lockWord := !r.Op.IsAccess()
	switch {
	case lockWord:
		x.isLock = true
		d.threads.learn(t, x.overwrite, this.n)
	case r.Op != heisen.Write && r.Op != heisen.AtomicWrite:
		d.threads.learn(t, x.writer, this.n)
	}
	if !op.IsWrite() {
		return
	}
	if x.writer = this; lockWord {
		return
	}
	if x.overwrite = this; x.isLock {
		d.afterLocks(t, x, this.n)
	}
}

// conflicting returns a number that grows with each access that may conflict with one by op.
func (x *variable) conflicting(op heisen.Op) uint32 {
	if op.IsWrite() {
		return x.reads + x.writes
	}
	return x.writes
}

// store stores an access. g and own are its group and what there is of the thread in it.
func (d *Detector) store(t *thread, r *heisen.Record, op heisen.Op, x *variable, g *group, own *accesses) {
	seen := x.conflicting(op)
	switch {
	case own == nil:
		d.memory.add(x, g, group{site: r.Site, held: d.held, op: op}, accesses{thread: t.number, span: t.span, seen: seen, last: t.events})
		return
	case own.span != t.span:
		own.older = append(own.older, own.last)
		d.memory.older++
	}
	own.span, own.seen, own.last = t.span, seen, t.events
}

// afterLocks makes the first at events of t come after all operations of the lock in a variable.
func (d *Detector) afterLocks(t *thread, x *variable, at uint32) {
	d.memory.each(x, func(g *group, l *accesses) {
		if g.op == heisen.AtomicUpdate {
			d.threads.learn(t, prefix{l.thread, l.last + 1}, at)
		}
	})
}

// hasAtomics reports whether there were atomic operations on an address.
func (d *Detector) hasAtomics(o heisen.Object) (has bool) {
	v := d.shadow.Peek(o)
	if v == nil || *v == 0 {
		return false
	}
	x := &d.memory.variables.all[*v]
	d.memory.each(x, func(g *group, _ *accesses) { has = has || g.op.IsAtomic() && !x.isLock })
	return has
}
