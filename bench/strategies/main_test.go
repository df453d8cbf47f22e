package main

import (
	"strings"
	"testing"
	"time"

	"github.com/heisen-go/heisen/corpus"
)

// TestPrint checks the tables of three programs. One strategy finds two bugs, one finds none.
func TestPrint(t *testing.T) {
	c := &comparison{
		executions: 100, times: []time.Duration{time.Second, 5 * time.Second}, programs: make([]corpus.Program, 3),
		alone: map[string]*alone{
			"walk": {made: 300, took: time.Second, first: []int{60, 3}},
			"pct":  {made: 100, took: time.Second, first: []int{1}},
			"pos":  {made: 200, took: 4 * time.Second},
		},
		found: []int{1, 3}, made: 500, took: 2 * time.Second,
	}
	var b strings.Builder
	if err := c.print(&b); err != nil {
		t.Fatal(err)
	}
	_, got, _ := strings.Cut(b.String(), "\n\n")
	const want = `Bugs found, of 3 programs with one bug each. The first table has each strategy alone, by the number of executions.

| strategy | executions/s | found after 1 | found after 10 | found after 50 | found after 100 | median first hit |
|----------|-------------:|--------------:|---------------:|---------------:|----------------:|-----------------:|
| walk     |          300 |             0 |              1 |              1 |               2 |       60, 200 ms |
| pct      |          100 |             1 |              1 |              1 |               1 |         1, 10 ms |
| pos      |           50 |             0 |              0 |              0 |               0 |                - |

The second has heisen fuzz with all of them, by the value of -time.

| strategy | executions/s | found with 1s | found with 5s |
|----------|-------------:|--------------:|--------------:|
| default  |          250 |             1 |             3 |

`
	if got != want {
		t.Errorf("got\n%s", got)
	}
}
