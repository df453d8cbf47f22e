package report

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/heisen-go/heisen"
)

// recorded are findings of each kind that heisen has made of programs, with whole stacks and schedules.
func recorded(t *testing.T) []Finding {
	t.Helper()
	text, err := os.ReadFile("testdata/kinds.json")
	if err != nil {
		t.Fatal(err)
	}
	all, err := ReadJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// briefOf returns a finding in short.
func briefOf(t *testing.T, f *Finding, b Brief) string {
	t.Helper()
	var text bytes.Buffer
	if err := b.Write(&text, f); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// TestBriefKinds compares the short reports of all kinds with a golden file.
func TestBriefKinds(t *testing.T) {
	var all strings.Builder
	kinds := map[string]bool{}
	for _, f := range recorded(t) {
		kinds[title(&f)] = true
		all.WriteString(briefOf(t, &f, Brief{Folder: "/src", Full: "heisen show"}))
	}
	for _, want := range []string{
		"DATA RACE", "POTENTIAL DATA RACE", "ATOMICITY VIOLATION", "DEADLOCK", "POTENTIAL DEADLOCK", "GOROUTINE LEAK", "UNSTOPPABLE GOROUTINE",
		"MISUSE", "FAILING EXECUTION", "POTENTIAL ATOMICITY VIOLATION",
	} {
		if !kinds[want] {
			t.Errorf("no %s", want)
		}
	}
	golden(t, "kinds.brief.golden", []byte(all.String()))
}

// TestBriefRaces: a race has 25 lines at most, and so has one with deep stacks, many starts, a long schedule and all that executions say.
func TestBriefRaces(t *testing.T) {
	races := recorded(t)
	for _, f := range allFindings() {
		races = append(races, f)
	}
	races = slices.DeleteFunc(races, func(f Finding) bool { return f.Kind != heisen.Race && f.Kind != heisen.PotentialRace })
	if len(races) < 8 {
		t.Fatalf("%d races", len(races))
	}
	for depth := range 12 {
		for goroutines := range 6 {
			races = append(races, deepRace(1<<depth, goroutines))
		}
	}
	for _, f := range races {
		text := briefOf(t, &f, Brief{Folder: "/src", Full: "heisen show"})
		if n := strings.Count(text, "\n"); n > maxBriefLines {
			t.Errorf("%d lines:\n%s", n, text)
		}
		for _, want := range []string{f.Message, f.Fingerprint, f.Replay, "In full: heisen show " + f.Fingerprint} {
			if !strings.Contains(text, want) {
				t.Errorf("no %q in\n%s", want, text)
			}
		}
		for _, a := range f.Accesses {
			if at := userFrame(a.Stack); !strings.Contains(text, a.Source) || at.File != "" && !strings.Contains(text, strings.TrimPrefix(siteOf(at), "/src/")) {
				t.Errorf("no %q at %s in\n%s", a.Source, siteOf(at), text)
			}
		}
	}
}

// deepRace is a race that executions have confirmed, with stacks of some depth and a chain of goroutines.
func deepRace(depth, goroutines int) Finding {
	f := Finding{
		Kind: heisen.Race, Detector: "racefuzz", Fingerprint: "0123456789abcdef", Variable: "x", Message: "two writes", Replay: "heisen replay x.schedule",
		Trials: &Trials{Confirmed: 1, Executions: 2, Harmful: true, Endings: []Ending{{Outcome: "panic", Confirmed: true}}, Outside: []string{"network at a.go:1"}},
	}
	for side := range 2 {
		a := Access{Op: "write", Thread: heisen.Thread(side + 1), Goroutine: fmt.Sprintf("goroutine %d", side+1), Object: "0xc000", Source: fmt.Sprintf("x = %d", side)}
		for i := range depth {
			frame := Frame{Func: fmt.Sprintf("example.org/m.f%d%d", side, i), File: "/src/a.go", Line: 100*i + side + 1}
			if i%3 == 2 {
				frame = Frame{"net/http.HandlerFunc.ServeHTTP", "/usr/local/go/src/net/http/server.go", i}
			}
			a.Stack = append(a.Stack, frame)
		}
		f.Accesses = append(f.Accesses, a)
	}
	for i := range goroutines {
		parent := heisen.Thread(i + 2)
		if i == goroutines-1 {
			parent = 0
		}
		f.Goroutines = append(f.Goroutines, Goroutine{
			Thread: heisen.Thread(i + 1), Name: fmt.Sprintf("goroutine %d", i+1), Parent: &parent, Stack: []Frame{{"example.org/m.start", "/src/a.go", i + 1}},
		})
	}
	for i := range depth {
		f.Witness = append(f.Witness, Step{Op: "write", Thread: 1, Name: "goroutine 1", Object: fmt.Sprint(i), Site: "a.go:1"})
	}
	return f
}

// TestBriefColor: a text in colors is the plain text with sequences that end on their line, and nothing in a finding can add one.
func TestBriefColor(t *testing.T) {
	sequence := regexp.MustCompile("\x1b\\[[0-9;]*m")
	all := recorded(t)
	for _, f := range allFindings() {
		all = append(all, f)
	}
	for _, f := range all {
		for _, hostile := range []bool{false, true} {
			if hostile {
				f.Message += "\x1b[5m" + asWarning
				f.Replay = asHeading + "\x1b[2J"
				f.Package, f.Variable = "\u202e", "x\n==================\nWARNING: "
				f.Printed = append(f.Printed, "\x1b]0;title\a", "a\rb")
				f.Goroutines = append(f.Goroutines, Goroutine{Name: "\x1b[1m"})
			}
			plain, color := briefOf(t, &f, Brief{}), briefOf(t, &f, Brief{Color: true})
			if got := sequence.ReplaceAllString(color, ""); got != plain {
				t.Errorf("without its sequences the text is\n%s\nwant\n%s", got, plain)
			}
			if strings.ContainsAny(plain, "\x1b\a\r\u202e"+asWarning+asHeading+asSource+asIs) || strings.Count(plain, "\nWARNING: ") != 1 {
				t.Errorf("marks, sequences or lines in %q", plain)
			}
			for line := range strings.Lines(color) {
				if n := len(sequence.FindAllString(line, -1)); n%2 != 0 || n > 0 && !strings.Contains(line, "\x1b[m") {
					t.Errorf("the color of %q does not end", line)
				}
			}
			if !strings.HasPrefix(color, frameLine+"\n\x1b[1;31mWARNING: ") {
				t.Errorf("no color in %q", color)
			}
		}
	}
}

// TestBriefTitles: neither addresses nor numbers of goroutines are in the title, nor addresses of what has a name elsewhere.
func TestBriefTitles(t *testing.T) {
	number := regexp.MustCompile(`\b0x[0-9a-f]+|goroutine \d+`)
	all := recorded(t)
	for _, f := range allFindings() {
		all = append(all, f)
	}
	for _, f := range all {
		lines := strings.Split(briefOf(t, &f, Brief{}), "\n")
		if lines[0] != frameLine || !strings.HasPrefix(lines[1], "WARNING: ") || number.MatchString(lines[1]+lines[2]) {
			t.Errorf("title of\n%s", strings.Join(lines, "\n"))
		}
	}
}

// TestBriefLocks: two locks with one expression have numbers, and one lock with two expressions has both.
func TestBriefLocks(t *testing.T) {
	f := sameExpression()
	text := briefOf(t, &f, Brief{})
	for _, want := range []string{
		": to.mu #2 -> to.mu #1 -> to.mu #2\n", "wants to.mu #1 (read), holding a.mu (to.mu #2) since", "wants to.mu #2 (read), holding a.mu (to.mu #1) since",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// TestBriefFolder: names of files in the folder are as the go command prints them, and others stay.
func TestBriefFolder(t *testing.T) {
	folder := filepath.FromSlash("/src/m")
	if filepath.Separator == '\\' {
		folder = "C:" + folder
	}
	text := &briefText{form: &Brief{Folder: folder}}
	in := func(elements ...string) string { return filepath.Join(append([]string{folder}, elements...)...) }
	for site, want := range map[string]string{
		in("a.go:12"):            "." + string(filepath.Separator) + "a.go:12",
		in("sub", "a.go:12"):     filepath.Join("sub", "a.go:12"),
		in("..", "other/a.go:1"): in("..", "other/a.go:1"),
		in("..", "m2", "a.go:1"): in("..", "m2", "a.go:1"),
		in("..x", "a.go:1"):      filepath.Join("..x", "a.go:1"),
		"m/a.go:3":               "m/a.go:3", // of a program built with -trimpath, or of a text trace
		"?":                      "?",
		"":                       "",
	} {
		if got := text.relative(site); got != want {
			t.Errorf("%q is %q, want %q", site, got, want)
		}
	}
}

// TestStandardFrames: only files of the standard library are of it.
func TestStandardFrames(t *testing.T) {
	for f, want := range map[Frame]bool{
		{Func: "net/http.(*conn).serve", File: "/usr/local/go/src/net/http/server.go"}:                                    true,
		{Func: "net/http.(*conn).serve", File: `C:\Program Files\Go\src\net\http\server.go`}:                              true,
		{Func: "net/http.(*conn).serve", File: "net/http/server.go"}:                                                      true, // -trimpath
		{Func: "sync.OnceValue[example.org/m.T].func1", File: "/home/u/go/pkg/mod/golang.org/toolchain/src/sync/once.go"}: true,
		{Func: "vendor/golang.org/x/net/http2/hpack.f", File: "/go/src/vendor/golang.org/x/net/http2/hpack/f.go"}:         true,
		{Func: "net/http.(*conn).serve", File: "/src/m/net/http/server.go"}:                                               false,
		{Func: "example.org/net/http.Serve", File: "/go/src/example.org/net/http/server.go"}:                              false,
		{Func: "main.main", File: "/go/src/main/main.go"}:                                                                 false,
		{Func: "shop/api.Serve", File: "/home/u/go/src/shop/api/api.go"}:                                                  false,
		{Func: "log.Print", File: "/home/u/log/log.go"}:                                                                   false,
		{Func: "", File: ""}: false,
	} {
		if got := isStandard(f); got != want {
			t.Errorf("%v: %v", f, got)
		}
	}
}

// TestBriefStacks: calls of the standard library are counted, those that only lead to the program are left out, and callers that the
// stack before has are not repeated.
func TestBriefStacks(t *testing.T) {
	user := func(line int) Frame { return Frame{"m.f", "/src/m/f.go", line} }
	serve := Frame{"net/http.HandlerFunc.ServeHTTP", "/go/src/net/http/server.go", 1}
	read := Frame{"io.ReadAll", "/go/src/io/io.go", 2}
	run := Frame{"testing.tRunner", "/go/src/testing/testing.go", 3}
	wait := Frame{"sync.(*WaitGroup).Go.func1", "/go/src/sync/waitgroup.go", 4}
	main := Frame{"main.main", "_testmain.go", 5}
	buffer := Frame{"bytes.(*Buffer).Write", "/go/src/bytes/buffer.go", 6}
	lock := Frame{"sync.(*Mutex).Lock", "/go/src/sync/mutex.go", 7}
	for _, test := range []struct {
		before, stack []Frame
		want          string
	}{
		{nil, []Frame{user(1), serve, serve, read, user(2), serve, serve}, "/src/m/f.go:1  m.f()|SOURCE|… 3 calls of net/http, io|/src/m/f.go:2  m.f()|… 2 calls of net/http"},
		{nil, []Frame{user(1), user(2), run, run, main}, "/src/m/f.go:1  m.f()|SOURCE|/src/m/f.go:2  m.f()"},
		{nil, []Frame{user(1), wait}, "/src/m/f.go:1  m.f()|SOURCE"},
		{nil, []Frame{buffer, user(1), wait}, "/go/src/bytes/buffer.go:6  bytes.(*Buffer).Write()|SOURCE|/src/m/f.go:1  m.f()"},
		{nil, []Frame{lock, user(1)}, "/go/src/sync/mutex.go:7  sync.(*Mutex).Lock()|/src/m/f.go:1  m.f()|SOURCE"},
		{nil, []Frame{serve, serve, run}, "/go/src/net/http/server.go:1  net/http.HandlerFunc.ServeHTTP()|SOURCE|… 1 call of net/http"},
		{nil, []Frame{run}, "/go/src/testing/testing.go:3  testing.tRunner()|SOURCE"},
		{nil, nil, ""},
		{nil, []Frame{{Func: "f"}, {Func: "g"}}, "f|SOURCE|g"},
		{[]Frame{user(1), user(3), user(4)}, []Frame{user(2), user(3), user(4)}, "/src/m/f.go:2  m.f()|SOURCE|… called as above"},
		{[]Frame{user(1), user(3), user(4)}, []Frame{user(1), user(3), user(4)}, "/src/m/f.go:1  m.f()|SOURCE|… called as above"},
		{[]Frame{user(1), user(4)}, []Frame{user(2), user(4)}, "/src/m/f.go:2  m.f()|SOURCE|/src/m/f.go:4  m.f()"},
		{nil, []Frame{user(1), user(2), user(3), user(4), user(5), user(6), user(7)}, "/src/m/f.go:1  m.f()|SOURCE|/src/m/f.go:2  m.f()|/src/m/f.go:3  m.f()|/src/m/f.go:4  m.f()|/src/m/f.go:5  m.f()|… 2 more calls"},
	} {
		text := &briefText{form: &Brief{}, frames: maxBriefFrames}
		text.stack(test.before, "")
		n := text.Len()
		text.stack(test.stack, "SOURCE")
		var got []string
		for line := range strings.Lines(plain.Replace(text.String()[n:])) {
			got = append(got, strings.TrimSpace(line))
		}
		if strings.Join(got, "|") != test.want {
			t.Errorf("%v after %v: got\n%s\nwant\n%s", test.stack, test.before, strings.Join(got, "|"), test.want)
		}
	}
}

// TestBriefArguments: what is missing is an error.
func TestBriefArguments(t *testing.T) {
	var none *Brief
	for want, err := range map[string]error{
		"report.Brief.Write: wrong option: the Brief is nil":   none.Write(&bytes.Buffer{}, &Finding{}),
		"report.Brief.Write: wrong option: the finding is nil": (&Brief{}).Write(&bytes.Buffer{}, nil),
		"report.Brief.Write: wrong option: the writer is nil":  (&Brief{}).Write(nil, &Finding{}),
	} {
		if err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if err := (&Brief{}).Write(fullDisk{}, &Finding{}); err == nil {
		t.Error("no error of a full disk")
	}
}
