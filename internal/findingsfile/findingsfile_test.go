package findingsfile

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/heisen-go/heisen/report"
)

// places returns the accesses of findings in short.
func places(found []report.Finding) (all []string) {
	for i := range found {
		var accesses []string
		for _, a := range found[i].Accesses {
			op := a.Op
			if op == "" {
				op = "?"
			}
			accesses = append(accesses, op+" "+a.Stack[0].Func+" "+a.Site)
		}
		all = append(all, string(found[i].Kind)+": "+strings.Join(accesses, ", "))
	}
	return all
}

// TestRead reads what tools have written about one program.
func TestRead(t *testing.T) {
	grow := "example.com/given.(*store).grow /src/given/given_test.go:14"
	here, err := filepath.Abs("given_test.go") // which SARIF names from an unknown root
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string][]string{
		"gorace.txt":   {"race: read " + grow + ", write " + grow},
		"gorace.json":  {"race: read " + grow + ", write " + grow},
		"heisen.txt":   {"race: read " + grow + ", write " + grow, "race: write " + grow + ", write " + grow},
		"heisen.json":  {"race: write " + grow + ", read " + grow, "race: write " + grow + ", write " + grow},
		"heisen.sarif": {"potential-race: ?  " + here + ":14, ?  " + here + ":14"},
		"pairs.sarif":  {"potential-race: ?  /src/given/a.go:3, ?  /src/given/a.go:4", "potential-race: ?  /src/given/b.go:5, ?  /src/given/b.go:6"},
		"other.sarif":  {"potential-race: ?  /src/given/a b.go:3, ?  /src/given/b.go:7"},
	} {
		found, err := Read(filepath.Join("testdata", file))
		if got := places(found); err != nil || strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%s: error %v\n%s\nwant\n%s", file, err, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		for i := range found {
			if len(found[i].Fingerprint) != 16 || found[i].Count == 0 || found[i].Message == "" {
				t.Errorf("%s: incomplete: %+v", file, found[i])
			}
		}
	}
}

// TestReadShort: the short reports of races are read back with their places, whatever stands around them.
func TestReadShort(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "report", "testdata", "kinds.json"))
	if err != nil {
		t.Fatal(err)
	}
	all, err := report.ReadJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	var printed bytes.Buffer
	var want []string
	known := map[string]bool{}
	for _, f := range all {
		for i := range f.Accesses { // files are below the working folder
			for j := range f.Accesses[i].Stack {
				at := &f.Accesses[i].Stack[j]
				at.File = strings.Replace(at.File, "/src/", here+"/", 1)
			}
			f.Accesses[i].Site = strings.Replace(f.Accesses[i].Site, "/src/", here+"/", 1)
		}
		fmt.Fprintln(&printed, "=== RUN   TestOther")
		if err := (&report.Brief{Folder: here, Full: "heisen show"}).Write(&printed, &f); err != nil {
			t.Fatal(err)
		}
		places := []string{}
		for _, a := range f.Accesses {
			places = append(places, a.Op+" "+a.Stack[0].Func+" "+a.Site)
		}
		slices.Reverse(places) // the text has the later access first
		if line := "race: " + strings.Join(places, ", "); strings.HasSuffix(string(f.Kind), "race") && !known[line] {
			known[line] = true
			want = append(want, line)
		}
	}
	if err := os.WriteFile("log.txt", printed.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	found, err := Read("log.txt")
	if got := places(found); err != nil || len(want) < 4 || !slices.Equal(got, want) {
		t.Errorf("error %v\n%s\nwant\n%s", err, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestReadPairs reads lines that somebody has typed.
func TestReadPairs(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"a.go", "b.go"} {
		if err := os.WriteFile(name, nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"a.go:3 b.go:4\n":                        "potential-race: ?  " + dir + "/a.go:3, ?  " + dir + "/b.go:4",
		"# a comment\r\n\na.go:3,\tb.go:4 # why": "potential-race: ?  " + dir + "/a.go:3, ?  " + dir + "/b.go:4",
		"a.go:3":                                 "error 1: want two places",
		"\na.go:3 b.go":                          `error 2: "b.go" is not a place`,
		"a.go:3 b.go:0":                          `error 1: "b.go:0" is not a place`,
		"a.go:3 c.go:1":                          "error 1: stat c.go",
		"":                                       "error no findings",
		"WARNING: GOROUTINE LEAK\n":              "error no findings",
		`{"version":"2.1.0","runs":[]}`:          "error no findings",
		`{"Action":"output","Output":"ok\n"}`:    "error no findings",
	} {
		found, err := parse([]byte(text))
		if err == nil && len(found) == 0 {
			err = ErrNone
		}
		got := strings.Join(places(found), "\n")
		if err != nil {
			got = "error " + err.Error()
		}
		if !strings.HasPrefix(got, want) {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestReadErrors(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]string{`{"detector": 5}`: "f:1: line 1: not a finding", `x {"detector":"fasttrack","kind":7}` + "\n": "f:1: "} {
		name := filepath.Join(dir, "f")
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(name); err == nil || errors.Is(err, ErrNone) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", text, err, want)
		}
	}
	if _, err := Read(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}

// FuzzRead: every finding that is read can be tried: it has places in Go's form.
func FuzzRead(f *testing.F) {
	files, err := filepath.Glob("testdata/*.*")
	if err != nil || len(files) == 0 {
		f.Fatal(err, files)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte("a.go:3 b.go:4"))
	f.Fuzz(func(t *testing.T, text []byte) {
		found, err := parse(text)
		if err != nil && len(found) > 0 {
			t.Errorf("%d findings beside the error %v", len(found), err)
		}
	})
}
