package annotation

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/repository"
	"github.com/heisen-go/heisen/report"
)

func annotate(t *testing.T, f report.Finding, root string) string {
	t.Helper()
	return annotateAll(t, []report.Finding{f}, root)
}

func annotateAll(t *testing.T, all []report.Finding, root string) string {
	t.Helper()
	var out bytes.Buffer
	if err := Write(&out, all, repository.At(root)); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func race() report.Finding {
	at := func(file string, line int) []report.Frame {
		return []report.Frame{
			{Func: "sync/atomic.AddInt64", File: "/go/src/sync/atomic/doc.go", Line: 1},
			{Func: "main.f", File: file, Line: line},
		}
	}
	return report.Finding{
		Detector: "hb", Kind: heisen.Race, Fingerprint: "0123456789abcdef", Variable: "m[k], v", Replay: "heisen replay x",
		Accesses: []report.Access{
			{Op: "write", Goroutine: "goroutine 1", Object: "0x8", Site: "/repo/a/x.go:3", Stack: at("/repo/a/x.go", 3)},
			{Op: "read", Goroutine: "goroutine 2", Object: "0x8", Variable: "m[k], v", Site: "/repo/a/y.go:4", Stack: at("/repo/a/y.go", 4)},
		},
	}
}

func TestWrite(t *testing.T) {
	want := "::error file=a/y.go,line=4,title=Data race%3A m[k]%2C v::Goroutine 1 writes m[k], v at x.go:3, and goroutine 2 reads it at y.go:4. " +
		"Nothing orders the two: there is no happens-before edge between them, and neither holds a lock.%0A" +
		"goroutine 1 writes in main.f at a/x.go:3%0Agoroutine 2 reads m[k], v in main.f at a/y.go:4%0AReplay: heisen replay x%0A" +
		"Found by hb, fingerprint 0123456789abcdef\n"
	if got := annotate(t, race(), "/repo"); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	elsewhere := annotate(t, race(), "/other")
	if !strings.HasPrefix(elsewhere, "::error title=Data race") || !strings.Contains(elsewhere, "at /repo/a/x.go:3%0A") {
		t.Errorf("outside of the repository: %q", elsewhere)
	}
	suspected := race()
	suspected.Kind = heisen.PotentialRace
	if got := annotate(t, suspected, "/repo"); !strings.HasPrefix(got, "::warning file=a/y.go,line=4,title=Potential data race") {
		t.Errorf("a suspicion: %q", got)
	}
}

// TestWithoutAccesses: a failing execution stands where its goroutine waits, or where the message of its test was printed.
func TestWithoutAccesses(t *testing.T) {
	deadlock := report.Finding{Kind: heisen.Failure, Message: "deadlock: no goroutine can go on",
		Blocked: []report.Blocked{{Goroutine: "goroutine 8", Reason: "chan send", Stack: []report.Frame{{Func: "p.f", File: "/repo/p/a.go", Line: 5}}}}}
	failed := report.Finding{Kind: heisen.Failure, Message: "test failed: TestA", Printed: []string{"a_test.go:9: got 1"},
		Witness: []report.Step{{Site: "/repo/p/a_test.go:3"}}}
	for want, f := range map[string]report.Finding{
		"::error file=p/a.go,line=5,title=Failing execution::Deadlock: no goroutine can go on. Goroutine 8 waits (chan send) at a.go:5.%0A": deadlock,
		"::error file=p/a_test.go,line=9,title=Failing execution::Test failed: TestA. The program printed: a_test.go:9: got 1%0A":           failed,
	} {
		if got := annotate(t, f, "/repo"); !strings.HasPrefix(got, want) {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
}

// TestHostile checks that no name adds a command or a property.
func TestHostile(t *testing.T) {
	f := race()
	const evil = "x,line=7\r\n::error file=/etc/passwd::100%0A\x1b[2J"
	f.Variable, f.Message, f.Replay, f.Fingerprint, f.Detector = evil, evil, evil, evil, evil
	for i := range f.Accesses {
		a := &f.Accesses[i]
		a.Goroutine, a.Variable, a.Object, a.Site = evil, evil, evil, evil
		a.Stack = []report.Frame{{Func: evil, File: "/repo/" + evil, Line: 3}}
	}
	got := annotate(t, f, "/repo")
	line, rest, _ := strings.Cut(got, "\n")
	if rest != "" || strings.ContainsAny(line, "\r\x1b") {
		t.Errorf("more than one line, or control characters: %q", got)
	}
	properties, _, _ := strings.Cut(strings.TrimPrefix(line, "::error "), "::")
	if n := strings.Count(properties, ","); n != 2 || strings.Count(properties, "=") > 3+2*2 {
		t.Errorf("properties %q", properties)
	}
}

// TestStart: an annotation stands where the goroutine was started if it waits in no file of the repository.
func TestStart(t *testing.T) {
	f := report.Finding{
		Kind: heisen.Leak, Fingerprint: "0123456789abcdef",
		Accesses:   []report.Access{{Thread: 1, Goroutine: "goroutine 1", Object: "0x8", Site: "/go/src/sync/oncefunc.go:22", Stack: []report.Frame{{Func: "sync.f", File: "/go/src/sync/oncefunc.go", Line: 22}}}},
		Goroutines: []report.Goroutine{{Thread: 1, Stack: []report.Frame{{Func: "m.f", File: "/repo/f.go", Line: 7}}}},
	}
	if got := annotate(t, f, "/repo"); !strings.HasPrefix(got, "::error file=f.go,line=7,title=Goroutine leak at oncefunc.go%3A22::") {
		t.Errorf("%q", got)
	}
	f.Accesses, f.Printed = nil, nil
	f.Blocked = []report.Blocked{{Stack: []report.Frame{{Func: "m.action", File: "/repo/expr.y", Line: 9}}}}
	if got := annotate(t, f, "/repo"); !strings.HasPrefix(got, "::error file=expr.y,line=9,") {
		t.Errorf("in a file that is none of Go: %q", got)
	}
}

// TestAllKinds annotates the findings of package report, without a repository.
func TestAllKinds(t *testing.T) {
	files, err := filepath.Glob("../../report/testdata/*.json.golden")
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		found, err := report.ReadJSON(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			got := annotate(t, f, "/nowhere")
			if strings.Count(got, "\n") != 1 || !strings.Contains(got, "title=") || !strings.Contains(got, f.Fingerprint) {
				t.Errorf("%s: %q", name, got)
			}
		}
	}
}

// TestWriteLines: the findings of a line are one annotation with the level of the most certain one, which
// it names. Those of other lines, and those without a line, stay apart.
func TestWriteLines(t *testing.T) {
	suspected, elsewhere, nowhere := race(), race(), race()
	suspected.Kind, suspected.Fingerprint = heisen.PotentialRace, "1111111111111111"
	elsewhere.Accesses = elsewhere.Accesses[:1]
	elsewhere.Fingerprint = "2222222222222222"
	nowhere.Accesses = nil
	got := annotateAll(t, []report.Finding{suspected, nowhere, elsewhere, race(), nowhere}, "/repo")
	lines := strings.Split(strings.TrimSuffix(got, "\n"), "\n")
	if len(lines) != 4 {
		t.Fatalf("%d annotations:\n%s", len(lines), got)
	}
	if !strings.HasPrefix(lines[0], "::error file=a/y.go,line=4,title=Data race%3A m[k]%2C v%2C and 1 more::Goroutine 1") ||
		!strings.Contains(lines[0], "fingerprint 0123456789abcdef%0A%0A") || !strings.HasSuffix(lines[0], "fingerprint 1111111111111111") {
		t.Errorf("two findings of a line: %s", lines[0])
	}
	if strings.Contains(lines[1], "file=") || strings.Contains(lines[3], "file=") || !strings.HasPrefix(lines[2], "::error file=a/x.go,line=3,title=Data race%3A") {
		t.Errorf("others:\n%s", got)
	}
}
