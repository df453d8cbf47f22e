package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/heisen-go/heisen/report"
)

// TestPlacesOfReports: a script has lines of go test, such as "run A", "A: text" and "fail A", and findings, such as "! 01
// by A, B", the test of the latest access first. The reports have to be where the lines that begin with
// "report" say.
func TestPlacesOfReports(t *testing.T) {
	for name, c := range map[string]struct{ stream, want string }{
		"of the running test": {
			"run A; A: === RUN A; ! 01 by A; A: log; fail A; fail",
			"run A; A: === RUN A; report 01 A; A: log; fail A; fail"},
		"before its test is seen to begin": {
			"start; ! 01 by A; run B; B: === RUN B; pass B; run A; A: === RUN A; A: log; fail A; fail",
			"start; run B; B: === RUN B; pass B; run A; A: === RUN A; report 01 A; A: log; fail A; fail"},
		"between run and its line": {
			"run A; ! 01 by A; A: === RUN A; fail A; fail",
			"run A; A: === RUN A; report 01 A; fail A; fail"},
		"of a test without output": {
			"run A; ! 01 by A; fail A; fail",
			"run A; report 01 A; fail A; fail"},
		"of a subtest, not its parent": {
			"run A; A: =; run A/b; A/b: =; ! 01 by A/b; fail A/b; fail A; fail",
			"run A; A: =; run A/b; A/b: =; report 01 A/b; fail A/b; fail A; fail"},
		"of one of two parallel tests": {
			"run A; A: =; run B; B: =; ! 01 by A; ! 02 by B, A; fail A; fail B; fail",
			"run A; A: =; run B; B: =; report 01 A; report 02 B; fail A; fail B; fail"},
		"of the earlier access, if the test of the later one is over": {
			"run A; A: =; pass A; run B; B: =; ! 01 by A, B; fail B; fail",
			"run A; A: =; pass A; run B; B: =; report 01 B; fail B; fail"},
		"of a test that is over, where another one fails because of it": {
			"run A; A: =; pass A; run B; B: =; ! 01 by A; B: log; run C; C: =; pass C; B: race detected during execution of test; fail B; fail",
			"run A; A: =; pass A; run B; B: =; B: log; run C; C: =; pass C; report 01 B; B: race detected during execution of test; fail B; fail"},
		"not where another one fails because of its own": {
			"run B; B: =; ! 02 by B; ! 01 by A; B: race detected during execution of test; fail B; run A; A: =; fail A; fail",
			"run B; B: =; report 02 B; B: race detected during execution of test; fail B; run A; A: =; report 01 A; fail A; fail"},
		"of no test": {
			"run A; A: =; pass A; ! 01 by; fail",
			"run A; A: =; pass A; report 01; fail"},
		"after the last test": {
			"run A; A: =; pass A; ! 01 by A; fail",
			"run A; A: =; pass A; report 01; fail"},
		"after the package": {
			"run A; A: =; pass A; fail; ! 01 by A",
			"run A; A: =; pass A; fail; report 01"},
		"of a test that passes or is skipped": {
			"run A; A: =; ! 01 by A; ! 02 by A; pass A; run B; B: =; ! 03 by B; skip B; fail",
			"run A; A: =; report 01 A; report 02 A; pass A; told 01 A; told 02 A; run B; B: =; report 03 B; skip B; told 03 B; fail"},
		"of a test that runs again": {
			"run A; A: =; ! 01 by A; fail A; run A; A: =; ! 02 by A; pass A; fail",
			"run A; A: =; report 01 A; fail A; run A; A: =; report 02 A; pass A; told 02 A; fail"},
		"of a package that is cut off": {
			"run A; A: =; pass A; ! 01 by B",
			"run A; A: =; pass A; report 01"},
	} {
		if got := placed(t, c.stream); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		}
	}
}

// placed gives a stream to a testEvents and returns what it writes, in the same form.
func placed(t *testing.T, stream string) string {
	var out bytes.Buffer
	events := &testEvents{name: "tool", w: &out}
	for step := range strings.SplitSeq(stream, "; ") {
		if finding, ok := strings.CutPrefix(step, "! "); ok {
			fingerprint, tests, _ := strings.Cut(finding, " by")
			f := &report.Finding{Kind: "race", Package: "p", Fingerprint: fingerprint, Message: "m"}
			for _, test := range slices.Backward(strings.Split(strings.TrimSpace(tests), ", ")) {
				f.Accesses = append(f.Accesses, report.Access{Test: test})
			}
			if err := events.text(f, fmt.Appendf(nil, "first line\nfingerprint %s\nlast line\n", fingerprint)); err != nil {
				t.Fatal(err)
			}
			continue
		}
		event := map[string]string{"Package": "p"}
		if test, output, isOutput := strings.Cut(step, ": "); isOutput {
			event["Action"], event["Test"], event["Output"] = "output", test, output+"\n"
		} else {
			event["Action"], event["Test"], _ = strings.Cut(step, " ")
		}
		if event["Test"] == "" {
			delete(event, "Test")
		}
		line, err := json.Marshal(event)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := events.Write(append(line, '\n')); err != nil {
			t.Fatal(err)
		}
	}
	if err := events.Close(); err != nil {
		t.Fatal(err)
	}
	return stepsOf(t, out.String())
}

// stepsOf returns lines of go test -json as steps of a script. The lines of a report are one step.
func stepsOf(t *testing.T, lines string) string {
	var steps []string
	for line := range strings.Lines(lines) {
		var event testEvent
		if err := json.Unmarshal([]byte(line), &event); err != nil || event.Package != "p" {
			t.Fatalf("%v: %s", err, line)
		}
		output := strings.TrimSuffix(event.Output, "\n")
		step := strings.TrimSpace(event.Action + " " + event.Test)
		if event.Action == "output" {
			step = event.Test + ": " + output
		}
		if _, found, ok := strings.Cut(output, "fingerprint "); ok {
			step = strings.TrimSpace(fmt.Sprintf("report %s %s", found, event.Test))
		} else if rest, ok := strings.CutPrefix(output, "race "); ok && strings.Contains(rest, ": the report is in the output of ") {
			rest, _ = strings.CutSuffix(rest, ", which has not failed")
			step = "told " + strings.Replace(rest, ": the report is in the output of", "", 1)
		} else if event.Action == "output" && !event.Time.IsZero() { // another line of a report
			continue
		}
		steps = append(steps, step)
	}
	return strings.Join(steps, "; ")
}
