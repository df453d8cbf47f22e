package search

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/heisen-go/heisen/internal/confirm/controlled"
	"github.com/heisen-go/heisen/internal/confirm/suspects"
	"github.com/heisen-go/heisen/internal/confirm/trials"
	"github.com/heisen-go/heisen/internal/core/strategies"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/report"
)

// searchModel makes generations of executions of a unit whose behaviors are those of a function. The
// executions of a generation end in a random order.
func searchModel(u *searched, c *trials.Confirmer, generations int, rng *rand.Rand, execute func(*recorder.Schedule) *controlled.Execution) (schedules []string) {
	for range generations {
		u.judge()
		u.plan(c)
		var begun []int
		for u.planned() {
			n, next := u.take()
			schedules = append(schedules, fmt.Sprintf("%+v", next.schedule.Strategy))
			begun = append(begun, n)
		}
		rng.Shuffle(len(begun), func(i, j int) { begun[i], begun[j] = begun[j], begun[i] })
		for _, n := range begun {
			schedule := u.plans[n-u.number].schedule
			u.done(n, made{
				suspect: suspects.AnyFailure(u.Program, schedule.Strategy.Strategy),
				trial:   &trials.Trial{Seed: schedule.Strategy.Seed, Schedule: schedule, Execution: execute(schedule)},
			})
		}
	}
	u.judge()
	return schedules
}

func modelUnit() *searched {
	return newSearched(&controlled.Unit{Program: &controlled.Program{}, Targets: []recorder.Target{
		{File: "/a.go", Line: 1, Mode: recorder.OnWrite, Roles: strategies.First},
		{File: "/a.go", Line: 2, Mode: recorder.OnLock, Roles: strategies.Inner},
	}})
}

// TestPlanIsDetermined: the schedules do not depend on the order in which executions end.
func TestPlanIsDetermined(t *testing.T) {
	execute := func(s *recorder.Schedule) *controlled.Execution {
		e := &controlled.Execution{}
		e.Steps = 10 + scatter(s.Strategy.Seed+s.Strategy.Variation)%50
		e.Order = scatter(uint64(s.Strategy.Strategy)<<8 + s.Strategy.Variation)
		e.Behaviors = []recorder.Behavior{recorder.Behavior(scatter(e.Steps)%40 + 1)}
		return e
	}
	var all [][]string
	for seed := range uint64(5) {
		u := modelUnit()
		all = append(all, searchModel(u, &trials.Confirmer{From: 1, To: 10}, 8, rand.New(rand.NewPCG(seed, 2)), execute))
	}
	for _, other := range all[1:] {
		if !slices.Equal(all[0], other) {
			t.Fatalf("%v\n%v", all[0], other)
		}
	}
}

// TestShares: the arm whose executions show something new gets most executions, and each arm at least
// one in each generation.
func TestShares(t *testing.T) {
	u := modelUnit()
	next := recorder.Behavior(1)
	searchModel(u, &trials.Confirmer{From: 1, To: 10}, 12, rand.New(rand.NewPCG(1, 2)), func(s *recorder.Schedule) *controlled.Execution {
		e := &controlled.Execution{}
		e.Steps, e.Order = 10, uint64(next)
		if s.Strategy.Strategy == strategies.PCT && s.Strategy.Branch == 0 {
			e.Behaviors = []recorder.Behavior{next}
		}
		next++
		return e
	})
	shares := u.shares()
	for i, n := range shares {
		switch {
		case n < 1:
			t.Errorf("arm %d has no execution", i)
		case u.arms[i].config.Strategy == strategies.PCT && n < 3, u.arms[i].config.Strategy == strategies.POS && n > 1:
			t.Errorf("arm %d has %d executions: %v", i, n, shares)
		}
	}
	if len(u.parents) == 0 || len(u.parents) > maxParents {
		t.Errorf("%d parents", len(u.parents))
	}
}

// TestLong: where executions are long, generations are small, and most executions go to the arm that
// has shown bugs. Others still have some.
func TestLong(t *testing.T) {
	u := modelUnit()
	u.enumeration.over, u.begun = true, true
	bugs := 0
	execute := func(s *recorder.Schedule) *controlled.Execution {
		e := &controlled.Execution{}
		e.Stuck = &recorder.Stuck{Why: recorder.OutOfSteps}
		if s.Strategy.Strategy == strategies.POS {
			bugs++
			e.Observed = []report.Finding{{Fingerprint: fmt.Sprint(bugs)}}
		}
		return e
	}
	rng := rand.New(rand.NewPCG(1, 2))
	first := len(searchModel(u, &trials.Confirmer{From: 1, To: 10}, 1, rng, execute))
	planned := func() (directed int) {
		for _, a := range u.arms {
			if a.config.Strategy == strategies.POS {
				directed += a.planned
			}
		}
		return directed
	}
	before := planned()
	made := len(searchModel(u, &trials.Confirmer{From: 1, To: 10}, 5, rng, execute))
	if made != 5*longGeneration || first <= longGeneration {
		t.Errorf("%d executions in the first generation and %d in 5 further ones", first, made)
	}
	if n := planned() - before; n < made/2 || n == made {
		t.Errorf("%d of %d executions for what shows bugs", n, made)
	}
}

// TestArms: there are arms for the kinds of places that suspects have.
func TestArms(t *testing.T) {
	kinds := func(targets []recorder.Target) (all []strategies.Strategy) {
		u := newSearched(&controlled.Unit{Targets: targets})
		u.arms = newArms()
		u.addDirectedArms(&trials.Confirmer{})
		u.addDirectedArms(&trials.Confirmer{})
		for _, a := range u.arms {
			if !a.mutates {
				all = append(all, a.config.Strategy)
			}
		}
		return all
	}
	for _, s := range []strategies.Strategy{strategies.RaceDirected, strategies.DeadlockDirected, strategies.SectionDirected} {
		if slices.Contains(kinds(nil), s) {
			t.Errorf("strategy %d without a target", s)
		}
	}
	if all := kinds(modelUnit().Targets); !slices.Contains(all, strategies.RaceDirected) || !slices.Contains(all, strategies.DeadlockDirected) || slices.Contains(all, strategies.SectionDirected) {
		t.Errorf("strategies %v", all)
	}
}

// TestExhausted: a unit without another order of operations is exhausted, one with new orders is not.
func TestExhausted(t *testing.T) {
	for _, orders := range []uint64{1, 1 << 40} {
		u, n := modelUnit(), uint64(0)
		searchModel(u, &trials.Confirmer{From: 1, To: 10}, 12, rand.New(rand.NewPCG(1, 2)), func(*recorder.Schedule) *controlled.Execution {
			n++
			e := &controlled.Execution{}
			e.Steps, e.Order = 10, n%orders
			return e
		})
		if u.Exhausted != (orders == 1) {
			t.Errorf("%d orders: exhausted is %t", orders, u.Exhausted)
		}
	}
}

// TestPatience: the first generation has the random walk and PCT. When a goroutine had to yield in one of its executions,
// the second one also has an execution in which goroutines need not.
func TestPatience(t *testing.T) {
	for _, yielded := range []uint64{0, 3} {
		u, made, patient := modelUnit(), 0, []int(nil)
		u.enumeration.over = true
		searchModel(u, &trials.Confirmer{From: 1, To: 10}, 2, rand.New(rand.NewPCG(1, 2)), func(s *recorder.Schedule) *controlled.Execution {
			if s.Spin > 0 {
				patient = append(patient, made)
			}
			e := &controlled.Execution{}
			e.Steps, e.Order, e.Yielded = 10, uint64(made), yielded
			made++
			return e
		})
		switch {
		case made < beginning+len(u.arms):
			t.Errorf("%d executions", made)
		case yielded == 0 && len(patient) > 0, yielded > 0 && (len(patient) == 0 || patient[0] < beginning):
			t.Errorf("%d had to yield: executions with patience are %d", yielded, patient)
		}
	}
}

// TestParts: the parts of a search have no schedule in common, and together those of the whole, as far as what is shown does not decide
// which come next. All begin with the default schedule, if it is not known how that ends.
func TestParts(t *testing.T) {
	const n = 3
	execute := func(s *recorder.Schedule) *controlled.Execution {
		e := &controlled.Execution{}
		e.Steps, e.Order = 10, scatter(s.Strategy.Seed+s.Strategy.Variation<<20)
		return e
	}
	made := func(share controlled.Share, generations int) (schedules []string) {
		u := modelUnit()
		u.Share = share
		rng := rand.New(rand.NewPCG(1, 2))
		schedules = searchModel(u, &trials.Confirmer{From: 1, To: 10}, 1, rng, execute)
		if len(schedules) != 1 || u.Executions != 1 || !u.enumeration.over { // the model has no steps to enumerate
			t.Errorf("part %d: %d executions before the first generation", share.I, len(schedules))
		}
		return append(schedules, searchModel(u, &trials.Confirmer{From: 1, To: 10}, generations, rng, execute)...)
	}
	of := map[string]uint64{}
	for i := range uint64(n) {
		for k, s := range made(controlled.Share{I: i, Of: n}, 12) {
			if other, there := of[s]; there && k > 0 {
				t.Errorf("parts %d and %d make %s", other, i, s)
			}
			of[s] = i
		}
	}
	for _, s := range made(controlled.Share{}, 12) {
		if _, there := of[s]; !there {
			t.Errorf("no part makes %s", s)
		}
	}
}

// TestQuota: a search ends after so many executions, whatever they show. A quarter of them may enumerate.
func TestQuota(t *testing.T) {
	u := modelUnit()
	u.Quota = 50
	n := uint64(0)
	searchModel(u, &trials.Confirmer{From: 1, To: 10}, 60, rand.New(rand.NewPCG(1, 2)), func(*recorder.Schedule) *controlled.Execution {
		n++
		e := &controlled.Execution{}
		e.Steps, e.Order, e.Behaviors = 10, n, []recorder.Behavior{recorder.Behavior(n)}
		return e
	})
	if n != 50 || u.Executions != 50 || !u.spent() || u.enumeration.most != 12 {
		t.Errorf("%d executions, %d count, %d may enumerate", n, u.Executions, u.enumeration.most)
	}
	for _, known := range []bool{false, true} {
		u := newSearched(&controlled.Unit{Program: &controlled.Program{}, Share: controlled.Share{I: 1, Of: 2}, Quota: 50})
		if known {
			u = newSearched(&controlled.Unit{Program: &controlled.Program{}, Share: controlled.Share{I: 1, Of: 2}, Quota: 50, Alone: &controlled.Outcome{}, Steps: 9})
		}
		u.plan(&trials.Confirmer{From: 1, To: 10})
		if explores := u.plans[0].schedule.Explore; explores == known || !explores && u.length != 9 || explores && u.enumeration.most != 1 {
			t.Errorf("another part enumerates, the default schedule is known (%t): %+v", known, u.plans[0].schedule)
		}
	}
}

// TestMutationsOfParts: the parts of a search change executions at other steps, and in other ways.
func TestMutationsOfParts(t *testing.T) {
	const n = 3
	of := map[uint64]uint64{}
	for i := range uint64(n) {
		u, next := modelUnit(), recorder.Behavior(1)
		u.Share = controlled.Share{I: i, Of: n}
		searchModel(u, &trials.Confirmer{From: 1, To: 10}, 12, rand.New(rand.NewPCG(1, 2)), func(s *recorder.Schedule) *controlled.Execution {
			if seed := s.Strategy.BranchSeed; seed > 0 {
				if other, there := of[seed]; there {
					t.Errorf("parts %d and %d make mutation %d", other, i, seed)
				}
				of[seed] = i
			}
			next++
			e := &controlled.Execution{}
			e.Steps, e.Order, e.Behaviors = 10, uint64(next), []recorder.Behavior{next}
			return e
		})
	}
	if len(of) < 2*n {
		t.Errorf("%d mutations", len(of))
	}
}
