// Package racefuzz makes suspected concurrency bugs happen: it has the strategies that
// decide which goroutine goes on in a program that runs one at a time. It implements
// Sen: Race Directed Random Testing of Concurrent Programs (PLDI 2008) and others.
//
// # Strategies
//
// A [Strategy] is asked who goes on. [RandomWalk] and [PCT] look for what nobody has
// suspected; [RaceDirected], [DeadlockDirected] and [SectionDirected] for what an
// analysis has: pairs of places (package lockset, Hybrid), cycles of locks (LockOrder),
// atomic sections (package atomrace). [Follow] follows a predicted order, such as the
// witness of a race that package mcm predicts ([Result.Turns], [Turns]); [Replay] does an
// execution again, [NewExhaustive] makes all that there are.
//
// What they find has happened. Two goroutines that were about to make conflicting
// accesses at the same time have raced, whatever led there; that is a [Meeting].
//
// # Hosts
//
// The heisen command puts the same strategies into real programs (heisen fuzz). Here
// they choose among the goroutines of models: a [Program] is a function that makes
// shared variables, locks and channels and starts goroutines that use them, and [Run]
// executes it. A model shows in microseconds whether an idea of a bug is right, and its
// executions can be enumerated; a strategy of one's own is tried on it before it goes
// anywhere else. Models have no condition variables, and of
// select statements those that receive.
//
// # Schedules
//
// An execution is told by the choices that differ from a default (see [Choice]), for the
// default switches only where it has to: few choices are few preemptions. [Minimise]
// takes away those that a failure does not need, and a [Schedule] is the text that does
// the execution again.
package racefuzz
