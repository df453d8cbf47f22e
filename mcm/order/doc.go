// Package order is a solver for strict total orders. Given chains of nodes (the events of threads),
// edges that must hold, clauses over atoms "a comes before b", reads with the values that they may
// read, and critical sections of locks, it decides whether a strict total order exists that
// contains the chains and edges and satisfies the rest. It is what package mcm needs to decide
// whether a reordering of a trace is feasible (TREE and RDIT, section 4.4.4).
//
// # Algorithm
//
// The solver is a CDCL SAT solver with a theory, that is DPLL(T). The paper encodes orders in
// integer difference logic (IDL): an integer per event and inequalities. This package has a theory
// of its own, because all weights are equal and the events come in few chains.
//
//   - Theory solver: each node has a row, the number of nodes of each chain that come before it or
//     are it. This is a vector clock that the search raises and backtracking restores. Whether a
//     comes before b is one comparison. A new edge raises only the rows of nodes that it changes.
//   - Theory propagation: only pairs of nodes that occur in clauses or assumptions have a variable.
//     A row cell that rises from i to j decides exactly the atoms at positions i to j-1 of its
//     chain. Propagation is exhaustive.
//   - Explanations are lazy: when a conflict needs the reason of an implied atom, a backward 0-1
//     breadth-first search finds a path of edges with the fewest new literals.
//   - Conflict analysis learns the 1UIP clause and minimizes it. Decisions follow VSIDS, restarts
//     the Luby sequence. Learned clauses with a high LBD are deleted.
//   - Reads-from: AddRead propagates the values that a read may read without clauses. A clause
//     encoding is cubic in the accesses to a variable. A source of a read is a write of an accepted
//     value, a rival a write of another value. The source must come before the read, and no rival
//     between them. See readpropagate.go.
//   - Critical sections: AddLock propagates that of two critical sections of a lock one ends before
//     the other one starts.
//
// Three things differ from a textbook solver. The search ends when every permanent clause holds;
// any linearization of the decided order is then a result. The preferred order replaces phase
// saving: a pair is always tried in the preferred order first, because the observed trace satisfies
// nearly everything. And some literals are presumed: they count as true while they are unassigned.
// Presumed are the negations of booleans, and "the goal comes before n" for each node n.
// docs/design/solver.md has the reasons and the measurements.
//
// # Queries
//
// Assumptions are the first decisions of a query. Learned clauses follow from the permanent
// constraints alone, so they stay valid for later queries, and a Solver gets faster with each
// query. A query about a point in the order uses a goal node on a chain of its own (WithGoalChain):
// clauses and assumptions say what comes before the point. Constraints of reads and critical
// sections apply only to nodes before the goal.
//
// A caller with many constraints can add them lazily, if a query needs few of them: a check, passed to
// Solve, sees each candidate order and returns the clauses that it violates.
//
// # Guarantees
//
// Sat and Unsat are correct: the solver is sound and complete for finite problems, up to the
// budget. After Sat, Order returns an order that satisfies everything. After Unsat, Failed returns
// assumptions that cannot all hold. Budgets count conflicts and propagations, never time. Without a
// context that is done, the same calls give the same results.
//
// # Cost
//
// Memory is proportional to the number of nodes times the number of chains, plus the clauses. A
// query can take exponential time; the problem is NP-complete (Gibbons, Korach: Testing Shared
// Memories, SIAM J. Comput. 1997). A new edge costs time proportional to the row cells that it
// raises.
//
// # Concurrency
//
// A Solver is for one goroutine at a time. Solvers share nothing.
package order
