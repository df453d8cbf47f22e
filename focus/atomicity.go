package focus

import (
	"fmt"
	"slices"
)

// Basic is a basic atomicity: how the evaluation of an expression, or of any other piece of code, mixes with
// what other goroutines do. The order is that of the constants: a smaller one is a stronger statement.
type Basic uint8

const (
	// Const depends on no state that can change, and changes none.
	Const Basic = iota
	// Mover commutes with every operation of another goroutine that can come just before or just
	// after it.
	Mover
	// Atomic is equivalent to an evaluation that other goroutines do not interleave with.
	Atomic
	// Compound is none of the above.
	Compound
	// Violating violates the locking discipline: it accesses a guarded variable without its lock. The
	// literature calls it error.
	Violating
)

var basicNames = [...]string{"const", "mover", "atomic", "compound", "error"}

// String returns the atomicity as one word, such as "mover".
func (b Basic) String() string {
	if int(b) < len(basicNames) {
		return basicNames[b]
	}
	return "atomicity?"
}

// then returns the sequential composition.
func (b Basic) then(next Basic) Basic {
	if b == Atomic && next == Atomic {
		return Compound
	}
	return max(b, next)
}

// Lock names a lock, in the terms of the function that an Atomicity belongs to, such as "a.mu" for a
// parameter a.
type Lock string

// Atomicity is an atomicity that may depend on which locks are held when the code is evaluated: a
// function from sets of locks to basic atomicities, as in Flanagan and Qadeer, "A type and effect system
// for atomicity" (PLDI 2003). Two Atomicities are equal, see Equal, if they are the same function. The
// zero Atomicity is Const.
//
// An Atomicity is immutable. It is a decision tree with the locks in order and without needless
// decisions, so its size, and the cost of operations, can be exponential in the number of locks that it
// depends on.
type Atomicity struct {
	basic Basic  // if split is nil, and otherwise 0
	split *split // the decision at the root
}

// split is a decision. The locks in held and free come after lock.
type split struct {
	lock       Lock
	held, free Atomicity
}

// Always returns the Atomicity that is b under all locks. If b is none of the constants, it is Violating.
func Always(b Basic) Atomicity { return Atomicity{basic: min(b, Violating)} }

// If returns the Atomicity that is held if lock is held, and free if it is not: "lock ? held : free".
func If(lock Lock, held, free Atomicity) Atomicity {
	return decide(lock, held.assume(lock, true), free.assume(lock, false))
}

// Needs returns the Atomicity that is a if lock is held, and Violating if it is not.
func Needs(lock Lock, a Atomicity) Atomicity { return If(lock, a, Always(Violating)) }

// decide is If for two Atomicities that do not depend on lock.
func decide(lock Lock, held, free Atomicity) Atomicity {
	if held.Equal(free) {
		return held
	}
	first := lock
	for _, a := range []Atomicity{held, free} {
		if a.split != nil {
			first = min(first, a.split.lock)
		}
	}
	if first == lock {
		return Atomicity{split: &split{lock, held, free}}
	}
	return decide(first,
		decide(lock, held.assume(first, true), free.assume(first, true)),
		decide(lock, held.assume(first, false), free.assume(first, false)))
}

// assume returns a for sets of locks that have lock, or that do not have it.
func (a Atomicity) assume(lock Lock, held bool) Atomicity {
	switch s := a.split; {
	case s == nil || s.lock > lock:
		return a
	case s.lock == lock && held:
		return s.held
	case s.lock == lock:
		return s.free
	default:
		return decide(s.lock, s.held.assume(lock, held), s.free.assume(lock, held))
	}
}

// Assume returns what a is when the given locks are held, whichever other locks are.
func (a Atomicity) Assume(held ...Lock) Atomicity {
	for _, lock := range held {
		a = a.assume(lock, true)
	}
	return a
}

// Equal reports whether a and b are the same function.
func (a Atomicity) Equal(b Atomicity) bool {
	if a.split == nil || b.split == nil {
		return a == b
	}
	return a.split == b.split || a.split.lock == b.split.lock && a.split.held.Equal(b.split.held) && a.split.free.Equal(b.split.free)
}

// Basic returns a as a basic atomicity, if it is one: if it depends on no lock.
func (a Atomicity) Basic() (b Basic, ok bool) { return a.basic, a.split == nil }

// Under returns the basic atomicity when exactly the locks are held for which held returns true. A nil
// held means that none are.
func (a Atomicity) Under(held func(Lock) bool) Basic {
	for a.split != nil {
		if held != nil && held(a.split.lock) {
			a = a.split.held
		} else {
			a = a.split.free
		}
	}
	return a.basic
}

// Most returns the largest basic atomicity that a is under any set of locks.
func (a Atomicity) Most() Basic {
	if a.split == nil {
		return a.basic
	}
	return max(a.split.held.Most(), a.split.free.Most())
}

// Locks returns the locks that a depends on, in order.
func (a Atomicity) Locks() []Lock {
	var locks []Lock
	var collect func(a Atomicity)
	collect = func(a Atomicity) {
		if a.split != nil {
			locks = append(locks, a.split.lock)
			collect(a.split.held)
			collect(a.split.free)
		}
	}
	collect(a)
	slices.Sort(locks)
	return slices.Compact(locks)
}

// each applies f to a under every set of locks.
func (a Atomicity) each(f func(Basic) Basic) Atomicity {
	if a.split == nil {
		return Always(f(a.basic))
	}
	return decide(a.split.lock, a.split.held.each(f), a.split.free.each(f))
}

// combine applies f to a and b under every set of locks.
func combine(a, b Atomicity, f func(a, b Basic) Basic) Atomicity {
	var lock Lock
	switch {
	case a.split == nil && b.split == nil:
		return Always(f(a.basic, b.basic))
	case a.split == nil:
		lock = b.split.lock
	case b.split == nil:
		lock = a.split.lock
	default:
		lock = min(a.split.lock, b.split.lock)
	}
	return decide(lock,
		combine(a.assume(lock, true), b.assume(lock, true), f),
		combine(a.assume(lock, false), b.assume(lock, false), f))
}

// AtMost reports whether a is at most b under every set of locks.
func (a Atomicity) AtMost(b Atomicity) bool {
	exceeds := combine(a, b, func(a, b Basic) Basic {
		if a > b {
			return Violating
		}
		return Const
	})
	return exceeds.Most() == Const
}

// Join returns the least Atomicity that is at least a and at least b: that of code which does one or the
// other.
func (a Atomicity) Join(b Atomicity) Atomicity {
	return combine(a, b, func(a, b Basic) Basic { return max(a, b) })
}

// Then returns the atomicity of code that does a and then b: two steps that are Atomic are Compound
// together, and otherwise the larger one counts.
func (a Atomicity) Then(b Atomicity) Atomicity { return combine(a, b, Basic.then) }

// Repeat returns the atomicity of code that does a any number of times: Atomic becomes Compound.
func (a Atomicity) Repeat() Atomicity { return a.each(func(b Basic) Basic { return b.then(b) }) }

// Within returns the atomicity of code that acquires lock, does a, and releases lock. To take a lock that
// is not held is Atomic at least, and to take one that is held again changes nothing.
func (a Atomicity) Within(lock Lock) Atomicity {
	inside := a.assume(lock, true)
	return decide(lock, inside, inside.each(func(b Basic) Basic { return max(b, Atomic) }))
}

// Rename returns a in the terms of other code: rename returns the name of a lock there, or false if it
// has none. A lock without a name may be held or not. A nil rename changes nothing.
func (a Atomicity) Rename(rename func(Lock) (Lock, bool)) Atomicity {
	if a.split == nil || rename == nil {
		return a
	}
	held, free := a.split.held.Rename(rename), a.split.free.Rename(rename)
	if lock, ok := rename(a.split.lock); ok {
		return If(lock, held, free)
	}
	return held.Join(free)
}

// String returns the atomicity as text, such as "atomic", "mu ? mover : atomic" or, if it is error without
// mu, "mu ? mover".
func (a Atomicity) String() string {
	if a.split == nil {
		return a.basic.String()
	}
	text := fmt.Sprintf("%s ? %s", a.split.lock, a.split.held.nested())
	if a.split.free == Always(Violating) {
		return text
	}
	return text + " : " + a.split.free.nested()
}

func (a Atomicity) nested() string {
	if a.split == nil {
		return a.String()
	}
	return "(" + a.String() + ")"
}
