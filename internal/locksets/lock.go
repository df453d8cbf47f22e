package locksets

import "github.com/heisen-go/heisen"

// Lock is the number that a Table gives a lock. Numbers are dense and start at 1. A Lock is a lock
// in one allocation epoch of its address. The lock ends, and the address gets a new Lock, when the
// memory is allocated or freed, or when the stream shows that the lock did not exclude.
type Lock uint32

type lockEntry struct {
	object heisen.Object
	state  lockState
}

type lockState uint8

const (
	free  lockState = iota // the number is unused
	alive                  // byAddress has it
	dead                   // sets may still have it
)

// Lock returns the number of the lock at o, a new one if o has none. It costs a few nanoseconds.
// Memory is about 10 bytes per word of each 512 bytes of address space with locks, and 16 bytes per
// lock.
func (t *Table) Lock(o heisen.Object) Lock {
	l := t.byAddress.At(o)
	if *l == 0 {
		*l = t.NewLock(o)
	}
	return *l
}

// Find returns the number of the lock at o, or 0 if it has none.
func (t *Table) Find(o heisen.Object) Lock {
	if l := t.byAddress.Peek(o); l != nil {
		return *l
	}
	return 0
}

// Object returns the address that l has, or had before it ended.
func (t *Table) Object(l Lock) heisen.Object { return t.entries[l].object }

// Alive reports whether l has not ended.
func (t *Table) Alive(l Lock) bool { return t.entries[l].state == alive }

// End ends the locks in size bytes from o. Sets that contain them still do.
func (t *Table) End(o heisen.Object, size uint64) { t.byAddress.Clear(o, size) }

// Living returns the locks of s that have not ended.
func (t *Table) Living(s ID) ID {
	h := &t.sets[s]
	if h.n > t.most {
		from := t.trees[h.at]
		living := t.nodes.living(from.root, from.height, 0, t.aliveBits)
		if living == from.root {
			return s
		}
		return t.internTree(t.nodes.lowered(tree{living, from.height}))
	}
	t.livingScratch = t.Append(t.livingScratch[:0], s)
	for _, l := range t.livingScratch {
		if !t.Alive(l) {
			s = t.Without(s, l)
		}
	}
	return s
}

// setAlive sets whether a lock has not ended.
func (t *Table) setAlive(l Lock, is bool) {
	for int(l>>5) >= len(t.aliveBits) {
		t.aliveBits = append(t.aliveBits, 0)
	}
	if is {
		t.aliveBits[l>>5] |= 1 << (l % 32)
	} else {
		t.aliveBits[l>>5] &^= 1 << (l % 32)
	}
}

// NewLock returns a new lock at o, which Find and Lock do not return.
func (t *Table) NewLock(o heisen.Object) Lock {
	n := len(t.unused)
	if n == 0 {
		t.entries = append(t.entries, lockEntry{o, alive})
		l := Lock(len(t.entries) - 1)
		t.setAlive(l, true)
		return l
	}
	l := t.unused[n-1]
	t.unused = t.unused[:n-1]
	t.entries[l] = lockEntry{o, alive}
	t.setAlive(l, true)
	return l
}

// retire ends l.
func (t *Table) retire(l Lock) {
	*t.byAddress.At(t.entries[l].object) = 0
	t.end(l)
}

// end marks l, which byAddress has no longer, as dead.
func (t *Table) end(l Lock) {
	if l == 0 {
		return
	}
	t.entries[l].state = dead
	t.setAlive(l, false)
	if t.ended != nil {
		t.ended(l)
	}
}
