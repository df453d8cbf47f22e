package heal

import (
	"iter"
	"maps"
	mathbits "math/bits"
	"slices"
)

// programLocks is what functions do with the locks of the program, which does not depend on where locks are inserted,
// and which inserted locks they acquire, which does.
type programLocks struct {
	functions []Function
	callers   [][]int // by function, each once
	numbers   map[heldLock]int
	locks     []heldLock // by number: first the inserted ones, and from the next word of a set on, those of the program
	inserted  bits       // numbers of inserted locks
	acquires  []bits     // by function: the locks that it and its callees acquire; see place

	insertedWords int // of a set

	// held has, for each function and node, the locks that a thread may hold when it comes there, and that it has
	// acquired in the function. A function that has none may have no nodes here.
	held   [][]map[hold]bool
	leaves []map[heldLock]bool // that may be held at the end of a function and not at its begin
}

// bits is a set of small numbers.
type bits []uint64

func (b bits) add(n int) { b[n/64] |= 1 << (n % 64) }

// merge adds other to b and reports whether that was news.
func (b bits) merge(other bits) (news bool) {
	for i, word := range other {
		news = news || word&^b[i] != 0
		b[i] |= word
	}
	return news
}

// all iterates over the numbers.
func (b bits) all() iter.Seq[int] {
	return func(yield func(int) bool) {
		for i, word := range b {
			for ; word != 0; word &= word - 1 {
				if !yield(64*i + mathbits.TrailingZeros64(word)) {
					return
				}
			}
		}
	}
}

// common iterates over the numbers that are in both sets.
func (b bits) common(other bits) iter.Seq[int] {
	both := make(bits, len(b))
	for i := range b {
		both[i] = b[i] & other[i]
	}
	return both.all()
}

// none returns the empty set of locks.
func (p *programLocks) none() bits { return make(bits, (len(p.locks)+63)/64) }

// only returns the set of one lock.
func (p *programLocks) only(l heldLock) bits {
	b := p.none()
	b.add(p.number(l))
	return b
}

// newProgramLocks finds out which locks of the program are held where. It takes about the number of calls, and for each
// function with locks the size of the function.
func newProgramLocks(functions []Function) *programLocks {
	p := &programLocks{
		functions: functions, callers: make([][]int, len(functions)), numbers: map[heldLock]int{},
		held: make([][]map[hold]bool, len(functions)), leaves: make([]map[heldLock]bool, len(functions)),
	}
	for _, f := range functions {
		for _, name := range slices.Sorted(maps.Keys(f.Variables)) {
			for mode := Shared; mode <= Exclusive; mode++ {
				p.number(inserted(name, mode))
			}
		}
	}
	p.insertedWords = (len(p.locks) + 63) / 64
	p.locks = append(p.locks, make([]heldLock, 64*p.insertedWords-len(p.locks))...)
	for i, f := range functions {
		for _, op := range f.Locks {
			p.number(ofProgram(op.Lock, op.Mode))
		}
		for _, c := range f.Calls {
			for _, callee := range c.Callees {
				all := p.callers[callee]
				if n := len(all); n == 0 || all[n-1] != i {
					p.callers[callee] = append(all, i)
				}
			}
		}
	}
	p.inserted = p.none()
	for n, l := range p.locks {
		if l.inserted {
			p.inserted.add(n)
		}
	}
	p.acquires = make([]bits, len(functions))
	for i := range p.acquires {
		p.acquires[i] = p.none()
	}
	p.propagate(p.insertedWords, len(p.inserted), func(i int, add func(heldLock)) {
		for _, op := range functions[i].Locks {
			if !op.Release && !op.Try {
				add(ofProgram(op.Lock, op.Mode))
			}
		}
	})
	var work []int
	for i, f := range functions {
		p.leaves[i] = map[heldLock]bool{}
		if len(f.Variables) > 0 || len(f.Locks) > 0 {
			work = append(work, i)
		}
	}
	upwards(work, p.callers, func(i int) bool {
		p.follow(i)
		before := len(p.leaves[i])
		for node, held := range p.held[i] {
			if len(functions[i].Graph.succs[node]) == 0 {
				for h := range p.through(i, node, held) {
					p.leaves[i][h.heldLock] = true
				}
			}
		}
		return len(p.leaves[i]) > before
	}, nil)
	return p
}

// upwards calls visit for the functions of a list, and for the callers of each for which it is true, until it is false
// for all. pass, if it is not nil, is called instead of visit for a caller.
func upwards(work []int, callers [][]int, visit func(int) bool, pass func(from, to int) bool) {
	queued := make([]bool, len(callers))
	for _, i := range work {
		queued[i] = true
	}
	for len(work) > 0 {
		i := work[len(work)-1]
		work = work[:len(work)-1]
		queued[i] = false
		if visit != nil && !visit(i) {
			continue
		}
		for _, caller := range callers[i] {
			if (pass == nil || pass(i, caller)) && !queued[caller] {
				queued[caller], work = true, append(work, caller)
			}
		}
	}
}

// number returns the number of a lock.
func (p *programLocks) number(l heldLock) int {
	n, ok := p.numbers[l]
	if !ok {
		n = len(p.locks)
		p.numbers[l], p.locks = n, append(p.locks, l)
	}
	return n
}

// follow finds what is held at the nodes of a function.
func (p *programLocks) follow(function int) {
	g := p.functions[function].Graph
	held := p.held[function]
	if held == nil {
		held = make([]map[hold]bool, g.Nodes())
		p.held[function] = held
	}
	for changed := true; changed; {
		changed = false
		for node := range held {
			after := p.through(function, node, held[node])
			if len(after) == 0 {
				continue
			}
			for _, next := range g.succs[node] {
				if held[next] == nil {
					held[next] = map[hold]bool{}
				}
				before := len(held[next])
				maps.Copy(held[next], after)
				changed = changed || len(held[next]) > before
			}
		}
	}
}

// through returns the locks of the program that a thread may hold after a node.
func (p *programLocks) through(function, node int, before map[hold]bool) map[hold]bool {
	after := before
	own := false
	change := func() {
		if !own {
			own = true
			after = maps.Clone(before)
			if after == nil {
				after = map[hold]bool{}
			}
		}
	}
	f := p.functions[function]
	for _, op := range f.Locks {
		switch {
		case op.Node != node:
		case op.Release:
			change()
			maps.DeleteFunc(after, func(h hold, _ bool) bool { return h.name == op.Lock && h.mode == op.Mode })
		default:
			change()
			after[hold{ofProgram(op.Lock, op.Mode), node, 0}] = true
		}
	}
	for _, c := range f.Calls {
		if c.Node == node {
			for _, callee := range c.Callees {
				for l := range p.leaves[callee] {
					change()
					after[hold{l, node, 0}] = true
				}
			}
		}
	}
	return after
}

// place sets the inserted locks in acquires, if they are placed so.
func (p *programLocks) place(placements []map[string]*Placement) {
	p.propagate(0, p.insertedWords, func(i int, add func(heldLock)) {
		for name, placed := range placements[i] {
			for _, a := range placed.Acquisitions {
				add(inserted(name, a.Mode))
			}
		}
	})
}

// propagate computes some words of acquires anew. own adds the locks that a function acquires itself.
func (p *programLocks) propagate(first, end int, own func(function int, add func(heldLock))) {
	var work []int
	for i := range p.functions {
		part := p.acquires[i][first:end]
		clear(part)
		some := false
		own(i, func(l heldLock) {
			p.acquires[i].add(p.number(l))
			some = true
		})
		if some {
			work = append(work, i)
		}
	}
	upwards(work, p.callers, nil, func(from, to int) bool {
		return p.acquires[to][first:end].merge(p.acquires[from][first:end])
	})
}
