package patch_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/patch"
	"github.com/heisen-go/heisen/report"
)

// TestOrder: the same findings give the same patch and the same refusals, in whatever order they and their accesses come.
// The comments name the variables that race; each pair of lines with one name is a finding.
func TestOrder(t *testing.T) {
	const source = `package p

var total, refused int

type box struct {
	n, m  int
	seen  map[string]int
	ready chan int
}

func (b *box) add()        { b.n++ }                      // b.n
func (b *box) get() int    { return b.n + b.m }           // b.n b.m
func (b *box) put(m int)   { b.m = m; total += m }        // b.m total
func (b *box) see(s string) { b.seen[s]++; refused++ }    // b.seen[s] refused
func (b *box) ask(s string) int { return b.seen[s] }      // b.seen[s]
func sum() int             { return total + refused }     // total refused
func (b *box) wait()       { for b.n < 3 { <-b.ready } }  // b.n
`
	dir, file := writeModule(t, source)
	places := map[string][]report.Access{}
	for i, line := range strings.Split(source, "\n") {
		_, names, _ := strings.Cut(line, "// ")
		for _, name := range strings.Fields(names) {
			places[name] = append(places[name], report.Access{
				Op: "write", Variable: name, Stack: []report.Frame{{Func: fmt.Sprint("p.f", i), File: file, Line: i + 1}},
			})
		}
	}
	var findings []report.Finding
	for name, at := range places {
		for i := 1; i < len(at); i++ {
			findings = append(findings, report.Finding{
				Kind: heisen.Race, Fingerprint: fmt.Sprintf("%s-%d", name, i), Accesses: []report.Access{at[i-1], at[i]},
			})
		}
	}
	if len(findings) != 6 {
		t.Fatalf("%d findings", len(findings))
	}
	made := func() string {
		result, err := patch.Make(context.Background(), dir, nil, findings)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := result.WriteDiff(&out); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&out, result.Repaired, result.Refused)
		return out.String()
	}
	first := made()
	if !strings.Contains(first, "sync.Mutex") {
		t.Fatalf("no patch:\n%s", first)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 4 {
		rng.Shuffle(len(findings), func(i, j int) { findings[i], findings[j] = findings[j], findings[i] })
		for i := range findings {
			if rng.IntN(2) == 0 {
				slices.Reverse(findings[i].Accesses)
			}
		}
		if again := made(); again != first {
			t.Fatalf("the findings in another order give another patch:\n%s\nbefore it was\n%s", again, first)
		}
	}
}
