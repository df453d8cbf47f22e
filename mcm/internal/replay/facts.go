package replay

import (
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/mcm/internal/window"
)

// Facts are what a window shows by itself: the records of each thread, the cells of memory, the
// holders of locks, what reads saw, and the records that keep their order.
//
// A cell is a piece of memory between two adjacent Bounds, which every record accesses as a whole or
// not at all.
type Facts struct {
	Window *window.Window
	Rules  window.Rules

	Thread      []int32 // by record
	Pos         []int32 // by record: how many records of its thread come before it
	Steps       [][]int32
	ThreadIndex map[heisen.Thread]int32
	Fork        []int32 // by record: the fork of its thread, if that comes before it, or -1
	Joins       []int32 // by Join: how many records of the joined thread come before it

	Owner         []heisen.Thread        // by release: the thread whose hold it ends
	Unowned       map[heisen.Object]bool // unowned locks: a thread ends an exclusive hold of another one
	EndedByOthers map[int][]int          // by acquisition: the releases by other threads that ended earlier holds of its thread
	Sends         map[heisen.Object][]int32
	changes       map[heisen.Object][]int32 // those of Sends that are Change events
	Mixed         map[heisen.Object]bool    // objects that keep the order of all their events

	Bounds    []heisen.Object
	From, To  []int32   // by record: the cells that it accesses
	Saw       [][]int32 // by record that reads: the last writer of each cell, or -1 if there is none in the window
	Initial   []int32   // by cell: a read that shows the value before the window, or -1
	LockWords [][]int32 // by cell: if a lock in it is overwritten, the records that overwrite it and the operations on it

	IsOrdered []bool             // by record: BarrierPairs, an allocation or a mixed object keep its order with others
	ordered   []int32            // these records
	keeping   nearby             // likewise
	touching  nearby             // all records
	learned   []map[int]bool     // by record: the records that hidden code may have passed on to it
	hidden    []bool             // by record: an open BarrierPair of its thread is heisen.Synchronized
	before    [][]int32          // by record and thread: how many records of the thread happened before it or are it; nil without hidden
	reaches   [][]heisen.Objects // by record: what the open BarrierPairs of its thread reach; nil if there are none in the window
}

// NewFacts returns the facts of a window.
func NewFacts(w *window.Window, rules window.Rules) *Facts {
	p := &Facts{Window: w, Rules: rules, ThreadIndex: map[heisen.Thread]int32{}}
	p.findThreads()
	p.findSyncs()
	p.findCells()
	p.findLockWords()
	p.findOrdered()
	newReplayer(p).observe()
	return p
}

func (p *Facts) findThreads() {
	n := len(p.Window.Records)
	p.Thread, p.Pos = make([]int32, n), make([]int32, n)
	p.Fork, p.Joins = make([]int32, n), make([]int32, n)
	forks := map[heisen.Thread]int32{}
	for i := range p.Window.Records {
		r := &p.Window.Records[i]
		t, ok := p.ThreadIndex[r.Thread]
		if !ok {
			t = int32(len(p.Steps))
			p.ThreadIndex[r.Thread] = t
			p.Steps = append(p.Steps, nil)
		}
		p.Thread[i], p.Pos[i] = t, int32(len(p.Steps[t]))
		p.Steps[t] = append(p.Steps[t], int32(i))
		p.Fork[i] = -1
		if f, ok := forks[r.Thread]; ok {
			p.Fork[i] = f
		}
		switch r.Op {
		case heisen.Fork:
			forks[r.Object.Thread()] = int32(i)
		case heisen.Join:
			if joined, ok := p.ThreadIndex[r.Object.Thread()]; ok && joined != t {
				p.Joins[i] = int32(len(p.Steps[joined]))
			}
		}
	}
}

// Reads reports whether an event reads the memory that it accesses.
func Reads(r *heisen.Record) bool {
	switch r.Op {
	case heisen.Read, heisen.AtomicRead, heisen.AtomicUpdate:
		return true
	}
	return false
}

// hasKnownValue reports whether the value that an event reads or writes is known.
func hasKnownValue(r *heisen.Record) bool {
	return r.Flags&heisen.HasValue != 0 && r.Op.IsAccess() && r.Op != heisen.AtomicUpdate
}

// Equal reports whether a read and another access to the same cell are known to have the same value.
func (p *Facts) Equal(read, other int32) bool {
	a, b := &p.Window.Records[read], &p.Window.Records[other]
	return hasKnownValue(a) && hasKnownValue(b) && a.Object == b.Object && a.Size() == b.Size() && a.Value == b.Value
}

// findCells divides memory where accesses and allocations start or end.
func (p *Facts) findCells() {
	n := len(p.Window.Records)
	p.From, p.To = make([]int32, n), make([]int32, n)
	for i := range p.Window.Records {
		if r := &p.Window.Records[i]; r.Access() != heisen.Invalid {
			p.Bounds = append(p.Bounds, r.Object, r.Object+heisen.Object(window.Extent(r).Len))
		}
		if r := &p.Window.Records[i]; r.Op == heisen.Alloc || r.Op == heisen.Free {
			p.Bounds = append(p.Bounds, r.Object, r.Object+heisen.Object(max(r.Value, 1)))
		}
	}
	slices.Sort(p.Bounds)
	p.Bounds = slices.Compact(p.Bounds)
	accessed := make([]bool, len(p.Bounds))
	for i := range p.Window.Records {
		r := &p.Window.Records[i]
		size := r.Size()
		switch {
		case r.Op.IsAccess():
		case r.Op == heisen.Alloc || r.Op == heisen.Free:
			size = max(r.Value, 1)
		default:
			continue
		}
		a, _ := slices.BinarySearch(p.Bounds, r.Object)
		z, _ := slices.BinarySearch(p.Bounds, r.Object+heisen.Object(size))
		if z < a { // it wraps around at the end of the address space
			z = len(p.Bounds)
		}
		p.From[i], p.To[i] = int32(a), int32(z)
		for k := a; k < z && r.Op.IsAccess(); k++ {
			accessed[k] = true
		}
	}
	for i := range p.Window.Records {
		if r := &p.Window.Records[i]; !r.Op.IsAccess() && r.Access() != heisen.Invalid {
			if a, _ := slices.BinarySearch(p.Bounds, r.Object); accessed[a] { // a lock in memory that other accesses touch
				p.From[i], p.To[i] = int32(a), int32(a+1)
			}
		}
	}
}

// findLockWords finds the cells in which a lock is overwritten.
func (p *Facts) findLockWords() {
	p.LockWords = make([][]int32, len(p.Bounds))
	locked, overwritten := make([]bool, len(p.Bounds)), make([]bool, len(p.Bounds))
	for i := range p.Window.Records {
		for k := p.From[i]; k < p.To[i]; k++ {
			if p.overwrites(i) {
				overwritten[k] = true
			} else if !p.Window.Records[i].Op.IsAccess() {
				locked[k] = true
			}
		}
	}
	for i := range p.Window.Records {
		for k := p.From[i]; k < p.To[i]; k++ {
			if locked[k] && overwritten[k] && (p.overwrites(i) || !p.Window.Records[i].Op.IsAccess()) {
				p.LockWords[k] = append(p.LockWords[k], int32(i))
			}
		}
	}
}

// overwrites reports whether a record writes memory other than by an operation on a lock.
func (p *Facts) overwrites(i int) bool {
	switch r := &p.Window.Records[i]; r.Op {
	case heisen.Alloc, heisen.Free:
		return true
	default:
		return r.Op.IsWrite()
	}
}

// OverwritesLock reports whether one of two records overwrites a lock that the other one operates on,
// given that both are of the same of LockWords.
func (p *Facts) OverwritesLock(i, j int) bool { return p.overwrites(i) != p.overwrites(j) }
