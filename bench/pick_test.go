package bench

import (
	"context"
	"fmt"
	"testing"

	"github.com/heisen-go/heisen/bench/models"
	"github.com/heisen-go/heisen/internal/core/strategies"
	"github.com/heisen-go/heisen/racefuzz"
)

// BenchmarkPick measures what it costs to choose among so many tasks, most of which
// synchronise; some come to places of interest, to memory of their own.
func BenchmarkPick(b *testing.B) {
	for _, s := range []struct {
		name     string
		strategy strategies.Strategy
	}{
		{"walk", strategies.RandomWalk}, {"pct", strategies.PCT}, {"race", strategies.RaceDirected}, {"deadlock", strategies.DeadlockDirected},
		{"section", strategies.SectionDirected}, {"replay", strategies.Replay}, {"follow", strategies.Follow},
	} {
		for _, n := range []int{4, 64, 1024} {
			b.Run(fmt.Sprintf("%s/tasks=%d", s.name, n), func(b *testing.B) {
				b.ReportAllocs()
				order, made := make([]strategies.Turn, 1<<16), make([]uint64, n)
				for i := range order {
					id := i * 7 % n
					made[id]++
					order[i] = strategies.Turn{ID: uint32(id), Until: made[id]}
				}
				var p strategies.Scheduler
				config := strategies.Config{Strategy: s.strategy, Depth: 3, Steps: 1 << 20, Turns: order, Log: make([]strategies.Choice, 64)}
				p.Start(&config)
				tasks := make([]strategies.Task, n)
				for i := range tasks {
					tasks[i] = strategies.Task{ID: uint32(i), Kind: strategies.Sync, Addr: uint64(8 * i)}
				}
				running := strategies.NoTask
				for i := 0; b.Loop(); i++ {
					if i%len(order) == 0 {
						p.Start(&config)
						for j := range tasks {
							tasks[j].Since, tasks[j].OpState, tasks[j].TaskState, tasks[j].Seq = 0, 0, 0, 0
						}
					}
					t := &tasks[p.Next(tasks, running)]
					running = t.ID
					p.NumMeetings, p.NumLog = 0, 0
					t.Since, t.OpState = p.Steps(), 0
					t.Seq++
					t.Kind, t.Roles = strategies.Sync, 0
					switch i % 16 {
					case 0:
						t.Kind, t.Roles = strategies.Access, strategies.First|strategies.Remote
					case 8:
						t.Kind, t.Roles = strategies.Lock, strategies.Inner
					}
				}
			})
		}
	}
}

// BenchmarkModel measures what a step of a model costs, most of it switching between
// coroutines.
func BenchmarkModel(b *testing.B) {
	const statements = 1 << 16
	program := models.Figure2(statements)
	for seed := uint64(0); b.Loop(); seed++ {
		if _, err := racefuzz.Run(context.Background(), program, racefuzz.RandomWalk(), seed); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/statements, "ns/step")
}
