package confirm_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heisen-go/heisen/internal/confirm"
	"github.com/heisen-go/heisen/internal/confirm/controlled"
	"github.com/heisen-go/heisen/racefuzz"
	"github.com/heisen-go/heisen/report"
)

// listener notes what a campaign tells.
type listener struct {
	stages, left []confirm.Stage
	said         []string
	loud, quiet  []report.Finding
}

func (l *listener) Enter(s confirm.Stage) (leave func()) {
	l.stages = append(l.stages, s)
	return func() { l.left = append(l.left, s) }
}

func (l *listener) Say(text string) { l.said = append(l.said, text) }

func (l *listener) Add(f report.Finding, quiet bool) {
	if quiet {
		l.quiet = append(l.quiet, f)
	} else {
		l.loud = append(l.loud, f)
	}
}

func (l *listener) Follow(string, report.Following) bool { return false }

func (l *listener) LastMoment(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithCancel(ctx)
}

// TestCampaign: the stages follow each other, a listener gets each confirmed suspect once with a schedule that is the one of its file, other
// suspects are quiet, and the numbers are those of what it got. The parts of a campaign have different suspects.
func TestCampaign(t *testing.T) {
	t.Parallel()
	l := open(t, known(t, "figure1"))
	for name, test := range map[string]struct {
		part, parts                int
		time                       time.Duration
		confirmed, quiet, failures int
	}{
		"all":      {1, 1, 0, 1, 1, 0},
		"search":   {1, 1, time.Minute, 1, 1, 0},
		"one part": {1, 2, 0, 1, 0, 0},
		"other":    {2, 2, 0, 0, 1, 1}, // which shows the failure, and does not know the race
	} {
		heard := &listener{}
		program := *l.program
		c := confirm.New(confirm.Config{
			Confirmer: l.hunt, Programs: []*controlled.Program{&program}, Origin: l.origin, Part: test.part, Parts: test.parts, Time: test.time,
			Walks: 2, Minimize: 10, Quiet: true, Folder: filepath.Join(t.TempDir(), "schedules"), Replay: "replay ",
		}, heard)
		if err := c.Run(t.Context()); err != nil || c.Panics() != nil {
			t.Fatalf("%s: %v, %v", name, err, c.Panics())
		}
		stages := []confirm.Stage{confirm.Surveying, confirm.Trying}
		if test.time > 0 {
			stages = append(stages, confirm.Searching)
		}
		if !slices.Equal(heard.stages, stages) || !slices.Equal(heard.left, stages) {
			t.Errorf("%s: stages %q, left %q", name, heard.stages, heard.left)
		}
		if len(heard.loud) != test.confirmed+test.failures || len(heard.quiet) != test.quiet || len(heard.said) > 0 {
			t.Errorf("%s: %d findings, %d quiet ones, said %q", name, len(heard.loud), len(heard.quiet), heard.said)
		}
		n := c.Statistics()
		if n.Surveyed != 1 || n.Suspects != test.confirmed+test.quiet || n.Judged != n.Suspects || n.Confirmed != test.confirmed || n.Harmful != n.Confirmed ||
			n.Tried == 0 || n.Planned != n.Tried || (n.Searched > 0) != (test.time > 0) || len(n.Units) != len(stages)-2 || n.Failures != test.failures || n.Anyway > 0 {
			t.Errorf("%s: %+v", name, n)
		}
		for _, f := range heard.loud {
			checkWritten(t, name, &f)
		}
	}
}

// checkWritten checks that the schedule of a finding is in the file that it names.
func checkWritten(t *testing.T, name string, f *report.Finding) {
	t.Helper()
	file, is := strings.CutPrefix(f.Replay, "replay ")
	text, err := os.ReadFile(file)
	var s racefuzz.Schedule
	if err == nil {
		err = s.UnmarshalText(text)
	}
	if !is || err != nil || !f.Trials.Replayed || s.Outcome != f.Trials.Endings[0].Outcome || !strings.HasSuffix(file, f.Fingerprint+".schedule") {
		t.Errorf("%s: %s is repeated by %q, which ends in %q: %v", name, f.Kind, f.Replay, s.Outcome, err)
	}
}
