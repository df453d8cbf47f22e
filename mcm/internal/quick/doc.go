// Package quick answers most queries without a search: it refutes them by the closure of the
// constraints, or finds a witness among a few schedules that follow the observed order.
//
// Algorithm. A Closure is the set of edges that every answer to a query contains. It starts with the
// edges of the model and of the query. Closure.Saturate then adds edges that follow from critical
// sections, reads and messages before the goal, until nothing follows. A cycle refutes the query.
//
// A Scheduler builds single schedules and never backtracks. Scheduler.SyncPreserving takes the
// events that must come before the goal, closed under what locks and reads need, in the observed
// order (Mathur, Pavlogiannis, Viswanathan, "Optimal Prediction of Synchronization-Preserving
// Races", POPL 2021). Scheduler.Greedy executes, of the events that are enabled, the one that was
// observed first.
//
// Guarantees. If Closure.AddQuery or Closure.Saturate returns false, the query is impossible. The
// caller must check the schedules of a Scheduler against the model.
//
// Cost. Saturate takes a number of rounds that is small in practice; each takes time in proportion
// to reads, critical sections and messages, times the number of threads. A schedule takes time in
// proportion to its length times the number of threads. The memory of a Closure is that of the
// model's rows.
//
// Concurrency. A Closure and its Scheduler belong to one goroutine.
package quick
