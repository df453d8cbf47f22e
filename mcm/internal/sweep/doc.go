// Package sweep explores states of a window once, with all threads, and finds most pairs of
// conflicting accesses that can be pending together.
//
// Nothing in a sweep depends on a query. A query is answered from the recorded pairs.
//
// Algorithm. The search is breadth-first over the transition system of package moves, in layers by
// the number of executed nodes. Each step leads to a later layer, and a layer is discarded once its
// states have been expanded.
//
// An effect is a step that changes the class of a cell, or sends. Steps without an effect can run
// at any time between two effects, so that it suffices to explore the states after effects. A
// silent run is a step without an effect (an acquisition or a silent write) and the movers after
// it. It can be postponed until after the next effect, unless that effect changes a cell which the
// run accesses. So after a silent run only effects on these cells need to be explored; all other
// continuations are reached, in another order, from the state before the run. If the run releases a
// lock or enables other threads, all continuations are explored. Each state stores this set of
// relevant cells. This is a partial-order reduction similar to
// sleep sets (Godefroid, 1996).
//
// Two threads meet at all pairs of places that they can take without an effect: where they are,
// where silent runs lead, and before movers that were executed at once, unless a lock that was held
// there has been taken since.
//
// A round keeps a state only if some pair of threads is at a pair of places, with memory in a given
// hash bucket, for the first time (Lipovetzky and Geffner, "Width and Serialization of Classical
// Planning Problems", ECAI 2012). The first round starts along the observed order and along every
// schedule that other searches report (Sweep.Follow). Sweep.HoldBack is a round with one thread
// held back, which finds pairs that need a long delay.
//
// Guarantees. A pair that has been found is possible; Sweep.Witness returns a path to it, which the
// caller must check, or nil if it cannot rebuild one. A pair that has not been found may be possible.
//
// Cost. A round keeps at most as many states as there are pairs of places times buckets. New refuses
// windows with more than maxPlacePairs pairs of places or with tables of more than maxBits bits. All
// rounds together keep at most maxStates states, at 8 bytes each, besides the layers that are open.
//
// Concurrency. A Sweep belongs to one goroutine. It has its own current state and shares the rest
// of its Machine.
package sweep
