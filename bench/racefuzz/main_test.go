package main

import (
	"context"
	"slices"
	"strings"
	"testing"
)

// TestPrint checks a small table. The seeds determine all of it.
func TestPrint(t *testing.T) {
	var b strings.Builder
	if err := print(context.Background(), &b, 40, "10, 100"); err != nil {
		t.Fatal(err)
	}
	const want = `| figure 1, pair of statements | race-directed: met | failed | random walk: met | failed | PCT, depth 1: met | failed | PCT, depth 2: met | failed |
|------------------------------|-------------------:|-------:|-----------------:|-------:|------------------:|-------:|------------------:|-------:|
| 5 and 7                      |              1.000 |  0.375 |            0.200 |  0.950 |             0.250 |  0.300 |             0.075 |  0.650 |
| 1 and 10                     |              0.000 |  1.000 |            0.000 |  0.950 |             0.000 |  0.300 |             0.000 |  0.650 |

| figure 2, statements before the race | race-directed: met | failed | random walk: met | failed | PCT, depth 1: met | failed | PCT, depth 2: met | failed |
|--------------------------------------|-------------------:|-------:|-----------------:|-------:|------------------:|-------:|------------------:|-------:|
| 10                                   |              1.000 |  0.325 |            0.000 |  0.000 |             0.250 |  0.700 |             0.050 |  0.200 |
| 100                                  |              1.000 |  0.425 |            0.000 |  0.000 |             0.250 |  0.700 |             0.025 |  0.025 |

`
	if _, got, _ := strings.Cut(b.String(), "\n\n"); got != want {
		t.Errorf("got\n%s", got)
	}
	for _, list := range []string{"", "1", "x", "10,,10"} {
		if err := print(context.Background(), &b, 1, list); err == nil {
			t.Errorf("%q is a list", list)
		}
	}
}

// TestTable checks the row of figure 1, whose race meets with every seed.
func TestTable(t *testing.T) {
	if testing.Short() {
		t.Skip("builds instrumented programs")
	}
	var b strings.Builder
	table := table{seeds: 6, plain: 2, parallel: 2, programs: []string{"figure1"}}
	if err := table.print(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if len(lines) != 3 {
		t.Fatalf("got\n%s", &b)
	}
	var got []string
	for _, cell := range strings.Split(lines[2], "|")[1:10] {
		got = append(got, strings.TrimSpace(cell))
	}
	got[7] = "" // plain runs that fail do so by chance
	if !slices.Equal(got, []string{"figure1", "", "2", "1", "0", "1", "1", "", "1.00"}) {
		t.Errorf("got %q in\n%s", got, &b)
	}
	if _, err := names("figure1,transfer"); err == nil {
		t.Error("a test is a program")
	}
}
