package cli_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/heisen-go/heisen/internal/cli"
	"github.com/heisen-go/heisen/internal/testaid/tier"
)

var (
	blockingFrame     = regexp.MustCompile(`(?m)^==================\n`)
	blockingTest      = regexp.MustCompile(`\((Test\w+)\)`)
	blockingAddress   = regexp.MustCompile(` ?\b0x[0-9a-f]+`)
	blockingFound     = regexp.MustCompile(`(?m)^Found by (\w+).*$`)
	blockingElsewhere = regexp.MustCompile(`(?m)^  (testing|main|sync)\.\S+\n.*\n`)
	blockingStep      = regexp.MustCompile(`(?m)^(  waiting since step )\d+`) // of package testing, too
	blockingReplay    = regexp.MustCompile(`(?m)^Replay: heisen (replay) (\S+)$`)
	blockingShrunk    = regexp.MustCompile(`(?m)^Reproduced by (the default schedule|a schedule with 1 deviation from the default)$`)
)

// TestBlocking compares the reports of blocking bugs of all kinds: each has every goroutine that is involved,
// what it holds and waits for, the cycle if there is one, and a shrunk schedule that repeats it.
func TestBlocking(t *testing.T) {
	tier.Need(t, tier.CI)
	text, err := os.ReadFile("testdata/blocking/blocking_test.go.txt")
	if err != nil {
		t.Fatal(err)
	}
	golden, err := filepath.Abs("testdata/blocking/reports.txt")
	if err != nil {
		t.Fatal(err)
	}
	dir := writeFiles(t, map[string]string{"go.mod": "module example.com/blocking\n\ngo 1.25\n", "blocking_test.go": string(text)})
	t.Chdir(dir)
	status, _, stderr := heisenCommand("fuzz", "-report", "full", "-time", "20s", ".")
	if status != cli.Findings {
		t.Fatalf("exit status %d\n%s", status, stderr)
	}
	var reports []string
	for _, r := range blockingFrame.Split(stderr, -1) {
		test := blockingTest.FindStringSubmatch(r)
		if !strings.HasPrefix(r, "WARNING: ") || test == nil {
			continue
		}
		replay := blockingReplay.FindStringSubmatch(r)
		if replay == nil || !blockingShrunk.MatchString(r) {
			t.Errorf("no shrunk schedule:\n%s", r)
			continue
		}
		if _, _, again := heisenCommand(replay[1:]...); !strings.Contains(again, "the execution is that of the schedule") {
			t.Errorf("%s:\n%s", replay[0], again)
		}
		r, _, _ = strings.Cut(r, "\nConfirmed in ")
		r = blockingFound.ReplaceAllString(strings.ReplaceAll(r, dir+"/", ""), "Found by $1")
		r = blockingStep.ReplaceAllString(r, "${1}N")
		r = blockingElsewhere.ReplaceAllString(blockingAddress.ReplaceAllString(r, ""), "")
		reports = append(reports, "## "+test[1]+"\n\n"+r)
	}
	slices.Sort(reports)
	got := strings.Join(reports, "\n")
	if *cli.Update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the reports are not those of %s; -update writes them. They are:\n%s", golden, got)
	}
}
