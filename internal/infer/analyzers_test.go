package infer_test

import (
	"testing"

	"golang.org/x/tools/go/analysis/analysistest"

	"github.com/heisen-go/heisen/internal/infer"
)

func TestLoadAndStore(t *testing.T) {
	analysistest.Run(t, analysistest.TestData(), infer.LoadAndStore, "loadandstore")
}

func TestTestAndUse(t *testing.T) {
	analysistest.Run(t, analysistest.TestData(), infer.TestAndUse, "testanduse")
}

func TestConsecutive(t *testing.T) {
	analysistest.Run(t, analysistest.TestData(), infer.Consecutive, "consecutive")
}

func TestSharing(t *testing.T) {
	analysistest.Run(t, analysistest.TestData(), infer.LoadAndStore, "sharing")
}

func TestLocks(t *testing.T) {
	analysistest.Run(t, analysistest.TestData(), infer.LoadAndStore, "locks")
}
