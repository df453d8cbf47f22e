// Package model builds the maximal causal model of a window: the constraints on the order of events
// that every feasible reordering satisfies, for every program that can show the window (Huang,
// Meredith, Roşu, "Maximal Sound Predictive Race Detection with Control Flow Abstraction", PLDI
// 2014; TREE and RDIT, chapter 4).
//
// The nodes of a Model are the events of the window that constrain others or are constrained. They
// form chains, one for each thread. A last chain holds the goal, a node of its own that stands for
// the point in the order that a query is about. Package mcm/order has the orders of nodes; the
// searches and the solver stage start from the constraints.
//
// Algorithm. A first pass divides memory into cells, each of which an event touches as a whole or
// not at all, and finds which cells, locks and messages several threads use. Events that only one
// thread can notice are no nodes: every feasible reordering keeps program order, and so places them
// without further constraints. A second pass over the nodes in the observed order collects edges,
// reads with the writes that they may see, critical sections and messages. It keeps a row for each
// node, the vector clock of the edges (Fidge 1988; Mattern 1989). BarrierPairs become edges by
// Algorithm 5 of TREE and RDIT, in linear space (see barrier). With ControlFlow, Flow has the reads
// on which decisions depend.
//
// Guarantees. The orders of the nodes before the goal that satisfy the constraints are exactly those
// of the feasible reorderings. With Rules.Literal, which only tests set, the constraints are those
// of Algorithm 9 of TREE and RDIT, which exclude some feasible reorderings.
//
// Cost. New takes time and memory in proportion to the number of events times the number of
// threads, plus the objects that BarrierPairs reach for each of their events.
//
// Concurrency. A Model does not change after New. Several goroutines may read it.
package model
