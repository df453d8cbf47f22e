package build

import (
	"path/filepath"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/core/strategies"
	"github.com/heisen-go/heisen/internal/recorder"
)

// bank returns the path of the instrumented example of the documents.
func bank(t *testing.T) string {
	t.Helper()
	if *prebuilt != "" {
		return filepath.Join(*prebuilt, prebuiltBank)
	}
	exe := filepath.Join(t.TempDir(), "bank")
	b, err := New(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Build(t.Context(), "", exe, nil, "../../examples/bank"); err != nil {
		t.Fatal(err)
	}
	return exe
}

// bankLine is the line with the race.
const bankLine = 32

// TestBank: the race is found in the events of the example and by the program itself, at its line, and none without the bug.
func TestBank(t *testing.T) {
	exe := bank(t)
	for _, mode := range []recorder.Mode{recorder.Everything, recorder.Races} {
		rec := record(t, run{exe: exe, mode: mode, answer: 66})
		if rec.err != nil || !rec.finished || rec.status != 66 || len(rec.races) == 0 {
			t.Errorf("mode %d: error %v, finished %v, status %d, %d races: %s", mode, rec.err, rec.finished, rec.status, len(rec.races), rec.stderr)
		}
		for _, f := range rec.races {
			for _, a := range f.Accesses {
				if frames := rec.syms.Site(a.Site).Frames; len(frames) == 0 || frames[0].Func != "main.transfer" || frames[0].Line != bankLine {
					t.Errorf("mode %d: a race at %v", mode, frames)
				}
			}
		}
		if rec := record(t, run{exe: exe, args: []string{"-fixed"}, mode: mode}); rec.err != nil || rec.status != 0 || len(rec.races) > 0 {
			t.Errorf("mode %d, without the bug: error %v, status %d, %d races", mode, rec.err, rec.status, len(rec.races))
		}
	}
}

// TestBankDirected: two tellers are brought to the race, and the same seed does the same again.
func TestBankDirected(t *testing.T) {
	file, err := filepath.Abs("../../examples/bank/main.go")
	if err != nil {
		t.Fatal(err)
	}
	r := run{exe: bank(t), schedule: &recorder.Schedule{
		Strategy: strategies.Config{Strategy: strategies.RaceDirected, Seed: 3},
		Targets: []recorder.Target{
			{File: sourceName(file), Line: bankLine, Mode: recorder.OnWrite, Roles: strategies.First},
			{File: sourceName(file), Line: bankLine, Mode: recorder.OnRead, Roles: strategies.Second},
		},
	}}
	first, again := record(t, r), record(t, r)
	if first.err != nil || len(first.meetings) == 0 || first.meetings[0].Kind != strategies.Race {
		t.Fatalf("error %v, meetings %v: %s", first.err, first.meetings, first.stderr)
	}
	ops := map[heisen.Op]bool{}
	for _, a := range first.meetings[0].Accesses {
		ops[a.Op] = true
	}
	if !ops[heisen.Read] || !ops[heisen.Write] {
		t.Errorf("accesses %v", first.meetings[0].Accesses)
	}
	if want, got := first.outcome(), again.outcome(); got != want {
		t.Errorf("%s\nand then\n%s", want, got)
	}
}
