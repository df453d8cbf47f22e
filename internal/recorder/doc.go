// Package rt is the recorder: the source that is injected into package runtime
// of a program (folder inject), and the receiving side, which turns what the
// program sends into a heisen.Source.
//
// A program connects to the socket of a Listener as it starts. Every P of its
// scheduler has a buffer of words; the buffers are sent as they fill, and now
// and then. A Stream puts each goroutine's words back in their order (a
// goroutine moves between Ps) and merges the goroutines: accesses carry no
// stamp, synchronisation events carry dense sequence numbers, and any order that
// respects both is one that the program could have shown, with the same
// happens-before relation. When the garbage collector is about to free memory,
// everything recorded so far is sent and merged first, so the lives of an address
// do not mix.
//
// Where an event happened is a place: a program counter and the calls that led to
// it, a node of a tree that the recorder keeps and sends as it grows (paths.go,
// places.go). The program itself is asked what those are in its source (symbolize.go), by
// its emulator, if it has one (emulator.go).
//
// A program can look for races by itself. In the mode Races it follows happens-before as
// FastTrack does (happens.go): what goroutines know of each other, and what was last done
// to every word, stands in the table of package internal/core/fasttrack, which is injected with
// the recorder. It can also look for overlapping accesses (Live, watch.go): then the
// table of package internal/core/atomrace, which is injected with the recorder, has what each
// goroutine is accessing, and what is found comes with the stream. A program that does
// nothing else sends no events. It keeps who has started which goroutine, and where, and tells
// that of those concerned before it tells of what it has found (descent.go).
//
// A program can be run deterministically (Schedule, sched.go): one goroutine at a time,
// which, is chosen by the strategies of package internal/core/strategies, which are injected, too.
// Everything that decides what the program does comes from one seed then: the choices,
// random numbers, the order of maps and select, and time, which is virtual (clock.go).
// What comes from outside is counted (outside.go); a program that cannot go on is
// ended, with a report of where its goroutines are (stuck.go).
//
// In the mode Everything a program also says which states its goroutines change and depend
// on that order nothing (states.go): which element of a channel is the next, that one was
// empty when a select statement took its default case, the count of a wait group. They
// become Change and Observe events, for who asks what else could have happened.
//
// Packages can be hidden (Hidden, hide.go): then their functions' calls by others are
// Hide and Reveal events with the objects that they may touch, and what they do is
// dropped in the program.
// What they may touch the program finds out each time, or it says once what objects
// point to, and again when that has changed, and the sets are made here (objects.go).
//
// Package testing is patched to say which test a goroutine begins to run; in the
// Symbols that is a call at a site that has a Task.
package recorder
