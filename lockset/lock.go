package lockset

import "github.com/heisen-go/heisen"

// Lock is the dense number, from 1, that a Table gives a lock. It stands for one
// life of an address: memory that is given anew, or that is found not to be used
// as one lock, has locks with other numbers.
type Lock uint32

type lockEntry struct {
	object heisen.Object
	state  lockState
}

type lockState uint8

const (
	free  lockState = iota // the number may be given to any lock
	alive                  // numbers has it
	dead                   // sets may have it still
)

// Lock returns the number of the lock at o, a new one if o has none. It costs a
// few nanoseconds, and memory about 10 bytes per word of 512 bytes of address
// space with locks in it, and 16 bytes per lock.
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

// Object returns where l is, or was when it lived.
func (t *Table) Object(l Lock) heisen.Object { return t.entries[l].object }

// Alive reports whether l has not ended.
func (t *Table) Alive(l Lock) bool { return t.entries[l].state == alive }

// End ends the lives of the locks in size bytes from o: locks there are new ones
// from now on. The sets that have the old ones keep them.
func (t *Table) End(o heisen.Object, size uint64) { t.byAddress.Clear(o, size) }

// Living returns the locks of s that have not ended.
func (t *Table) Living(s ID) ID {
	t.livingScratch = t.Append(t.livingScratch[:0], s)
	for _, l := range t.livingScratch {
		if !t.Alive(l) {
			s = t.Without(s, l)
		}
	}
	return s
}

// NewLock returns a number for a lock at o.
func (t *Table) NewLock(o heisen.Object) Lock {
	n := len(t.unused)
	if n == 0 {
		t.entries = append(t.entries, lockEntry{o, alive})
		return Lock(len(t.entries) - 1)
	}
	l := t.unused[n-1]
	t.unused = t.unused[:n-1]
	t.entries[l] = lockEntry{o, alive}
	return l
}

// retire ends the life of l alone.
func (t *Table) retire(l Lock) {
	*t.byAddress.At(t.entries[l].object) = 0
	t.end(l)
}

// end notes that l, which numbers has no more, is dead.
func (t *Table) end(l Lock) {
	if l == 0 {
		return
	}
	t.entries[l].state = dead
	if t.ended != nil {
		t.ended(l)
	}
}
