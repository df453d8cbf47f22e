package focus

import (
	"maps"
	"slices"
)

// Body is the atomicity of a function's code as a function of the atomicities of the functions that it
// calls: it calls call for each of them, renames the locks of the result, and composes the atomicity. It
// must be monotone, as all compositions of the operations of Atomicity are: larger results of call
// must not give a smaller result. It may be called many times.
type Body func(call func(Function) Atomicity) Atomicity

// maxLocks is the number of locks on which an inferred atomicity may depend. A decision tree of this
// depth has up to 256 leaves.
const maxLocks = 8

// maxChanges is how often the atomicity of a function may grow before it may depend on no lock any more.
const maxChanges = 64

// InferAtomicity returns the atomicities of functions: the least ones that are consistent, which means
// that each is at least what the function's Body makes of the others. Of a function without a Body
// nothing is known: it is Compound. An atomicity that would depend on more than 8 locks is replaced
// by the largest that it is under any of them, and so is one that keeps growing, as that of a recursive
// function may that needs the lock of the next object at each step. A nil Body stands for no Body.
//
// The result does not depend on the order in which functions are looked at unless such replacements
// are made, and the order is always the same. Each Body is called as often as the atomicities of functions
// that it calls change, which as a rule is a few times.
func InferAtomicity(bodies map[Function]Body) map[Function]Atomicity {
	known := make(map[Function]Atomicity, len(bodies))
	callers := map[Function]map[Function]bool{}
	changes := map[Function]int{}
	waiting := slices.Sorted(maps.Keys(bodies))
	isWaiting := make(map[Function]bool, len(bodies))
	for _, f := range waiting {
		known[f] = Always(Const)
		isWaiting[f] = true
	}
	for len(waiting) > 0 {
		f := waiting[0]
		waiting = waiting[1:]
		isWaiting[f] = false
		body := bodies[f]
		if body == nil {
			body = func(func(Function) Atomicity) Atomicity { return Always(Compound) }
		}
		a := body(func(callee Function) Atomicity {
			if callers[callee] == nil {
				callers[callee] = map[Function]bool{}
			}
			callers[callee][f] = true
			if a, ok := known[callee]; ok {
				return a
			}
			return Always(Compound)
		}).Join(known[f])
		if len(a.Locks()) > maxLocks || changes[f] > maxChanges {
			a = Always(a.Most())
		}
		if a.Equal(known[f]) {
			continue
		}
		known[f] = a
		changes[f]++
		for _, caller := range slices.Sorted(maps.Keys(callers[f])) {
			if !isWaiting[caller] {
				waiting, isWaiting[caller] = append(waiting, caller), true
			}
		}
	}
	return known
}

// CallSite is a place where a function is called.
type CallSite struct {
	Callee Function
	// Held has locks that are certainly held, in the terms of the called function.
	Held []Lock
}

// VerifiedAtomic returns the functions that are atomic at every call, in order: those whose atomicity is
// at most Atomic whatever locks are held in addition to those that are certainly held there. Sites
// has all calls of all functions, go and defer statements included; a function that can be called from
// elsewhere needs a CallSite without locks. A function without any CallSite is taken to be called with no
// lock held for certain. If typed is not nil, only functions are returned for which it returns true.
func VerifiedAtomic(atomicities map[Function]Atomicity, sites []CallSite, typed func(Function) bool) []Function {
	called := map[Function]bool{}
	broken := map[Function]bool{}
	for _, site := range sites {
		called[site.Callee] = true
		if a, ok := atomicities[site.Callee]; ok && a.Assume(site.Held...).Most() > Atomic {
			broken[site.Callee] = true
		}
	}
	var verified []Function
	for _, f := range slices.Sorted(maps.Keys(atomicities)) {
		if broken[f] || !called[f] && atomicities[f].Most() > Atomic || typed != nil && !typed(f) {
			continue
		}
		verified = append(verified, f)
	}
	return verified
}
