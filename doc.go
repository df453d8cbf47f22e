// Package heisen is the vocabulary of a system that finds, predicts, confirms
// and heals concurrency bugs in Go programs: what an event is (Op, Record,
// Event), who consumes events (Detector), where they come from (Source), what
// comes out (Finding), and what the numbers in both mean (Symbols).
//
// # Reading map
//
// Imports point down only; a test in internal/arch keeps it so.
//
//   - heisen (this package): the vocabulary and the combinators Tee and Filter.
//     Run feeds a Source to Detectors.
//   - internal/shadow: shadow memory, the per-variable state of detectors.
//   - trace: trace files and streams. The STD text format and heisen's own
//     binary format, validation, statistics, printing.
//   - vclock: vector clocks and epochs; the happens-before detectors FastTrack
//     and Reference.
//   - lockset: interned sets of locks and who holds them; the locking discipline
//     (Eraser), potential races (Hybrid) and the order in which locks are taken.
//   - tree: a filter that keeps redundant accesses from detectors.
//   - internal/core/atomrace: what is being accessed right now, by lock-free tables that
//     also go into programs.
//   - section: the vocabulary of atomic sections: their check, files, refinement by runs, and a
//     tracker that follows threads through them.
//   - internal/overlap: the findings of accesses that overlap, for all who run AtomRace.
//   - atomrace: races as accesses that overlap, violations of atomic sections as accesses that
//     come in between; noise.
//   - mcm: bugs predicted from the maximal causal model of an execution, each with a
//     schedule; mcm/order is the solver for strict orders that it rests on.
//   - internal/core/strategies: which goroutine goes on, by strategies that also go into programs.
//   - racefuzz: suspected bugs made to happen. Strategies, models of goroutines to try
//     them on, schedules as text and their minimisation.
//   - internal/recorder: the recorder that is injected into programs, and what receives
//     its events and merges the goroutines' into one order.
//   - internal/build: the overlay that carries the recorder into a program with
//     the stock go command.
//   - report: findings as text and as JSON lines.
//   - internal/cli: the heisen command's subcommands, flags and exit statuses.
//   - driver: the command as a package, for tools with detectors of their own.
//   - cmd/heisen: main.
//   - internal/testaid/goracetests: heisen's verdicts on the test data of Go's race
//     detector.
//   - bench: benchmarks, of whole programs too, and the workload generators that
//     tests share.
//   - examples: small real programs with real bugs, each with a test of what
//     the command says about it.
//
// A first program, which reports the races of a recorded trace, is the package
// example below.
package heisen
