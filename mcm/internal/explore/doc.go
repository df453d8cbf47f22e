// Package explore searches the states of a model best first for an answer to one query.
//
// A query asks whether some nodes can be pending (next in their threads) at the same time. The
// search starts at the start of the window or at a state near the answer, expands the most
// promising state of its frontier first, and stops at the goal or when its budget of states is
// spent. It is strong where reads accept many writes: then many schedules reach the goal, and
// constraints decide little.
//
// Algorithm. The search is a greedy best-first search over the transition system of package moves.
// The cost of a state combines the number of nodes that the goal still needs, the number of events
// by which other threads lag behind the observed order, and a penalty for each thread that is
// inside a critical section where the goal does not need it. Such a thread blocks others and may
// wait for them. A thread therefore enters a critical section in two ways: through the whole
// section at once, and by its first node only.
//
// States do not depend on a query. A store keeps every state that any search has reached, with the
// path to it. The store records which conflicting nodes were pending at the same time on these
// paths, which answers further queries without a search (Explorer.Witness), and for each node some
// states in which it is pending, from which later searches start (Explorer.Near).
//
// Guarantees. A returned path leads to the goal in the transition system. If Exact is not set, the
// caller must check it against the model. Explorer.All answers "impossible" only if Exact is set
// and it has expanded all reachable states. Explorer.Near answers "possible" only, because it
// starts anywhere and, at first, treats silent writes as movers.
//
// Cost. A search expands at most the given number of states; each expansion costs time in
// proportion to the number of threads. The store takes at most maxStoreWords words of 4 bytes, and
// forgets all states when it is full.
//
// Concurrency. An Explorer belongs to one goroutine.
package explore
