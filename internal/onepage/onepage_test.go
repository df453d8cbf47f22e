package onepage

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/report"
)

var update = flag.Bool("update", false, "write what tests expect")

func access(op, function, file string, line int, variable, source string, locks ...string) report.Access {
	a := report.Access{
		Op: op, Goroutine: "goroutine 7", Test: "TestShop", Site: fmt.Sprintf("%s:%d", file, line), Variable: variable, Source: source,
		Stack: []report.Frame{{Func: function, File: file, Line: line}},
	}
	for _, l := range locks {
		a.Locks = append(a.Locks, report.Lock{Lock: "0xc000012345", Variable: l})
	}
	return a
}

func race(fingerprint string) report.Finding {
	return report.Finding{
		Detector: "fasttrack", Kind: heisen.Race, Fingerprint: fingerprint, Count: 1, Message: "write races with earlier write", Identity: "shop.Counter.n",
		Variable: "c.n", Accesses: []report.Access{
			access("write", "example.org/shop.(*Counter).Add", "/src/shop/counter.go", 7, "c.n", "c.n++"),
			access("read", "example.org/shop.(*Counter).Get", "/src/shop/counter.go", 11, "c.n", "return c.n", "c.mu"),
		},
	}
}

func confirmed(f report.Finding, harmful bool) report.Finding {
	f.Detector, f.Trials = "racefuzz", &report.Trials{Executions: 10, Confirmed: 4, Harmful: harmful, Endings: []report.Ending{
		{Outcome: "passed", Confirmed: true, Count: 1}, {Outcome: "test failed", Message: "TestShop", Confirmed: true, Count: 3},
	}}
	f.Replay = "heisen replay heisen-fuzz/" + f.Fingerprint + ".schedule"
	return f
}

func pages() map[string]*Page {
	deadlock := confirmed(report.Finding{
		Kind: heisen.Deadlock, Fingerprint: "0d", Message: "two threads wait for each other's locks", Cycle: []string{"a", "b", "a"},
		Accesses: []report.Access{
			access("acquire", "example.org/shop.Place", "/src/shop/store.go", 12, "b", "b.Lock()", "a"),
			access("acquire", "example.org/shop.Cancel", "/elsewhere/store.go", 22, "a", "a.Lock()", "b"),
		},
	}, true)
	failure := report.Finding{Detector: "racefuzz", Kind: heisen.Failure, Fingerprint: "0f", Message: "test failed: TestGet", Printed: []string{"1", "2", "3", "cache_test.go:20: 2 loads\x1b[31m"}}
	suspicion := report.Finding{Detector: "stalecheck", Kind: heisen.Atomicity, Fingerprint: "05", Message: "stale check of c.items", Accesses: []report.Access{
		access("write", "example.org/shop.Get", "/src/shop/cache.go", 29, "", ""),
	}}
	feared := deadlock
	feared.Trials, feared.Replay, feared.Fingerprint = nil, "", "0e"
	withPairs := race("0a")
	withPairs.AddPairs(&report.Finding{Kind: heisen.Race, Fingerprint: "0a", Pair: "0b", Count: 2, Accesses: race("0b").Accesses})
	many := &Page{Tool: "heisen", Folder: "/src/shop", Took: time.Minute}
	for i := range 40 {
		many.Certain = append(many.Certain, race(fmt.Sprintf("1%d", i)))
		many.Suspected = append(many.Suspected, suspicion)
		many.Flaky = append(many.Flaky, Flaky{FlakyTest: report.FlakyTest{Package: "example.org/shop", Test: "TestGet", Executions: 30, Failed: 2}, Finding: &failure})
		many.Unsearched = append(many.Unsearched, fmt.Sprintf("example.org/shop.Test%d", i))
	}
	return map[string]*Page{
		"nothing": {Tool: "heisen", Took: 61 * time.Second, Tests: 1, Executions: 300},
		"all": {
			Tool: "heisen", Folder: "/src/shop", Arguments: "-short ./...", Took: 32 * time.Second, TestsFailed: true, Tests: 5, Executions: 1234,
			Certain: []report.Finding{deadlock, failure, confirmed(race("0c"), false), withPairs}, Suspected: []report.Finding{feared, suspicion}, Unraced: 3,
			Untested: []string{"example.org/shop/metrics"}, Unread: []string{"wrong.go:3:5: undefined: x"}, Unsurveyed: []string{"example.org/shop/late"},
			Flaky: []Flaky{
				{FlakyTest: report.FlakyTest{Package: "example.org/shop", Test: "TestShop", Executions: 41, Failed: 3}, Finding: &deadlock},
				{FlakyTest: report.FlakyTest{Package: "example.org/shop", Test: "TestGet", Executions: 30, Failed: 2}, Finding: &failure},
				{FlakyTest: report.FlakyTest{Package: "example.org/shop", Test: "TestTime", Executions: 9, Failed: 1}, Cause: "a timing assumption"},
				{FlakyTest: report.FlakyTest{Package: "example.org/shop", Test: "TestOdd", Executions: 7, Failed: 1}},
			},
			Unsearched: []string{"example.org/shop.TestLast"}, Untried: 2, Uncovered: []string{"1 of 2 cases of select"}, Stopped: 1,
			Unseen: []string{"assembly in package p"}, Interrupted: true,
		},
		"many": many,
	}
}

// TestWrite compares pages with golden files.
func TestWrite(t *testing.T) {
	for name, p := range pages() {
		var b strings.Builder
		if err := p.Write(&b); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join("testdata", name+".golden")
		if *update {
			if err := os.WriteFile(file, []byte(b.String()), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), b.String()); diff != "" {
			t.Errorf("%s (-want +got; -update rewrites it):\n%s", file, diff)
		}
		if strings.Contains(b.String(), "0xc0") || strings.Contains(b.String(), "\x1b") || strings.Contains(b.String(), "goroutine 7") {
			t.Errorf("%s: the page has an address, a goroutine's number or a control character:\n%s", name, &b)
		}
		if n := strings.Count(b.String(), "\n"); n > 130 {
			t.Errorf("%s: %d lines", name, n)
		}
	}
}

// TestOnce: of findings with one fingerprint, the best known stays, with the pairs of all.
func TestOnce(t *testing.T) {
	plain, repeated, harmful, other := race("01"), confirmed(race("01"), false), confirmed(race("01"), true), race("02")
	plain.Pair, repeated.Pair, harmful.Pair = "p1", "p2", "p1"
	for _, order := range [][]report.Finding{{plain, other, repeated, harmful}, {harmful, repeated, other, plain}, {repeated, plain, harmful, other}} {
		once := Once(order)
		if len(once) != 2 {
			t.Fatalf("%d findings", len(once))
		}
		for _, f := range once {
			if f.Fingerprint == "02" {
				continue
			}
			if f.Trials == nil || !f.Trials.Harmful || f.Count != 3 || len(f.Pairs) != 1 || f.Pairs[0].Fingerprint != "p2" {
				t.Errorf("%d pairs, %d times, trials %+v", len(f.Pairs), f.Count, f.Trials)
			}
		}
	}
}
