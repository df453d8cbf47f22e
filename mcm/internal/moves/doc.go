// Package moves implements the transition system that the explicit-state searches of the predictor
// explore.
//
// A state records how many events each thread has executed, the value class of each cell, the
// holders of each lock, and how many times each message was sent. A transition executes the next
// node (event) of one thread. A Machine holds a model and one current state. The searches save and
// restore that state.
//
// Algorithm. Two reductions keep the number of states small.
//
//   - Movers. A mover is a node that disables no node of another thread, so that executing it as
//     soon as it is enabled loses no behavior: a read of an accepted value, a receive, a release
//     (Lipton, "Reduction", CACM 1975). TakeMovers executes all enabled movers at once, which is
//     a partial-order reduction. A critical section whose accesses leave all its cells as they
//     were is executed in one step, if all its nodes are enabled. The other transitions, namely
//     acquisitions, writes and sends, remain choices of the search.
//   - Value classes. Two writes of the same value to a cell belong to the same class if reads
//     accept both. A state contains the class instead of the writer, so that executions that
//     differ only in the writer reach the same canonical state.
//
// A write that does not change the class of its cell is a silent write. It is no mover in general,
// because it can be needed later, when the cell holds another value. Searches that need not be
// complete set Machine.SilentWrites, and then treat silent writes as movers.
//
// Guarantees. The reduction by movers preserves reachability of pending pairs unless SilentWrites
// is set. If Machine.Exact is true, states contain everything that the constraints of the model
// depend on, and a search that has expanded all states may answer "impossible". Otherwise a search
// may only answer "possible", and its caller must check the witness.
//
// Cost. A state takes one int32 for each thread, cell and message and two for each lock. Packing
// stores states in a few words. Enabled takes constant time for most nodes, and time in proportion
// to the number of threads for nodes with ChecksOrder.
//
// Concurrency. A Machine belongs to one goroutine. A shallow copy with its own State and Path
// shares the rest, which does not change after construction.
package moves
