package kept

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/report"
)

// cached makes the user's cache folder an empty one.
func cached(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"XDG_CACHE_HOME", "LocalAppData"} {
		t.Setenv(name, dir)
	}
	if runtime.GOOS == "darwin" {
		t.Setenv("HOME", dir)
	}
	return dir
}

// module makes a module with a folder in it, which it returns.
func module(t *testing.T, path string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "internal", "store")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "..", "..", "go.mod"), []byte("// A comment\nmodule "+path+"\n\ngo 1.26\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	return dir
}

func open(t *testing.T, folder string) *Folder {
	t.Helper()
	f, err := Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func race(fingerprint, detector, message string) *report.Finding {
	return &report.Finding{Kind: heisen.Race, Fingerprint: fingerprint, Detector: detector, Message: message, Accesses: []report.Access{}}
}

func put(t *testing.T, f *Folder, findings ...*report.Finding) {
	t.Helper()
	for _, finding := range findings {
		if err := f.Put(finding); err != nil {
			t.Fatal(err)
		}
	}
}

// found describes what a prefix leads to.
func found(f *Folder, prefix string) string {
	all, err := f.Find(prefix)
	if err != nil {
		return "error: " + err.Error()
	}
	var texts []string
	for _, one := range all {
		texts = append(texts, one.Detector+" "+one.Message)
	}
	return strings.Join(texts, ", ")
}

// TestFind: what one process has kept, another one finds, in all folders of the module, by any name of them, and in no other module, also of the same path.
func TestFind(t *testing.T) {
	cached(t)
	dir := module(t, "example.org/shop")
	put(t, open(t, dir), race("a1f0", "fasttrack", "one"), race("a1f0", "racefuzz", "the same"), race("a2f0", "fasttrack", "two"))
	f := open(t, filepath.Join(dir, ".."))
	if link := filepath.Join(t.TempDir(), "link"); os.Symlink(filepath.Join(dir, ".."), link) == nil {
		f = open(t, link)
	}
	for prefix, want := range map[string]string{
		"a1f0":  "fasttrack one, racefuzz the same",
		"a1":    "fasttrack one, racefuzz the same",
		"a2f0":  "fasttrack two",
		"a":     "error: a begins several fingerprints: a1f0, a2f0",
		"b":     `error: no such finding is kept: "b"`,
		"a2f00": `error: no such finding is kept: "a2f00"`,
		"":      `error: no such finding is kept: ""`,
		"../a1": `error: no such finding is kept: "../a1"`,
	} {
		if got := found(f, prefix); got != want {
			t.Errorf("%q: got %s, want %s", prefix, got, want)
		}
	}
	for _, elsewhere := range []string{module(t, "example.org/shop"), t.TempDir()} { // the first is a copy
		if _, err := open(t, elsewhere).Find("a1f0"); !errors.Is(err, ErrUnknown) {
			t.Errorf("in %s: %v", elsewhere, err)
		}
	}
}

// TestAgain: a later finding takes the place of the one before, but harm is not forgotten.
func TestAgain(t *testing.T) {
	cached(t)
	f := open(t, module(t, "example.org/shop"))
	harmful := race("a1", "racefuzz", "harmful")
	harmful.Trials = &report.Trials{Confirmed: 1, Harmful: true, Endings: []report.Ending{}}
	again := race("a1", "racefuzz", "harmful again")
	again.Trials = harmful.Trials
	for _, step := range []struct {
		put  *report.Finding
		want string
	}{
		{race("a1", "racefuzz", "first"), "racefuzz first"},
		{race("a1", "racefuzz", "second"), "racefuzz second"},
		{harmful, "racefuzz harmful"},
		{race("a1", "racefuzz", "third"), "racefuzz harmful"},
		{again, "racefuzz harmful again"},
	} {
		put(t, f, step.put)
		if got := found(f, "a1"); got != step.want {
			t.Errorf("got %s, want %s", got, step.want)
		}
	}
}

// TestPrivate: nobody else can read what is kept, and nothing is written elsewhere, whatever a finding says.
func TestPrivate(t *testing.T) {
	cache := cached(t)
	f := open(t, module(t, "example.org/shop"))
	put(t, f, race("a1", "../../x", ""))
	for _, fingerprint := range []string{"../a1", "a/b", "", "A", "a1\n", strings.Repeat("a", 65), "a1-", `a\b`} {
		if err := f.Put(race(fingerprint, "hb", "")); err == nil {
			t.Errorf("%q is kept", fingerprint)
		}
	}
	files := 0
	err := filepath.WalkDir(cache, func(path string, d os.DirEntry, err error) error {
		if err != nil || path == cache {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if !d.IsDir() {
			files++
		}
		if runtime.GOOS != "windows" && strings.Contains(path, "findings") && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return nil
	})
	if err != nil || files != 1 {
		t.Errorf("%d files, %v", files, err)
	}
}

// TestTrim: of many findings, the latest stay, and the very latest one however large it is.
func TestTrim(t *testing.T) {
	cached(t)
	f := open(t, module(t, "example.org/shop"))
	for i := range 10 {
		put(t, f, race(fmt.Sprintf("%02d", i), "hb", strings.Repeat("x", 1000)))
		names, err := f.names()
		if err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(time.Duration(i-20) * time.Minute)
		if err := os.Chtimes(filepath.Join(f.path, names[i]), at, at); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(f.path, "00-x.json.0.new"), nil, 0o600); err != nil { // of a process that has ended
		t.Fatal(err)
	}
	at := time.Now().Add(-2 * abandoned)
	if err := os.Chtimes(filepath.Join(f.path, "00-x.json.0.new"), at, at); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		most  int
		bytes int64
		want  string
	}{
		{10, 1 << 20, "09 08 07 06 05 04 03 02 01 00"},
		{8, 1 << 20, "09 08 07 06 05 04 03 02"},
		{8, 5_000, "09 08 07 06"},
		{8, 10, "09"},
	} {
		f.trim(test.most, test.bytes)
		all, err := f.All()
		var got []string
		for _, e := range all {
			got = append(got, e.Fingerprint)
		}
		if strings.Join(got, " ") != test.want || err != nil {
			t.Errorf("trim(%d, %d): %v, %v, want %s", test.most, test.bytes, got, err, test.want)
		}
	}
	if _, err := os.Stat(filepath.Join(f.path, "00-x.json.0.new")); err == nil {
		t.Error("the file of an ended process stays")
	}
}

// TestDamage: files that are no findings hide no others.
func TestDamage(t *testing.T) {
	cached(t)
	f := open(t, module(t, "example.org/shop"))
	put(t, f, race("a1", "hb", "good"))
	for name, text := range map[string]string{"a2-0.json": "{", "a3-0.json": "", "a4-0.json": "{}", "a5-0.txt": "x"} {
		if err := os.WriteFile(filepath.Join(f.path, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(f.path, "a6-0.json"), 0o700); err != nil {
		t.Fatal(err)
	}
	all, err := f.All()
	if err != nil || len(all) != 1 || all[0].Message != "good" {
		t.Errorf("%v, %v", all, err)
	}
	if _, err := f.Find("a2"); !errors.Is(err, ErrUnknown) {
		t.Errorf("a damaged file: %v", err)
	}
}

// TestSideBySide: processes keep, read and trim at the same time, and no reader sees half of a finding.
func TestSideBySide(t *testing.T) {
	cached(t)
	dir := module(t, "example.org/shop")
	open(t, dir)
	var all sync.WaitGroup
	for writer := range 4 {
		all.Go(func() {
			f, err := Open(dir)
			if err != nil {
				t.Error(err)
				return
			}
			for i := range 50 {
				if err := f.Put(race(fmt.Sprintf("%02x", i%10), "hb", strings.Repeat(fmt.Sprint(writer), 5000))); err != nil {
					t.Error(err)
				}
				entries, err := f.All()
				if err != nil {
					t.Error(err)
				}
				for _, e := range entries {
					if len(e.Message) != 5000 || strings.Trim(e.Message, e.Message[:1]) != "" {
						t.Errorf("half of a finding: %q", e.Message)
					}
				}
				if i%10 == 9 {
					f.trim(5, 1<<20)
				}
			}
		})
	}
	all.Wait()
	f := open(t, dir)
	f.trim(5, 1<<20)
	if entries, err := f.All(); err != nil || len(entries) == 0 || len(entries) > 5 {
		t.Errorf("%d findings, %v", len(entries), err)
	}
}
