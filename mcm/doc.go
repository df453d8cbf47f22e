// Package mcm predicts concurrency bugs from one execution: data races, deadlocks and violated
// atomic sections that did not happen in it, but that another order of the same events shows. Each
// prediction comes with such an order, the witness. The witness is replayed before it is reported.
//
// A [Detector] predicts bugs from a stream of events, window by window. A [Model] answers single
// queries about one [Window]: [Model.Race], [Model.Deadlock] and [Model.Between]. The verdict is
// Possible, with a witness; Impossible; or Unknown, if the query's budget was spent.
// [Model.WriteSMTLIB] writes a query for another solver. Atomic sections are those of package
// section. Transactions, the events between heisen.Enter and heisen.Exit, are checked as well.
//
// # Algorithm
//
// A feasible reordering of a trace is a prefix of the events of each thread, in an order that the
// locks, the messages and the values of the trace allow. A thread that reads the same values takes
// the same steps. Therefore every program that can show the trace can also show all of its feasible
// reorderings. Together they are the maximal causal model of the trace (Huang, Meredith and Roşu,
// PLDI 2014; TREE and RDIT, chapter 4). No larger set of orders has this property.
//
// In a feasible reordering:
//
//   - Threads: the events of a thread keep their order. They come after the thread's Fork. A Join
//     comes after the events that it came after.
//   - Locks: two critical sections of a lock do not overlap, unless both are shared. Their order is
//     free. If a thread releases a lock that another thread acquired, which a sync.Mutex permits,
//     then any release frees the lock, and no deadlock is predicted for it.
//   - Messages: a Receive comes after the same Sends of its object as in the trace, and after no
//     others. The same holds for Observe and Change, which tell of the state of an object and order
//     nothing.
//   - Reads: a read sees the write that it saw. If the trace has values, it may see any write of the
//     same value. Atomic operations are reads and writes that always see the same write.
//   - Memory: accesses stay in the allocation epoch (between Alloc and Free) in which they were.
//     Accesses in different epochs do not race. A write over a lock keeps its order with the lock's
//     operations.
//   - BarrierPairs: a call of hidden code keeps its order with all that may touch the same objects;
//     see heisen.Hide and TREE and RDIT, chapter 4.
//   - An object that is used in two ways, for instance as a lock and as a message, keeps the order
//     of all its events.
//
// [WithControlFlow] relaxes the rule for reads, as the paper does: only reads on which a decision
// depends must see the same value. A Branch depends on all earlier reads of its thread, as in the paper.
// If it is known which reads decide (heisen.Decides), a decision depends on one read only, and through
// memory on what the thread that wrote the value had read before.
//
// A query asks for a feasible reordering that reaches an instant R, the goal of the query. For a race, both accesses are the next events
// of their threads at R. For a deadlock, so are the acquisitions of the cycle. Events after R do not
// matter, and no constraint on them decides a query. In this the model differs from Algorithm 9 of
// the thesis, which orders all critical sections of the trace and therefore loses races.
//
// A query goes through a list of stages, from cheap to expensive, until one has the answer. Each
// stage is exact when it answers: the happens-before order, sync-preserving races (Mathur, Pavlogiannis
// and Viswanathan, POPL 2021), a closure of must-happen-before edges, greedy schedules, searches among the
// states of the window, and the solver of package mcm/order. docs/design/prediction.md and
// docs/design/prediction-searches.md explain them.
//
// # Guarantees
//
// Every reported bug can happen in every program that can show the trace: the witness was replayed,
// event by event, by code that shares nothing with the model and the searches. For programs that heisen
// records, docs/design/prediction.md lists what the recorder notes of each kind of synchronization, and
// why that is sufficient. Memory that is accessed in a race, and input that is not an event, can make a
// real program deviate from a witness.
//
// Within a window the model is maximal: the verdict Impossible means that no feasible reordering
// shows the bug. A race of the observed happens-before order is missing only if no feasible reordering
// brings the two accesses together. For example, one thread writes x and then, without
// synchronization, a flag; another thread reads the flag, sees that value, and then reads x. The read
// of the flag must see the same value, so that it keeps the two accesses to x apart. The first race of
// an execution is never missing for that reason. Bugs whose events are in no common
// window are not found.
//
// Budgets count states, conflicts and propagations, never time. So the findings are the same on every
// machine. [Stats] counts the queries whose budget was spent.
//
// # Cost
//
// Most queries take microseconds. All pairs of a window of 1000 events and 8 threads take about 30
// milliseconds, or seconds if eight threads compete for a few variables. Memory is proportional to
// the events of a window times its threads. go test -bench . ./mcm measures both.
//
// # Concurrency
//
// A Model and a Detector belong to one goroutine at a time. [WithParallel] lets a Detector solve
// several windows at the same time.
package mcm
