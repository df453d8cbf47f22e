package vet_test

import (
	"golang.org/x/tools/go/analysis/multichecker"
	"golang.org/x/tools/go/analysis/passes/copylock"

	"github.com/heisen-go/heisen/vet"
)

// A command with heisen's analyzers and others. It takes package patterns, and go vet -vettool can run it.
func Example() {
	multichecker.Main(append(vet.Analyzers(), copylock.Analyzer)...)
}
