// Package source finds the statement and the variable behind a line of Go source, for reports.
//
// It works from syntax and from the type information that a package's own files give. It needs
// neither the go command nor compiled dependencies, and imports stay unresolved. A finder walks
// the statements on a line and collects the expressions that they use, each with a role: it is
// read, written, locked and so on. An operation keeps the expressions whose role and size fit it.
// Choose keeps of them those that fit the other accesses to the same storage best, and chooses an
// expression if it is the only one left.
//
// The result is a guess for people to read. No detector depends on it.
//
// The first lookup in a package parses and type-checks the package, which takes milliseconds. A
// Cache keeps packages within a bound on memory. Later lookups take microseconds. The figures are
// in docs/design/reports.md.
package source
