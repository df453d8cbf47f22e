package bugcounts

import (
	"errors"
	"flag"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/corpus"
	"github.com/heisen-go/heisen/internal/build"
	"github.com/heisen-go/heisen/internal/testaid/bugfuzz"
	"github.com/heisen-go/heisen/internal/testaid/heisencmd"
	"github.com/heisen-go/heisen/internal/testaid/leakprograms"
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

// TestCases: goroutines that wait for each other's locks at the end of a test are one deadlock, those that wait for each other over channels are
// one leak, and calls of methods of one value are one race.
func TestCases(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds and runs programs")
	}
	heisencmd.NeedInstrumentation(t)
	h := newHeisen(t, "testdata")
	deadlock := Bug{Name: "the deadlock", Kind: heisen.Deadlock, Is: of(heisen.Deadlock), Order: true}
	always := deadlock
	always.Each = true
	leak := Bug{Name: "the leak", Kind: heisen.Leak, Is: of(heisen.Leak), Each: true}
	for _, c := range []struct {
		pkg, test string
		least     tier.Tier
		bug       Bug
	}{
		{"mutual", "TestPileUp", tier.Default, always},
		{"library", "TestLog", tier.CI, Bug{Name: "the race", Kind: heisen.Race, Is: of(heisen.Race), Each: true, Inside: true}},
		{"mutual", "TestAtRest", tier.CI, always},
		{"mutual", "TestReaders", tier.CI, always},
		{"mutual", "TestTransfers", tier.CI, deadlock},
		{"circles", "TestRing", tier.Default, leak},
		{"circles", "TestSelects", tier.CI, leak},
		{"circles", "TestChain", tier.CI, leak},
		{"held", "TestBoard", tier.CI, leak},
	} {
		t.Run(c.test, func(t *testing.T) {
			tier.Need(t, c.least)
			want(t, h, &Program{Package: "./" + c.pkg, Test: c.test, Bugs: []Bug{c.bug}})
		})
	}
}

// TestSideBySide: two bugs of a test are two findings.
func TestSideBySide(t *testing.T) {
	tier.Need(t, tier.CI)
	heisencmd.NeedInstrumentation(t)
	h := newHeisen(t, "testdata")
	leak := func(name string, words ...string) Bug {
		return Bug{Name: name, Kind: heisen.Leak, Is: withWords(heisen.Leak, words...), Each: true}
	}
	race := func(name string) Bug {
		return Bug{Name: name, Kind: heisen.Race, Is: withWords(heisen.Race, name+":"), Each: true}
	}
	for _, c := range []struct {
		least tier.Tier
		Program
	}{
		{tier.CI, Program{Package: "./circles", Test: "TestPair", Bugs: []Bug{leak("left", "p.left:"), leak("right", "p.right:")}}},
		{tier.CI, Program{Package: "./circles", Test: "TestTwo", Bugs: []Bug{leak("the stages", "circles.go"), leak("the others", "circles_test.go")}}},
		// What decides a failure is known only after many executions, more than a busy machine makes in the time.
		{tier.Nightly, Program{Package: "./sidebyside", Test: "TestOffice", Bugs: []Bug{
			race("o.last"), {Name: "the two sections", Kind: heisen.Failure, Is: of(heisen.Failure)},
		}}},
		{tier.Nightly, Program{Package: "./counters", Test: "TestCounters", Bugs: []Bug{race("some"), race("others")}}},
	} {
		t.Run(c.Test, func(t *testing.T) {
			tier.Need(t, c.least)
			want(t, h, &c.Program)
		})
	}
}

// withWords returns a function that reports whether a finding is of a kind and has some words.
func withWords(kind heisen.Kind, words ...string) func(*report.Finding) bool {
	return func(f *report.Finding) bool {
		return f.Kind == kind && !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(f.String(), word) })
	}
}

// shop returns the tests of the example of a service with four bugs. The bugs of its parts may also show in the test of all of it.
func shop() []Program {
	loads := Bug{Name: "the cache that checks and acts in two sections", Kind: heisen.Failure, Is: withWords(heisen.Failure, "test failed: TestGetOnce")}
	locks := Bug{Name: "the locks in opposite orders", Kind: heisen.Deadlock, Is: of(heisen.Deadlock), Order: true}
	behind := Bug{Name: "the goroutine that stays behind", Kind: heisen.Leak, Is: withWords(heisen.Leak, "chan send"), Each: true}
	service := []Bug{
		{Name: "the counter without a lock", Kind: heisen.Race, Is: withWords(heisen.Race, "c.failures")},
		{Name: loads.Name, Kind: heisen.Failure, Is: withWords(heisen.Failure, "test failed: TestOrders"), May: true},
		{Name: locks.Name, Kind: heisen.Deadlock, Is: locks.Is, May: true},
		{Name: behind.Name, Kind: heisen.Leak, Is: behind.Is, May: true},
	}
	return []Program{
		{Name: "shop/TestGetOnce", Package: "./cache", Test: "TestGetOnce", Bugs: []Bug{loads}},
		{Name: "shop/TestPlaceCancel", Package: "./store", Test: "TestPlaceCancel", Bugs: []Bug{locks}},
		{Name: "shop/TestFirstTimesOut", Package: "./pool", Test: "TestFirstTimesOut", Bugs: []Bug{behind}},
		{Name: "shop/TestOrders", Package: "./api", Test: "TestOrders", Bugs: service},
	}
}

// examples returns the examples whose bugs need no help, such as noise or sections.
func examples() []Program {
	race := Bug{Name: "the race", Kind: heisen.Race, Is: of(heisen.Race), Each: true}
	return []Program{
		{Name: "examples/bank", Package: "./examples/bank", Bugs: []Bug{race}},
		{Name: "examples/config", Package: "./examples/config", Bugs: []Bug{race}},
		{Name: "examples/metrics", Package: "./examples/metrics", Bugs: []Bug{race}},
		{Name: "examples/stock", Package: "./examples/stock", Bugs: []Bug{{Name: "the deadlock", Kind: heisen.Deadlock, Is: of(heisen.Deadlock), Order: true}}},
	}
}

// several has the programs of the bug corpus with more than one finding, and why.
var several = map[string]int{
	"waitgroupmisuse/TestTree": 2, // a race, and a test that fails, also where Wait comes too early to be part of the race
}

// depends has the programs of the bug corpus of which some executions have no locks in an order that can deadlock.
var depends = map[string]bool{
	"mutex/TestPlugins": true, // the host does not tell a plugin that has left before
}

// bugs returns the programs of the bug corpus.
func bugs(t *testing.T) (all []Program) {
	programs, err := corpus.Programs()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range programs {
		bug := Bug{Name: "the bug", Kind: p.Wants[0].Kind, Is: p.Expects, Most: several[p.Class+"/"+p.Test]}
		bug.Order = bug.Kind == heisen.Deadlock && !depends[p.Class+"/"+p.Test]
		all = append(all, Program{Name: p.Class + "/" + p.Test, Package: "./" + p.Class, Test: p.Test, Bugs: []Bug{bug}})
	}
	return all
}

// leaks returns the programs of the test data of Go's profile of leaked goroutines, in a folder. There are none before Go 1.26.
func leaks(t *testing.T, folder string) (all []Program) {
	toolchain, err := build.FindToolchain(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	programs, err := leakprograms.Read(toolchain.Root, folder, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range programs {
		waits := Bug{Name: "what waits for ever", Kind: heisen.Leak, May: len(p.Leaks) == 0, Most: len(p.Leaks), Is: func(f *report.Finding) bool {
			return f.Kind == heisen.Leak || f.Kind == heisen.Deadlock || withWords(heisen.Failure, "deadlock: ")(f)
		}}
		other := Bug{Name: "another bug", Is: func(*report.Finding) bool { return true }, May: true, Most: 4}
		all = append(all, Program{Name: "leaks/" + p.Name, Package: "./" + p.Folder, Args: []string{p.Name}, Bugs: []Bug{waits, other}})
	}
	return all
}

// TestShop: each of the four bugs of the shop is one finding.
func TestShop(t *testing.T) {
	tier.Need(t, tier.CI)
	heisencmd.NeedInstrumentation(t)
	h := newHeisen(t, "../../../examples/shop")
	for _, p := range shop()[:3] { // the service is one of the corpora
		t.Run(p.Test, func(t *testing.T) { want(t, h, &p) })
	}
}

// TestCorpora: the bug of each program of the corpora is one finding.
func TestCorpora(t *testing.T) {
	tier.Need(t, tier.Nightly)
	heisencmd.NeedInstrumentation(t)
	folders, all := map[string]string{}, []Program{}
	add := func(folder string, programs []Program) {
		for _, p := range programs {
			folders[p.Name] = folder
		}
		all = append(all, programs...)
	}
	copied := t.TempDir()
	add("../../../corpus/testdata", bugs(t))
	add("../../../examples/shop", shop())
	add("../../..", examples())
	add(copied, leaks(t, copied))
	byFolder := map[string]*bugfuzz.Heisen{}
	for i := range *programs {
		p := &all[(*first+i)%len(all)]
		h := byFolder[folders[p.Name]]
		if h == nil {
			h = newHeisen(t, folders[p.Name])
			byFolder[folders[p.Name]] = h
		}
		t.Run(p.Name, func(t *testing.T) { want(t, h, p) })
	}
}
