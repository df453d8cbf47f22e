package corpus

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/heisen-go/heisen/racefuzz"
)

// sample returns a memory with something of everything.
func sample() *Memory {
	return &Memory{
		Package: "example.org/shop", Runs: 7, Program: "01ab", Used: 7, Rounds: 3,
		Tests: []Test{
			{Name: "", Executions: 7, Took: time.Second, All: 7},
			{Name: "TestPay", Executions: 12, Took: 90 * time.Millisecond, Run: 7, Work: []Work{{"0d", 3, time.Second}, {"1d", 4, 0}}, Behaviors: []uint64{1, 5}, Orders: []uint64{2, 1 << 63}},
		},
		Findings: []Finding{
			{Fingerprint: "0a", Subject: "Data race: \"total\"\n", First: "2026-11-02", Last: "2026-11-09", Gone: "2026-11-10", Fixed: true, Stated: 7, Found: 3},
			{Fingerprint: "0b", Subject: "Deadlock", First: "2026-11-02", Last: "2026-11-09", Harmful: true, Tests: "^TestPay$", Schedule: &racefuzz.Schedule{
				Strategy: "replay", Seed: 4, Steps: 10, Hash: 7, Outcome: "passed", Choices: []racefuzz.Choice{{Step: 3, ID: 9}},
				Targets: []racefuzz.Target{{Roles: racefuzz.First, Mode: "read", Place: "shop.go:31", Func: "f"}},
			}, Order: Order{Whole: true, Places: []Anchor{{Op: "write", Func: "shop.f", Text: 7}}, Turns: []Turn{{
				Thread: 9, First: Anchor{Op: "acquire", Func: "shop.(*Shop).Add", Text: 1 << 31}, Last: Anchor{Op: "write", Func: "shop.f", Text: 7, Nth: 2, Of: 3},
			}}}},
		},
	}
}

func text(t *testing.T, m *Memory) string {
	t.Helper()
	out, err := m.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestText: what is written is read again, and every beginning of it is a truncated text.
func TestText(t *testing.T) {
	written := text(t, sample())
	var again Memory
	if err := again.UnmarshalText([]byte(written)); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(&again, sample()) {
		t.Errorf("%+v\nwant %+v", &again, sample())
	}
	for n := range written {
		if err := again.UnmarshalText([]byte(written[:n])); err == nil {
			t.Fatalf("the first %d bytes are read", n)
		}
	}
}

// old returns a text as version 1 has it.
func old(written []byte) []byte {
	text := string(written)
	for _, c := range [][2]string{
		{`corpus 2`, "corpus 1"}, {`\nruns 7`, ""}, {`rounds 3 7`, "rounds 3"}, {`(?m)^work .*\n`, ""}, {`(?m)^(test .*) \d+$`, "$1"}, {`(?m)^(finding .*) \d+ \d+ (\d+)$`, "$1 $2"},
	} {
		text = regexp.MustCompile(c[0]).ReplaceAllString(text, c[1])
	}
	return []byte(text)
}

// TestOldText: a text of version 1 is read. What it does not say is not known.
func TestOldText(t *testing.T) {
	want := sample()
	want.Runs, want.Used, want.Tests[1].Run, want.Tests[1].Work = 0, 0, 0, nil
	for i := range want.Findings {
		want.Findings[i].Stated, want.Findings[i].Found = 0, 0
	}
	var m Memory
	if err := m.UnmarshalText(old([]byte(text(t, sample())))); err != nil || !reflect.DeepEqual(&m, want) {
		t.Errorf("%+v, %v\nwant %+v", &m, err, want)
	}
}

// TestWrongTexts: an error says in one line where the text is wrong.
func TestWrongTexts(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"heisen corpus 2", "heisen schedule 1", "1: not a corpus of heisen"},
		{"heisen corpus 2", "heisen corpus 3", "1: another version of heisen has written it"},
		{"heisen corpus 2", "heisen corpus 02", "1: another version of heisen has written it"},
		{"heisen corpus 2", "heisen corpus 1", `3: unknown key "runs"`},
		{"runs 7", "runs 6", "5: a run is no number, or there was none"},
		{"program 01ab", "program x", "4: the program is no number"},
		{"rounds 3", "rounds -3", "5: rounds are a number"},
		{"rounds 3", "lines 3", `5: unknown key "lines"`},
		{"TestPay", "", "7: the test is in the wrong place"},
		{" 90ms", " 90", "7: a number of the test is wrong"},
		{"work 0d 3", "work 0d -3", "8: a word of the work is wrong"},
		{"work 0d", "work 2d", "9: the work is in the wrong place"},
		{"behaviors AQ", "behaviors *Q", "10: behaviors are wrong"},
		{"behaviors", "orders", "11: orders come twice"},
		{"finding 0a", "finding 0c", "13: the finding is in the wrong place"},
		{"fixed", "mended", "12: a word of the finding is wrong"},
		{" 7 3 0", " 7 8 0", "12: a run is no number, or there was none"},
		{"harmful", "harmless", "13: a word of the finding is wrong"},
		{"2026-11-10", "2026-13-10", "12: a day is wrong"},
		{"  strategy", "strategy", "15: a line of the schedule is not indented"},
		{"  strategy replay", "  command test .", "23: the schedule names a program"},
		{"  seed 4", "  seed four", "16: "},
		{" 3\nend\n", " 3\nend\nmore\n", "there is text after the end"},
		{"order whole", "order all", "24: an order is whole or partial"},
		{"turn 9", "place", "26: place has 10 words, not 5"},
		{"place write", "place 1", "25: a word of an anchor is wrong"},
		{"turn 9", "turn 09", "26: "},
		{"order whole\n", "", "24: an order of nothing"},
		{`"Deadlock"`, `"Deadlock`, "13: words are not separated"},
	} {
		written := text(t, sample())
		broken := strings.Replace(written, c.old, c.new, 1)
		if broken == written {
			t.Errorf("%q is not in the text", c.old)
		}
		m := &Memory{Package: "kept"}
		err := m.UnmarshalText([]byte(broken))
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q instead of %q: error %q, want %q", c.new, c.old, fmt.Sprint(err), c.want)
		}
		if m.Package != "kept" {
			t.Errorf("%q instead of %q: the memory has changed", c.new, c.old)
		}
	}
}

// TestForeignSchedules: the schedule of a finding names no program and nothing with which it runs.
func TestForeignSchedules(t *testing.T) {
	for _, change := range []func(*racefuzz.Schedule){
		func(s *racefuzz.Schedule) { s.Command, s.Program = "run", "./evil" },
		func(s *racefuzz.Schedule) { s.Args = []string{"-test.cpuprofile=x"} },
		func(s *racefuzz.Schedule) { s.Tags = []string{"evil"} },
		func(s *racefuzz.Schedule) { s.Packages = []string{"all"} },
	} {
		m := sample()
		change(m.Findings[1].Schedule)
		if err := new(Memory).UnmarshalText([]byte(text(t, m))); err == nil {
			t.Errorf("%+v is read", m.Findings[1].Schedule)
		}
	}
}

// FuzzText: any text is read or is an error on one line, and what is read is written as it was.
func FuzzText(f *testing.F) {
	written, err := sample().MarshalText()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(written)
	f.Add(old(written))
	f.Add([]byte("heisen corpus 1\npackage p\nend\n"))
	f.Add([]byte("heisen corpus 3\n"))
	f.Fuzz(func(t *testing.T, written []byte) {
		var m Memory
		if err := m.UnmarshalText(written); err != nil {
			if strings.ContainsAny(err.Error(), "\n\r") {
				t.Errorf("error %q", err)
			}
			return
		}
		once, err := m.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		var again Memory
		if err := again.UnmarshalText(once); err != nil {
			t.Fatalf("%v\n%s", err, once)
		}
		if twice, err := again.MarshalText(); err != nil || string(twice) != string(once) {
			t.Errorf("%s\nthen\n%s", once, twice)
		}
	})
}

var key = Key{Verb: "test", Package: "example.org/shop"}

func opened(t *testing.T) *Folder {
	t.Helper()
	f, err := Open(filepath.Join(t.TempDir(), "corpus"))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func read(t *testing.T, f *Folder) (*Memory, string) {
	t.Helper()
	m, text, err := f.Read(key)
	if err != nil {
		t.Fatal(err)
	}
	return m, string(text)
}

// TestFolder: what was written is read again, under its key only.
func TestFolder(t *testing.T) {
	f := opened(t)
	before, none := read(t, f)
	if none != "" || Hash([]byte(none)) != "empty" {
		t.Errorf("an empty folder has %q", none)
	}
	if err := f.Write(key, before, sample()); err != nil {
		t.Fatal(err)
	}
	m, written := read(t, f)
	if !reflect.DeepEqual(m, sample()) {
		t.Errorf("%+v", m)
	}
	if Hash([]byte(written)) == Hash([]byte(written), nil) || Hash([]byte(written)) != Hash([]byte(text(t, m))) {
		t.Error("hashes do not tell what was read")
	}
	for _, other := range []Key{
		{Verb: "run", Package: key.Package}, {Verb: "test", Package: key.Package, Args: []string{"-test.short"}},
		{Verb: "test", Package: key.Package, Tags: []string{"-test.short"}}, {Verb: "test", Package: key.Package, At: "x"},
	} {
		if m, _, err := f.Read(other); err != nil || m.Rounds != 0 {
			t.Errorf("%+v: %+v, %v", other, m, err)
		}
	}
	if err := os.Rename(filepath.Join(f.path, key.name()), filepath.Join(f.path, (&Key{Verb: "test", Package: "other"}).name())); err != nil {
		t.Fatal(err)
	}
	if _, _, err := f.Read(Key{Verb: "test", Package: "other"}); err == nil {
		t.Error("the memory of another package is read")
	}
}

// TestTwoProcesses: of two that read the same and end one after the other, both have their findings and executions in the end.
func TestTwoProcesses(t *testing.T) {
	f := opened(t)
	if err := f.Write(key, &Memory{}, sample()); err != nil {
		t.Fatal(err)
	}
	before, _ := read(t, f)
	one, two := before.Clone(), before.Clone()
	one.PutFinding(Finding{Fingerprint: "01", First: "2026-11-30", Last: "2026-11-30"})
	search := func(m *Memory, id string, executions uint64, took time.Duration, behaviors ...uint64) {
		m.Begin("01ab")
		pay := *m.Test("TestPay")
		pay.Add(m.Runs, Work{id, executions, took})
		pay.Behaviors = behaviors
		m.PutTest(pay)
	}
	search(one, "01", 10, 100*time.Millisecond, 1, 5, 6)
	one.Rounds++
	two.PutFinding(Finding{Fingerprint: "02", First: "2026-11-30", Last: "2026-11-30"})
	two.Without("0a")
	search(two, "02", 3, 5*time.Millisecond, 1, 4, 5)
	for _, now := range []*Memory{one, one, two} { // the same again adds nothing
		if err := f.Write(key, before, now); err != nil {
			t.Fatal(err)
		}
	}
	m, _ := read(t, f)
	pay := m.Test("TestPay")
	if m.Finding("01") == nil || m.Finding("02") == nil || m.Finding("0a") != nil || m.Finding("0b").Schedule == nil {
		t.Errorf("findings %+v", m.Findings)
	}
	executions, took := pay.Total()
	was, before1 := before.Test("TestPay").Total()
	if m.Rounds != 4 || executions-was != 13 || took-before1 != 105*time.Millisecond || pay.Executions != was || !slices.Equal(pay.Behaviors, []uint64{1, 4, 5, 6}) {
		t.Errorf("%d rounds, test %+v", m.Rounds, pay)
	}
}

// TestAtOnce: processes that write at the same time leave a whole file.
func TestAtOnce(t *testing.T) {
	f := opened(t)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			m := sample()
			m.PutFinding(Finding{Fingerprint: fmt.Sprintf("1%x", i), First: "2026-11-30", Last: "2026-11-30"})
			if err := f.Write(key, &Memory{}, m); err != nil && runtime.GOOS != "windows" {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if m, _ := read(t, f); len(m.Findings) < 3 {
		t.Errorf("findings %+v", m.Findings)
	}
}

// TestForeign: what cannot be read is neither followed nor overwritten.
func TestForeign(t *testing.T) {
	if runtime.GOOS == "windows" || runtime.GOOS == "plan9" {
		t.Skip("links are made otherwise")
	}
	for what, make := range map[string]func(path string) error{
		"a link":   func(path string) error { return os.Symlink("../go.mod", path) },
		"a folder": func(path string) error { return os.Mkdir(path, 0o777) },
		"too much": func(path string) error { return os.Truncate(path, maxBytes+1) },
		"a text":   func(path string) error { return os.WriteFile(path, []byte("heisen corpus 99\n"), 0o666) },
	} {
		f := opened(t)
		path := filepath.Join(f.path, key.name())
		if what == "too much" {
			os.WriteFile(path, nil, 0o666)
		}
		if err := make(path); err != nil {
			t.Fatal(err)
		}
		before, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		_, _, unread := f.Read(key)
		unwritten := f.Write(key, &Memory{}, sample())
		after, err := os.Lstat(path)
		if unread == nil || unwritten == nil || err != nil || after.Mode() != before.Mode() || after.Size() != before.Size() {
			t.Errorf("%s: read %v, written %v, then %v", what, unread, unwritten, after)
		}
		if what == "a text" && !errors.Is(unread, ErrVersion) {
			t.Errorf("error %v", unread)
		}
	}
}

// TestBounds: a memory is small when it was written, whatever it was before. What was gone long ago goes.
func TestBounds(t *testing.T) {
	f := opened(t)
	m := &Memory{Package: key.Package, Program: "0a"}
	for i := range 300 {
		one := Test{Name: fmt.Sprintf("Test%04d", i)}
		for h := range uint64(maxHashes + 1) {
			one.Behaviors = append(one.Behaviors, h)
		}
		one.Orders = one.Behaviors
		m.PutTest(one)
		m.PutFinding(Finding{Fingerprint: fmt.Sprintf("%04x", i), Subject: strings.Repeat("ü", maxText), First: "2026-01-01", Last: DayOf(time.Now().AddDate(0, 0, -i))})
	}
	m.PutFinding(Finding{Fingerprint: "ff", First: "2020-01-01", Last: DayOf(time.Now()), Gone: "2020-01-02"})
	long := &racefuzz.Schedule{Strategy: "replay"}
	for i := range uint64(1 << 15) {
		long.Choices = append(long.Choices, racefuzz.Choice{Step: i*9 + i%7, ID: uint32(i % 1000)})
	}
	m.Findings[0].Schedule = long
	if err := f.Write(key, &Memory{}, m); err != nil {
		t.Fatal(err)
	}
	now, written := read(t, f)
	hashes := 0
	for _, one := range now.Tests {
		hashes += len(one.Behaviors) + len(one.Orders)
	}
	if len(now.Tests) != 300 || hashes > allHashes || len(now.Findings) != maxFindings || now.Finding("0000") == nil || now.Finding("ff") != nil ||
		now.Finding("0000").Schedule != nil || len(written) > maxBytes/4 {
		t.Errorf("%d tests, %d hashes, %d findings, %d bytes", len(now.Tests), hashes, len(now.Findings), len(written))
	}
}

// TestTrim: the files that nobody has used for long go, then the oldest ones of too many. Others stay.
func TestTrim(t *testing.T) {
	f := opened(t)
	path := func(name string) string { return filepath.Join(f.path, name) }
	name := func(pkg string) string { return (&Key{Verb: "test", Package: pkg}).name() }
	for i, file := range []string{name("a"), name("b"), name("c"), "notes.txt"} {
		if err := os.WriteFile(path(file), make([]byte, 100), 0o666); err != nil {
			t.Fatal(err)
		}
		then := time.Now().AddDate(0, 0, -20*i)
		if err := os.Chtimes(path(file), then, then); err != nil {
			t.Fatal(err)
		}
	}
	there := func() (all []string) {
		for _, file := range []string{name("a"), name("b"), name("c"), "notes.txt"} {
			if _, err := os.Lstat(path(file)); err == nil {
				all = append(all, file)
			}
		}
		return all
	}
	f.Trim()
	if got, want := there(), []string{name("a"), name("b"), "notes.txt"}; !slices.Equal(got, want) {
		t.Errorf("%v stay, want %v", got, want)
	}
	f.trim(150)
	if got, want := there(), []string{name("a"), "notes.txt"}; !slices.Equal(got, want) {
		t.Errorf("%v stay, want %v", got, want)
	}
}

// TestDefault: the folder in the cache is private, and no name in it says which module it is of.
func TestDefault(t *testing.T) {
	cache := t.TempDir()
	for _, name := range []string{"XDG_CACHE_HOME", "LocalAppData"} {
		t.Setenv(name, cache)
	}
	if runtime.GOOS == "darwin" {
		t.Setenv("HOME", cache)
	}
	module := filepath.Join(t.TempDir(), "secret")
	if err := os.MkdirAll(filepath.Join(module, "below"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(module, "go.mod"), []byte("module example.org/secret\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	one, err := Default(module)
	if err != nil {
		t.Fatal(err)
	}
	below, err := Default(filepath.Join(module, "below"))
	if err != nil || one.Path() != below.Path() {
		t.Errorf("%v, %v: the module has two folders", below, err)
	}
	if err := one.Write(Key{Verb: "test", Package: "example.org/secret"}, &Memory{}, &Memory{Package: "example.org/secret"}); err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(filepath.Join(cache, "heisen"), func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if rel, _ := filepath.Rel(cache, path); strings.Contains(rel, "secret") {
			t.Errorf("%s tells", path)
		}
		if info, err := d.Info(); err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s is open to others", path)
		}
		return nil
	})
	if err != nil && runtime.GOOS != "darwin" {
		t.Error(err)
	}
}
