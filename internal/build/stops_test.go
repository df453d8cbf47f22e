package build

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/heisen-go/heisen/internal/core/strategies"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/section"
)

// collecting makes a program collect garbage wherever a goroutine is stopped, and overwrite what is
// freed.
var collecting = []string{recorder.CollectEnv + "=1", "GODEBUG=clobberfree=1"}

// TestMemoryAtStops: whatever a goroutine is about to do when it is stopped, the collector sees what it
// needs for it. Programs without races are stopped everywhere, in all three ways.
func TestMemoryAtStops(t *testing.T) {
	exe := program(t)
	lines := pointerLines(t)
	var targets []recorder.Target
	var places []section.Location
	for _, at := range lines {
		targets = append(targets, recorder.Target{File: at.File, Line: at.Line, Mode: recorder.TargetMode(at.Mode), Roles: strategies.First})
		places = append(places, at)
	}
	ways := map[string]func(seed uint64) run{
		"schedule": func(seed uint64) run {
			return run{mode: recorder.Races, schedule: &recorder.Schedule{Strategy: strategies.Config{Seed: seed}, Targets: targets}}
		},
		"noise": func(seed uint64) run {
			// Sections make goroutines wait at atomic operations, too.
			return run{mode: recorder.FindingsOnly, live: &recorder.Live{Sections: sectionsAt(lines),
				Noise: recorder.Noise{Strength: 500, For: 20 * time.Microsecond, Seed: seed, Budget: 100 * time.Millisecond}}}
		},
		"healing": func(uint64) run {
			return run{mode: recorder.FindingsOnly, live: &recorder.Live{Sections: sectionsAt(lines), Heal: places}}
		},
	}
	list, err := exec.Command(exe).Output()
	if err != nil {
		t.Fatal(err)
	}
	programs := 0
	for line := range strings.Lines(string(list)) {
		name, correct := strings.CutPrefix(strings.TrimSpace(line), "norace ")
		if !correct || testing.Short() && !strings.HasPrefix(name, "pointer-") {
			continue
		}
		programs++
		for way, run := range ways {
			t.Run(name+"/"+way, func(t *testing.T) {
				t.Parallel()
				r := run(1)
				r.exe, r.args, r.env = exe, []string{name}, collecting
				rec := record(t, r)
				if rec.err != nil || rec.status != 0 {
					t.Errorf("error %v, status %d: %s", rec.err, rec.status, rec.stderr)
				}
				for _, f := range rec.races {
					t.Errorf("false alarm\n%s", rec.describe(f))
				}
			})
		}
	}
	if programs < 15 {
		t.Fatalf("only %d programs", programs)
	}
}

// pointerLines returns the lines of the programs that have pointers at hand where they are stopped.
func pointerLines(t *testing.T) (lines []section.Location) {
	file, err := filepath.Abs(filepath.Join(prog, "norace_pointers.go"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Count(text, []byte("\n")) {
		lines = append(lines, section.Location{File: file, Line: line + 1, Mode: section.Reads}, section.Location{File: file, Line: line + 1, Mode: section.Writes})
	}
	return lines
}

// sectionsAt returns sections that begin at each place and end at the next ten places.
func sectionsAt(places []section.Location) (sections []section.Section) {
	for i, entry := range places[:len(places)-10] {
		s := section.Section{Entry: entry}
		for _, end := range places[i+1 : i+11] {
			s.Ends = append(s.Ends, section.End{At: end})
		}
		sections = append(sections, s)
	}
	return sections
}
