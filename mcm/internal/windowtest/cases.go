package windowtest

import (
	"os"
	"strconv"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/bench/workload"
)

// Count returns how many random cases a test looks at: few, unless the environment
// variable HEISEN_MCM_CASES says how many.
func Count(t testing.TB, few int) int { return Amount(t, "HEISEN_MCM_CASES", few) }

// Amount returns the number in an environment variable, few if it is not set.
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

var Profiles = map[string]func(workload.Params) []heisen.Record{
	"mixed": workload.Mixed, "hot": workload.Hot, "locky": workload.Locky,
}
