package strategies

import (
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
		s.Start(&Config{Strategy: Explore, Choices: []Choice{{0, 2}, {1, 1}}, Sleepers: c.sleepers})
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
