package build

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/core/strategies"
	"github.com/heisen-go/heisen/internal/recorder"
)

// calls formats the calls of a goroutine of the program.
func (rec *recording) calls(t *testing.T, site heisen.Site, context heisen.Context) string {
	t.Helper()
	return strings.TrimSuffix(rec.stack(t, heisen.Record{Site: site, Context: context}), " < runtime.goexit")
}

// ancestry formats where a thread and its ancestors were started, up to the main goroutine.
func (rec *recording) ancestry(t *testing.T, thread heisen.Thread) string {
	t.Helper()
	var places []string
	seen := map[string]bool{}
	for info := rec.syms.Thread(thread); ; info = rec.syms.Thread(thread) {
		if thread == 0 && info.Name != "main goroutine" || thread != 0 && !strings.HasPrefix(info.Name, "goroutine ") || seen[info.Name] {
			t.Errorf("thread %d is called %q", thread, info.Name)
		}
		seen[info.Name] = true
		if !info.Forked {
			return strings.Join(append(places, info.Name), ", ")
		}
		places = append(places, rec.calls(t, info.Site, info.Context))
		thread = info.Parent
	}
}

// TestGenerations: a race has the origins of its goroutines and of all ancestors, although most of
// these have ended when it is found, whether their starts were recorded or not.
func TestGenerations(t *testing.T) {
	want := map[string]string{
		"grandchild": "go-grandchild < main.parent, go-parent, go-grandparent, main goroutine",
		"cousin":     "go-cousin, go-uncle, main goroutine",
	}
	for _, mode := range []recorder.Mode{recorder.Races, recorder.EverythingAndRaces, recorder.Everything} {
		for _, schedule := range []*recorder.Schedule{nil, {Strategy: strategies.Config{Seed: 1}}} {
			t.Run(fmt.Sprint(mode, schedule != nil), func(t *testing.T) {
				t.Parallel()
				rec := record(t, run{exe: program(t), args: []string{"generations"}, mode: mode, schedule: schedule})
				if rec.err != nil || !rec.finished || rec.status != 0 || len(rec.races) != 1 {
					t.Fatalf("error %v, finished %v, status %d, %d races: %s", rec.err, rec.finished, rec.status, len(rec.races), rec.stderr)
				}
				got := map[string]string{}
				for _, a := range rec.races[0].Accesses {
					got[rec.calls(t, a.Site, a.Context)] = rec.ancestry(t, a.Thread)
				}
				if d := cmp.Diff(want, got); d != "" {
					t.Errorf("-want +got:\n%s", d)
				}
				if mode != recorder.Races {
					return
				}
				// The hundred goroutines in between are not reported.
				for _, r := range rec.events {
					if r.Op == heisen.Fork || r.Thread != rec.races[0].Accesses[1].Thread {
						t.Errorf("event %+v", r)
					}
				}
				if all, _ := rec.syms.Changes(heisen.Revision{}); len(all.Threads) != 6 {
					t.Errorf("%d threads are described, want 6", len(all.Threads))
				}
			})
		}
	}
}

// TestLineages: threads that find races at the same time send long lines of ancestors, and none is
// missing.
func TestLineages(t *testing.T) {
	// A go statement with arguments starts a function without arguments, on the same line.
	want := strings.Repeat("go-descendant < go-descendant, ", 299) + "go-descendant < go-descendants, go-descendants, main goroutine"
	for range 5 {
		rec := record(t, run{exe: program(t), args: []string{"lineages"}, mode: recorder.Races, env: []string{"GOMAXPROCS=8"}})
		if rec.err != nil || !rec.finished || rec.status != 0 || len(rec.races) < 8 {
			t.Fatalf("error %v, finished %v, status %d, %d races: %s", rec.err, rec.finished, rec.status, len(rec.races), rec.stderr)
		}
		checked := map[heisen.Thread]bool{}
		for _, f := range rec.races {
			for _, a := range f.Accesses {
				if checked[a.Thread] {
					continue
				}
				checked[a.Thread] = true
				if got := rec.ancestry(t, a.Thread); got != want {
					t.Errorf("%d generations of thread %d are known", strings.Count(got, ","), a.Thread)
				}
			}
		}
		if len(checked) != 8 {
			t.Errorf("races of %d goroutines", len(checked))
		}
	}
}

// TestFindingsOnly: if nothing is found, nothing is sent.
func TestFindingsOnly(t *testing.T) {
	for _, mode := range []recorder.Mode{recorder.FindingsOnly, recorder.Races} {
		rec := record(t, run{exe: program(t), args: []string{"mutex"}, mode: mode})
		if rec.err != nil || !rec.finished || rec.status != 0 {
			t.Fatalf("error %v, finished %v, status %d: %s", rec.err, rec.finished, rec.status, rec.stderr)
		}
		if all, _ := rec.syms.Changes(heisen.Revision{}); len(rec.events) != 0 || len(all.Threads) != 0 {
			t.Errorf("%d events, %d threads", len(rec.events), len(all.Threads))
		}
	}
}
