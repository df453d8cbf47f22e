// Package replay executes a predicted schedule against a window and checks every step: program
// order, locks, messages, BarrierPairs, and the values that reads must see.
//
// It starts from the window alone and imports neither the model nor any search, so that a mistake
// there cannot hide in the check of their witnesses.
//
// Algorithm. NewFacts executes the window as observed and collects what the rules refer to: the
// source of each read, the hold that each release ends, the records that BarrierPairs, allocations or
// objects with mixed uses keep in order. A Replayer then executes a schedule event by event. Its
// state is the position of each thread, the holders of locks and the last writer of each cell.
//
// Guarantees. Replayer.Replay returns nil if and only if the witness is a feasible reordering of the
// window by the rules in the documentation of package mcm.
//
// Cost. A replay takes time in proportion to its length and the accessed cells. BarrierPairs cost time in
// proportion to the records before them, and allocations and objects with mixed uses to those before that touch
// objects nearby. So NewFacts and a replay are quadratic in the worst case.
//
// Concurrency. Facts do not change after NewFacts. A Replayer belongs to one goroutine.
package replay
