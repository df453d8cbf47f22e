package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heisen-go/heisen/bench/results"
)

// three are the sections of a small book.
var three = []section{
	{name: "one", title: "First", commands: [][]string{{"./bench/one"}}, quick: [][]string{{"./bench/one", "-n", "1"}}, published: "One.", takes: "a minute"},
	{name: "two", title: "Second", commands: [][]string{{"./bench/two", "-a"}, {"./bench/two", "-b"}}, quick: [][]string{{"./bench/two"}}, published: "Two.", takes: "an hour"},
	{name: "three", title: "Third", commands: [][]string{{"./bench/three"}}, quick: [][]string{{"./bench/three"}}, published: "Three.", takes: "a day"},
}

// output is what a command prints.
func output(args []string, cell string) string {
	return "`go run " + strings.Join(args, " ") + "` on a machine.\n\n| a |\n|---|\n| " + cell + " |\n\n"
}

// newBook returns a book whose commands print a table with a cell.
func newBook(file, cell string) *book {
	return &book{
		file: file, sections: three, now: func() time.Time { return time.Unix(0, 0) }, said: io.Discard,
		run: func(_ context.Context, args []string) (string, error) { return output(args, cell), nil },
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestMake: a section is what its commands print. Sections that are not made keep their bytes, also
// those that were edited, and the order is that of the book.
func TestMake(t *testing.T) {
	file := filepath.Join(t.TempDir(), "RESULTS.md")
	if err := newBook(file, "old").make(t.Context(), three[1:2]); err != nil {
		t.Fatal(err)
	}
	if err := newBook(file, "old").make(t.Context(), three[2:]); err != nil {
		t.Fatal(err)
	}
	const second = "<a id=\"two\"></a>\n## Second\n\n`go run ./bench/book two` makes this section, in an hour. Two.\n\n" +
		"`go run ./bench/two -a` on a machine.\n\n| a |\n|---|\n| old |\n\n`go run ./bench/two -b` on a machine.\n\n| a |\n|---|\n| old |\n\nThis took 0s.\n\n"
	_, parts := parse(read(t, file))
	if len(parts) != 3 || parts[1].text != second {
		t.Fatalf("got %q", parts)
	}
	if parts[0].name != "one" || parts[0].text != three[0].missing() || parts[2].name != "three" || !strings.Contains(parts[2].text, "| old |") {
		t.Errorf("got %q", parts)
	}

	edited := strings.Replace(read(t, file), "## Second\n", "## Second  \n\ttrailing \n\n\n", 1)
	if err := os.WriteFile(file, []byte(edited), 0o666); err != nil {
		t.Fatal(err)
	}
	_, before := parse(edited)
	b := newBook(file, "new")
	b.note, b.quick = "Other work ran beside it.", true
	if err := b.make(t.Context(), []section{three[0], three[2]}); err != nil {
		t.Fatal(err)
	}
	head, after := parse(read(t, file))
	if head != preface(three) || after[1] != before[1] {
		t.Errorf("the second section was\n%q\nand is\n%q", before[1], after[1])
	}
	for _, want := range []string{"`go run ./bench/one -n 1` on", "| new |", "\nThis took 0s. Other work ran beside it.\n"} {
		if !strings.Contains(after[0].text, want) {
			t.Errorf("the first section lacks %q:\n%s", want, after[0].text)
		}
	}
	if !strings.Contains(after[2].text, "| new |") || strings.Contains(after[2].text, "| old |") {
		t.Errorf("the third section is\n%s", after[2].text)
	}
}

// TestMakeFails: if a command fails, or does not print what a section needs, the section stays as it
// is, the others are made, and the error says which and why.
func TestMakeFails(t *testing.T) {
	for _, test := range []struct {
		what    string
		printed string
		err     error
		want    string
	}{
		{"an error", output([]string{"./bench/two", "-b"}, "new"), errors.New("exit status 3: no disk"), "two: go run ./bench/two -b: exit status 3: no disk"},
		{"no conditions", "| a |\n|---|\n", nil, "two: go run ./bench/two -b: it prints no line with its conditions"},
		{"conditions of other arguments", output([]string{"./bench/two", "-b", "-c"}, "new"), nil, "two: go run ./bench/two -b: it prints no line with its conditions"},
		{"no table", "`go run ./bench/two -b` on a machine.\n", nil, "two: go run ./bench/two -b: it prints no table"},
		{"an anchor", output([]string{"./bench/two", "-b"}, "new") + anchor("one"), nil, "two: go run ./bench/two -b: it prints an anchor of a section"},
	} {
		file := filepath.Join(t.TempDir(), "RESULTS.md")
		if err := newBook(file, "old").make(t.Context(), three); err != nil {
			t.Fatal(err)
		}
		_, before := parse(read(t, file))
		b := newBook(file, "new")
		good := b.run
		b.run = func(ctx context.Context, args []string) (string, error) {
			if slices.Equal(args, []string{"./bench/two", "-b"}) {
				return test.printed, test.err
			}
			return good(ctx, args)
		}
		if err := b.make(t.Context(), three); err == nil || err.Error() != test.want {
			t.Errorf("%s: error %v, want %s", test.what, err, test.want)
		}
		_, after := parse(read(t, file))
		if after[1] != before[1] {
			t.Errorf("%s: the section is now\n%s", test.what, after[1].text)
		}
		if !strings.Contains(after[0].text, "| new |") || !strings.Contains(after[2].text, "| new |") {
			t.Errorf("%s: the other sections were not made: %q", test.what, after)
		}
	}
}

// TestMakeInterrupted makes no section after it was interrupted.
func TestMakeInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	file := filepath.Join(t.TempDir(), "RESULTS.md")
	b := newBook(file, "new")
	b.run = func(_ context.Context, args []string) (string, error) {
		cancel()
		return output(args, "new"), nil
	}
	if err := b.make(ctx, three); !errors.Is(err, context.Canceled) || !strings.HasPrefix(err.Error(), "two: ") {
		t.Errorf("error %v", err)
	}
	_, parts := parse(read(t, file))
	if !strings.Contains(parts[0].text, "| new |") || strings.Contains(parts[1].text, "| new |") {
		t.Errorf("got %q", parts)
	}
}

func TestChoose(t *testing.T) {
	for _, test := range []struct {
		names []string
		want  string
		err   string
	}{
		{nil, "one two three", ""},
		{[]string{"three", "one"}, "one three", ""},
		{[]string{"one", "four"}, "", `no section is called "four"; there are one, two, three`},
	} {
		chosen, err := choose(three, test.names)
		var got []string
		for _, s := range chosen {
			got = append(got, s.name)
		}
		if strings.Join(got, " ") != test.want || (err == nil) != (test.err == "") || err != nil && err.Error() != test.err {
			t.Errorf("%q: %q, error %v", test.names, got, err)
		}
	}
}

// TestRun builds and runs a real command, and one that fails.
func TestRun(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds a command")
	}
	t.Chdir(filepath.Join("..", ".."))
	dir := programs(t.TempDir())
	args := []string{"./bench/tree", "-figures", "-count", "1", "-scale", "0.001"}
	printed, err := dir.run(t.Context(), args)
	if err == nil {
		err = check(args, printed)
	}
	if err != nil {
		t.Errorf("%v\n%s", err, printed)
	}
	_, err = dir.run(t.Context(), []string{"./bench/tree"})
	if err == nil || err.Error() != "exit status 1: tree: want one of -programs, -figures and -live; see -h" {
		t.Errorf("error %v", err)
	}
	if _, err = dir.run(t.Context(), []string{"./bench/none"}); err == nil {
		t.Error("a package that does not exist runs")
	}
}

// TestResults: the file in the repository has exactly the sections of the book, in its order, with
// their heads and with what their commands print, or that they were never made.
func TestResults(t *testing.T) {
	before, parts := parse(read(t, filepath.Join("..", "RESULTS.md")))
	if want := preface(sections); before != want {
		t.Errorf("before the sections stands\n%s\nwant\n%s", before, want)
	}
	if len(parts) != len(sections) {
		t.Fatalf("%d sections, want %d", len(parts), len(sections))
	}
	for i, s := range sections {
		p := parts[i]
		rest, ok := strings.CutPrefix(p.text, s.head())
		if p.name != s.name || !ok {
			t.Errorf("section %d is\n%s\nwant it to begin with\n%s", i, p.text, s.head())
			continue
		}
		if p.text == s.missing() {
			t.Logf("%s was never made", s.name)
			continue
		}
		if conditions := regexp.MustCompile("(?m)^`go run " + regexp.QuoteMeta(s.commands[0][0]) + "( [^`]*)?` on .*, heisen .*, \\d{4}-\\d\\d-\\d\\d\\.$"); len(conditions.FindAllString(rest, -1)) != len(s.commands) {
			t.Errorf("%s does not have the conditions of %d commands:\n%s", s.name, len(s.commands), rest)
		}
	}
}

// TestPlots: the plots in the repository are those of the tables in the file of results, and each section
// that shows a plot shows all of its plots.
func TestPlots(t *testing.T) {
	text := read(t, filepath.Join("..", "RESULTS.md"))
	file := filepath.Join(t.TempDir(), "RESULTS.md")
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := drawAll(file); err != nil {
		t.Fatal(err)
	}
	_, parts := parse(text)
	for _, s := range sections {
		i := slices.IndexFunc(parts, func(p part) bool { return p.name == s.name })
		if i < 0 || !strings.Contains(parts[i].text, "]("+plots+"/") {
			continue
		}
		if !strings.Contains(parts[i].text, s.head()+s.pictures()) {
			t.Errorf("section %s does not begin with its plots:\n%s", s.name, s.pictures())
		}
	}
	drawn, err := os.ReadDir(filepath.Join(filepath.Dir(file), plots))
	if err != nil {
		t.Fatal(err)
	}
	stored, err := os.ReadDir(filepath.Join("..", plots))
	if err != nil || len(stored) != len(drawn) || len(drawn) == 0 {
		t.Errorf("%d plots are stored, and %d are shown: %v", len(stored), len(drawn), err)
	}
	for _, d := range drawn {
		if read(t, filepath.Join(filepath.Dir(file), plots, d.Name())) != read(t, filepath.Join("..", plots, d.Name())) {
			t.Errorf("%s is not drawn from the tables: run go run ./bench/book -plots", d.Name())
		}
	}
}

// TestDrawings: each drawing is of a section that there is, makes a plot of tables as the command of the
// section prints them, and says which table it misses.
func TestDrawings(t *testing.T) {
	tables := map[string]string{
		"overhead":   "| CPU s | plain | fasttrack | fasttrack/race |\n|---|---:|\n| a | 1 | 2 | 0.98x |\n| geometric mean | | 2.0x | 0.98x |\n\n| MiB | fasttrack/race |\n|--|--|\n| a | - |\n",
		"strategies": "| strategy | executions/s | found after 1 | found after 10 | median |\n|--|--|--|--|--|\n| walk | 200 | 1 | 2 | - |\n| pct | 100 | 0 | 1 | - |\n",
		"detectors":  "| detector | from 10 | from 100 |\n|--|--|--|\n| mcm | 100 | 50 |\n\n| threads | mcm |\n|--|--|\n| 2 | 10 |\n| 8 | 20.5 |\n\n| events | mcm |\n|--|--|\n| 1000 | 10 |\n| 4000 | 11 |\n",
	}
	for _, d := range drawings {
		if !slices.ContainsFunc(sections, func(s section) bool { return s.name == d.section }) || d.shows == "" {
			t.Errorf("%s: there is no section %q, or nothing is shown", d.name, d.section)
		}
		svg, err := d.svg(results.Read(tables[d.section]))
		if err != nil || !strings.Contains(string(svg), "<svg ") {
			t.Errorf("%s: %v\n%s", d.name, err, svg)
		}
		if _, err := d.svg(nil); err == nil {
			t.Errorf("%s draws nothing", d.name)
		}
	}
}

// TestSections: names are distinct, packages exist, and the quick commands are of the same packages.
func TestSections(t *testing.T) {
	names := map[string]bool{}
	for _, s := range sections {
		if names[s.name] || s.name == "" || s.title == "" || s.published == "" || s.takes == "" || !anchorLine.MatchString(anchor(s.name)) {
			t.Errorf("%+v", s)
		}
		names[s.name] = true
		if len(s.commands) == 0 || len(s.quick) != len(s.commands) {
			t.Errorf("%s has %d commands and %d quick ones", s.name, len(s.commands), len(s.quick))
			continue
		}
		for i, args := range s.commands {
			if _, err := os.Stat(filepath.Join("..", "..", args[0], "main.go")); err != nil || s.quick[i][0] != args[0] || slices.Equal(s.quick[i], args) {
				t.Errorf("%s: %q and %q, error %v", s.name, args, s.quick[i], err)
			}
		}
	}
}
