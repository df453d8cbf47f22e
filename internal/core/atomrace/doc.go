// Package watch is what is being accessed right now: the shared memory of AtomRace
// (Letko, Vojnar, Křena: AtomRace: Data Race and Atomicity Violation Detector and
// Healer, section 3), in which threads leave what they are about to access and look
// for others who are at the same.
//
// It is the one core of two hosts. Package atomrace drives it with events, and
// core.go is injected into package runtime of instrumented programs, by its text, with
// the runtime's own atomics in place of sync/atomic. So core.go keeps the rules that
// hold there: no allocation, no pointers in what is shared, nothing that grows or
// blocks for long, every function nosplit on a small frame, and integers for all that
// a host may call a thread, a place or a variable. What differs between the hosts
// is in host.go.
package atomrace
