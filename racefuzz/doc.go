// Package racefuzz reproduces suspected concurrency bugs. It has scheduling strategies, which
// decide which goroutine of a program continues when only one runs at a time, and a host that runs
// them on models of programs.
//
// A [Program] is a model: a function that makes shared variables, locks and channels and starts
// goroutines that use them through a [G]. [Run] executes a model under a [Strategy]. A model shows
// within microseconds whether a suspicion is right. The heisen command injects the same strategies
// into real programs (heisen fuzz).
//
// # Strategies
//
// [RandomWalk] and [PCT] search for bugs without a suspicion. [RaceDirected], [DeadlockDirected]
// and [SectionDirected] reproduce what an analysis suspects: a pair of places that may race
// (package lockset), a lock-order cycle (package lockset), or a violated atomic section (package
// atomrace). [Follow] follows a predicted order, such as a witness of package mcm ([Result.Turns]).
// [Replay] repeats an execution. [NewExhaustive] enumerates all executions of a model, and [NewDPOR]
// one of each class of equivalent executions.
//
// The sources are:
//
//   - Sen: Race Directed Random Testing of Concurrent Programs, PLDI 2008 (RaceFuzzer): Algorithm 1
//     is RaceDirected; Algorithm 2 decides which accesses race.
//   - Burckhardt, Kothari, Musuvathi, Nagarakatte: A Randomized Scheduler with Probabilistic
//     Guarantees of Finding Bugs, ASPLOS 2010: PCT.
//   - Abdulla, Aronis, Jonsson, Sagonas: Optimal Dynamic Partial Order Reduction, POPL 2014, Algorithm 1,
//     and Flanagan, Godefroid: Dynamic Partial-Order Reduction for Model Checking Software, POPL 2005: DPOR.
//   - Zeller, Hildebrandt: Simplifying and Isolating Failure-Inducing Input, TSE 2002: [Minimize].
//
// # Terms
//
// A task is a goroutine as a strategy sees it. A step is one operation of one task. A meeting is a
// confirmed bug: two tasks that were about to make conflicting accesses at the same time, or an
// access that interleaved with another task's atomic section ([Meeting]). A deviation is a choice
// of a task that differs from the default choice ([Choice]); few deviations mean few preemptions. A
// turn is a stretch of an execution in which one task runs up to a given operation ([Turn]).
//
// # Guarantees
//
// Every meeting is real: the two tasks reached the two accesses at the same time in an execution of
// the program. The absence of meetings proves nothing, except after [Exhaustive] has enumerated all
// executions; of failures and deadlocks, also after [DPOR] has. The comment of each strategy states the probability with which it finds what it looks
// for. Executions of models are sequentially consistent. The same program, strategy, seed and
// options give the same execution.
//
// # Cost
//
// A step of a model takes about half a microsecond, most of it the switch between coroutines. A
// choice takes time linear in the number of runnable tasks.
//
// # Concurrency
//
// A Strategy is for one execution at a time. Calls of Run may be concurrent if they share no
// strategy, no detector and no state of the program outside the model.
//
// # Schedules
//
// A [Schedule] is the text form of an execution: the strategy, the seed, the deviations and the
// outcome. It can be pasted into a bug report and replayed. [Minimize] removes deviations that a
// failure does not need.
//
// # Limits
//
// Models have no condition variables. Of select statements they have those that receive
// ([G.ReceiveAny], [Chan.TryReceive]).
package racefuzz
