package racefuzz_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/heisen-go/heisen/bench/models"
	core "github.com/heisen-go/heisen/internal/core/strategies"
	"github.com/heisen-go/heisen/racefuzz"
)

// BenchmarkStrategy compares the strategies on models: how often an execution reproduces the race
// of the model (races/exec), how often its assertion fails (failures/exec), and the cost of an
// execution and of a step. The model figure2-N has N statements before the race.
func BenchmarkStrategy(b *testing.B) {
	for _, m := range []struct {
		name          string
		program       racefuzz.Program
		first, second string
		steps         uint64
	}{
		{"figure1", models.Figure1, "5", "7", 12},
		{"figure2-10", models.Figure2(10), "8", "10", 16},
		{"figure2-1000", models.Figure2(1000), "8", "10", 1006},
	} {
		for _, s := range []struct {
			name string
			make func() (racefuzz.Strategy, error)
		}{
			{"random-walk", func() (racefuzz.Strategy, error) { return racefuzz.RandomWalk(), nil }},
			{"pos", func() (racefuzz.Strategy, error) { return racefuzz.POS(), nil }},
			{"pct", func() (racefuzz.Strategy, error) { return racefuzz.PCT(2, m.steps) }},
			{"race-directed", func() (racefuzz.Strategy, error) { return racefuzz.RaceDirected() }},
		} {
			b.Run("model="+m.name+"/strategy="+s.name, func(b *testing.B) {
				strategy := must(b)(s.make())
				b.ReportAllocs()
				var races, failures, steps uint64
				for seed := uint64(0); b.Loop(); seed++ {
					r := run(b, m.program, strategy, seed, racefuzz.WithRoles(racefuzz.First, m.first), racefuzz.WithRoles(racefuzz.Second, m.second))
					if len(r.Meetings) > 0 {
						races++
					}
					if r.Outcome == racefuzz.Failed {
						failures++
					}
					steps += r.Steps
				}
				b.ReportMetric(float64(races)/float64(b.N), "races/exec")
				b.ReportMetric(float64(failures)/float64(b.N), "failures/exec")
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(steps), "ns/step")
			})
		}
	}
}

// BenchmarkEnumeration enumerates the executions of a model with and without partial-order reduction:
// goroutines that work alone for four steps and then lock a mutex once.
func BenchmarkEnumeration(b *testing.B) {
	program := func(g *racefuzz.G) {
		total, l := g.NewVar("total"), g.NewMutex("l")
		for range 2 {
			g.Go("worker", func(g *racefuzz.G) {
				sum := g.NewVar("sum")
				for range 4 {
					sum.Write(g, 1)
				}
				l.Lock(g)
				total.Write(g, total.Read(g)+1)
				l.Unlock(g)
			})
		}
	}
	enumerate := func(b *testing.B, make func() (racefuzz.Strategy, func() bool)) {
		executions := 0
		for b.Loop() {
			for s, more := make(); more(); executions++ {
				run(b, program, s, 0)
			}
		}
		b.ReportMetric(float64(executions)/float64(b.N), "executions")
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(executions), "ns/exec")
	}
	b.Run("strategy=exhaustive", func(b *testing.B) {
		enumerate(b, func() (racefuzz.Strategy, func() bool) { e := racefuzz.NewExhaustive(); return e, e.More })
	})
	b.Run("strategy=dpor", func(b *testing.B) {
		enumerate(b, func() (racefuzz.Strategy, func() bool) { d := racefuzz.NewDPOR(); return d, d.More })
	})
}

// BenchmarkStep measures a step of a model. Most of it is the switch between coroutines.
func BenchmarkStep(b *testing.B) {
	const statements = 1 << 16
	program := models.Figure2(statements)
	for seed := uint64(0); b.Loop(); seed++ {
		if _, err := racefuzz.Run(context.Background(), program, racefuzz.RandomWalk(), seed); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/statements, "ns/step")
}

// BenchmarkChoice measures a choice of the core that programs are run with. Most of the tasks
// synchronize; some come to places with roles, each with memory of its own.
func BenchmarkChoice(b *testing.B) {
	for _, n := range []int{4, 64, 1024} {
		for _, s := range []struct {
			name     string
			strategy core.Strategy
		}{
			{"random-walk", core.RandomWalk}, {"pos", core.POS}, {"pct", core.PCT}, {"race-directed", core.RaceDirected},
			{"deadlock-directed", core.DeadlockDirected}, {"section-directed", core.SectionDirected},
			{"replay", core.Replay}, {"follow", core.Follow},
		} {
			b.Run(fmt.Sprintf("tasks=%d/strategy=%s", n, s.name), func(b *testing.B) { benchmarkChoice(b, n, s.strategy) })
		}
	}
}

func benchmarkChoice(b *testing.B, n int, strategy core.Strategy) {
	b.ReportAllocs()
	turns, made := make([]core.Turn, 1<<16), make([]uint64, n)
	for i := range turns {
		id := i * 7 % n
		made[id]++
		turns[i] = core.Turn{ID: uint32(id), Until: made[id]}
	}
	var s core.Scheduler
	config := core.Config{Strategy: strategy, Depth: 3, Steps: 1 << 20, Turns: turns, Log: make([]core.Choice, 64)}
	s.Start(&config)
	tasks := make([]core.Task, n)
	for i := range tasks {
		tasks[i] = core.Task{ID: uint32(i), Kind: core.Sync, Addr: uint64(8 * i)}
	}
	running := core.NoTask
	for i := 0; b.Loop(); i++ {
		if i%len(turns) == 0 {
			s.Start(&config)
			for j := range tasks {
				tasks[j].Since, tasks[j].OpState, tasks[j].TaskState, tasks[j].Seq = 0, 0, 0, 0
			}
		}
		t := &tasks[s.Next(tasks, running)]
		running = t.ID
		s.NumMeetings, s.NumLog = 0, 0
		t.Since, t.OpState = s.Steps(), 0
		t.Seq++
		t.Kind, t.Roles = core.Sync, 0
		switch i % 16 {
		case 0:
			t.Kind, t.Roles = core.Access, core.First|core.Remote
		case 8:
			t.Kind, t.Roles = core.Lock, core.Inner
		}
	}
}
