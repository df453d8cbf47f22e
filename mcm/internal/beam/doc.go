// Package beam finds schedules in which one thread is delayed while all others go on.
//
// Such a schedule is the typical witness for two conflicting accesses that are far apart in the
// observed order. One delayed schedule serves many queries, because the delayed thread can meet
// every access that the other threads reach in it.
//
// Algorithm. A delayed schedule follows the observed order up to a delay point, a node of the
// delayed thread outside of critical sections, and then continues without that thread. A beam
// search extends it until the other access of the query is pending. A second, smaller beam search
// then starts along that schedule and moves the delayed thread from its delay point to its own
// access, while the other thread is held back at its access.
//
// The beam search groups states into layers by the number of executed nodes, and expands only the
// best states of a layer: those in which threads are close together and many can go on. When it is
// stuck, it backtracks an increasing number of layers and doubles its width (beam search with
// backtracking, as in Zhou and Hansen, "Beam-Stack Search", ICAPS 2005). A thread enters a critical
// section only if it can leave it again in the same step, if need be with the help of writes of
// other threads in between, unless it is to be held back inside. So no state leaves a thread
// blocked inside a critical section.
//
// Guarantees. The search is incomplete: it answers "possible" with a witness, or nothing. If Exact
// is not set, the caller must check the witness. Results depend on earlier queries only through the
// schedules that they extended.
//
// Cost. Each beam search expands at most the given number of states. Only the states of the current
// search are kept. All schedules together take about maxScheduleSteps steps of 4 bytes.
//
// Concurrency. A Delays belongs to one goroutine. It has its own current state and shares the rest
// of its Machine.
package beam
