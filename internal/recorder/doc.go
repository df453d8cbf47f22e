// Package recorder is the recorder: the source that is injected into package runtime of a program
// (folder inject), and the receiving side, which turns what the program sends into a heisen.Source.
//
// A program connects to a [Listener] when it starts, by a socket on Linux (socket.go) and by named pipes
// elsewhere (pipes.go). A thread of the program keeps the connection, on Linux with a descriptor table of
// its own, out of the program's reach (inject/sender.go).
// [Program.Open] tells it what to send ([Want]) and returns the [Stream] of its events. [Sources]
// returns the injected files; package build puts them into an overlay of GOROOT. Package internal/core/wire has
// the format of what is sent.
//
// # Algorithm
//
// Each P of the program's scheduler has a buffer of words, which is sent when it is full, and from
// time to time. A Stream restores the order of each goroutine's words (goroutines move between Ps)
// and merges the goroutines. Accesses have no stamp; synchronization events have dense sequence
// numbers. Every order that respects both is one that the program could have shown, with the same
// happens-before relation. Before the garbage collector frees memory, everything recorded is sent
// and merged, so the allocation epochs of an address don't mix.
//
// A place says where an event happened: a program counter and the calls that led to it, a node of
// a tree that the program keeps and sends as it grows (inject/places.go, places.go). The program
// itself is run a second time to name program counters (symbolize.go), under its emulator if it has
// one (emulator.go). A program that connects by named pipes tells the names itself (inject/names.go, told.go).
//
// The [Mode] decides what a program records and what it detects itself:
//
//   - Everything, Unrepeated and Marked send events. Unrepeated leaves out repeated accesses
//     (inject/filter.go; TREE, section 3.3). Everything also sends states of channels, wait groups
//     and timers, as Change and Observe events, for predictions (inject/states.go).
//   - Synchronization sends what Unrepeated does, without accesses.
//   - Races sends the races that the program finds with package internal/core/fasttrack
//     (inject/races.go, inject/syncorder.go), and no events.
//   - [Live] sends overlapping accesses and violated sections, found with package
//     internal/core/atomrace (inject/overlaps.go). On request it keeps goroutines apart at given
//     places (inject/heal.go), or where it has found something (inject/healfound.go).
//
// A program without a socket is in the mode Races and prints its races itself (inject/alone.go,
// inject/racereport.go, inject/options.go), or only heals, if [Live.LinkerFlags] was built in
// (inject/healalone.go). A program in the mode Races that has lost its connection also prints its
// races itself. At their end, programs wait for goroutines that can still run (inject/leftbehind.go).
//
// On request ([Want], Leaks) a program looks for goroutines that wait for ever in any run, at the end of
// each test, before any end of the program and at SIGQUIT (inject/leaktests.go, inject/ends.go, inject/leaks.go).
//
// A program that sends no events keeps the origins of its goroutines and sends those that a finding
// names (inject/origins.go).
//
// A [Schedule] makes the run deterministic: one goroutine runs at a time, chosen by the strategies
// of package internal/core/strategies (inject/sched.go, inject/schedpoints.go). A seed decides all
// choices, random numbers, and the order of maps and select; time is virtual (inject/clock.go).
// Influences from outside are counted (inject/nondeterminism.go). A program that cannot go on is
// ended with a report of its goroutines (inject/abortrun.go). At the end of the program, goroutines
// that are left can go on to their ends (inject/toend.go), and the program looks for those that wait
// for ever (inject/leaks.go).
//
// Of [Hidden] packages, synchronization is recorded and accesses are not. Calls of their functions by
// other packages are Hide and Reveal events (inject/hide.go).
//
// Package testing is patched to report the test that a goroutine runs. In Symbols that is a call at
// a site that has a Task.
//
// # Guarantees
//
// A stream is complete if [Stream.Finished] says so and Next has not returned a [LostError]. A
// program that cannot be recorded says why ([RefusedError]). All that it delivers happened in an order
// that the program could have shown. Bytes that no recorder sends give an error that wraps
// [ErrCorrupt]; they never cause a panic or unbounded memory. Contexts lose detail if a program has
// more than about a million call paths or 65,536 paths of locks ([Stream.Coarse]).
//
// # Cost
//
// An access is two words, a synchronization three. Memory of the receiving side is bounded by the
// words that wait for other goroutines and by the limits of Symbols.
//
// # Concurrency
//
// A Listener may be used by several goroutines. A Program and its Stream belong to one goroutine,
// except [Program.Abandon].
package recorder
