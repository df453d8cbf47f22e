package vet_test

import (
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/analysistest"

	"github.com/heisen-go/heisen/vet"
)

func TestLostUpdate(t *testing.T) {
	analysistest.Run(t, analysistest.TestData(), vet.LostUpdate(), "lostupdate")
}

func TestStaleCheck(t *testing.T) {
	analysistest.Run(t, analysistest.TestData(), vet.StaleCheck(), "stalecheck")
}

// TestAtomics runs the analyzers with the flag atomics.
func TestAtomics(t *testing.T) {
	// One analyzer, because analysistest expects all diagnostics of a file from one.
	both := &analysis.Analyzer{
		Name: "both",
		Doc:  "lostupdate and stalecheck with the flag atomics",
		Run: func(pass *analysis.Pass) (any, error) {
			for _, a := range vet.Analyzers() {
				if err := a.Flags.Set("atomics", "true"); err != nil {
					return nil, err
				}
				if _, err := a.Run(pass); err != nil {
					return nil, err
				}
			}
			return nil, nil
		},
		Requires: vet.LostUpdate().Requires,
	}
	analysistest.Run(t, analysistest.TestData(), both, "atomics")
}

// TestAnalyzers checks that each call returns valid analyzers with flags of their own.
func TestAnalyzers(t *testing.T) {
	if err := analysis.Validate(vet.Analyzers()); err != nil {
		t.Fatal(err)
	}
	a, b := vet.LostUpdate(), vet.LostUpdate()
	if err := a.Flags.Set("atomics", "true"); err != nil {
		t.Fatal(err)
	}
	if got := b.Flags.Lookup("atomics").Value.String(); got != "false" {
		t.Errorf("a flag of one analyzer sets that of another to %s", got)
	}
}
