package scripts

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/heisen-go/heisen/internal/onepage"
	"github.com/heisen-go/heisen/internal/testaid/tier"
	"github.com/heisen-go/heisen/report"
)

// The bugs of the package in testdata/edits, by what a report says of them.
const (
	race     = "Data race: s.total"
	lost     = "Failing execution: test failed: TestTake"
	deadlock = "Deadlock: to.mu"
	leak     = "Goroutine leak: c"
)

// gone stands for fixed, or not seen: which one it is depends on the schedule that was found, because goroutines come to exist later, or a channel
// orders other operations than before.
const gone = "gone"

// edit is a change of the package in testdata/edits, and what a run says of the findings afterwards. Those that are not in states are known.
type edit struct {
	name    string
	changes []string // old and new texts, in turn, in any of the files
	states  map[string]string
	again   []string // further changes, for another run
	then    map[string]string
}

const plainTake = "\thave := s.Items()\n\ts.Set(have - n)\n"

var edits = []edit{
	{name: "lines added above, and a comment", changes: []string{
		"package shop\n\nimport \"sync\"", "// Package shop sells.\npackage shop\n\nimport \"sync\"\n\nvar Open bool",
		"// Take loses updates.\n", "// Take loses updates.\n//\n// It reads, and then it writes.\n",
		plainTake, "\t// How many are there?\n" + plainTake,
	}},
	{name: "functions moved in the file, and to another file", changes: []string{
		"// Add is racy.\nfunc (s *Shop) Add(n int) {\n\ts.total += n\n}\n", "",
		"// First leaves", "// Add is racy.\nfunc (s *Shop) Add(n int) {\n\ts.total += n\n}\n\n// First leaves",
		"// Take loses updates.\nfunc (s *Stock) Take(n int) {\n" + plainTake + "}\n", "",
		"// More.\n", "func (s *Stock) Take(n int) {\n" + plainTake + "}\n",
	}},
	{name: "variables renamed", changes: []string{"total", "sum", "have", "had", "c := make(", "results := make(", "c <-", "results <-", "<-c", "<-results"},
		states: map[string]string{race: "", "Data race: s.sum": "known", leak: "", "Goroutine leak: results": "known"}},
	{name: "functions renamed", changes: []string{".Add(", ".Plus(", ") Add(", ") Plus(", ".Take(", ".Remove(", ") Take(", ") Remove("}},
	{name: "helpers extracted", changes: []string{
		"\ts.total += n\n", "\ts.plus(n)\n", "// More.\n", "func (s *Shop) plus(n int) {\n\ts.total += n\n}\n\nfunc (s *Stock) less(have, n int) {\n\ts.Set(have - n)\n}\n",
		"\ts.Set(have - n)\n}\n\ntype Account", "\ts.less(have, n)\n}\n\ntype Account",
	}},
	{name: "goroutines and tests added", changes: []string{
		"\tvar s Shop\n", "\tvar s Shop\n\tgo func() { _ = new(int) }()\n", "\ts := Stock{items: 10}\n", "\ts := Stock{items: 10}\n\tgo func() {}()\n",
		"func TestAdd(", "func TestBefore(t *testing.T) {\n\tvar s Shop\n\ts.Add(1)\n}\n\nfunc TestAdd(",
	}},
	{name: "locks elsewhere, and lines between", changes: []string{
		"\ts.total += n\n", "\ts.total += n\n\tvisit()\n", plainTake, "\thave := s.Items()\n\tvisit()\n\ts.Set(have - n)\n",
		"// More.\n", "import \"sync\"\n\nvar visits struct {\n\tsync.Mutex\n\tn int\n}\n\nfunc visit() {\n\tvisits.Lock()\n\tdefer visits.Unlock()\n\tvisits.n++\n}\n",
		"\tto.mu.Lock()\n", "\tvisit()\n\tto.mu.Lock()\n",
	}},
	{name: "more goroutines", changes: []string{"range 2", "range 3", "left != 4", "left != 1"}},
	{name: "tests renamed", changes: []string{"TestAdd(", "TestAdds(", "TestTake(", "TestTakes("},
		states: map[string]string{lost: "not seen", "Failing execution: test failed: TestTakes": "new"}},
	{name: "mended by a mutex, a channel, and an order of locks", changes: []string{
		"type Shop struct{ total int }", "type Shop struct {\n\tmu    sync.Mutex\n\ttotal int\n}", "\ts.total += n\n", "\ts.mu.Lock()\n\ts.total += n\n\ts.mu.Unlock()\n",
		plainTake, "\ttaking <- true\n\thave := s.Items()\n\ts.Set(have - n)\n\t<-taking\n", "// More.\n", "var taking = make(chan bool, 1)\n",
		"Transfer(&b, &a, 1)", "Transfer(&a, &b, -1)", "make(chan int)", "make(chan int, 2)",
	}, states: map[string]string{race: "fixed", lost: "fixed", deadlock: "fixed", leak: gone},
		again: []string{
			"\ts.mu.Lock()\n\ts.total += n\n\ts.mu.Unlock()\n", "\ts.total += n\n", "\t<-taking\n", "", "\ttaking <- true\n", "", "Transfer(&a, &b, -1)", "Transfer(&b, &a, 1)",
			"make(chan int, 2)", "make(chan int)",
		}, then: map[string]string{race: "back", lost: "back", deadlock: "back", leak: "back"},
	},
	{name: "mended by atomics, and by waiting", changes: []string{
		"\ts.total += n\n", "\tatomic.AddInt64(&s.total, int64(n))\n", "total int", "total int64", "import \"sync\"\n\ntype Shop", "import (\n\t\"sync\"\n\t\"sync/atomic\"\n)\n\ntype Shop",
		"wg.Go(func() { s.Take(3) })\n", "wg.Go(func() { s.Take(3) })\n\t\tawait(&wg)\n",
		"// More.\n", "import \"sync\"\n\nfunc await(all *sync.WaitGroup) { all.Wait() }\n",
	}, states: map[string]string{race: "fixed", lost: gone}},
	{name: "mended by a mutex that others hold, too", changes: []string{
		"\tfrom.mu.Lock()\n", "\ttransfers.Lock()\n\tdefer transfers.Unlock()\n\tfrom.mu.Lock()\n", "// More.\n", "import \"sync\"\n\nvar transfers sync.Mutex\n\nfunc await(all *sync.WaitGroup) { all.Wait() }\n",
		plainTake, "\ts.taking.Lock()\n\tdefer s.taking.Unlock()\n" + plainTake, "items int\n", "items int\n\ttaking sync.Mutex\n",
		"wg.Go(func() { s.Add(i) })\n", "wg.Go(func() { s.Add(i) })\n\t\tawait(&wg)\n",
	}, states: map[string]string{race: gone, lost: "fixed", deadlock: "fixed"}},
	{name: "hidden by a sleep", changes: []string{
		"\tfor range 2 {\n\t\twg.Go(func() { s.Take(3) })\n", "\tfor i := range 2 {\n\t\twg.Go(func() {\n\t\t\ttime.Sleep(time.Duration(i) * time.Second)\n\t\t\ts.Take(3)\n\t\t})\n",
		"\t\"testing\"\n", "\t\"testing\"\n\t\"time\"\n", "\tgo func() { c <- b() }()\n", "\tgo func() {\n\t\tselect {\n\t\tcase c <- b():\n\t\tcase <-time.After(time.Second):\n\t\t}\n\t}()\n",
		"import \"sync\"\n\ntype Shop", "import (\n\t\"sync\"\n\t\"time\"\n)\n\ntype Shop",
	}, states: map[string]string{lost: "not seen"}},
	{name: "hidden by giving way", changes: []string{
		"wg.Go(func() { s.Take(3) })", "wg.Go(func() { runtime.Gosched(); s.Take(3) })", "wg.Go(func() { s.Add(i) })", "wg.Go(func() { runtime.Gosched(); s.Add(i) })",
		"\t\"sync\"\n\t\"testing\"", "\t\"runtime\"\n\t\"sync\"\n\t\"testing\"",
	}},
	{name: "early returns", changes: []string{
		"\ts.total += n\n", "\tif n == 0 {\n\t\treturn\n\t}\n\ts.total += n\n", plainTake, "\tif n == 3 {\n\t\treturn\n\t}\n" + plainTake, "left != 4", "left != 10",
	}, states: map[string]string{race: "not seen", lost: "not seen"}},
	{name: "locks that do not help", changes: []string{
		"func (s *Shop) Add(n int) {\n\ts.total += n\n", "func (s *Shop) Add(n int) {\n\tvar mu sync.Mutex\n\tmu.Lock()\n\tdefer mu.Unlock()\n\ts.total += n\n",
		plainTake, "\ttaking.Lock()\n\thave := s.Items()\n\ttaking.Unlock()\n\ttaking.Lock()\n\ts.Set(have - n)\n\ttaking.Unlock()\n",
		"// More.\n", "import \"sync\"\n\nvar taking sync.Mutex\n",
	}},
	{name: "a second bug beside it", changes: []string{"total int", "total, count int", "\ts.total += n\n", "\ts.total += n\n\ts.count++\n"},
		states: map[string]string{"Data race: s.count": "new"}},
}

// TestEdits: after an edit, a run says of each finding what is true of it.
func TestEdits(t *testing.T) {
	tier.Need(t, tier.CI)
	base, memory := t.TempDir(), t.TempDir()
	copyFolder(t, filepath.Join("testdata", "edits"), base)
	all := []string{race, lost, deadlock, leak}
	want := map[string]string{}
	for _, name := range all {
		want[name] = "new"
	}
	if got, printed := statesIn(t, base, memory); !maps.Equal(got, want) {
		t.Fatalf("%v, want %v\n%s", got, want, printed)
	}
	for _, e := range edits {
		t.Run(strings.ReplaceAll(e.name, " ", "_"), func(t *testing.T) {
			folder, remembered := t.TempDir(), t.TempDir()
			copyFolder(t, base, folder)
			copyFolder(t, memory, remembered)
			check := func(changes []string, states map[string]string) {
				t.Helper()
				change(t, folder, changes)
				want := map[string]string{}
				for _, name := range all {
					want[name] = "known"
				}
				maps.Copy(want, states)
				maps.DeleteFunc(want, func(_, state string) bool { return state == "" })
				got, printed := statesIn(t, folder, remembered)
				for name, state := range want {
					if state == gone && (got[name] == "fixed" || got[name] == "not seen") {
						want[name] = got[name]
					}
				}
				if !maps.Equal(got, want) {
					t.Errorf("%v, want %v\n%s", got, want, printed)
				}
			}
			check(e.changes, e.states)
			if e.again != nil {
				check(e.again, e.then)
			}
		})
	}
}

var (
	goneLine = regexp.MustCompile(`(?m)^heisen: (fixed|not seen): example\.com/shop: (.*?) \([0-9a-f]+, last seen`)
	address  = regexp.MustCompile(` 0x[0-9a-f]+.*`)
)

// statesIn runs heisen in a folder, and returns the states of findings by what they are about, and what was printed.
func statesIn(t *testing.T, folder, memory string) (all map[string]string, printed string) {
	t.Helper()
	cmd := exec.Command("heisen", "fuzz", "-corpus", memory, "-time", "2s", "-schedules", filepath.Join(memory, "found"), "-report", "json", ".")
	cmd.Dir = folder
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 66) {
		t.Fatalf("%v\n%s", err, &errs)
	}
	findings, err := report.ReadJSON(&out)
	if err != nil {
		t.Fatal(err)
	}
	all = map[string]string{}
	for i := range findings {
		if f := &findings[i]; f.History != nil {
			all[address.ReplaceAllString(onepage.Subject(f), "")] = f.History.State
		}
	}
	for _, gone := range goneLine.FindAllStringSubmatch(errs.String(), -1) {
		all[address.ReplaceAllString(gone[2], "")] = gone[1]
	}
	return all, errs.String()
}

// change replaces texts in the files of a folder. Each old text is in one of them.
func change(t *testing.T, folder string, changes []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(changes); i += 2 {
		found := false
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			changed := strings.ReplaceAll(string(text), changes[i], changes[i+1])
			if changed == string(text) {
				continue
			}
			found = true
			if err := os.WriteFile(file, []byte(changed), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if !found {
			t.Fatalf("%q is in no file", changes[i])
		}
	}
}

func copyFolder(t *testing.T, from, to string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}
