package build

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/core/strategies"
	"github.com/heisen-go/heisen/internal/recorder"
)

// steered is everything that schedules decide of a run, and all that says where its goroutines were stopped. What is
// recorded besides is not in it, and no address is.
func (rec *recording) steered() string {
	e := rec.execution
	text := fmt.Sprintf("status %d, error %v, %d steps, choices %x, %d times yielded, %d delays, starved %+v, virtual %v, %d choices not made, output\n%s%s\n",
		rec.status, rec.err, e.Steps, e.Hash, e.Yielded, e.Delays, e.Starved, e.Virtual, e.Diverged, rec.stdout, rec.stderr)
	for _, m := range rec.meetings {
		text += fmt.Sprint("step ", m.Step, ":")
		for _, a := range m.Accesses {
			text += fmt.Sprint(" ", a.Op, " by ", a.Thread)
			if frames := rec.syms.Stack(a.Site, a.Context); len(frames) > 0 {
				text += fmt.Sprint(" at ", filepath.Base(frames[0].File), ":", frames[0].Line)
			}
		}
		text += "\n"
	}
	return text
}

// TestPoints: goroutines stop at the same accesses whether events are recorded, where Go code looks at each access, or only
// races are looked for, where assembly passes accesses at which nothing stops.
func TestPoints(t *testing.T) {
	write, read := target(t, "point-write", recorder.OnWrite, strategies.First), target(t, "point-read", recorder.OnRead, strategies.Second)
	write.Roles |= strategies.Second
	other := target(t, "point-map", recorder.OnWrite, strategies.First)
	pair, never := []recorder.Target{write, read}, []recorder.Target{target(t, "race-write", recorder.OnWrite, strategies.First)}
	keyed := []recorder.Target{target(t, "key-write", recorder.OnWrite, strategies.First), target(t, "key-none", recorder.OnRead, strategies.Second)}
	for _, test := range []struct {
		name     string
		program  string
		schedule recorder.Schedule
		holds    func(rec *recording) bool // what the schedule is for
	}{
		{"walk", "at-points", recorder.Schedule{}, nil},
		{"yields", "at-points", recorder.Schedule{Spin: 7}, yields},
		{"yields at each access", "at-points", recorder.Schedule{Spin: 1}, yields},
		{"yields at once", "at-points", recorder.Schedule{Spin: 7, Slow: true}, yields},
		{"yields beside targets", "at-points", recorder.Schedule{Spin: 5, Targets: []recorder.Target{other}}, yields},
		{"targets that are not met", "at-points", recorder.Schedule{Targets: never}, nil},
		{"targets of a walk", "at-points", recorder.Schedule{Targets: pair}, meets},
		{"one mode of a line", "at-points", recorder.Schedule{Targets: []recorder.Target{target(t, "point-write", recorder.OnRead, strategies.First), other}}, stops},
		{"targets that are met", "at-points", recorder.Schedule{Targets: pair, Strategy: strategies.Config{Strategy: strategies.RaceDirected}}, meets},
		{"maps", "at-points", recorder.Schedule{Targets: []recorder.Target{other}, Strategy: strategies.Config{Strategy: strategies.RaceDirected}}, nil},
		{"keys of maps", "at-keys", recorder.Schedule{Targets: keyed, Strategy: strategies.Config{Strategy: strategies.RaceDirected}}, meets},
		{"priorities", "at-points", recorder.Schedule{Targets: pair, Strategy: strategies.Config{Strategy: strategies.PCT, Depth: 3, Steps: 500}}, nil},
	} {
		for seed := range uint64(min(3, *replays)) {
			test.schedule.Strategy.Seed = seed
			r := run{exe: program(t), args: []string{test.program}, schedule: &test.schedule, mode: recorder.Everything}
			samePoints(t, fmt.Sprintf("%s, seed %d", test.name, seed), r, test.holds)
		}
	}
}

func yields(rec *recording) bool { return rec.execution.Yielded > 20 }
func meets(rec *recording) bool  { return len(rec.meetings) > 20 }
func stops(rec *recording) bool  { return rec.execution.Steps > 600 }

// samePoints compares a run of which everything is recorded with one of which only races are.
func samePoints(t *testing.T, name string, r run, holds func(rec *recording) bool) {
	t.Helper()
	recorded := record(t, r)
	r.mode = recorder.Races
	found := record(t, r)
	if want, got := recorded.steered(), found.steered(); got != want {
		t.Errorf("%s:\n%s", name, cmp.Diff(want, got))
	}
	if holds != nil && !holds(found) {
		t.Errorf("%s: the schedule is not what it is for: %s", name, found.steered())
	}
}

// TestPointsOfTurns: likewise where turns end at accesses that are no targets, each of them once.
func TestPointsOfTurns(t *testing.T) {
	r := run{exe: program(t), args: []string{"at-points"}, schedule: &recorder.Schedule{Number: true}}
	rec := record(t, r)
	line := linesOf(t, "scheduled.go")["point-write"]
	var ends []strategies.Turn
	for _, e := range rec.events {
		frames := rec.syms.Site(e.Site).Frames
		at := len(frames) > 0 && filepath.Base(frames[0].File) == "scheduled.go" && frames[0].Line == line
		if at && e.Op == heisen.Write && e.Flags&recorder.Numbered != 0 {
			ends = append(ends, strategies.Turn{ID: uint32(e.Thread), Until: e.Value})
		}
	}
	if len(ends) != 600 {
		t.Fatalf("%d writes at the line", len(ends))
	}
	ordered := map[string]bool{}
	for _, apart := range []int{1, 2, 7} {
		for shift := range uint64(4) { // the accesses before and behind the write
			// The goroutines take turns that end at their writes.
			var turns [2][]strategies.Turn
			for _, e := range ends {
				e.Until += shift
				turns[e.ID%2] = append(turns[e.ID%2], e)
			}
			var merged []strategies.Turn
			for i := apart; i < len(turns[0]); i += apart {
				merged = append(merged, turns[0][i], turns[1][i])
			}
			r := run{exe: r.exe, args: r.args, mode: recorder.Everything, schedule: &recorder.Schedule{Strategy: strategies.Config{Strategy: strategies.Follow, Turns: merged}}}
			samePoints(t, fmt.Sprintf("turns %d apart, shifted by %d", apart, shift), r, func(rec *recording) bool {
				ordered[rec.stdout] = true
				return rec.execution.Steps > uint64(len(merged))
			})
		}
	}
	if len(ordered) < 6 {
		t.Errorf("turns that end at other accesses give %d outputs", len(ordered))
	}
}
