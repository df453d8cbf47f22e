package atomrace

import "sync/atomic"

// numbered is a table by 32-bit numbers that many goroutines read and extend without
// locks. Numbers that are near each other share memory; one far off costs 16 KiB and a
// leaf.
type numbered[T any] struct {
	root [1 << rootBits]atomic.Pointer[branch[T]]
}

type branch[T any] [1 << branchBits]atomic.Pointer[leaf[T]]

type leaf[T any] [1 << leafBits]T

const (
	rootBits   = 11
	branchBits = 11
	leafBits   = 10
)

// find returns the element of a number, or nil if it has no memory yet.
func (n *numbered[T]) find(i uint32) *T {
	b := n.root[i>>(branchBits+leafBits)].Load()
	if b == nil {
		return nil
	}
	l := b[i>>leafBits%(1<<branchBits)].Load()
	if l == nil {
		return nil
	}
	return &l[i%(1<<leafBits)]
}

// at returns the element of a number.
func (n *numbered[T]) at(i uint32) *T {
	if e := n.find(i); e != nil {
		return e
	}
	b := loadOrNew(&n.root[i>>(branchBits+leafBits)])
	return &loadOrNew(&b[i>>leafBits%(1<<branchBits)])[i%(1<<leafBits)]
}

// loadOrNew returns what p points to, which is new if that was nothing.
func loadOrNew[T any](p *atomic.Pointer[T]) *T {
	if p.Load() == nil {
		p.CompareAndSwap(nil, new(T))
	}
	return p.Load()
}
