package heisen

import "slices"

// Label is a label of a goroutine, as package runtime/pprof sets it.
type Label struct{ Key, Value string }

// Labels is the number of a set of labels in the [Symbols] of a stream. 0 is the empty set, also where
// it is not known which labels there are.
type Labels uint32

// AddLabels numbers a set of labels. It does not look for an equal one.
func (s *Symbols) AddLabels(set []Label) Labels {
	if s == nil || len(set) == 0 {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.labels = append(s.labels, slices.Clone(set))
	return Labels(len(s.labels))
}

// Labels returns a set of labels in the order in which it was added; nil if it is not known. It is not to be changed.
func (s *Symbols) Labels(set Labels) []Label {
	if s == nil || set == 0 {
		return nil
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if int(set) > len(s.labels) {
		return nil
	}
	return s.labels[set-1]
}
