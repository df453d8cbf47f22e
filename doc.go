// Package heisen defines what all parts of heisen share, a library and command that finds, predicts
// and confirms concurrency bugs in Go programs.
//
//   - [Record] is an event of an execution, with an [Op] that says what happened; [Event] is the
//     interface through which detectors see it. The comments on the ops define the happens-before
//     order.
//   - [Source] delivers a stream of events, [Detector] consumes one, and [Run] connects them. [Tee]
//     and [Filter] combine detectors.
//   - [Finding] is a bug that a detector reports, to a [Sink].
//   - [Symbols] says what the numbers in events and findings stand for: sites, calls, locks,
//     threads.
//
// The package analyzes nothing itself and costs next to nothing: Run hands records to detectors in
// batches, at a few nanoseconds an event. Symbols is safe for concurrent use. A Source or Detector
// belongs to one goroutine, unless its documentation says otherwise.
//
// The package example is a program that reports the races of a recorded trace.
//
// # Nil, zero values and errors
//
// These rules hold in all packages. Nil in the place of a context, reader, writer, source, function
// or other required argument is an error that wraps [ErrOption] and names the argument; where nil
// has a meaning, as for a Sink or Symbols, the documentation states it. A method of a nil pointer
// panics, as everywhere in Go, unless its documentation says what nil means. A zero value that its
// documentation does not call ready to use does nothing: its methods return zero values, and an error
// that wraps [ErrZero] if they return an error. Only Close returns nil then. The goroutines and
// objects of racefuzz models are an exception: they panic, because wrong use of them is a bug of the
// modeled program. Texts of errors name the place of the fault, such as a file and a line. Only
// errors about arguments, which as a rule wrap ErrOption, name the function that was called, with
// its package.
//
// # Reading map
//
// These are all packages of the module. A package imports only packages of the groups before its
// own, and of its own group only what the table in internal/arch allows; a test there checks it,
// and that this list is complete.
//
// Foundations:
//
//   - heisen: this package.
//   - internal/option: functional options in the one shape that all constructors share.
//   - internal/plural: numbers with the names of what is counted.
//   - internal/printable: makes text safe to show on a terminal.
//   - internal/racetag: the build tag race, and builds whose files are chosen without it.
//   - internal/reformat: formats Go files after they were changed.
//   - internal/words: the syntax of lines in the files of sections and plans.
//   - internal/contain: keeps a detector that panics from ending the process.
//   - internal/textdiff: changes of a text, as a patch.
//   - internal/shadow: shadow memory, which holds a detector's state for each variable.
//   - internal/intake: refuses the events that a detector cannot take.
//   - internal/locksets: interned sets of locks, and the locks that each thread holds.
//   - internal/races: findings of data races, in the words that all detectors use.
//   - internal/filename: compares names of source files, also those of other systems.
//   - internal/source: the statement and the variable behind a line of Go source.
//   - internal/fold: counts repeated findings.
//   - internal/scc: the strongly connected components of a graph.
//   - internal/goroutines: what package runtime/pprof says of the goroutines of a process.
//   - internal/waitreason: what goroutines wait for, by the words of the runtime.
//   - internal/core/fasttrack: the FastTrack detector that runs inside instrumented programs.
//   - internal/core/atomrace: the AtomRace tables that run inside instrumented programs.
//   - internal/core/strategies: the scheduling strategies that run inside instrumented programs.
//   - internal/core/wire: the format of what instrumented programs and the analyzer send to each other.
//   - internal/dpor: enumerates the executions of a program with partial-order reduction.
//
// Traces, detectors and reports, each on its own:
//
//   - trace: trace files: a text format and a binary format, validation, statistics, printing.
//   - vclock: vector clocks, the happens-before order, and the detectors FastTrack and
//     HappensBefore.
//   - lockset: the detectors Eraser (locking discipline), Hybrid (potential races) and LockOrder
//     (potential deadlocks).
//   - tree: a filter that keeps redundant events from detectors.
//   - section: atomic sections: what they are, their check, their file format, and a tracker.
//   - report: findings as text and as JSON, baselines and suppressions.
//   - corpus: traces with planted races and programs with bugs, and what is true of them.
//   - internal/allocsite: where memory was allocated, for reports.
//   - internal/repository: names of source files relative to the root of their repository.
//   - internal/wording: what findings are called, and which of them to look at first.
//   - internal/diagram: a finding as a diagram with a lane for each goroutine.
//   - internal/annotation: findings as annotations of GitHub.
//   - internal/sarif: findings as SARIF.
//   - internal/findingsfile: findings that any tool has written, read back.
//   - internal/tracejson: findings as a trace for Perfetto and Chrome.
//   - internal/htmlreport: findings, or events of a trace, as a page that works offline.
//   - internal/tracewindow: the events of a trace around a finding, and the order between them.
//   - internal/overlap: findings of accesses that overlap, for all that run AtomRace.
//
// Combinations:
//
//   - atomrace: the AtomRace detector of overlapping accesses and violated atomic sections, and
//     noise.
//   - atomicity: detectors of transactions that are not atomic.
//   - mcm: bugs predicted from the maximal causal model of an execution, each with a schedule.
//   - syncp: races and deadlocks predicted from a whole execution, in orders that keep the critical
//     sections of each lock, each with a schedule.
//   - mcm/order: a solver for strict orders, on which mcm rests.
//   - mcm/internal/window: a window of events, in which mcm looks for bugs.
//   - mcm/internal/replay: checks a predicted schedule against the window.
//   - mcm/internal/smtlib: writes a query in SMT-LIB, for other solvers.
//   - mcm/internal/model: the constraints that every feasible reordering of a window satisfies.
//   - mcm/internal/candidate: the queries to ask: pairs of accesses, cycles of locks, atomic
//     sections.
//   - mcm/internal/quick: stages that answer easy queries without a search.
//   - mcm/internal/solve: the stage that asks the solver of mcm/order.
//   - mcm/internal/moves: the states of a model and the steps between them.
//   - mcm/internal/explore: a search for a schedule that answers one query.
//   - mcm/internal/reach: a search for how far the other threads get while one is held back.
//   - mcm/internal/beam: a beam search, which keeps the most promising states.
//   - mcm/internal/grid: all reachable states of a window, if they are few enough.
//   - mcm/internal/sweep: a search through states that answers many queries at once.
//   - mcm/internal/cascade: the list of stages, each with its budget.
//   - mcm/internal/windowtest: makes windows, for tests.
//   - mcm/internal/modeltest: makes models, for tests.
//   - focus: what protects which memory, so that checking can be left out where nothing is wrong.
//   - heal: atomicity that correct executions had, the locks that keep it, and bugs that are suppressed
//     while a program runs.
//   - heal/lock: these locks, for programs in production.
//   - racefuzz: strategies that make suspected bugs happen, models of goroutines to try them on,
//     and schedules as text.
//
// The command:
//
//   - internal/arch: the architecture as a test.
//   - internal/recorder: the recorder that is injected into programs, and the receiver of its
//     events.
//   - internal/static: what the analyses of source know of the standard library and of locks
//   - internal/ssaload: loads Go packages and builds their SSA form.
//   - internal/readuse: which lines of source only write what they read
//   - internal/changed: which tests can reach what has changed since a revision
//   - internal/infer: proposes atomic sections from Go source.
//   - vet: analyzers for go vet, of critical sections that should be one.
//   - vet/golangci: these analyzers as a plugin of golangci-lint.
//   - internal/ownership: proves from Go source which variables cannot race, and makes plans of that.
//   - internal/selftest: programs by which a Go release is tried that heisen was not tested with.
//   - internal/unhook: removes hooks from linked programs, where a focus.Plan says that accesses are safe.
//   - internal/accesstable: finds the instructions of a linked program that access variables.
//   - internal/sampler: what goes into the runtime of programs for production, which stops goroutines at such instructions.
//   - internal/enforce: keeps the atomicity of passing runs, by locks that it places in Go source.
//   - internal/patch: repairs races and atomicity violations in Go source by locks, as a patch.
//   - internal/onepage: the page with which heisen check ends.
//   - internal/kept: keeps what was reported, for heisen show.
//   - internal/corpus: keeps what heisen fuzz has found out, for its next run.
//   - internal/private: makes folders and files that other users cannot change.
//   - internal/processes: ends commands with everything that they have started.
//   - internal/resident: makes a process small while it waits for another one.
//   - internal/build: builds programs with the recorder inside, with the stock go command.
//   - internal/observed: bugs that programs show by themselves: races, waiting goroutines, misuse.
//   - internal/confirm/carried: the order of an execution, carried over to another version of the program.
//   - internal/confirm/controlled: one execution of a program under one schedule, and its outcome.
//   - internal/confirm/suspects: what may happen under another schedule, and whether it has.
//   - internal/confirm/trials: tries suspects under many seeds, and says what came of it.
//   - internal/confirm/search: executes tests under schedules of many kinds, or under all.
//   - internal/confirm/repro: repeats executions with a bug, shortens and explains them.
//   - internal/confirm/parts: what the parts of a campaign have found, put together.
//   - internal/confirm: campaigns, which make suspected bugs happen in stages.
//   - internal/cli: subcommands, flags, exit statuses and what the command prints.
//   - internal/cli/scripts: tests of the command by scripts.
//   - driver: the command as a package, for tools with detectors of their own.
//   - field: looks for leaks in programs in production.
//   - heisentest: explores a test, and looks for its leaks, under plain go test.
//   - cmd/heisen: package main of the command.
//
// Benchmarks, examples, documents and test aids:
//
//   - bench/...: comparisons of detectors, of whole programs, and with results of papers.
//   - bench/workload: the traces that all benchmarks share.
//   - bench/measure: the units in which all benchmarks report.
//   - examples/...: small programs with bugs, each with a test of what the command reports about
//     it.
//   - docs: the documents; its tests run their commands and compile their code.
//   - internal/testaid/must: shortens tests that call constructors.
//   - internal/testaid/leakprofile: runs tests with a release that knows leaked goroutines.
//   - internal/testaid/tier: how much a run of the tests takes upon itself.
//   - internal/testaid/diagramtest: checks that diagrams show what their findings say.
//   - internal/testaid/heisencmd: runs the command on programs, for tests.
//   - internal/testaid/adversary: random programs, correct or with a planted bug, under all modes.
//   - internal/testaid/bugcounts: tests that a bug is one finding, whatever has found it.
//   - internal/testaid/bugfuzz: runs heisen fuzz on the programs of package corpus.
//   - internal/testaid/bugtests: tries heisen fuzz on these, and compares it with plain runs.
//   - internal/testaid/goleaktests: runs heisen fuzz on the test data of Go's profile of leaked goroutines.
//   - internal/testaid/leakprograms: reads that test data.
//   - internal/testaid/goracetests: runs the test data of Go's race detector.
//   - internal/testaid/checkgoroot: says what a Go release has changed that heisen patches, and whether it can be used.
//   - internal/testaid/gosuites: runs tests of the Go distribution, and compares them with go test -race.
//   - internal/testaid/racyprograms: generates random programs with races, for what repairs programs.
//   - internal/testaid/patchedprograms: patches these and explores the result, which must neither deadlock nor lose an update.
//   - internal/testaid/healedprograms: random programs with locks of heisen heal -enforce, which must keep what they promise.
//   - internal/testaid/hiddenprograms: random programs with hidden packages, which must lead to no false alarm
//   - internal/testaid/sdktools: tries a debugger and other tools with what heisen sdk makes.
//   - internal/testaid/verdicts: runs test data for Go releases and ports, and writes the table of verdicts in docs/design/platforms.md.
//   - internal/testaid/wine: runs programs for Windows, among them the go command, in tests under wine.
//   - internal/testaid/randomtrials: runs random trials of tests on all processors.
package heisen
