package section

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/heisen-go/heisen"
)

// TestTinyBound: a tracker that lets a thread be in a few sections only sees no execution that one without
// the bound does not see.
func TestTinyBound(t *testing.T) {
	locator := Locator{Site: func(s heisen.Site) (string, int, string) { return "f.go", int(s), "" }, Folder: "/"}
	at := func(rng *rand.Rand) Location {
		return Location{File: "f.go", Line: 1 + rng.IntN(8), Mode: []Modes{Reads, Writes}[rng.IntN(2)]}
	}
	seen, missed := 0, 0
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 4))
		var sections []Section
		for range 2 + rng.IntN(6) {
			s := Section{Entry: at(rng), Above: rng.IntN(2), Ends: []End{{At: at(rng)}}}
			if Check(append(sections, s)) == nil {
				sections = append(sections, s)
			}
		}
		var records []heisen.Record
		for range 200 {
			op := []heisen.Op{heisen.Read, heisen.Write, heisen.Write, heisen.AtomicUpdate, heisen.Call, heisen.Return}[rng.IntN(6)]
			records = append(records, heisen.Record{
				Op: op, Thread: heisen.Thread(rng.IntN(3)), Object: heisen.Object(8 + 8*rng.IntN(4)), Len: 8, Site: heisen.Site(1 + rng.IntN(8)),
			})
		}
		follow := func(most int) map[string]bool {
			found := map[string]bool{}
			tracker, err := NewTracker(sections, locator, func(e Execution) { found[fmt.Sprint(e.Section, e.Entry, e.End)] = true })
			if err != nil {
				t.Fatal(err)
			}
			tracker.most = most
			for i := range records {
				tracker.Next(&records[i], uint64(i+1))
			}
			return found
		}
		all := follow(1 << 20)
		for most := range 4 {
			some := follow(most)
			for e := range some {
				if !all[e] {
					t.Fatalf("seed %d, %d sections at a time: %s is seen only with the bound", seed, most, e)
				}
			}
			seen += len(some)
			if len(some) < len(all) {
				missed++
			}
		}
	}
	if seen == 0 || missed == 0 {
		t.Errorf("%d executions seen, %d runs miss some: nothing was tried", seen, missed)
	}
}
