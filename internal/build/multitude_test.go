package build

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/internal/testaid/tier"
)

// TestMultitude runs a program that starts far more goroutines than there are slots of vector clocks,
// also without garbage collection and with much of it.
func TestMultitude(t *testing.T) {
	for _, test := range []struct {
		goroutines string
		env        []string
	}{
		{tier.Pick("20000", "20000", "40000", "200000"), nil},
		{"40000", []string{"GOGC=off"}},
		{"40000", []string{"GOMAXPROCS=8", "GOGC=20"}},
	} {
		t.Run(test.goroutines+strings.Join(test.env, " "), func(t *testing.T) {
			multitude(t, program(t), test.goroutines, recorder.Races, test.env...)
		})
	}
}

// TestMultitudeOutside analyzes such a program outside of it. The detector then compacts its order a few
// times. With more than 4,096 goroutines it might have to forget accesses of some.
func TestMultitudeOutside(t *testing.T) {
	multitude(t, program(t), "4000", recorder.Everything)
	multitude(t, program(t), "4000", recorder.Unrepeated)
}

// multitude starts goroutines that nobody waits for. A race between the last two must be found,
// nothing else, and nothing may have kept races from being found.
func multitude(t *testing.T, exe, goroutines string, mode recorder.Mode, env ...string) {
	rec := record(t, run{exe: exe, args: []string{"multitude", goroutines}, mode: mode, env: env})
	if rec.err != nil || !rec.finished || rec.status != 0 || rec.stderr != "" {
		t.Fatalf("error %v, finished %v, status %d: %s", rec.err, rec.finished, rec.status, rec.stderr)
	}
	if rec.losses != (recorder.RaceLosses{}) {
		t.Errorf("losses %+v", rec.losses)
	}
	if len(rec.races) != 1 {
		t.Fatalf("%d races", len(rec.races))
	}
	named := linesOf(t, "multitude.go")
	got := map[int]string{} // by which goroutines those of the accesses were started
	for _, a := range rec.races[0].Accesses {
		info := rec.syms.Thread(a.Thread)
		if !info.Forked {
			t.Fatalf("the start of %s is not known", info.Name)
		}
		got[rec.syms.Site(a.Site).Frames[0].Line] = rec.syms.Thread(info.Parent).Name
		if at := rec.syms.Site(info.Site).Frames[0]; at.Line != named["go-member"] {
			t.Errorf("%s was started at %s:%d", info.Name, at.File, at.Line)
		}
	}
	want := map[int]string{named["last-member"]: "main goroutine", named["last-but-one"]: "main goroutine"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}
