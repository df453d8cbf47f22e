package windowtest

import (
	"os"
	"strconv"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/bench/workload"
)

// Count returns the number of random cases for a test: few, unless the environment variable
// HEISEN_MCM_CASES is set.
func Count(t testing.TB, few int) int { return Amount(t, "HEISEN_MCM_CASES", few) }

// Amount returns the number in an environment variable, or few if the variable is not set.
func Amount(t testing.TB, variable string, few int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return few
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return n
}

// Profiles are the generators of larger windows by name.
var Profiles = map[string]func(workload.Params) []heisen.Record{
	"mixed": workload.Mixed, "hot": workload.Hot, "locky": workload.Locky,
}
