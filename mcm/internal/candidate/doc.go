// Package candidate lists the queries that the predictor asks about a model: pairs of accesses that
// may race, cycles of acquisitions that may deadlock, and accesses that may come between two accesses
// of a transaction or an atomic section.
//
// Algorithm. Races goes through all pairs of conflicting accesses to a cell in the same allocation
// epoch, and leaves out those that a common lock excludes or that the model orders (a hybrid filter,
// as O'Callahan and Choi, PPoPP 2003). Deadlocks enumerates cycles in the graph of lock dependencies
// (Goodlock; Havelund, SPIN 2000), without those that a gate lock or the order excludes. Violations
// and SectionViolations go through the unserializable interleavings (Lu et al., "AVIO", ASPLOS 2006,
// table 1).
//
// Each candidate has the places, sites with ops, by which its finding is distinguished from others.
// The caller reports for which places it wants more candidates, so that equal findings are not
// queried again.
//
// Guarantees. A pair, cycle or interleaving that is left out is impossible, except that cycles have at
// most maxCycle threads and an atomic section's entry and end must be nodes.
//
// Cost. The functions take time in proportion to the pairs of accesses of a cell, or to the paths of
// lock dependencies. They allocate lists of the accesses.
//
// Concurrency. The functions only read the model.
package candidate
