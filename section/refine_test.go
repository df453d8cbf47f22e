package section

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/heisen-go/heisen"
)

// till is two sections: a sale, which ends in two ways, and a look at the till.
func till() []Section {
	at := func(line int, mode Modes) Location { return Location{"till.go", line, mode} }
	return []Section{
		{Variable: "t.sum", Entry: at(10, Reads), Ends: []End{{at(12, Writes), Reads, nil}, {at(15, Writes), 0, nil}}},
		{Variable: "t.sum", Entry: at(30, Reads), Ends: []End{{at(31, Reads), Reads, nil}}},
	}
}

func TestRefiner(t *testing.T) {
	s := till()
	sale, refund, look := s[0].Pair(0), s[0].Pair(1), s[1].Pair(0)
	all := []Pair{sale, refund, look}
	allowed := func(i, j int) []Section {
		out := till()
		out[i].Ends[j].Allow = Reads | Writes
		return out
	}
	for _, test := range []struct {
		name    string
		calm    int
		runs    []Observation
		pruned  [][]Pair // by run
		done    []bool   // after each run
		refined []Section
	}{
		{
			"nothing is violated", 2,
			[]Observation{{Correct: true, Seen: all}, {Correct: true}},
			[][]Pair{nil, nil}, []bool{false, true}, till(),
		},
		{
			"a branch that need not be atomic keeps its end", 1,
			[]Observation{{Correct: true, Seen: all, Violated: []Pair{sale, sale}}, {Correct: true, Seen: all}},
			[][]Pair{{sale}, nil}, []bool{false, true}, allowed(0, 0),
		},
		{
			"a section that need not be atomic goes", 1,
			[]Observation{{Correct: true, Seen: all, Violated: []Pair{look}}, {Correct: true}},
			[][]Pair{{look}, nil}, []bool{false, true}, till()[:1],
		},
		{
			"a violated pair was seen", 1,
			[]Observation{{Violated: all}, {Correct: true}},
			[][]Pair{nil, nil}, []bool{false, true}, till(),
		},
		{
			"what breaks a run is kept", 1,
			[]Observation{{Seen: all, Violated: []Pair{refund}}, {Correct: true}},
			[][]Pair{nil, nil}, []bool{false, true}, till(),
		},
		{
			"what is not seen goes", 1,
			[]Observation{{Correct: true, Seen: []Pair{sale}}},
			[][]Pair{nil}, []bool{true}, allowed(0, 1)[:1],
		},
		{
			"nothing is seen", 1,
			[]Observation{{Correct: true}},
			[][]Pair{nil}, []bool{true}, []Section{},
		},
		{
			"incorrect runs do not count, nor do they interrupt", 2,
			[]Observation{{Correct: true, Seen: all}, {Violated: all}, {Correct: true}},
			[][]Pair{nil, nil, nil}, []bool{false, false, true}, till(),
		},
		{
			"a change begins the count anew", 2,
			[]Observation{
				{Correct: true, Seen: all}, {Correct: true, Violated: []Pair{look, refund}},
				{Correct: true, Violated: []Pair{look}}, {Correct: true},
			},
			[][]Pair{nil, {look, refund}, nil, nil}, []bool{false, false, false, true}, allowed(0, 1)[:1],
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			given := till()
			r, err := NewRefiner(given, test.calm)
			if err != nil {
				t.Fatal(err)
			}
			for i, run := range test.runs {
				pruned, err := r.Add(run)
				if err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(pruned, test.pruned[i]) || r.Done() != test.done[i] {
					t.Errorf("run %d: %v pruned, done %v; want %v, %v", i, pruned, r.Done(), test.pruned[i], test.done[i])
				}
			}
			if diff := cmp.Diff(test.refined, r.Refined()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if diff := cmp.Diff(till(), given); diff != "" {
				t.Errorf("what was given has changed:\n%s", diff)
			}
		})
	}
}

func TestRefinerErrors(t *testing.T) {
	if _, err := NewRefiner(till(), 0); err == nil || !errors.Is(err, heisen.ErrOption) {
		t.Errorf("no runs: error %v", err)
	}
	twice := append(till(), till()...)
	if _, err := NewRefiner(twice, 1); !errors.Is(err, ErrInvalid) {
		t.Errorf("bad sections: error %v", err)
	}
	r, err := NewRefiner(till(), 1)
	if err != nil {
		t.Fatal(err)
	}
	s := till()
	stranger := Pair{s[0].Variable, s[0].Entry, s[1].Ends[0].At}
	for _, run := range []Observation{
		{Correct: true, Seen: []Pair{s[0].Pair(0), stranger}},
		{Correct: true, Violated: []Pair{s[0].Pair(0), stranger}},
	} {
		pruned, err := r.Add(run)
		want := `section.Refiner.Add: wrong option: no section leads from "till.go:10 read" to "till.go:31 read"`
		if !errors.Is(err, heisen.ErrOption) || err.Error() != want || pruned != nil {
			t.Errorf("%v, error %v", pruned, err)
		}
	}
	if r.Done() || len(r.Refined()) != 0 || !cmp.Equal(r.Sections(), till()) {
		t.Error("part of a refused run was taken in")
	}
}

// TestRefinerProperty compares with the definition: a pair allows everything if it
// did from the start or a correct run violated it; in the end also if no run saw
// it. What is left is in order and can be violated.
func TestRefinerProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sections := drawSections(t)
		var pairs []Pair
		for i := range sections {
			for j := range sections[i].Ends {
				pairs = append(pairs, sections[i].Pair(j))
			}
		}
		some := func(name string) []Pair {
			if len(pairs) == 0 {
				return nil
			}
			return rapid.SliceOfN(rapid.SampledFrom(pairs), 0, 5).Draw(t, name)
		}
		calm := rapid.IntRange(1, 3).Draw(t, "calm")
		r, err := NewRefiner(sections, calm)
		if err != nil {
			t.Fatal(err)
		}
		open := map[Pair]bool{} // pairs that allow everything
		for i, s := range sections {
			for j, e := range s.Ends {
				open[sections[i].Pair(j)] = e.Allow == Reads|Writes
			}
		}
		seen := map[Pair]bool{}
		quiet := 0
		for range rapid.IntRange(0, 6).Draw(t, "runs") {
			run := Observation{Correct: rapid.Bool().Draw(t, "correct"), Seen: some("seen"), Violated: some("violated")}
			if _, err := r.Add(run); err != nil {
				t.Fatal(err)
			}
			for _, p := range append(run.Seen, run.Violated...) {
				seen[p] = true
			}
			if run.Correct {
				quiet++
				for _, p := range run.Violated {
					if !open[p] {
						quiet = 0
					}
					open[p] = true
				}
			}
			if r.Done() != (quiet >= calm) {
				t.Fatalf("done %v after %d quiet runs of %d", r.Done(), quiet, calm)
			}
			for i, s := range r.Sections() {
				for j, e := range s.Ends {
					if (e.Allow == Reads|Writes) != open[s.Pair(j)] || s.Pair(j) != sections[i].Pair(j) {
						t.Fatalf("%v: allows %v, open %v", s.Pair(j), e.Allow, open[s.Pair(j)])
					}
				}
			}
		}
		refined := r.Refined()
		if err := Check(refined); err != nil {
			t.Fatal(err)
		}
		left := map[Pair]Modes{}
		for _, s := range refined {
			for j, e := range s.Ends {
				left[s.Pair(j)] = e.Allow
			}
		}
		for i, s := range sections {
			live := false
			for j := range s.Ends {
				p := sections[i].Pair(j)
				live = live || seen[p] && !open[p]
			}
			for j, e := range s.Ends {
				p := sections[i].Pair(j)
				want := e.Allow
				if open[p] || !seen[p] {
					want = Reads | Writes
				}
				if got, ok := left[p]; ok != live || live && got != want {
					t.Fatalf("%v: left %v with %v, want %v with %v", p, ok, got, live, want)
				}
			}
		}
	})
}

func ExampleRefiner() {
	sections := []Section{{
		Entry: Location{"till.go", 10, Reads},
		Ends:  []End{{Location{"till.go", 12, Writes}, Reads, nil}, {Location{"till.go", 15, Writes}, 0, nil}},
	}}
	r, err := NewRefiner(sections, 3)
	if err != nil {
		fmt.Println(err)
		return
	}
	for !r.Done() {
		// In each run others read the till before the refund at line 15 was written,
		// and the sum was right all the same.
		s := r.Sections()[0]
		run := Observation{Correct: true, Seen: []Pair{s.Pair(0), s.Pair(1)}}
		if s.Ends[1].Allow&Reads == 0 {
			run.Violated = []Pair{s.Pair(1)}
		}
		pruned, err := r.Add(run)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(len(pruned), "pruned")
	}
	for _, s := range r.Refined() {
		fmt.Println(s.Entry, s.Ends)
	}
	// Output:
	// 1 pruned
	// 0 pruned
	// 0 pruned
	// 0 pruned
	// till.go:10 read [till.go:12 write {read} till.go:15 write {read,write}]
}
