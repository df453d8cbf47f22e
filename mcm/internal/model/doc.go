// Package model builds the maximal causal model of a window: the constraints on the order of events
// that every feasible reordering satisfies, for every program that can show the window (Huang,
// Meredith, Rosu, "Maximal Sound Predictive Race Detection with Control Flow Abstraction", PLDI
// 2014).
//
// The nodes of a model are the events of the window that matter for the order. Package mcm/order has
// the orders of nodes; the searches and the solver stage start from the constraints.
package model
