package replay

import (
	"slices"

	"github.com/heisen-go/heisen"
)

// nearby finds the records that touch objects near those of another one, so that a replay need not look at all
// records before an allocation, and not at all allocations before a record.
type nearby struct {
	at   map[heisen.Object][]int32 // by part of the address space
	wide []int32                   // those that touch many parts
}

const (
	partShift = 6  // log2 of the objects of a part
	wideParts = 64 // a record that touches more parts is in wide
)

// add adds record i, which touches a span. Records are added in their order.
func (n *nearby) add(i int, s heisen.Span) {
	if s.Len == 0 {
		return
	}
	if n.at == nil {
		n.at = map[heisen.Object][]int32{}
	}
	first, last := parts(s)
	if last-first >= wideParts {
		n.wide = append(n.wide, int32(i))
		return
	}
	for p := first; p <= last; p++ {
		n.at[p] = append(n.at[p], int32(i))
	}
}

// before returns records before i that may touch a span, in no particular order, and possibly some more than once.
func (n *nearby) before(i int, s heisen.Span) (list []int32) {
	upTo := func(all []int32) []int32 {
		k, _ := slices.BinarySearch(all, int32(i))
		return all[:k]
	}
	list = upTo(n.wide)
	if s.Len == 0 {
		return list
	}
	first, last := parts(s)
	if first == last && len(list) == 0 {
		return upTo(n.at[first])
	}
	list = slices.Clone(list)
	if uint64(last-first) < uint64(len(n.at)) {
		for p := first; p <= last; p++ {
			list = append(list, upTo(n.at[p])...)
		}
		return list
	}
	for p, all := range n.at {
		if first <= p && p <= last {
			list = append(list, upTo(all)...)
		}
	}
	return list
}

// parts returns the first and the last part of the address space that a span touches.
func parts(s heisen.Span) (first, last heisen.Object) {
	end := s.Start + heisen.Object(s.Len-1)
	if end < s.Start {
		end = ^heisen.Object(0)
	}
	return s.Start >> partShift, end >> partShift
}
