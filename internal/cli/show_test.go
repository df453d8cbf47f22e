package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/heisen-go/heisen/internal/cli"
	"github.com/heisen-go/heisen/internal/kept"
	"github.com/heisen-go/heisen/report"
)

// inModule makes a module with the trace of a race, enters it, and gives the user an empty cache.
func inModule(t *testing.T, path string) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"XDG_CACHE_HOME", "LocalAppData"} {
		t.Setenv(name, filepath.Join(dir, "cache"))
	}
	if runtime.GOOS == "darwin" {
		t.Setenv("HOME", dir)
	}
	work := filepath.Join(dir, "work")
	for name, text := range map[string]string{
		"go.mod":    "module " + path + "\n",
		"race.std":  "T1|acq(L1)|a.go:1\nT1|w(x)|a.go:2\nT1|rel(L1)|a.go:3\nT2|w(x)|b.go:7\n",
		"other.std": "T1|w(y)|c.go:1\nT2|r(y)|c.go:2\n",
		"sub/a":     "",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(work, name)), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(work, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(work)
}

var namedIn = regexp.MustCompile(`(?m)^In full: heisen show ([0-9a-f]+)$`)

// TestShow: what a short report names can be shown in full, also after another run, in every folder of the module and in every form.
func TestShow(t *testing.T) {
	inModule(t, "example.org/shown")
	status, short, _ := heisenCommand("analyze", "race.std")
	named := namedIn.FindStringSubmatch(short)
	if status != cli.Findings || named == nil || !strings.HasSuffix(strings.SplitAfter(short, "==================\n")[1], named[0]+"\n==================\n") {
		t.Fatalf("exit status %d\n%s", status, short)
	}
	fingerprint := named[1]
	_, full, _ := heisenCommand("analyze", "-report", "full", "race.std")
	full, _, _ = strings.Cut(full, "Found 1 data race")
	if full == short || !strings.Contains(full, "  holding L1") {
		t.Fatalf("not in full:\n%s", full)
	}
	if status, _, stderr := heisenCommand("analyze", "other.std"); status != cli.Findings {
		t.Fatalf("exit status %d\n%s", status, stderr)
	}
	t.Chdir("sub")
	for _, args := range [][]string{{fingerprint}, {fingerprint[:6]}, {"-report", "text", fingerprint}, {"-report", "full", fingerprint}, {"--", fingerprint}} {
		if status, got, stderr := heisenCommand(append([]string{"show"}, args...)...); status != cli.Clean || got != full || stderr != "" {
			t.Errorf("%q: exit status %d, %s\n%s\nwant\n%s", args, status, stderr, got, full)
		}
	}
	_, list, _ := heisenCommand("show")
	lines := strings.Split(strings.TrimSpace(list), "\n")
	if len(lines) != 2 || !strings.Contains(list, fingerprint+"  ") || !strings.Contains(list, "  race: ") || strings.Contains(list, "[") {
		t.Errorf("the list is\n%s", list)
	}
	_, all, _ := heisenCommand("show", fingerprint, lines[0][:16], lines[1][:16])
	if n := strings.Count(all, "WARNING: DATA RACE"); n != 3 {
		t.Errorf("%d reports in\n%s", n, all)
	}
	_, line, _ := heisenCommand("show", "-report", "json", fingerprint)
	var found struct{ Fingerprint string }
	if err := json.Unmarshal([]byte(line), &found); err != nil || found.Fingerprint != fingerprint {
		t.Errorf("%v in %s", err, line)
	}
	if status, _, stderr := heisenCommand("show", "-report", "html:page.html", "-report", "full:full.txt", fingerprint); status != cli.Clean {
		t.Errorf("exit status %d\n%s", status, stderr)
	}
	if page, err := os.ReadFile("page.html"); err != nil || !strings.Contains(string(page), fingerprint) {
		t.Errorf("the page: %v\n%s", err, page)
	}
	if text, err := os.ReadFile("full.txt"); err != nil || string(text) != full {
		t.Errorf("the text: %v\n%s", err, text)
	}
}

// TestShowCopy: of two copies of a module, each shows what was found in it. In the first one the bug does harm, which would make its
// finding take the place of the one from the other.
func TestShowCopy(t *testing.T) {
	inModule(t, "example.org/copied")
	first, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	harm, err := kept.Open(first)
	if err != nil {
		t.Fatal(err)
	}
	_, line, _ := heisenCommand("analyze", "-report", "json", "race.std")
	found, err := report.ReadJSON(strings.NewReader(line))
	if err != nil || len(found) != 1 {
		t.Fatalf("%d findings, %v", len(found), err)
	}
	harmful := found[0]
	harmful.Trials = &report.Trials{Confirmed: 1, Harmful: true, Endings: []report.Ending{}}
	harmful.Message = "of the first copy"
	if err := harm.Put(&harmful); err != nil {
		t.Fatal(err)
	}
	second := filepath.Join(t.TempDir(), "work")
	if err := os.CopyFS(second, os.DirFS(first)); err != nil {
		t.Fatal(err)
	}
	t.Chdir(second)
	if _, list, _ := heisenCommand("show"); list != "" {
		t.Errorf("the copy lists\n%s", list)
	}
	heisenCommand("analyze", "race.std")
	if _, full, _ := heisenCommand("show", harmful.Fingerprint); full == "" || strings.Contains(full, "the first copy") {
		t.Errorf("the copy shows\n%s", full)
	}
	t.Chdir(first)
	if _, line, _ := heisenCommand("show", "-report", "json", harmful.Fingerprint); !strings.Contains(line, "of the first copy") {
		t.Errorf("the first one shows\n%s", line)
	}
}

// TestShowUnknown: an unknown fingerprint is an error on one line that says what to do, and so is a prefix of several.
func TestShowUnknown(t *testing.T) {
	inModule(t, "example.org/unknown")
	here, err := os.Getwd()
	if err == nil {
		here, err = filepath.EvalSymlinks(here)
	}
	if err != nil {
		t.Fatal(err)
	}
	if status, stdout, stderr := heisenCommand("show"); status != cli.Clean || stdout != "" || stderr != "heisen: nothing that was found in "+here+" is kept\n" {
		t.Errorf("an empty list: exit status %d, %q, %q", status, stdout, stderr)
	}
	heisenCommand("analyze", "race.std")
	const want = "heisen show: no such finding is kept: \"0000\"; heisen show lists those of this module\n"
	if status, stdout, stderr := heisenCommand("show", "0000"); status != cli.Failed || stdout != "" || stderr != want {
		t.Errorf("exit status %d, %q, %q", status, stdout, stderr)
	}
	if status, stdout, stderr := heisenCommand("show", "-nonsense"); status != cli.Misused || stdout != "" || strings.Count(stderr, "\n") != 1 {
		t.Errorf("a wrong flag: exit status %d, %q, %q", status, stdout, stderr)
	}
}

// TestShowNowhere: what cannot be kept is printed in full, without a promise, and the user's folders stay as they are.
func TestShowNowhere(t *testing.T) {
	if runtime.GOOS == "windows" || os.Geteuid() == 0 && runtime.GOOS != "linux" {
		t.Skip("the folder cannot be closed")
	}
	inModule(t, "example.org/nowhere")
	for _, name := range []string{"XDG_CACHE_HOME", "TMPDIR"} {
		t.Setenv(name, os.DevNull)
	}
	status, got, stderr := heisenCommand("analyze", "race.std")
	if status != cli.Findings || strings.Contains(got, "In full") || !strings.Contains(got, "  holding L1") || stderr != "" {
		t.Errorf("exit status %d, %s\n%s", status, stderr, got)
	}
	if status, _, stderr := heisenCommand("show"); status != cli.Failed || stderr == "" {
		t.Errorf("exit status %d, %s", status, stderr)
	}
	entries, err := os.ReadDir(".")
	if err != nil || len(entries) != 4 {
		t.Errorf("%v, %v", entries, err)
	}
}
