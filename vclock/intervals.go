package vclock

import (
	"slices"

	"github.com/heisen-go/heisen"
)

// intervals is a set of threads. It takes memory for each range of successive numbers in it. The
// threads that have ended are few ranges, because most threads end soon.
type intervals struct{ ranges []interval }

type interval struct{ first, last heisen.Thread }

// find returns the index of the first range that does not end before t.
func (s *intervals) find(t heisen.Thread) int {
	i, _ := slices.BinarySearchFunc(s.ranges, t, func(r interval, t heisen.Thread) int {
		if r.last < t {
			return -1
		}
		return 1
	})
	return i
}

func (s *intervals) has(t heisen.Thread) bool {
	i := s.find(t)
	return i < len(s.ranges) && s.ranges[i].first <= t
}

func (s *intervals) add(t heisen.Thread) {
	i := s.find(t)
	if i < len(s.ranges) && s.ranges[i].first <= t {
		return
	}
	follows := i > 0 && s.ranges[i-1].last+1 == t
	precedes := i < len(s.ranges) && t+1 == s.ranges[i].first
	switch {
	case follows && precedes:
		s.ranges[i-1].last = s.ranges[i].last
		s.ranges = slices.Delete(s.ranges, i, i+1)
	case follows:
		s.ranges[i-1].last = t
	case precedes:
		s.ranges[i].first = t
	default:
		s.ranges = slices.Insert(s.ranges, i, interval{t, t})
	}
}

// remove removes a thread that begins anew.
func (s *intervals) remove(t heisen.Thread) {
	if !s.has(t) {
		return
	}
	i := s.find(t)
	r := s.ranges[i]
	switch {
	case r.first == r.last:
		s.ranges = slices.Delete(s.ranges, i, i+1)
	case r.first == t:
		s.ranges[i].first++
	case r.last == t:
		s.ranges[i].last--
	default:
		s.ranges[i].first = t + 1
		s.ranges = slices.Insert(s.ranges, i, interval{r.first, t - 1})
	}
}
