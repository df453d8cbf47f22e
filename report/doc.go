// Package report shows findings to people and to other programs.
//
// A detector reports a heisen.Finding, which is made of numbers. A Resolver turns it into a Finding,
// which can be read without the stream's Symbols: functions, lines, statements, variables, the locks
// held, and who started the goroutines. A Collector is a heisen.Sink that does this for a whole
// stream: it counts repeated findings and leaves out those of a Baseline and those that a
// Suppression matches.
//
//	collector, err := report.NewCollector(report.WithSymbols(symbols))
//	...
//	defer collector.Close()
//	// Run detectors whose sink is collector.Add. Then:
//	for _, f := range collector.Findings() {
//		err = report.WriteText(os.Stdout, &f)
//	}
//
// WriteText prints a finding in the style of the reports of go test -race, and WriteColorText does so
// in colors. A Brief prints it in short, for a first look. WriteJSON writes one
// line of JSON, and ReadJSON reads such lines. A baseline file has the same form.
//
// # Guarantees
//
// The names of the JSON fields do not change, and new versions only add fields. A fingerprint is the
// same across runs and machines; see heisen.Finding. What a report says about threads, sites, stacks
// and locks is what the stream's Symbols say. Statements and variables are a guess from the source
// files as they are when the report is made: the stream does not say which variable an address
// belongs to. If more than one expression of a line fits an access, none is named. A name may still be
// wrong, for instance if the file has changed since; nothing else depends on it.
//
// # Cost
//
// The first access in a package costs parsing and type-checking the package's files, some
// milliseconds. A Resolver keeps packages within a bound on memory, 128 MB by default. Later
// accesses cost microseconds. A finding that a Collector has seen before costs a map lookup and no
// allocation. The design notes in docs/design/reports.md have the figures.
//
// # Concurrency
//
// Several goroutines may use a Resolver, a Collector, a Baseline that does not change, and the
// functions of this package. A Finding is a plain value.
package report
