// Package tier says how much a run of the tests takes upon itself.
//
// A test that takes seconds belongs to the tier Default, and needs nothing of this package. One that
// takes longer calls Need, or chooses its counts with Pick. CONTRIBUTING.md has the commands of the tiers.
package tier

import (
	"os"
	"testing"
)

// A Tier is an amount of testing. Each has all that the tiers before it have.
type Tier int

const (
	Short   Tier = iota // go test -short: what a programmer waits for
	Default             // go test
	CI                  // with TEST_TIER=ci: what .ci/run adds
	Nightly             // with TEST_TIER=nightly: what .ci/nightly adds
)

// Variable is the name of the environment variable that asks for a tier after Default, by its name.
const Variable = "TEST_TIER"

// String returns the command that runs the tests of the tier.
func (t Tier) String() string {
	switch t {
	case Short:
		return "go test -short"
	case Default:
		return "go test"
	case CI:
		return Variable + "=ci go test"
	default:
		return Variable + "=nightly go test"
	}
}

// Of returns the tier of this run. -short decides, then the variable. It panics if the variable has another value
// than the names of tiers.
func Of() Tier {
	if testing.Short() {
		return Short
	}
	switch value := os.Getenv(Variable); value {
	case "":
		return Default
	case "ci":
		return CI
	case "nightly":
		return Nightly
	default:
		panic(Variable + "=" + value + ": want ci or nightly")
	}
}

// Need skips the test in tiers below least.
func Need(t testing.TB, least Tier) {
	t.Helper()
	if Of() < least {
		t.Skipf("runs with %v", least)
	}
}

// Pick returns the value for the tier of this run. Values are in the order of the tiers, and the last
// one is also for all later tiers.
func Pick[T any](values ...T) T {
	return values[min(int(Of()), len(values)-1)]
}
