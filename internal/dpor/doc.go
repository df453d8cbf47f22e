// Package dpor enumerates the executions of a program with dynamic partial-order reduction. Two
// executions are equivalent if one becomes the other by exchanging neighboring steps that commute.
// An [Explorer] decides which execution comes next, so that one of each class is made.
//
// A host runs the program, one task at a time, again and again from its beginning. It tells the
// Explorer which tasks can continue and what each step has used. It has two ways to do so: it asks
// for each choice while the program runs ([Explorer.Choose], as package racefuzz does for models), or
// it gives the program the first choices ([Explorer.Prefix] and [Explorer.Sleeping]) and reports the
// steps afterwards (as package internal/confirm/search does for real programs).
//
// The algorithm is source-DPOR with sleep sets (Abdulla, Aronis, Jonsson, Sagonas: Optimal Dynamic
// Partial Order Reduction, POPL 2014, Algorithm 1). Steps that a state can disable, such as the
// acquisition of a lock, are handled as by Flanagan and Godefroid (Dynamic Partial-Order Reduction for
// Model Checking Software, POPL 2005): a step also races with those that were made while it was
// pending. See docs/design/exploration.md.
//
// Guarantee: when More returns false and Err returns nil, an execution of each class was made, and none
// twice, if what a step does and uses depends only on the steps before it, and if steps commute that
// use no object in conflicting modes.
//
// Cost: time for an execution is cubic in its number of steps at worst. Memory is proportional to the
// number of steps of the longest execution times the number of its tasks. An Explorer is for one
// goroutine at a time.
package dpor
