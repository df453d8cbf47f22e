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

// group is the remembered accesses to a class of bytes by one op at one site
// with the same locks, at most one for each slot.
type group struct {
	held   Held
	site   heisen.Site
	op     heisen.Op
	member member // one of them
	more   uint32 // the others: number of a table, or 0
	next   uint32 // next group of the history, or next free one
}

// groups holds groups and tables by number. The first of each is not used.
type groups struct {
	all       []group
	free      uint32
	tables    []table
	freeTable uint32
	kept      []member // scratch
}

func (s *groups) at(i uint32) *group { return &s.all[i] }

// find returns the group of the accesses like r, or 0. One that is far down the
// list comes to its front, so that groups in use are found soon and the last of
// the list has not been used for long.
func (s *groups) find(v *history, r *heisen.Record, held Held) uint32 {
	before := uint32(0)
	for i, steps := v.first, 0; i != 0; steps++ {
		g := &s.all[i]
		if g.site == r.Loc && g.held == held && g.op == r.Code {
			if steps > 4 {
				s.all[before].next, g.next, v.first = g.next, v.first, i
			}
			return i
		}
		before, i = i, g.next
	}
	return 0
}

// last returns the epoch of the group's access by a slot, or 0.
func (s *groups) last(i, slot uint32) vclock.Epoch {
	g := &s.all[i]
	if g.member.epoch.Slot() == slot {
		return g.member.epoch
	}
	if g.more == 0 {
		return 0
	}
	return s.tables[g.more].find(slot).epoch
}

// others returns the members of g but for g.member, and empty places.
func (s *groups) others(g *group) []member {
	if g.more == 0 {
		return nil
	}
	return s.tables[g.more].places
}

// replace puts m in the place of the group's access by the same slot, and
// reports whether there was one.
func (s *groups) replace(i uint32, m member) bool {
	g := &s.all[i]
	slot := m.epoch.Slot()
	if g.member.epoch.Slot() == slot {
		g.member = m
		return true
	}
	if g.more == 0 {
		return false
	}
	at := s.tables[g.more].find(slot)
	if at.epoch == 0 {
		return false
	}
	*at = m
	return true
}

// push makes a new group of one member.
func (s *groups) push(v *history, r *heisen.Record, held Held, m member) {
	i := s.alloc()
	s.all[i] = group{held: held, site: r.Loc, op: r.Code, member: m, next: v.first}
	v.first = i
}

func (s *groups) alloc() uint32 {
	i := s.free
	if i != 0 {
		s.free = s.all[i].next
		return i
	}
	if len(s.all) == 0 {
		s.all = make([]group, 1, 64)
	}
	s.all = append(s.all, group{})
	return uint32(len(s.all) - 1)
}

// full reports whether the group's table must grow for another member.
func (s *groups) full(i uint32) bool {
	g := &s.all[i]
	return g.more != 0 && s.tables[g.more].full()
}

// add adds a member of a slot that the group has not yet.
func (s *groups) add(i uint32, m member) {
	g := &s.all[i]
	if g.more == 0 {
		g.more = s.allocTable()
	}
	s.tables[g.more].add(m)
}

func (s *groups) allocTable() uint32 {
	i := s.freeTable
	if i != 0 {
		s.freeTable = s.tables[i].next
		return i
	}
	if len(s.tables) == 0 {
		s.tables = make([]table, 1, 16)
	}
	s.tables = append(s.tables, table{})
	return uint32(len(s.tables) - 1)
}

// dropOthers drops those members of a group, but for group.member, for which
// gone holds, and returns how many.
func (s *groups) dropOthers(i uint32, gone func(vclock.Epoch) bool) (dropped uint32) {
	if s.all[i].more == 0 {
		return 0
	}
	t := &s.tables[s.all[i].more]
	s.kept = s.kept[:0]
	for _, m := range t.places {
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

// settle takes the locks that have ended out of the groups' locks, for nobody can
// hold them any more, and makes one group of those that then are alike. It
// returns how many members were thereby dropped.
func (s *groups) settle(v *history, living func(ID) ID) (dropped uint32) {
	changed := false
	for i := v.first; i != 0; i = s.all[i].next {
		g := &s.all[i]
		held := Held{living(g.held.Any), living(g.held.Exclusive)}
		changed = changed || held != g.held
		g.held = held
	}
	for i := v.first; changed && i != 0; i = s.all[i].next {
		for link := &s.all[i].next; *link != 0; {
			j := *link
			g, other := &s.all[i], &s.all[j]
			if g.site != other.site || g.op != other.op || g.held != other.held {
				link = &other.next
				continue
			}
			dropped += s.merge(i, other.member)
			for _, m := range s.others(other) {
				if m.epoch != 0 {
					dropped += s.merge(i, m)
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
func (s *groups) merge(i uint32, m member) uint32 {
	slot := m.epoch.Slot()
	if have := s.last(i, slot); have == 0 {
		s.add(i, m)
		return 0
	} else if have < m.epoch {
		s.replace(i, m)
	}
	return 1
}

// evict drops one access of a history, which has some: of the largest group, for
// there others like it are left, and if all have one member only, one that has
// not been accessed for long.
func (s *groups) evict(v *history) {
	largest, size := uint32(0), uint32(0)
	for i := v.first; i != 0; i = s.all[i].next {
		if more := s.all[i].more; more != 0 && s.tables[more].count > size {
			largest, size = i, s.tables[more].count
		}
	}
	if largest != 0 {
		s.tables[s.all[largest].more].removeAny()
		return
	}
	link := &v.first
	for s.all[*link].next != 0 {
		link = &s.all[*link].next
	}
	i := *link
	*link = 0
	s.release(i)
}

func (s *groups) release(i uint32) {
	g := &s.all[i]
	if g.more != 0 {
		t := &s.tables[g.more]
		t.clear()
		t.next, s.freeTable = s.freeTable, g.more
	}
	*g = group{next: s.free}
	s.free = i
}

// forget makes v an empty history.
func (s *groups) forget(v *history) {
	for i := v.first; i != 0; {
		next := s.all[i].next
		s.release(i)
		i = next
	}
	*v = history{}
}

// clone gives v, a copy of another history, groups of its own.
func (s *groups) clone(v *history) {
	from := v.first
	v.first = 0
	last := uint32(0)
	for ; from != 0; from = s.all[from].next {
		i := s.alloc()
		s.all[i] = s.all[from]
		s.all[i].more = 0
		if more := s.all[from].more; more != 0 && s.tables[more].count > 0 {
			t := s.allocTable()
			for _, m := range s.tables[more].places {
				if m.epoch != 0 {
					s.tables[t].add(m)
				}
			}
			s.all[i].more = t
		}
		s.all[i].next = 0
		if last == 0 {
			v.first = i
		} else {
			s.all[last].next = i
		}
		last = i
	}
}
