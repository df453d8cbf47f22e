package atomicity_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/atomicity"
	"github.com/heisen-go/heisen/internal/testaid/must"
	"github.com/heisen-go/heisen/internal/testaid/tier"
	"github.com/heisen-go/heisen/trace"
)

const corpus = "../trace/testdata/corpus"

// readTrace reads a trace in the STD format.
func readTrace(t testing.TB, text string) ([]heisen.Record, *heisen.Symbols) {
	t.Helper()
	r, err := trace.NewReader(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var records []heisen.Record
	keep := heisen.Filter(heisen.Tee(), func(e heisen.Event) bool {
		records = append(records, *heisen.AsRecord(e))
		return false
	})
	if _, err := heisen.Run(t.Context(), r, keep); err != nil {
		t.Fatal(err)
	}
	return records, r.Symbols()
}

// serialFindings returns what Serial reports about a trace, with the number of violations.
func serialFindings(records []heisen.Record, opts ...atomicity.Option) (found []heisen.Finding, violations uint64) {
	sink := atomicity.WithSink(func(f heisen.Finding) { found = append(found, f) })
	d := must.Make(atomicity.NewSerial(append(opts, sink)...))
	d.HandleRecords(records)
	if err := d.Flush(); err != nil {
		panic(err)
	}
	return found, d.Violations()
}

// TestCorpus compares the verdicts with those of AeroDrome and Velodrome.
func TestCorpus(t *testing.T) {
	table, err := os.ReadFile(filepath.Join(corpus, "verdicts.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	compared := map[string]int{}
	for line := range strings.Lines(string(table)) {
		field := strings.Split(strings.TrimRight(line, "\n"), "\t")
		if len(field) < 3 || field[1] != "Aerodrome" && field[1] != "Velodrome" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(corpus, "std", field[0]))
		if err != nil {
			t.Fatal(err)
		}
		records, _ := readTrace(t, string(text))
		verdict := "serialisable"
		if _, violations := serialFindings(records); violations > 0 {
			verdict = "violation"
		}
		if verdict != field[2] {
			t.Errorf("%s: %s, but %s says %s", field[0], verdict, field[1], field[2])
		}
		compared[field[1]+" "+verdict]++
	}
	t.Log(compared)
	// Velodrome has no verdict of t008, in which AeroDrome found a violation.
	for engine, want := range map[string]int{"Aerodrome": 80, "Velodrome": 79} {
		if n := compared[engine+" violation"] + compared[engine+" serialisable"]; n != want || compared[engine+" violation"] < 18 {
			t.Errorf("%d verdicts of %s, want %d, at least 18 of them violations", n, engine, want)
		}
	}
}

// randomTrace returns a well-formed trace: locks exclude, and transactions may be nested or open at
// the end.
func randomTrace(rnd *rand.Rand) (records []heisen.Record) {
	threads, events := 2+rnd.IntN(4), 10+rnd.IntN(60)
	depth := make([]int, threads)
	held := make([][]heisen.Object, threads)
	writer, readers := map[heisen.Object]int{}, map[heisen.Object]int{}
	ended := make([]bool, threads)
	add := func(t int, op heisen.Op, o heisen.Object, size uint16) {
		records = append(records, heisen.Record{Op: op, Thread: heisen.Thread(t), Object: o, Len: size, Site: heisen.Site(len(records) + 1)})
	}
	vars := 1 + rnd.IntN(5)
	marks := 2 + rnd.IntN(8) // how frequent boundaries are, of 20
	for t := 1; t < threads; t++ {
		if rnd.IntN(3) > 0 {
			add(0, heisen.Fork, heisen.Object(t), 0)
		}
	}
	for len(records) < events {
		t := rnd.IntN(threads)
		if ended[t] {
			continue
		}
		switch k := rnd.IntN(20 + marks); {
		case k < 6:
			add(t, heisen.Read, heisen.Object(64+8*rnd.IntN(vars)+rnd.IntN(2)*4), uint16(rnd.IntN(2)*8))
		case k < 11:
			add(t, heisen.Write, heisen.Object(64+8*rnd.IntN(vars)+rnd.IntN(2)*4), uint16(rnd.IntN(2)*8))
		case k < 12:
			add(t, heisen.AtomicUpdate, heisen.Object(64+8*rnd.IntN(vars)), 0)
		case k < 14:
			l := heisen.Object(1024 + 8*rnd.IntN(2))
			if writer[l] == 0 && readers[l] == 0 {
				writer[l] = t + 1
				held[t] = append(held[t], l)
				add(t, heisen.Acquire, l, 0)
			} else if writer[l] == t+1 {
				writer[l] = 0
				add(t, heisen.Release, l, 0)
			}
		case k < 15:
			l := heisen.Object(1024 + 8*rnd.IntN(2))
			if writer[l] == 0 {
				readers[l]++
				add(t, heisen.AcquireShared, l, 0)
				if rnd.IntN(2) == 0 {
					add(t, heisen.Read, 64, 0)
				}
				readers[l]--
				add(t, heisen.ReleaseShared, l, 0)
			}
		case k < 17:
			add(t, heisen.Send, heisen.Object(2048+8*rnd.IntN(2)), 0)
		case k < 19:
			add(t, heisen.Receive, heisen.Object(2048+8*rnd.IntN(2)), 0)
		case k < 20:
			if u := rnd.IntN(threads); u != t && rnd.IntN(2) == 0 {
				ended[u] = true
				add(t, heisen.Join, heisen.Object(u), 0)
				if ended[t] {
					return records
				}
			}
			alive := 0
			for _, e := range ended {
				if !e {
					alive++
				}
			}
			if alive == 0 {
				return records
			}
		case k%2 == 0 && depth[t] < 2:
			depth[t]++
			add(t, heisen.Enter, 0, 0)
		case depth[t] > 0:
			depth[t]--
			add(t, heisen.Exit, 0, 0)
		}
	}
	return records
}

// TestSerialIsExact compares Serial with the graph of its definition on random traces: the first
// violation is at the same event, and each later one is a cycle.
func TestSerialIsExact(t *testing.T) {
	trials := tier.Pick(2000, 2000, 20000)
	violations, serializable := 0, 0
	for seed := range trials {
		records := randomTrace(rand.New(rand.NewPCG(uint64(seed), 27)))
		violation, err := compareWithGraph(records)
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, lines(records))
		}
		if violation {
			violations++
		} else {
			serializable++
		}
	}
	t.Logf("%d traces with violations, %d without", violations, serializable)
	if min(violations, serializable) < trials/10 {
		t.Errorf("%d traces with violations and %d without: too few of one sort", violations, serializable)
	}
}

// compareWithGraph returns an error if Serial and the graph disagree, and whether there is a violation.
func compareWithGraph(records []heisen.Record) (violation bool, err error) {
	g := newConflictGraph(records)
	found, _ := serialFindings(records)
	first := 0
	d := must.Make(atomicity.NewSerial())
	for i := range records {
		d.Handle(records[i].Event())
		if first == 0 && d.Violations() > 0 {
			first = i + 1
		}
	}
	if (first > 0) != (len(found) > 0) {
		return false, fmt.Errorf("%d findings, and the first violation is at event %d", len(found), first)
	}
	if first != g.first {
		return false, fmt.Errorf("the first violation is at event %d, want %d", first, g.first)
	}
	for _, f := range found {
		if !g.justifies(f) {
			return false, fmt.Errorf("no cycle: %v", f)
		}
	}
	return g.first > 0, nil
}

func lines(records []heisen.Record) string {
	var b strings.Builder
	for i, r := range records {
		fmt.Fprintf(&b, "%d: T%d %v %d len %d\n", i+1, r.Thread, r.Op, r.Object, r.Len)
	}
	return b.String()
}
