package atomicity

import (
	"cmp"
	"slices"

	"github.com/heisen-go/heisen"
)

// news says how much of each thread others know from messages, from Fork and from Join: its events up to one. With
// WithDataOnly, locks and atomic accesses tell it, too. Threads are in ascending order. Only what happened since the first event
// of an open transaction is kept.
type news []stamp

// stamp is the latest event that is known of a thread.
type stamp struct {
	thread heisen.Thread
	index  uint64
}

func (n news) find(t heisen.Thread) (int, bool) {
	return slices.BinarySearchFunc(n, t, func(s stamp, t heisen.Thread) int { return cmp.Compare(s.thread, t) })
}

// since reports whether some event of a thread is known that is not before the one with the index.
func (n news) since(t heisen.Thread, index uint64) bool {
	i, ok := n.find(t)
	return ok && n[i].index >= index
}

// add adds an event of a thread.
func (n *news) add(t heisen.Thread, index uint64) {
	i, ok := n.find(t)
	if !ok {
		*n = slices.Insert(*n, i, stamp{t, index})
	} else if (*n)[i].index < index {
		(*n)[i].index = index
	}
}

// learn adds what others know, and forgets what happened before the event with the index oldest.
func (n *news) learn(more news, oldest uint64) {
	*n = slices.DeleteFunc(*n, func(s stamp) bool { return s.index < oldest })
	for _, s := range more {
		if s.index >= oldest {
			n.add(s.thread, s.index)
		}
	}
}
