package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/heisen-go/heisen/bench"
	"github.com/heisen-go/heisen/bench/results"
	"github.com/heisen-go/heisen/corpus"
)

// TestJudge: what promises no false alarm has none, happens-before finds what it leaves unordered, and the
// predictors find more.
func TestJudge(t *testing.T) {
	all := bench.Detectors()
	verdicts, err := judge(all, corpus.Traces(3000, 2))
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range verdicts {
		if all[i].Precise && len(v.Wrong)+len(v.Other) > 0 {
			t.Errorf("%s has false alarms: %+v %v", v.detector, v.Wrong, v.Other)
		}
		missed := slices.ContainsFunc(v.Missed, func(p corpus.Pair) bool { return p.Truth == corpus.Observed })
		predicted := slices.ContainsFunc(v.Found, func(p corpus.Pair) bool { return p.Truth == corpus.Predictable })
		switch v.detector {
		case "fasttrack", "hb":
			if missed || predicted {
				t.Errorf("%s misses an unordered pair, or reports an ordered one: %+v", v.detector, v.Verdict)
			}
		case "mcm": // it misses what is not in one of its windows
			if !predicted {
				t.Errorf("mcm predicts none of %+v", v.Missed)
			}
		case "syncp", "hybrid":
			if missed || !predicted {
				t.Errorf("%s misses an unordered pair, or predicts none: %+v", v.detector, v.Missed)
			}
		}
	}
}

// TestCompare prints four tables with a row for each detector or size.
func TestCompare(t *testing.T) {
	chosen, err := choose("syncp,fasttrack")
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := compare(&out, chosen, 4000, 1, 1); err != nil {
		t.Fatal(err)
	}
	tables := results.Read(out.String())
	if len(tables) != 4 {
		t.Fatalf("%d tables:\n%s", len(tables), &out)
	}
	for i, rows := range []int{2, 2, 4, 2} {
		if len(tables[i].Rows) != rows {
			t.Errorf("table %d has %d rows:\n%s", i, len(tables[i].Rows), &out)
		}
	}
	if got := tables[1].Rows; got[0][0] != "syncp" || got[0][1] != "50" || got[1][1] != "0" {
		t.Errorf("by distance: %q", got)
	}
	if _, err := choose("fasttrack,none"); err == nil {
		t.Error("a detector that there is not is accepted")
	}
}
