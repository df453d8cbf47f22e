package parts

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/confirm/controlled"
	"github.com/heisen-go/heisen/racefuzz"
	"github.com/heisen-go/heisen/report"
)

func sample(t *testing.T) *Part {
	t.Helper()
	schedule, err := (&racefuzz.Schedule{Command: "test", Program: ".", Strategy: "replay", Outcome: "passed"}).MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	return &Part{
		Version: version, Work: "0a", Run: 3, I: 2, Of: 4, Points: []controlled.Point{{Kind: controlled.GoStatement, File: "a.go", Line: 3, Covered: true}},
		Schedules: map[string]string{"0b": string(schedule)},
		Findings:  []report.Finding{{Kind: heisen.Deadlock, Detector: "fuzz", Fingerprint: "0b", Count: 1, Accesses: []report.Access{}}},
	}
}

func written(t *testing.T, p *Part) (folder, text string) {
	t.Helper()
	folder = t.TempDir()
	if err := p.Write(folder); err != nil {
		t.Fatal(err)
	}
	all, err := os.ReadFile(filepath.Join(folder, File))
	if err != nil {
		t.Fatal(err)
	}
	return folder, string(all)
}

// TestFile: what is written is read again. Other texts, and links, are errors on one line.
func TestFile(t *testing.T) {
	folder, text := written(t, sample(t))
	p, err := Read(folder)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sample(t), p, cmpopts.IgnoreUnexported(Part{})); diff != "" {
		t.Error(diff)
	}
	if _, err := Read(t.TempDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	for _, change := range []func(*Part){
		func(p *Part) { p.Work = "../x" }, func(p *Part) { p.Work = "" }, func(p *Part) { p.I = 5 }, func(p *Part) { p.I = 0 },
		func(p *Part) { p.Schedules["../../x"] = p.Schedules["0b"] }, func(p *Part) { p.Schedules["0b"] = "heisen schedule 1\nmore" },
		func(p *Part) { p.Points[0].Line = 0 },
	} {
		p := sample(t)
		change(p)
		folder, text := written(t, p)
		if _, err := Read(folder); err == nil || strings.ContainsAny(err.Error(), "\n\r") {
			t.Errorf("error %v of %s", err, text)
		}
	}
	for _, wrong := range []string{"", "{", text[:20], strings.Replace(text, `"part":1`, `"part":2`, 1), strings.Replace(text, "\n", "", 1), text + "{\"detector\":1}\n"} {
		if _, err := parse([]byte(wrong)); err == nil || strings.ContainsAny(err.Error(), "\n\r") {
			t.Errorf("error %v of %q", err, wrong)
		}
	}
	link := t.TempDir()
	if err := os.Symlink(filepath.Join(folder, File), filepath.Join(link, File)); err != nil {
		t.Skip(err)
	}
	if _, err := Read(link); err == nil {
		t.Error("a link is followed")
	}
}

// FuzzFile: any text is read or is an error on one line.
func FuzzFile(f *testing.F) {
	f.Add([]byte(`{"part":1,"work":"0a","run":3,"i":2,"of":4,"points":[{"kind":"go","file":"a.go","line":3}]}` + "\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if p, err := parse(text); err == nil && Union(p, p)[0] != p || err != nil && strings.ContainsAny(err.Error(), "\n\r") {
			t.Errorf("%+v, %v", p, err)
		}
	})
}

// TestUnion: the union depends neither on the order of parts, nor on how often they come, nor on which were united before.
func TestUnion(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	names := func(parts []*Part) (all []string) {
		for _, p := range parts {
			all = append(all, string(p.text))
		}
		return all
	}
	for range 2000 {
		var all []*Part
		for range 1 + rng.IntN(6) {
			work, run, more := rng.IntN(4), rng.Uint64N(2), rng.IntN(3)
			all = append(all, &Part{Work: fmt.Sprintf("%02x", work), Run: run, I: 1 + work%3, Of: 3, text: fmt.Appendf(nil, "%d %d %s", work, run, strings.Repeat("x", more))})
		}
		want := names(Union(all...))
		again := slices.Concat(all, all[:rng.IntN(len(all))])
		rng.Shuffle(len(again), func(i, j int) { again[i], again[j] = again[j], again[i] })
		at := rng.IntN(len(again))
		in := Union(slices.Concat(Union(again[:at]...), Union(again[at:]...))...)
		if got := names(Union(again...)); !slices.Equal(got, want) || !slices.Equal(names(in), want) {
			t.Fatalf("%q, %q, %q", want, got, names(in))
		}
	}
	if got := Missing([]*Part{{I: 1, Of: 3}, {I: 3, Of: 3}, {I: 1, Of: 1}}); !slices.Equal(got, []string{"2/3"}) {
		t.Errorf("missing %q", got)
	}
}
