package syncp

import "sort"

// A closure is a set of events: a prefix of each thread. The closure of a set is the smallest one that
// contains it and that threads can execute in the order of the stream: with each event it contains all that the
// event depends on, and with a critical section all earlier ones of the lock as a whole (Mathur, Pavlogiannis and
// Viswanathan, POPL 2021, section 4.1: the sync-preserving ideal).
type closure struct {
	threads *threads
	objects *objects
	upTo    []uint32 // by thread
	members []number // threads with events in the set
	floor   []uint32 // by thread: how many events are in every set, because they are forgotten
}

// reset makes the set the smallest one.
func (c *closure) reset() {
	for _, t := range c.members {
		c.upTo[t] = 0
	}
	c.members = c.members[:0]
	if n := len(c.threads.all) - len(c.upTo); n > 0 {
		c.upTo = append(c.upTo, make([]uint32, n)...)
	}
	for t, n := range c.floor {
		if n > 0 {
			c.raise(number(t), n)
		}
	}
}

// include adds a prefix and what it depends on.
func (c *closure) include(p prefix) {
	if c.upTo[p.thread] >= p.n {
		return
	}
	c.await(p)
}

// await adds what the next event after a prefix depends on, for the event to be pending.
func (c *closure) await(before prefix) {
	if c.upTo[before.thread] < before.n {
		c.raise(before.thread, before.n)
	}
	for _, l := range c.threads.all[before.thread].learned {
		if n := l.upTo(before.n); n > c.upTo[l.of] {
			c.raise(l.of, n)
		}
	}
}

func (c *closure) raise(t number, n uint32) {
	if c.upTo[t] == 0 {
		c.members = append(c.members, t)
	}
	c.upTo[t] = n
}

// has reports whether the event after a prefix is in the set.
func (c *closure) has(before prefix) bool { return c.upTo[before.thread] > before.n }

// close adds the ends of the critical sections after which others of the lock are in the set. It returns false
// if one has not ended, so that there is no such set.
func (c *closure) close() bool {
	for changed := true; changed; {
		changed = false
		for i := 0; i < len(c.members); i++ {
			t := c.threads.all[c.members[i]]
			if !t.eachOpen(c.upTo[t.number], func(s *section) bool {
				if !c.followed(t.number, s) {
					return true
				}
				if s.release == 0 {
					return false
				}
				c.include(prefix{t.number, s.release})
				changed = true
				return true
			}) {
				return false
			}
		}
	}
	return true
}

// followed reports whether the set has a later section of the lock that s excludes.
func (c *closure) followed(by number, s *section) bool {
	o := c.objects.all[s.lock]
	for i := range o.holders {
		h := &o.holders[i]
		n := c.upTo[h.thread]
		if h.thread == by || n == 0 {
			continue
		}
		sections := c.threads.all[h.thread].sections
		k := len(h.sections)
		if k > 0 && sections[h.sections[k-1]].acquire > n {
			k = sort.Search(k, func(k int) bool { return sections[h.sections[k]].acquire > n })
		}
		if k == 0 {
			continue
		}
		last := &sections[h.sections[k-1]]
		if last.exclusive > s.rank || !s.shared && last.rank > s.rank {
			return true
		}
	}
	return false
}
