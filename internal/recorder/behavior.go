package recorder

import (
	"slices"

	"github.com/heisen-go/heisen"
)

// Behavior is something that an execution has done. Executions of the same program have equal values
// for the same things.
type Behavior uint64

// BehaviorKind classifies a Behavior.
type BehaviorKind uint8

const (
	// Started: a go statement was executed.
	Started BehaviorKind = 1 + iota
	// Locked: a lock was acquired, or was to be.
	Locked
	// Waited: a goroutine had to wait for others, and was woken.
	Waited
	// Selected: a select statement has chosen a case. Only statements that the runtime executes count,
	// not those with a single case and a default.
	Selected
	// Ordered: goroutines made operations on the same object, one after the other. It has no site.
	Ordered
	// Nested: a lock was acquired, or was to be, by a goroutine that held another one. It is a pair of places at
	// which locks are acquired, and has no site.
	Nested

	numBehaviorKinds
)

// Kind returns the kind.
func (b Behavior) Kind() BehaviorKind { return BehaviorKind(b >> 56) }

// ForLock reports whether a goroutine had to wait for a lock.
func (b Behavior) ForLock() bool { return b.Kind() == Waited && b>>32&0xff == 1 }

// Case returns the case of a select statement that was chosen: its index among those that send, or among
// those that receive, in the order of the source. Both are -1 for the default case.
func (b Behavior) Case() (send, receive int) {
	index, sends, cases := int(b>>32&0xff), int(b>>40&0xff), int(b>>48&0xff)
	switch {
	case index == 0xff:
		return -1, -1
	case index < sends: // the compiler puts these first, and the others last in reverse order
		return index, -1
	}
	return -1, cases - 1 - index
}

// HasSite reports whether it is something at one place.
func (b Behavior) HasSite() bool { return b.Kind() != Ordered && b.Kind() != Nested } // the low half is a hash of two

// Site returns where a behavior was, 0 if it has no site or the site is not known.
func (s *Stream) Site(b Behavior) heisen.Site {
	if b.HasSite() {
		return s.site(uint32(b))
	}
	return 0
}

func (s *Stream) addBehaviors(words []uint64) error {
	for _, w := range words {
		b := Behavior(w)
		if b.Kind() == 0 || b.Kind() >= numBehaviorKinds || b.HasSite() && uint64(uint32(b)) > s.hello.size {
			return s.corrupt("behavior %#x", w)
		}
		s.Site(b) // gets a name with the other sites
		s.execution.Behaviors = append(s.execution.Behaviors, b)
	}
	slices.Sort(s.execution.Behaviors)
	return nil
}
