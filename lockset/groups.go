package lockset

import (
	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/locksets"
	"github.com/heisen-go/heisen/vclock"
)

// history has the stored accesses of a class of bytes.
type history struct {
	first uint32 // list of groups
	count uint32 // accesses in them
}

// accessGroup is the stored accesses of a class of bytes by one op at one site with the same locks,
// at most one per slot.
type accessGroup struct {
	held   locksets.Held
	site   heisen.Site
	next   uint32 // next group of the history, or next free one
	op     heisen.Op
	first  access // one of the accesses; only in an empty group there is none
	others accessTable
}

// accessGroups has the groups of all histories, by number. Number 0 is not used. Free groups keep
// small tables for the next use.
type accessGroups struct {
	all  []accessGroup
	free uint32
	kept []access // scratch
}

// keptTable is the length of the largest table that a free group keeps.
const keptTable = 32

func (s *accessGroups) at(i uint32) *accessGroup { return &s.all[i] }

// find returns the group of an access, or 0, and the number of groups before it in the list. It
// moves a group that is far down the list to the front, so that the list is roughly in the order
// of the latest use.
func (s *accessGroups) find(v *history, site heisen.Site, op heisen.Op, held locksets.Held) (own uint32, steps int) {
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

// of returns the access of a slot, or nil.
func (g *accessGroup) of(slot uint32) *access {
	if g.first.epoch.Slot() == slot {
		return &g.first
	}
	return g.others.get(slot)
}

// replace puts m in the place of the access of its slot. It reports whether there is one.
func (g *accessGroup) replace(m access) bool {
	last := g.of(m.epoch.Slot())
	if last != nil {
		*last = m
	}
	return last != nil
}

// push adds a new group with one access.
func (s *accessGroups) push(v *history, site heisen.Site, op heisen.Op, held locksets.Held, m access) {
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

// dropOthers drops the accesses of a group, except group.first, for which gone is true. It returns
// their number.
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

// dropEndedLocks removes locks that have ended, which no thread can hold any more, from the groups'
// locks, and merges groups that then are equal. It returns the number of accesses that were dropped
// by this. Nothing changes for later accesses. Earlier accesses, which may have held those locks
// too, must be checked again: with the next access of each slot.
func (s *accessGroups) dropEndedLocks(v *history, living func(locksets.ID) locksets.ID) (dropped uint32) {
	changed := false
	for i := v.first; i != 0; i = s.all[i].next {
		g := &s.all[i]
		held := locksets.Held{Any: living(g.held.Any), Exclusive: living(g.held.Exclusive)}
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

// merge adds m to a group. Of two accesses of a slot it keeps the later one. It returns the number
// of accesses that it dropped.
func (g *accessGroup) merge(m access) uint32 {
	if m.epoch == 0 { // of an empty group
		return 0
	}
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

// uncheck clears the checked flags after a change of the group's locks.
func (g *accessGroup) uncheck() {
	g.first.checked = false
	for i := range g.others.entries {
		g.others.entries[i].checked = false
	}
}

// compact names all accesses to a compaction of the order, and drops those that are not kept. Of accesses of
// a group that now have the same slot it keeps the latest. Groups may become empty, and histories count
// dropped accesses until prune.
//
// It goes through the groups in the order of their numbers, which is several times as fast as history by
// history.
func (s *accessGroups) compact(k *vclock.Compaction) {
	for i := range s.all {
		g := &s.all[i]
		switch {
		case g.others.count > 0:
			s.compactGroup(g, k)
		case g.first.epoch != 0 && !k.Keep(&g.first.epoch):
			g.first = access{}
		}
	}
}

// compactGroup is compact for a group with several accesses.
func (s *accessGroups) compactGroup(g *accessGroup, k *vclock.Compaction) {
	s.kept = s.kept[:0]
	before, changed := 0, false
	keep := func(m access) {
		if m.epoch == 0 {
			return
		}
		before++
		was := m.epoch
		if k.Keep(&m.epoch) {
			s.kept = append(s.kept, m)
		}
		changed = changed || m.epoch != was || len(s.kept) < before
	}
	keep(g.first)
	for _, m := range g.others.entries {
		keep(m)
	}
	if !changed {
		return
	}
	g.first = access{}
	g.others.clear()
	g.others.shrink(len(s.kept))
	for i, m := range s.kept {
		if i == 0 {
			g.first = m
		} else {
			g.merge(m)
		}
	}
}

// count returns the number of accesses in a group.
func (g *accessGroup) count() int {
	if g.first.epoch == 0 {
		return int(g.others.count)
	}
	return 1 + int(g.others.count)
}

// prune removes the empty groups of a history, counts the accesses in the others, and returns the number of
// these groups.
func (s *accessGroups) prune(v *history) (groups int) {
	v.count = 0
	for link := &v.first; *link != 0; {
		i := *link
		g := &s.all[i]
		if n := g.count(); n > 0 {
			v.count += uint32(n)
			groups++
			link = &g.next
			continue
		}
		*link = g.next
		s.release(i)
	}
	return groups
}

// evictAccess drops one access of a history, which must not be empty. It takes an access of the
// largest group, where similar ones remain, or calls evictGroup. It returns the number of accesses dropped.
func (s *accessGroups) evictAccess(v *history) uint32 {
	largest, size := uint32(0), uint32(0)
	for i := v.first; i != 0; i = s.all[i].next {
		if n := s.all[i].others.count; n > size {
			largest, size = i, n
		}
	}
	if largest != 0 {
		s.all[largest].others.removeAny()
		return 1
	}
	return s.evictGroup(v)
}

// evictGroup drops the group at the end of the list, which has not been used for long. It returns the
// number of its accesses.
func (s *accessGroups) evictGroup(v *history) uint32 {
	link := &v.first
	for s.all[*link].next != 0 {
		link = &s.all[*link].next
	}
	i := *link
	*link = 0
	n := uint32(s.all[i].count())
	s.release(i)
	return n
}

func (s *accessGroups) release(i uint32) {
	g := &s.all[i]
	g.others.clear()
	g.others.shrink(keptTable / 8)
	*g = accessGroup{next: s.free, others: g.others}
	s.free = i
}

// forget makes v empty.
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
