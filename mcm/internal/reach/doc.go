// Package reach computes how far the other threads can get while one thread is held back.
//
// Most queries with the answer "impossible" ask whether b can be pending together with an earlier
// access a whose thread must do something after a before b can happen. A search that holds a's
// thread back before a finds that the thread of b never reaches b. The search does not depend on a
// query: one Search serves all queries about accesses of its thread.
//
// Algorithm. The search is an exhaustive depth-first search over the transition system of package
// moves, in levels. Each level holds the thread back at one of its nodes that are not invisible, in
// thread order. When a level is complete, meaning that all its reachable states have been expanded,
// the search records how far each other thread gets, and resumes at the next level from those
// states in which the held node is enabled. The states of a level are a subset of the states of the
// next. If the thread of b does not get to b in the first complete level that holds the thread at a
// or later, then a and b are never pending at the same time. The search also records every
// conflicting pair with a node of the held thread that is pending on the way.
//
// Guarantees. Search.Refutes is exact if Exact is set, because movers preserve reachability and
// silent writes are not treated as movers. Search.Witness returns a path in the transition system;
// if Exact is not set, the caller must check it.
//
// Cost. Search.Explore expands at most the given number of states. The search keeps every state,
// packed, with its parent, the thread that moved and the level: about 8*(words of a state)+16 bytes
// each. It finds a path again by repeating the moves. The caller bounds the memory by the length of
// Search.Words.
//
// Concurrency. A Search belongs to one goroutine. It has its own current state and shares the rest
// of its Machine.
package reach
