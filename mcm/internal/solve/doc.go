// Package solve answers queries with the order solver of package mcm/order, and checks schedules
// against the constraints of a model.
//
// Algorithm. The constraints of TREE and RDIT, section 4.4.4, are encoded over atoms "a comes before
// b" instead of integers. Edges are permanent; reads and critical sections are given to the solver as
// such (order.Solver.AddRead, AddLock); a query becomes assumptions. Messages, and reads with
// ControlFlow, become clauses lazily: a Simulation executes each candidate order and returns clauses
// for the constraints that it violates. Style selects an eager encoding instead.
//
// When the solver refutes a race, it is also asked whether one of the nodes must come before the
// other one can be pending. Such a precedence refutes further queries, and becomes an assumption of
// later ones.
//
// Guarantees. Possible comes with a schedule that satisfies all constraints, Impossible is exact, and
// Unknown means that the budget was spent. Simulation.Violated returns no clause if and only if the
// order satisfies all constraints other than edges, which it does not check.
//
// Cost. Budgets bound the conflicts and propagations of a query. Memory grows with the clauses that
// the solver learns. Violated takes time in proportion to the length of the order, and for each
// violated constraint to the number of writes of a cell.
//
// Concurrency. A Solver and a Simulation belong to one goroutine.
package solve
