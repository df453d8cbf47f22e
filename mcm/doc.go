// Package mcm predicts concurrency bugs from one execution: data races, deadlocks and violated atomic
// sections that did not happen in it, but can happen in another order of the same events. Each
// prediction comes with such an order, the witness, which has been replayed before it is reported.
//
// A [Detector] predicts bugs from a stream of events, window by window. A [Model] answers single
// queries about one [Window]: [Model.Race], [Model.Deadlock] and [Model.Between]. The verdict is
// Possible, with a witness; Impossible; or Unknown, if the budget was spent. [Model.WriteSMTLIB] writes
// a query for another solver. Atomic sections are those of package section, and transactions: the
// events between heisen.Enter and heisen.Exit.
//
// # The maximal causal model
//
// A feasible reordering of a trace consists of a prefix of the events of each thread, in an order in
// which locks exclude, threads start after their fork, messages come from the same sends, and reads
// see the values that they saw. Every program that can show the trace can show its feasible
// reorderings, because a thread takes the same steps as long as it sees the same. All feasible
// reorderings together are the maximal causal model of the trace (Huang, Meredith, Rosu, PLDI 2014;
// TREE and RDIT, chapter 4). No larger set has this property: for each other order there is a program
// that can show the trace and cannot show the order. So a predictor that searches the model reports
// no false alarms, and can find every race that the trace alone implies.
//
// A Model is the model of a window of a stream. Its constraints are, besides each
// thread's steps:
//
//   - fork and join: a thread's events come after its Fork, a Join after all of them
//     that it came after. (That is for the window: an event before the window has
//     happened.)
//   - messages: a Receive comes after the Sends of its object that it came after, and
//     before those that it came before: it sees the same messages. So does an Observe
//     with the Changes of a state (see heisen.Change), and each with the other's; and a
//     Send comes after the Changes that it came after.
//   - locks: two critical sections of a lock, not both for reading, do not overlap. A
//     section may be open at both ends of the window.
//   - locks without an owner: where a thread ends another one's exclusive hold, as a
//     mutex of Go may be unlocked by anybody, a release ends whichever hold there is. The
//     lock is a variable with two values then, which an acquisition finds free and leaves
//     taken, and a release the other way round; no deadlock is predicted of it. (Not of locks that a thread takes again
//     that it holds, which is none of Go; and a hold for reading that another thread ends
//     is ended by nobody else: such a release comes after the acquisition and before the
//     next one by the same thread, as a message would.)
//   - reads: a read sees the very write that it saw. If the trace has values, any write
//     of the same value will do. Atomic operations are reads and writes as well; with
//     what they see, what they order is kept. The order of critical sections of a lock
//     is free, that of two atomic updates of a variable is not.
//   - lives: what touches memory after its Alloc or Free comes after that; accesses
//     to different lives are no race.
//   - locks in memory: what overwrites one keeps its order with the lock's operations.
//   - BarrierPairs: what a call into hidden code may touch keeps its order with it; see
//     heisen.Hide for the law and below for the form.
//   - what is used as a lock and as a message or an atomic variable, or not as a lock
//     is used, keeps the order of all its events.
//
// With ControlFlow only those reads have to see what they saw, or the same value, that a
// decision depends on (Branch events), so that there are more orders. A read that sees
// something else spoils its thread: what that writes from then on has another value,
// and its next decision might be another one, so that no order has it. Which write a
// read sees makes a difference, then: also of the same value it has to be one that is not
// spoilt.
//
// # Go programs
//
// That an order keeps to these rules has to mean that the program can show it: what a
// goroutine waits for has happened, and what it was told it is told again. What the
// recorder notes of each kind of synchronization, and why that is enough:
//
//   - sync.Mutex, RWMutex: locks. Who waits may be thought to come later, so that
//     waiting, and in which order, needs no event: neither does a writer that keeps
//     readers out. A TryLock that succeeds is an acquisition; one that fails is nothing,
//     for by the memory model it may fail at any time.
//   - sync/atomic: each operation is a read, a write, or both, and reads see the very
//     write that they saw, a compare-and-swap that fails as well. So it fails again, and
//     sums are the same. What the standard library makes of them (Once, Map, Value,
//     OnceFunc) is recorded as what it does.
//   - Channels without a buffer, or with elements of size 0: all operations are messages
//     of one object, in a total order. Sender and receiver each wait for the other's
//     message, so that what one does between arriving and going on the other cannot
//     see. Channels with a buffer: each slot is an object, which says that an element is
//     received after it was sent and that its slot is used again after that; and each
//     side is a state, which every send, or receive, observes and changes. So who sends
//     or receives the k-th element stays the same, as do the elements; a channel is
//     closed after the sends before it; and who learns that it is closed has left no
//     element behind. How far one side is ahead of the other is free.
//   - select: any case that is ready may be taken, and who waits for one may be thought
//     to come when it is. The default case observes both sides of all channels, as
//     len does: there are as many elements as there were.
//   - sync.WaitGroup: Done is a Send and Wait a Receive, and Add changes the count, which
//     Wait observes: it comes after the same Adds and Dones. A Done comes after the Adds
//     that it came after, so that the count is not negative.
//   - sync.Cond: Wait, where it begins, Signal and Broadcast observe and change the list of
//     those who wait, so that they wake the same; Wait observes it again where it ends.
//   - sync.Pool: Get receives what Put has sent. It may return anything that was put, or
//     nothing, so whatever comes in between is free.
//   - Goroutines, finalizers, cleanups, coroutines of package iter: forks and messages.
//     A goroutine that is not needed may be thought to be slow.
//   - Timers: setting one is a Send, firing a Receive, and Stop changes it, so that what
//     it says stays true; time itself passes as it likes. A channel of a timer is one
//     with a buffer, and Stop and Reset, which empty it, are receives.
//   - Bubbles of package testing/synctest: a goroutine that blocks, or ends, sends to its
//     bubble, and Wait receives that. Whoever time has woken, and a timer's function,
//     observes the bubble: there, time passes when all have blocked, and none has gone on.
//   - Input: a read comes after all writes to anything that it came after, and before the
//     others; the reads of one descriptor keep their order.
//
// What is told otherwise is not known, such as by the clock, by runtime.NumGoroutine,
// through the kernel by other calls than read and write, by code that is not
// instrumented (see BarrierPairs below), or by memory that is accessed in a race: Go
// programs with races may do what no order of their events explains. In free runs on
// several processors the moment that is noted of a Signal without the Cond's lock, of an
// Add that is not ordered with a Done, and of a Stop is that of a call, not of what the
// call does.
//
// Two accesses that race by the memory model need not be found: if between them one
// goroutine learns what the other has done from something that orders nothing, such as
// a select statement that takes its default case, or time passes in a bubble, no order has
// them next to each other.
//
// Of a window, the model has every race that happens-before has with the same
// BarrierPairs, but for these, which depend on more than the order of synchronization:
//
//   - A read is in the way: what happens before the one access, or before the other,
//     has a read of what a write wrote that does not. Whoever reads something else may go
//     on otherwise. So of two goroutines that both read and then write a variable without
//     a lock there is the race of the first one's write with the second one's read and not
//     that of both writes; ControlFlow has both unless a decision depends on the read.
//     The first race of an execution is never lost so, and nor is that of a variable whose
//     earlier races nobody has read the outcome of.
//   - A thread has learnt something of a state (Observe), has to do with a life that has
//     begun or ended, or with an object that is used in two ways: these keep their order.
//
// And happens-before has no windows.
//
// # Questions
//
// A query is about an instant R. In a race, both accesses are next in their threads at R.
// In a deadlock, acquisitions of locks in a cycle are all next at R. In a violation of an
// atomic section, its second access is next at R, and the remote access has come after
// the first one or is next as well. What comes after R does not matter: no constraint on
// it may be a reason for an answer. So each constraint says that its events hold to
// it, or come after R:
//
//	r sees w:            R<r  or  w<r and (w'<w or r<w', for each other write w')
//	sections do not meet: R<l1  or  R<l2  or  u1<l2  or  u2<l1
//
// This is where the thesis's Algorithm 9 is not maximal: it puts all critical
// sections of the trace in some order, also those that no order allows once the race
// has happened, and so loses races (TestLiteral shows how many).
//
// # From cheap to dear
//
// A question goes through stages, each of which is exact where it answers:
//
//  1. Edges: what comes before what in any case, as vector clocks of the window, with
//     the question's edges added. A cycle is a no.
//  2. The observed order: the events that must come before R, closed under the rule
//     that all sections of a lock but the last have ended, are an order as they were
//     observed, unless one of the accesses asked about is among them (Mathur et al.,
//     POPL 2021: sync-preserving races). That is a yes, and most of them.
//  3. Closure: of events that must come before R, if one section starts before another
//     one's end, it ends before that one starts; what writes between a read and what
//     it sees comes before or after both; until nothing follows, or a cycle does. That
//     is a no, and most of them.
//  4. Greedy schedules, which follow the closure and the observed order.
//  5. Where reads may see several writes: a search among schedules, the best first,
//     without those that differ only in when a step comes that hinders nobody, and
//     with writes of the same value as one. The states that it reaches serve all
//     questions of a model: accesses that met on the way to another goal are a yes that
//     costs next to nothing, and a state in which one of them is next and the other's
//     thread is not far from it is a place to start from, as is where the observed order
//     leads. If that is no yes: all states in which the thread of the access that was
//     observed first is held back there. Where no other thread gets to the second access
//     in any of them, the answer is no, also for whatever comes later and for whatever
//     the thread does before. So a few hundred thousand states answer thousands of
//     questions. Accesses that are far apart meet where one thread waits for long while all
//     others go on. A beam search finds orders in which it does, courses, of which each serves
//     whatever the thread meets in it: it looks at few states for each number of steps, the
//     best, in which nobody is far behind and many can go on, and goes back where it gets
//     stuck; and it lets nobody into a critical section that he does not come out of in one
//     go, if need be with the help of writes by others. Where there are many questions that
//     are not easy, or one is left, all are answered together. If there are few threads and
//     memory can hold few things, as with four threads of 250 events each, all states are the
//     points of a grid that can be gone through as a whole: whoever has not met there does not
//     meet, and no question stays open. Otherwise, if it is not too large, a sweep goes through
//     the window, all threads together, whatever is asked: first by way of states only in which
//     two threads are at two places, with memory as it is, for the first time, of which there
//     are few, and which find most that is possible, and it goes on wherever the answers lead
//     that are found otherwise; likewise with a thread held back that
//     somebody has not met; then, unless they get too many, by way of all states to which
//     changes of memory lead.
//  6. Package mcm/order: conflict-driven search. One solver serves all questions of a
//     model, for they differ in assumptions about R only, so that what it learns stays
//     right. It knows of reads and critical sections and draws conclusions from them
//     without clauses; of messages, and with ControlFlow of reads, it gets clauses when a
//     candidate order violates them: a few of the millions that there are. Where reads
//     have few choices it comes before stage 5. Where they have many, what it learns from one
//     question leads it astray with the next, and it begins anew. If its answer is no, it is
//     asked whether that is for a wall: one thread does not get to its access at all before the
//     other one has taken its. Then it gets to no later access either, and not before an earlier
//     step of the other one; that answers further questions, and all that lies behind walls is
//     left out of what it is asked later, which makes the next wall easier to find.
//
// What no thread shares or nobody writes is left out beforehand. Every yes is an
// order of all events, replayed by a machine that knows the rules above one event at
// a time and nothing of constraints.
//
// Budgets are in states, conflicts and propagations: what is found is the same on
// every machine. A question that costs more has the verdict Unknown, which is counted
// (Stats) and never taken for a no.
//
// # BarrierPairs
//
// Algorithm 5 puts the events of each two pairs with a common object in line, and of
// each pair with each access to an object that it reaches: quadratic in both. Here
// each object has one line: an event of a pair comes after all that touched the object
// before, anything else after the pair's last event there. By transitivity these are
// the same constraints, in linear space.
package mcm
