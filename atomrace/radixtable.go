package atomrace

import "sync/atomic"

// radixTable is a table indexed by 32-bit numbers. Many goroutines read and extend it without locks.
// Neighboring numbers share memory: the first of 1024 numbers costs a leaf, and the first of 2^21
// numbers 16 KiB besides. The zero value is ready to use.
type radixTable[T any] struct {
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
func (n *radixTable[T]) find(i uint32) *T {
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

// at returns the element of a number and allocates its memory if necessary.
func (n *radixTable[T]) at(i uint32) *T {
	if e := n.find(i); e != nil {
		return e
	}
	b := loadOrNew(&n.root[i>>(branchBits+leafBits)])
	return &loadOrNew(&b[i>>leafBits%(1<<branchBits)])[i%(1<<leafBits)]
}

// loadOrNew returns what p points to. If p is nil, it first makes p point to a new T.
func loadOrNew[T any](p *atomic.Pointer[T]) *T {
	if p.Load() == nil {
		p.CompareAndSwap(nil, new(T))
	}
	return p.Load()
}
