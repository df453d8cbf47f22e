package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/heisen-go/heisen/report"
)

// TestEventsBetweenLines: the output of go test may arrive in any pieces. Events are between its
// lines, and none of it is lost, not even a line without an end.
func TestEventsBetweenLines(t *testing.T) {
	var out bytes.Buffer
	events := &testEvents{name: "tool", w: &out}
	const lines = 200
	var wg sync.WaitGroup
	wg.Go(func() {
		var text strings.Builder
		for i := range lines {
			fmt.Fprintf(&text, `{"Action":"output","Package":"p","Output":"%d %s\n"}`+"\n", i, strings.Repeat("x", i%37))
		}
		text.WriteString("FAIL\tq [setup failed]")
		for rest := text.String(); rest != ""; {
			n := min(len(rest), 1+len(rest)%61)
			if m, err := events.Write([]byte(rest[:n])); m != n || err != nil {
				t.Errorf("%d of %d bytes, error %v", m, n, err)
			}
			rest = rest[n:]
		}
	})
	f := &report.Finding{Kind: "race", Package: "p", Fingerprint: "0123", Message: "a <- b"}
	for range lines {
		if err := events.finding(f); err != nil {
			t.Error(err)
		}
	}
	wg.Wait()
	if err := events.Close(); err != nil {
		t.Fatal(err)
	}
	text, last, _ := strings.Cut(out.String(), "FAIL\t")
	if last != "q [setup failed]" {
		t.Errorf("the last line is %q", last)
	}
	next, found := 0, 0
	for line := range strings.Lines(text) {
		var event testEvent
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			t.Fatalf("%v: %q", err, line)
		}
		if event.Finding == nil {
			if !strings.HasPrefix(event.Output, fmt.Sprint(next, " ")) {
				t.Fatalf("line %d is %q", next, line)
			}
			next++
			continue
		}
		found++
		all, err := report.ReadJSON(bytes.NewReader(event.Finding))
		if err != nil || len(all) != 1 {
			t.Fatalf("%v: %q", err, line)
		}
		if event.Action != "output" || event.Package != "p" || event.Time.IsZero() || all[0].Fingerprint != "0123" ||
			event.Output != "tool: race: a <- b, fingerprint 0123\n" || !strings.Contains(line, "a <- b") {
			t.Fatalf("%q", line)
		}
	}
	if next != lines || found != lines {
		t.Errorf("%d lines of go test and %d findings, want %d of each", next, found, lines)
	}
}

// TestAdviceAmongEvents: what to do about functions that do not link is output of their build, once for
// each, before the event that the build has failed. All else is passed on as it is.
func TestAdviceAmongEvents(t *testing.T) {
	var out bytes.Buffer
	events := &testEvents{name: "tool", w: &out}
	output := func(path, text string) string {
		return fmt.Sprintf(`{"ImportPath":%q,"Action":"build-output","Output":%q}`+"\n", path, text)
	}
	const failed = `{"ImportPath":"m/p.test","Action":"build-fail"}` + "\n"
	before := output("m/p.test", "# m/p.test\n") + output("m/p.test", "m/p.F: nosplit stack over 1592 byte limit\n") +
		output("m/p.test", "m/p.F<1>\n") + output("m/p.test", "m/p.F: nosplit stack over 1592 byte limit\n") +
		output("m/q.test", "m/q.G: undefined\n") + `{"ImportPath":"m/q.test","Action":"build-fail"}` + "\n" + "no JSON \"Action\":\"build-fail\"\n"
	for _, part := range []string{before[:100], before[100:], failed, failed} {
		if _, err := events.Write([]byte(part)); err != nil {
			t.Fatal(err)
		}
	}
	rest, isPrefix := strings.CutPrefix(out.String(), before)
	advice, last, _ := strings.Cut(rest, "\n")
	if !isPrefix || last != failed+failed {
		t.Fatalf("other lines have changed:\n%s", out.String())
	}
	var event buildEvent
	if err := json.Unmarshal([]byte(advice), &event); err != nil || event.ImportPath != "m/p.test" || event.Action != "build-output" {
		t.Errorf("%v, %s", err, advice)
	}
	if !strings.HasPrefix(event.Output, "tool test: F of package m/p does not grow its stack") || !strings.HasSuffix(event.Output, "\n") {
		t.Errorf("%q", event.Output)
	}
}
