package cli_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/heisen-go/heisen/internal/testaid/tier"
	"github.com/heisen-go/heisen/report"
)

// racyFiles is a program that races, and a test that does.
func racyFiles(t *testing.T) (dir string) {
	const body = `
var n int

func race() {
	done := make(chan bool)
	go func() {
		n++
		done <- true
	}()
	n++
	<-done
}
`
	// With an argument it races often, for atomrace reports only accesses that overlap.
	const often = `
func main() {
	race()
	for range 50 * (len(os.Args) - 1) {
		race()
	}
}
`
	return writeFiles(t, map[string]string{
		"go.mod":       "module example.com/matrix\n\ngo 1.25\n",
		"main.go":      "package main\n\nimport \"os\"\n" + body + often,
		"main_test.go": "package main\n\nimport \"testing\"\n\nfunc TestRace(t *testing.T) { race() }\n",
	})
}

// message is a line of heisen's own that says what is wrong, or of its runtime.
var message = regexp.MustCompile(`(?m)^heisen( [a-z]+)?: .|^fatal error: .*memory`)

// cell runs a command in a shell after a setup, and asserts that it does not pass silently: it ends
// with the verdict of -race, or with another status than 0 and a message.
func cell(t *testing.T, dir, setup, command string) (status int, stderr string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", setup+command)
	cmd.Dir = dir
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	status = cmd.ProcessState.ExitCode()
	verdict := status == 66 && (strings.Contains(errs.String(), "WARNING: ") || strings.Contains(out.String(), "WARNING: "))
	said := status != 0 && message.MatchString(errs.String())
	unseen := status != 0 && strings.Contains(command, "2>/dev/full")
	if !verdict && !said && !unseen {
		t.Errorf("%s%s\nstatus %d\n%s%s", setup, command, status, out.String(), errs.String())
	}
	return status, errs.String()
}

// TestFaultMatrix runs commands on a program that races, in hostile surroundings.
func TestFaultMatrix(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds and runs programs")
	}
	commands := []string{
		"heisen test .", "heisen fuzz -time 1s -seeds 1:3 run .", "heisen run .", "heisen run -detect hb .",
		"heisen test -filter none -detect hybrid,fasttrack .", "heisen run -detect atomrace -noise random . often",
		"heisen test -predict .",
	}
	commands = commands[:tier.Pick(0, 1, 2, len(commands))]
	for _, fault := range []struct {
		name, setup, after string
		verdict            bool // the verdict must be that of -race
	}{
		{"20 descriptors", "ulimit -n 20; ", "", true},
		{"8 GB", "ulimit -v 8000000; ", "", true},
		{"4 GB", "ulimit -v 4000000; ", "", false},
		{"2 GB", "ulimit -v 2000000; ", "", false},
		{"no cache folder", "mkdir -p tmp; export GOCACHE=$(go env GOCACHE) TMPDIR=$PWD/tmp XDG_CACHE_HOME=/proc/none; ", "", true},
		{"no temporary folder", "export TMPDIR=/proc/none; ", "", false},
		{"no space for errors", "", " 2>/dev/full", false},
		{"no space for output", "", " -report json >/dev/full", false},
		{"no space for a report", "", " -report text -report json:/dev/full", false},
		{"no space for a baseline", "", " -write-baseline /dev/full", false},
	} {
		for _, command := range commands {
			t.Run(fault.name+"/"+command, func(t *testing.T) {
				t.Parallel()
				// Flags stand before what is run.
				flags, redirection, _ := strings.Cut(fault.after, ">")
				if strings.HasPrefix(fault.after, " 2>") {
					flags, redirection = "", fault.after
				} else if redirection != "" {
					redirection = " >" + redirection
				}
				words := strings.Fields(command)
				line := strings.Join(words[:2], " ") + flags + " " + strings.Join(words[2:], " ") + redirection
				status, stderr := cell(t, racyFiles(t), fault.setup, line)
				if fault.verdict && status != 66 && !strings.Contains(command, "fuzz") && !strings.Contains(command, "predict") {
					t.Errorf("status %d\n%s", status, stderr)
				}
			})
		}
	}
}

// TestFaultMatrixOfTraces does the same with traces.
func TestFaultMatrixOfTraces(t *testing.T) {
	tier.Need(t, tier.CI)
	dir := racyFiles(t)
	if out, err := command(dir, "record", "-o", "t.heisen", "run", "."); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, line := range []string{
		"heisen analyze t.heisen >/dev/full", "heisen analyze -report json t.heisen >/dev/full", "heisen analyze -report json:/dev/full t.heisen",
		"heisen trace print t.heisen >/dev/full", "heisen trace stat t.heisen >/dev/full", "heisen trace validate t.heisen >/dev/full",
		"heisen trace convert -o /dev/full t.heisen", "heisen trace convert -o - t.heisen >/dev/full",
		"heisen record -o /dev/full run .", "ulimit -v 2000000; heisen record -o u.heisen run .", "TMPDIR=/proc/none heisen record -o u.heisen run .",
		"heisen version >/dev/full", "heisen help test >/dev/full", "heisen sections infer -o /dev/full .",
	} {
		t.Run(line, func(t *testing.T) {
			if strings.Contains(line, "ulimit") {
				line += " && heisen analyze u.heisen"
			}
			cell(t, dir, "", line)
		})
	}
}

func command(dir string, args ...string) (string, error) {
	cmd := exec.Command("heisen", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestTogether runs several heisens at the same time, in one folder and with files of the same names.
// Each has its verdict, and the files are whole.
func TestTogether(t *testing.T) {
	tier.Need(t, tier.CI)
	dir := racyFiles(t)
	lines := [][]string{
		{"run", "-report", "text", "-report", "json:found.json", "-write-baseline", "known.json", "."},
		{"test", "-report", "text", "-report", "json:found.json", "-write-baseline", "known.json", "."},
		{"run", "-detect", "hb", "-report", "text", "-report", "json:found.json", "."},
		{"fuzz", "-time", "1s", "-seeds", "1:3", "-schedules", "schedules", "run", "."},
		{"fuzz", "-time", "1s", "-seeds", "1:3", "-schedules", "schedules", "run", "."},
	}
	var wg sync.WaitGroup
	for range 2 {
		for _, args := range lines {
			wg.Add(1)
			go func() {
				defer wg.Done()
				out, err := command(dir, args...)
				var exit *exec.ExitError
				if !errors.As(err, &exit) || exit.ExitCode() != 66 || !strings.Contains(out, "WARNING: DATA RACE") {
					t.Errorf("%v: %v\n%s", args, err, out)
				}
			}()
		}
	}
	wg.Wait()
	for _, name := range []string{"found.json", "known.json"} {
		f, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if findings, err := report.ReadJSON(f); err != nil || len(findings) == 0 {
			t.Errorf("%s: %d findings, %v", name, len(findings), err)
		}
	}
	schedules, err := filepath.Glob(filepath.Join(dir, "schedules", "*"))
	if err != nil || len(schedules) == 0 {
		t.Fatalf("schedules %v, %v", schedules, err)
	}
	for _, name := range schedules {
		out, err := command(dir, "replay", name)
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 66 || !strings.Contains(out, "the execution is that of the schedule") {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if got := fmt.Sprint(names); got != "[found.json go.mod known.json main.go main_test.go schedules]" {
		t.Errorf("files %s", got)
	}
}
