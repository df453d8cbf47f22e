package lockset

import (
	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/vclock"
)

// history is what Hybrid remembers of a class of bytes.
type history struct {
	first uint32 // list of groups
	count uint32 // accesses in them
}

// accessGroup is the remembered accesses to a class of bytes by one op at one site
// with the same locks, at most one for each slot.
type accessGroup struct {
	held   Held
	site   heisen.Site
	next   uint32 // next group of the history, or next free one
	op     heisen.Op
	first  access // one of them
	others accessTable
}

// accessGroups holds groups by number; the first is not used. Free groups keep their
// tables for the next use.
type accessGroups struct {
	all  []accessGroup
	free uint32
	kept []access // scratch
}

func (s *accessGroups) at(i uint32) *accessGroup { return &s.all[i] }

// find returns the group of the accesses like the one given, or 0, and after how
// many others it found it or not. One that is far down the list comes to its
// front, so that groups in use are found soon and the last of the list has not
// been used for long.
func (s *accessGroups) find(v *history, site heisen.Site, op heisen.Op, held Held) (own uint32, steps int) {
	before := uint32(0)
	for i := v.first; i != 0; steps++ {
		g := &s.all[i]
		if g.site == site && g.held == held && g.op == op {
			if steps > 4 {
				s.all[before].next, g.next, v.first = g.next, v.first, i
			}
			return i, steps
		}
		before, i = i, g.next
	}
	return 0, steps
}

// of returns the group's access by a slot, or nil.
func (g *accessGroup) of(slot uint32) *access {
	if g.first.epoch.Slot() == slot {
		return &g.first
	}
	return g.others.get(slot)
}

// push makes a new group of one member.
func (s *accessGroups) push(v *history, site heisen.Site, op heisen.Op, held Held, m access) {
	i := s.alloc()
	s.all[i] = accessGroup{held: held, site: site, op: op, first: m, next: v.first, others: s.all[i].others}
	v.first = i
}

func (s *accessGroups) alloc() uint32 {
	i := s.free
	if i != 0 {
		s.free = s.all[i].next
		return i
	}
	if len(s.all) == 0 {
		s.all = make([]accessGroup, 1, 64)
	}
	s.all = append(s.all, accessGroup{})
	return uint32(len(s.all) - 1)
}

// dropOthers drops those members of a group, but for group.member, for which
// gone holds, and returns how many.
func (s *accessGroups) dropOthers(i uint32, gone func(vclock.Epoch) bool) (dropped uint32) {
	t := &s.all[i].others
	s.kept = s.kept[:0]
	for _, m := range t.entries {
		if m.epoch != 0 && !gone(m.epoch) {
			s.kept = append(s.kept, m)
		}
	}
	dropped = t.count - uint32(len(s.kept))
	if dropped > 0 {
		t.clear()
		for _, m := range s.kept {
			t.add(m)
		}
	}
	return dropped
}

// dropEndedLocks takes the locks that have ended out of the groups' locks, for nobody can
// hold them any more, and makes one group of those that then are alike. It
// returns how many members were thereby dropped. What comes later relates to the
// accesses as before; what came before, and may have held those locks too, is to
// be judged again with the next access of each member's slot.
func (s *accessGroups) dropEndedLocks(v *history, living func(ID) ID) (dropped uint32) {
	changed := false
	for i := v.first; i != 0; i = s.all[i].next {
		g := &s.all[i]
		held := Held{living(g.held.Any), living(g.held.Exclusive)}
		if held != g.held {
			changed = true
			g.held = held
			g.uncheck()
		}
	}
	for i := v.first; changed && i != 0; i = s.all[i].next {
		for link := &s.all[i].next; *link != 0; {
			j := *link
			g, other := &s.all[i], &s.all[j]
			if g.site != other.site || g.op != other.op || g.held != other.held {
				link = &other.next
				continue
			}
			dropped += g.merge(other.first)
			for _, m := range other.others.entries {
				if m.epoch != 0 {
					dropped += g.merge(m)
				}
			}
			*link = other.next
			s.release(j)
		}
	}
	return dropped
}

// merge adds m to a group. Of two members of a slot the later stays; it returns
// how many were dropped.
func (g *accessGroup) merge(m access) uint32 {
	have := g.of(m.epoch.Slot())
	if have == nil {
		g.others.add(m)
		return 0
	}
	switch {
	case have.epoch < m.epoch:
		*have = m
	case have.epoch == m.epoch:
		have.checked = have.checked || m.checked
	}
	return 1
}

// uncheck notes that the members were judged under locks that are not those of
// the group any more.
func (g *accessGroup) uncheck() {
	g.first.checked = false
	for i := range g.others.entries {
		g.others.entries[i].checked = false
	}
}

// evictAccess drops one access of a history, which has some: of the largest group,
// for there others like it are left, or else one that evictGroup drops.
func (s *accessGroups) evictAccess(v *history) {
	largest, size := uint32(0), uint32(0)
	for i := v.first; i != 0; i = s.all[i].next {
		if n := s.all[i].others.count; n > size {
			largest, size = i, n
		}
	}
	if largest != 0 {
		s.all[largest].others.removeAny()
		return
	}
	s.evictGroup(v)
}

// evictGroup drops a group that has not been accessed for long, and returns how
// many accesses that had.
func (s *accessGroups) evictGroup(v *history) uint32 {
	link := &v.first
	for s.all[*link].next != 0 {
		link = &s.all[*link].next
	}
	i := *link
	*link = 0
	n := 1 + s.all[i].others.count
	s.release(i)
	return n
}

func (s *accessGroups) release(i uint32) {
	g := &s.all[i]
	g.others.clear()
	*g = accessGroup{next: s.free, others: g.others}
	s.free = i
}

// forget makes v an empty history.
func (s *accessGroups) forget(v *history) {
	for i := v.first; i != 0; {
		next := s.all[i].next
		s.release(i)
		i = next
	}
	*v = history{}
}

// clone gives v, a copy of another history, groups of its own.
func (s *accessGroups) clone(v *history) {
	from := v.first
	v.first = 0
	last := uint32(0)
	for ; from != 0; from = s.all[from].next {
		i := s.alloc()
		own := s.all[i].others
		for _, m := range s.all[from].others.entries {
			if m.epoch != 0 {
				own.add(m)
			}
		}
		s.all[i] = s.all[from]
		s.all[i].others = own
		s.all[i].next = 0
		if last == 0 {
			v.first = i
		} else {
			s.all[last].next = i
		}
		last = i
	}
}
