// Package vet has heisen's static analyses that are precise enough for warnings, as analyzers in the sense of
// golang.org/x/tools/go/analysis. The command heisen runs them for go vet:
//
//	go vet -vettool=$(which heisen) ./...
//
// Package golangci below this one makes them a plugin of golangci-lint, and the package example uses them in
// a checker with other analyzers.
//
// Both analyzers look for one kind of bug: two critical sections that should be one. A value from the first
// one decides on a write in the second one, although another goroutine may have changed the variable in
// between. There is no data race, so the race detector says nothing.
//
// # Guarantees
//
// None. The analyzers err on the side of silence, and what they report may be meant so: for example if only one
// goroutine ever writes the variable. They look at one package at a time. A lock is known by the path that
// leads to it and to the variable, so aliases are missed. Calls are followed as docs/design/section-inference.md
// describes: three down and two up, in the package.
//
// # Cost and concurrency
//
// About as much as the compiler's type checker needs for the package, of dependencies nothing, because the
// analyzers have no facts. They may run at the same time.
package vet
