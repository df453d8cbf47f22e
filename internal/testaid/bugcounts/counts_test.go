package bugcounts

import (
	"flag"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/corpus"
	"github.com/heisen-go/heisen/internal/testaid/bugfuzz"
	"github.com/heisen-go/heisen/internal/testaid/heisencmd"
	"github.com/heisen-go/heisen/internal/testaid/tier"
	"github.com/heisen-go/heisen/report"
)

var (
	first    = flag.Int("first", 0, "the `number` of the first program of the corpora; after the last one comes the first one again")
	programs = flag.Int("programs", 2, "how many `programs` of the corpora")
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

// want looks for the bugs of a program in all ways, and wants one finding for each.
func want(t *testing.T, h *bugfuzz.Heisen, p *Program) {
	all, err := Look(t.Context(), h, p, Ways(), bugfuzz.Times(tier.Pick(300*time.Millisecond, 300*time.Millisecond, time.Second, 3*time.Second), 30*time.Second))
	if err != nil {
		t.Error(err)
	}
	for i := range all {
		t.Log(&all[i])
	}
}

// of returns a function that reports whether a finding is of one of some kinds.
func of(kinds ...heisen.Kind) func(*report.Finding) bool {
	return func(f *report.Finding) bool { return slices.Contains(kinds, f.Kind) }
}

// TestCases: goroutines that wait for each other at the end of a test are one deadlock, and calls of methods of one value are one race.
func TestCases(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds and runs programs")
	}
	heisencmd.NeedInstrumentation(t)
	h := newHeisen(t, "testdata")
	deadlock := Bug{Name: "the deadlock", Kind: heisen.Deadlock, Is: of(heisen.Deadlock), Order: true}
	always := deadlock
	always.Each = true
	for _, c := range []struct {
		pkg, test string
		least     tier.Tier
		bug       Bug
	}{
		{"mutual", "TestPileUp", tier.Default, always},
		{"library", "TestLog", tier.CI, Bug{Name: "the race", Kind: heisen.Race, Is: of(heisen.Race), Each: true}},
		{"mutual", "TestAtRest", tier.CI, always},
		{"mutual", "TestReaders", tier.CI, always},
		{"mutual", "TestTransfers", tier.CI, deadlock},
	} {
		t.Run(c.test, func(t *testing.T) {
			tier.Need(t, c.least)
			want(t, h, &Program{Package: "./" + c.pkg, Test: c.test, Bugs: []Bug{c.bug}})
		})
	}
}

// TestShop: each of the four bugs of the shop is one finding, and those of its tests that have several have one of each.
func TestShop(t *testing.T) {
	tier.Need(t, tier.CI)
	heisencmd.NeedInstrumentation(t)
	h := newHeisen(t, "../../../examples/shop")
	about := func(name string, kind heisen.Kind, words ...string) Bug {
		return Bug{Name: name, Kind: kind, Is: func(f *report.Finding) bool {
			return f.Kind == kind && !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(f.String(), word) })
		}}
	}
	counter := about("the counter without a lock", heisen.Race, "c.failures")
	loads := about("the cache that checks and acts in two sections", heisen.Failure, "test failed: TestGetOnce")
	locks := about("the locks in opposite orders", heisen.Deadlock)
	locks.Order = true
	behind := about("the goroutine that stays behind", heisen.Leak, "chan send")
	behind.Each = true
	for _, p := range []Program{
		{Name: "cache", Test: "TestGetOnce", Bugs: []Bug{loads}},
		{Name: "store", Test: "TestPlaceCancel", Bugs: []Bug{locks}},
		{Name: "pool", Test: "TestFirstTimesOut", Bugs: []Bug{behind}},
	} {
		t.Run(p.Test, func(t *testing.T) {
			p.Package = "./" + p.Name
			want(t, h, &p)
		})
	}
	_ = counter
}

// corpora returns the programs of the bug corpus.
func corpora(t *testing.T) (all []Program) {
	programs, err := corpus.Programs()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range programs {
		bug := Bug{Name: "the bug", Kind: p.Wants[0].Kind, Is: p.Expects}
		bug.Order = slices.ContainsFunc(p.Wants, func(w corpus.Want) bool { return w.Kind == heisen.Deadlock }) && slices.Contains([]string{"mutex", "rwmutex"}, p.Class)
		all = append(all, Program{Name: p.Class + "/" + p.Test, Package: "./" + p.Class, Test: p.Test, Bugs: []Bug{bug}})
	}
	return all
}

// TestCorpus: the bug of each program of the corpus is one finding.
func TestCorpus(t *testing.T) {
	tier.Need(t, tier.Nightly)
	heisencmd.NeedInstrumentation(t)
	h := newHeisen(t, "../../../corpus/testdata")
	all := corpora(t)
	for i := range *programs {
		p := &all[(*first+i)%len(all)]
		t.Run(p.Name, func(t *testing.T) { want(t, h, p) })
	}
}
