package focus

import (
	"cmp"
	"slices"
)

// Discovery is the owner that a Discoverer proposes for a variable, with the reason.
type Discovery struct {
	Variable Variable
	Owner    Owner
	Objects  int    // number of objects observed
	Shared   int    // how many of them several goroutines accessed
	Accesses uint64 // number of accesses to the objects
}

// Discoveries returns the proposed owners of all variables that were accessed, in the order of their
// names. A variable gets the first owner of this list that every object observed agrees with:
//
//   - Self: all accesses are atomic.
//   - Guarded by a lock of the same struct: it was held at every access from the first by a second
//     goroutine on; or, if no object was shared, at every access.
//   - Local: no object was shared.
//   - ReadOnly: no object was written from the first access by a second goroutine on.
//   - Guarded by a package-level lock, or else by a lock of another object, held likewise.
//   - Unique: every change of the goroutine was ordered by messages.
//
// Otherwise it is Unknown. A lock is one of the same struct if it is a field of the same type, at the
// same distance from the variable in all objects, and within a page if only one object was shared. If
// several locks qualify, the first by name is taken, and the variable may have others.
//
// Before Flush there are none, except from other runs.
func (d *Discoverer) Discoveries() []Discovery {
	var found []Discovery
	for i := range d.evidence {
		e := &d.evidence[i]
		if len(e.objects) == 0 {
			continue
		}
		found = append(found, Discovery{e.variable, e.owner(), len(e.objects), len(e.shared()), e.accesses})
	}
	slices.SortFunc(found, func(a, b Discovery) int { return cmp.Compare(a.Variable.String(), b.Variable.String()) })
	return found
}

// shared returns the objects that several goroutines accessed.
func (e *evidence) shared() (shared []objectEvidence) {
	for _, o := range e.objects {
		if o.shared {
			shared = append(shared, o)
		}
	}
	return shared
}

func (e *evidence) owner() Owner {
	plain := slices.ContainsFunc(e.objects, func(o objectEvidence) bool { return o.plain })
	if !plain {
		return Owner{Kind: Self}
	}
	shared := e.shared()
	deciding := shared
	if len(shared) == 0 {
		deciding = e.objects
	}
	guard, guarded := e.guard(deciding)
	switch {
	case guarded && guard.SameObject:
		return Owner{Kind: Guarded, Guard: guard}
	case len(shared) == 0:
		return Owner{Kind: Local}
	case !slices.ContainsFunc(shared, func(o objectEvidence) bool { return o.written }):
		return Owner{Kind: ReadOnly}
	case guarded:
		return Owner{Kind: Guarded, Guard: guard}
	case !slices.ContainsFunc(shared, func(o objectEvidence) bool { return o.concurrent }):
		return Owner{Kind: Unique}
	}
	return Owner{}
}

// sameObjectDistance is how far from a variable a lock of the same struct may be if there is one object
// only. Two objects with the same distance need no limit.
const sameObjectDistance = 1 << 12

// guard returns the best guard that all objects agree with.
func (e *evidence) guard(objects []objectEvidence) (best Guard, ok bool) {
	bestRank := 0
	for _, candidate := range objects[0].guards {
		g, rank := Guard{Variable: candidate.lock}, 2
		if candidate.lock.Type == "" {
			rank = 3
		}
		if !agreed(objects, candidate, false, &g.Shared) {
			continue
		}
		near := candidate.distance < sameObjectDistance || -candidate.distance < sameObjectDistance
		sameType := e.variable.Type != "" && candidate.lock.Type == e.variable.Type && candidate.lock.Package == e.variable.Package
		same := Guard{SameObject: true, Path: candidate.lock.Name}
		if sameType && (near || len(objects) > 1) && agreed(objects, candidate, true, &same.Shared) {
			g, rank = same, 4
		}
		if rank > bestRank || rank == bestRank && g.String() < best.String() {
			best, bestRank = g, rank
		}
	}
	return best, bestRank > 0
}

// agreed reports whether every object was accessed under the candidate: the same variable and, if
// sameDistance, at the same distance. It sets shared if an object was not always accessed under it
// exclusively.
func agreed(objects []objectEvidence, candidate guardEvidence, sameDistance bool, shared *bool) bool {
	for _, o := range objects {
		i := slices.IndexFunc(o.guards, func(g guardEvidence) bool {
			return g.lock == candidate.lock && (!sameDistance || g.distance == candidate.distance)
		})
		if i < 0 {
			return false
		}
		*shared = *shared || o.guards[i].shared
	}
	return true
}
