package static_test

import (
	"testing"

	"golang.org/x/tools/go/analysis/analysistest"

	"github.com/heisen-go/heisen/internal/static"
)

func TestLoadAndStore(t *testing.T) {
	analysistest.Run(t, analysistest.TestData(), static.LoadAndStore, "loadandstore")
}

func TestTestAndUse(t *testing.T) {
	analysistest.Run(t, analysistest.TestData(), static.TestAndUse, "testanduse")
}

func TestConsecutive(t *testing.T) {
	analysistest.Run(t, analysistest.TestData(), static.Consecutive, "consecutive")
}

func TestSharing(t *testing.T) {
	analysistest.Run(t, analysistest.TestData(), static.LoadAndStore, "sharing")
}

func TestLocks(t *testing.T) {
	analysistest.Run(t, analysistest.TestData(), static.LoadAndStore, "locks")
}
