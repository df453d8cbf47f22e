package bugcounts

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/heisen-go/heisen/corpus"
	"github.com/heisen-go/heisen/internal/testaid/bugfuzz"
	"github.com/heisen-go/heisen/internal/testaid/heisencmd"
	"github.com/heisen-go/heisen/internal/testaid/tier"
)

func TestMain(m *testing.M) { heisencmd.Main(m) }

// newHeisen returns the command in a folder.
func newHeisen(t *testing.T, folder string) *bugfuzz.Heisen {
	folder, err := filepath.Abs(folder)
	if err != nil {
		t.Fatal(err)
	}
	h := &bugfuzz.Heisen{Corpus: folder, Work: t.TempDir()}
	if err := h.Keep(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	return h
}

// want looks for the bug of a test in all ways, and wants one finding.
func want(t *testing.T, h *bugfuzz.Heisen, pkg, test string) {
	all, err := Look(t.Context(), h, pkg, test, Ways(tier.Pick(300*time.Millisecond, 300*time.Millisecond, time.Second, 3*time.Second)))
	if err != nil {
		t.Error(err)
	}
	for i := range all {
		t.Log(&all[i])
	}
	if len(all) != 1 {
		t.Errorf("%d findings, not one", len(all))
	}
}

// TestCases: goroutines that wait for each other at the end of a test are one deadlock, and calls of methods of one value are one race.
func TestCases(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds and runs programs")
	}
	heisencmd.NeedInstrumentation(t)
	h := newHeisen(t, "testdata")
	for _, c := range []struct {
		pkg, test string
		least     tier.Tier
	}{
		{"mutual", "TestPileUp", tier.Default},
		{"library", "TestLog", tier.CI},
		{"mutual", "TestAtRest", tier.CI},
		{"mutual", "TestReaders", tier.CI},
		{"mutual", "TestTransfers", tier.CI},
	} {
		t.Run(c.test, func(t *testing.T) {
			tier.Need(t, c.least)
			want(t, h, "./"+c.pkg, c.test)
		})
	}
}

// TestCorpus: the bug of each program of the corpus is one finding.
func TestCorpus(t *testing.T) {
	tier.Need(t, tier.Nightly)
	heisencmd.NeedInstrumentation(t)
	programs, err := corpus.Programs()
	if err != nil {
		t.Fatal(err)
	}
	h := newHeisen(t, "../../../corpus/testdata")
	for _, p := range programs {
		t.Run(p.Class+"/"+p.Test, func(t *testing.T) { want(t, h, "./"+p.Class, p.Test) })
	}
}
