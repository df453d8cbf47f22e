package racefuzz_test

import (
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/bench/models"
	"github.com/heisen-go/heisen/lockset"
	"github.com/heisen-go/heisen/racefuzz"
)

// about reports whether n heads in a number of coin tosses are within five standard deviations of
// the expectation.
func about(n, of int) bool {
	off := 2*n - of
	return off*off <= 25*of
}

func run(t testing.TB, program racefuzz.Program, s racefuzz.Strategy, seed uint64, options ...racefuzz.RunOption) *racefuzz.Result {
	t.Helper()
	r, err := racefuzz.Run(context.Background(), program, s, seed, options...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func must(t testing.TB) func(racefuzz.Strategy, error) racefuzz.Strategy {
	return func(s racefuzz.Strategy, err error) racefuzz.Strategy {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
}

// TestFigure1Phase1 has hybrid detection name the pairs of the paper.
func TestFigure1Phase1(t *testing.T) {
	pairs := map[[2]string]bool{}
	for seed := range uint64(200) {
		var found [][2]heisen.Site
		h, err := lockset.NewHybrid(lockset.WithSink(func(f heisen.Finding) {
			found = append(found, [2]heisen.Site{f.Accesses[0].Site, f.Accesses[1].Site})
		}))
		if err != nil {
			t.Fatal(err)
		}
		r := run(t, models.Figure1, racefuzz.RandomWalk(), seed, racefuzz.WithDetector(h))
		for _, f := range found {
			pair := []string{r.Symbols.Site(f[0]).String(), r.Symbols.Site(f[1]).String()}
			slices.Sort(pair)
			pairs[[2]string(pair)] = true
		}
	}
	if want := map[[2]string]bool{{"5", "7"}: true, {"1", "10"}: true}; !maps.Equal(pairs, want) {
		t.Errorf("potential races: %v", pairs)
	}
}

func TestFigure1(t *testing.T) {
	const seeds = 1000
	s := must(t)(racefuzz.RaceDirected())
	errors := 0
	for seed := range uint64(seeds) {
		r := run(t, models.Figure1, s, seed, racefuzz.WithRoles(racefuzz.First, "5"), racefuzz.WithRoles(racefuzz.Second, "7"))
		if len(r.Meetings) == 0 {
			t.Fatalf("seed %d: pair (5, 7) is not confirmed", seed)
		}
		m := r.Meetings[0]
		places := []string{r.Place(m.First.Place), r.Place(m.Second.Place)}
		if slices.Sort(places); !slices.Equal(places, []string{"5", "7"}) {
			t.Fatalf("seed %d: %v met", seed, places)
		}
		switch {
		case r.Outcome == racefuzz.Failed && r.Message == "ERROR1":
			errors++
		case r.Outcome != racefuzz.Finished:
			t.Fatalf("seed %d: %v %s", seed, r.Outcome, r.Message)
		}
		r = run(t, models.Figure1, s, seed, racefuzz.WithRoles(racefuzz.First, "1"), racefuzz.WithRoles(racefuzz.Second, "10"))
		if len(r.Meetings) > 0 || r.Message == "ERROR2" {
			t.Fatalf("seed %d: pair (1, 10) is confirmed", seed)
		}
	}
	if !about(errors, seeds) {
		t.Errorf("ERROR1 in %d of %d", errors, seeds)
	}
}

func TestFigure2(t *testing.T) {
	s := must(t)(racefuzz.RaceDirected())
	for before, seeds := range map[int]int{10: 1000, 1000: 200, 100000: 10} {
		errors := 0
		for seed := range uint64(seeds) {
			r := run(t, models.Figure2(before), s, seed, racefuzz.WithRoles(racefuzz.First, "8"), racefuzz.WithRoles(racefuzz.Second, "10"))
			if len(r.Meetings) != 1 {
				t.Fatalf("%d statements, seed %d: %d meetings", before, seed, len(r.Meetings))
			}
			if r.Message == "ERROR" {
				errors++
			}
		}
		if !about(errors, seeds) {
			t.Errorf("%d statements: ERROR in %d of %d", before, errors, seeds)
		}
	}
	walk, met := racefuzz.RandomWalk(), map[int]int{}
	for _, before := range []int{10, 1000} {
		for seed := range uint64(200) {
			r := run(t, models.Figure2(before), walk, seed, racefuzz.WithRoles(racefuzz.First, "8"), racefuzz.WithRoles(racefuzz.Second, "10"))
			met[before] += len(r.Meetings)
		}
	}
	if met[10] > 20 || met[1000] > 0 {
		t.Errorf("a random walk meets in %v of 200", met)
	}
}
