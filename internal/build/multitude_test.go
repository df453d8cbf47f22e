package build

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heisen-go/heisen/internal/recorder"
)

// TestMultitude runs a program that starts far more goroutines than there are slots of vector clocks.
// Nobody waits for them. A race between the last two is found, nothing else, and nothing has kept
// races from being found; also if the program does without garbage collection.
func TestMultitude(t *testing.T) {
	for _, test := range []struct {
		goroutines string
		env        []string
	}{
		{"200000", nil},
		{"40000", []string{"GOGC=off"}},
		{"40000", []string{"GOMAXPROCS=8", "GOGC=20"}},
	} {
		t.Run(test.goroutines+strings.Join(test.env, " "), func(t *testing.T) {
			rec := record(t, run{exe: program(t), args: []string{"multitude", test.goroutines}, mode: recorder.Races, env: test.env})
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
			got := map[int]string{} // where the goroutines were started
			for _, a := range rec.races[0].Accesses {
				if !rec.syms.Thread(a.Thread).Forked {
					t.Fatalf("the start of %s is not known", rec.syms.Thread(a.Thread).Name)
				}
				got[rec.syms.Site(a.Site).Frames[0].Line] = rec.syms.Thread(rec.syms.Thread(a.Thread).Parent).Name
				if at := rec.syms.Site(rec.syms.Thread(a.Thread).Site).Frames[0]; at.Line != named["go-member"] {
					t.Errorf("%s was started at %s:%d", rec.syms.Thread(a.Thread).Name, at.File, at.Line)
				}
			}
			if d := cmp.Diff(map[int]string{named["last-member"]: "main goroutine", named["last-but-one"]: "main goroutine"}, got); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}
