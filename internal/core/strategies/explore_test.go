package strategies

import (
	"slices"
	"testing"

	"github.com/heisen-go/heisen/internal/dpor"
)

// TestModes: the constants are those of package dpor, which enumerates executions.
func TestModes(t *testing.T) {
	if ModeWrite != dpor.Write || ModeRead != dpor.Read || ModeRaise != dpor.Raise || ModeLower != dpor.Lower || EveryObject != dpor.Everything {
		t.Error("they differ")
	}
}

// TestExplore: after its choices, Explore avoids tasks that sleep, until a step uses what they are about to use.
func TestExplore(t *testing.T) {
	tasks := []Task{{ID: 0, Kind: Sync}, {ID: 1, Kind: Sync}, {ID: 2, Kind: Sync}}
	for _, c := range []struct {
		name     string
		sleepers []Sleeper
		object   uint64 // that the last of the choices, or the step after it, uses
		mode     uint64
		want     uint32
	}{
		{"none sleeps", nil, 8, ModeWrite, 1},
		{"one sleeps", []Sleeper{{8, ModeWrite, 1}}, 16, ModeWrite, 0},
		{"two sleep", []Sleeper{{8, ModeWrite, 1}, {0, 0, 0}}, 16, ModeWrite, 2},
		{"all sleep", []Sleeper{{8, ModeWrite, 1}, {0, 0, 0}, {24, ModeRead, 2}}, 16, ModeWrite, 1},
		{"it wakes", []Sleeper{{8, ModeWrite, 1}, {24, ModeRead, 1}}, 24, ModeWrite, 1},
		{"two reads", []Sleeper{{8, ModeRead, 1}}, 8, ModeRead, 0},
		{"two raises", []Sleeper{{8, ModeRaise, 1}}, 8, ModeRaise, 0},
		{"a raise and a lower", []Sleeper{{8, ModeRaise, 1}}, 8, ModeLower, 1},
		{"all objects", []Sleeper{{8, ModeRead, 1}}, EveryObject, ModeWrite, 1},
		{"all objects sleep", []Sleeper{{EveryObject, ModeWrite, 1}}, 8, ModeRead, 1},
		{"a step without objects", []Sleeper{{0, 0, 1}}, EveryObject, ModeWrite, 0},
	} {
		var s Scheduler
		s.Start(&Config{Strategy: Explore, Choices: []Choice{{Step: 0, ID: 2}, {Step: 1, ID: 1}}, Sleepers: c.sleepers})
		if i := s.Next(tasks, NoTask); i != 2 {
			t.Errorf("%s: the first choice is %d", c.name, i)
		}
		s.Uses(c.object, c.mode) // too early to wake anybody
		if i := s.Next(tasks, 2); i != 1 {
			t.Errorf("%s: the second choice is %d", c.name, i)
		}
		s.Uses(c.object, c.mode)
		if i := s.Next(tasks, 1); tasks[i].ID != c.want {
			t.Errorf("%s: task %d continues, want %d", c.name, tasks[i].ID, c.want)
		}
	}
}

// TestCase: Explore and Replay decide which ready case a select statement takes, and log it with the choice.
func TestCase(t *testing.T) {
	tasks := []Task{{ID: 0, Kind: Sync}, {ID: 1, Kind: Sync}}
	for _, c := range []struct {
		name     string
		strategy Strategy
		choice   Choice
		ready    uint32
		want     uint32
		decided  bool
		log      []Choice
		diverged uint64
	}{
		{"the first by default", Explore, Choice{ID: 1}, 3, 0, true, []Choice{{ID: 1, Case: 1}}, 0},
		{"a given one", Explore, Choice{ID: 1, Case: 3}, 3, 2, true, []Choice{{ID: 1, Case: 3}}, 0},
		{"with the default choice", Replay, Choice{ID: 0, Case: 2}, 2, 1, true, []Choice{{ID: 0, Case: 2}}, 0},
		{"one that is not there", Replay, Choice{ID: 1, Case: 3}, 2, 0, false, []Choice{{ID: 1}}, 1},
		{"not given", Replay, Choice{ID: 1}, 2, 0, false, []Choice{{ID: 1}}, 0},
		{"another strategy", RandomWalk, Choice{ID: 1, Case: 2}, 2, 0, false, nil, 0},
	} {
		var s Scheduler
		s.Start(&Config{Strategy: c.strategy, Choices: []Choice{c.choice}, Log: make([]Choice, 4)})
		s.Next(tasks, NoTask)
		got, decided := s.Case(c.ready)
		if got != c.want || decided != c.decided || s.Diverged != c.diverged {
			t.Errorf("%s: case %d, %t, diverged %d", c.name, got, decided, s.Diverged)
		}
		if log := s.Log[:s.NumLog]; c.strategy != RandomWalk && !slices.Equal(log, c.log) {
			t.Errorf("%s: log %v, want %v", c.name, log, c.log)
		}
		s.Next(tasks, 0)
		if c.strategy == Replay && s.Decides() {
			t.Errorf("%s: it decides about the next step", c.name)
		}
	}
}
