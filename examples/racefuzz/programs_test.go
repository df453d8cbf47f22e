package racefuzz

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/heisen-go/heisen/driver"
	"github.com/heisen-go/heisen/internal/testaid/tier"
	"github.com/heisen-go/heisen/lockset"
	"github.com/heisen-go/heisen/report"
	"github.com/heisen-go/heisen/section"
)

// build builds all programs into a directory, which it returns.
func build(t *testing.T) string {
	t.Helper()
	dir := t.TempDir() + string(filepath.Separator)
	if out, err := exec.Command("go", "build", "-o", dir, "./...").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return dir
}

// outcome runs a program. It returns the output if the program succeeds, and otherwise its
// messages.
func outcome(t *testing.T, binary string, args ...string) (output, failure string) {
	t.Helper()
	var stdout, stderr strings.Builder
	cmd := exec.Command(binary, args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if err != nil {
		return "", stderr.String()
	}
	return stdout.String(), stderr.String()
}

// whole compiles a pattern for a whole text.
func whole(pattern string) *regexp.Regexp { return regexp.MustCompile(`^(?:` + pattern + `)$`) }

// small returns the arguments for little work.
func (p *Program) small(more ...string) []string {
	args := p.Args
	if p.Small != nil {
		args = p.Small
	}
	return append(slices.Clone(args), more...)
}

// TestPlain runs the programs without heisen.
func TestPlain(t *testing.T) {
	dir := build(t)
	for _, p := range Programs() {
		if p.Test == "" { // otherwise it is a test already
			t.Run(p.Name, func(t *testing.T) { testPlain(t, &p, filepath.Join(dir, filepath.Base(p.Package))) })
		}
	}
	t.Run("replay", func(t *testing.T) { testReplay(t, dir) })
	t.Run("misuse", func(t *testing.T) { testMisuse(t, dir) })
}

// testPlain: a fixed program never fails. The others fail seldom, and only with the known message.
func testPlain(t *testing.T, p *Program, binary string) {
	failed := 0
	for i := range 5 {
		args := p.small()
		if i == 0 {
			args = p.Args
		}
		output, failure := outcome(t, binary, args...)
		switch {
		case failure == "" && whole(p.Output).MatchString(output):
		case p.Harm != "" && regexp.MustCompile(p.Harm).MatchString(failure):
			failed++
		default:
			t.Errorf("%v: output %q, failure:\n%s", args, output, failure)
		}
		args = append(slices.Clone(args), "-fixed")
		output, failure = outcome(t, binary, args...)
		if failure != "" || !whole(p.Output).MatchString(output) {
			t.Errorf("%v: output %q, failure:\n%s", args, output, failure)
		}
	}
	t.Logf("%d of 5 runs failed", failed)
}

// testReplay: the programs for replay succeed.
func testReplay(t *testing.T, dir string) {
	for _, p := range Replayed() {
		output, failure := outcome(t, filepath.Join(dir, filepath.Base(p)))
		if failure != "" || !strings.HasSuffix(output, "\n"+filepath.Base(p)+": done\n") {
			t.Errorf("%s: output %q, failure:\n%s", p, output, failure)
		}
	}
}

// testMisuse: invalid arguments are refused.
func testMisuse(t *testing.T, dir string) {
	for _, args := range [][]string{
		{"figure2", "-n", "-1"}, {"moldyn", "-particles", "1"}, {"raytracer", "-size", "-1"}, {"montecarlo", "-walks", "0"},
		{"sor", "-size", "1"}, {"collections", "-of", "bag"}, {"collections", "more"},
	} {
		err := exec.Command(filepath.Join(dir, args[0]), args[1:]...).Run()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 2 {
			t.Errorf("%v: error %v", args, err)
		}
	}
}

// TestTable: names are unique, all marks exist, and each mark is used.
func TestTable(t *testing.T) {
	names, used := map[string]bool{}, map[string]bool{}
	for _, p := range Programs() {
		if names[p.Name] {
			t.Errorf("two programs have the name %s", p.Name)
		}
		names[p.Name] = true
		lines, err := p.Lines()
		if err != nil {
			t.Fatal(err)
		}
		pairs := join(p.Races, p.Apart)
		if p.Deadlock != nil {
			pairs = append(pairs, *p.Deadlock)
		}
		if s := p.Section; s != nil {
			pairs = append(pairs, Pair{A: s.Entry, B: s.Remote}, Pair{A: s.End, B: s.Remote})
		}
		seen := map[[2]Place]bool{}
		for _, pair := range pairs {
			for _, place := range []Place{pair.A, pair.B} {
				if _, ok := lines[place.Mark()]; !ok {
					t.Errorf("%s: no line is marked %q", p.Name, place.Mark())
				}
				if !slices.Contains([]string{"read", "write", "acquire"}, place.Op()) {
					t.Errorf("%s: %q has no operation", p.Name, place)
				}
				used[p.Package+" "+place.Mark()] = true
			}
			id := pair.places()
			if seen[id] && p.Section == nil {
				t.Errorf("%s: the pair %q is there twice", p.Name, id)
			}
			seen[id] = true
			if pair.Harmful && p.Harm == "" {
				t.Errorf("%s: the pair %q does harm, and the program does not fail", p.Name, id)
			}
		}
	}
	marked := map[string]bool{}
	for _, p := range Programs() {
		if marked[p.Package] {
			continue
		}
		marked[p.Package] = true
		lines, err := p.Lines()
		if err != nil {
			t.Fatal(err)
		}
		for mark, at := range lines {
			if !used[p.Package+" "+mark] {
				t.Errorf("%v: nobody needs the mark %q", at, mark)
			}
		}
	}
}

// TestSections: the sections are those in the packages' files.
func TestSections(t *testing.T) {
	for _, p := range Programs() {
		if p.Section == nil {
			continue
		}
		file, err := os.Open(filepath.Join(p.Package, "heisen.sections"))
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		sections, err := section.Decode(file)
		if err != nil {
			t.Fatal(err)
		}
		lines, err := p.Lines()
		if err != nil {
			t.Fatal(err)
		}
		if len(sections) != 1 || len(sections[0].Ends) != 1 {
			t.Fatalf("%s: sections %v, want one with one end", p.Name, sections)
		}
		entry, end := lines[p.Section.Entry.Mark()], lines[p.Section.End.Mark()]
		if at := sections[0].Entry; at.Line != entry.Line || at.File != filepath.Base(entry.File) {
			t.Errorf("%s: the section begins at %v, want %v", p.Name, at, entry)
		}
		if at := sections[0].Ends[0].At; at.Line != end.Line || at.File != filepath.Base(end.File) {
			t.Errorf("%s: the section ends at %v, want %v", p.Name, at, end)
		}
	}
}

// TestDeadlock: the lock-order detector suspects the deadlock of the hidden test.
func TestDeadlock(t *testing.T) {
	if testing.Short() {
		t.Skip("builds instrumented programs")
	}
	for _, p := range Programs() {
		if p.Deadlock == nil {
			continue
		}
		want := [][2]Place{p.Deadlock.places()}
		if found := suspects(t, &p, "lockorder")["lockorder"]; !slices.Equal(found, want) {
			t.Errorf("%s: the deadlocks %q are suspected, want %q", p.Name, found, want)
		}
		if found := suspects(t, &p, "lockorder", "-fixed")["lockorder"]; len(found) > 0 {
			t.Errorf("%s -fixed: the deadlocks %q are suspected", p.Name, found)
		}
	}
}

// TestHybrid: the hybrid detector suspects all pairs that race, and otherwise only pairs in Apart.
// Which pairs it suspects depends on the order of a run, so several runs may be needed. In the
// fixed programs it suspects none of the pairs that race.
func TestHybrid(t *testing.T) {
	tier.Need(t, tier.Nightly)
	for _, p := range Programs() {
		t.Run(p.Name, func(t *testing.T) {
			truth, err := p.Truth()
			if err != nil {
				t.Fatal(err)
			}
			missing := map[[2]Place]bool{}
			for _, pair := range p.Races {
				if !pair.Seldom {
					missing[pair.places()] = true
				}
			}
			for range 40 {
				for _, id := range suspects(t, &p, "hybrid")["hybrid"] {
					if _, _, known := truth.Of(id[0], id[1]); !known {
						t.Errorf("the pair %q is not known", id)
					}
					delete(missing, id)
				}
				if len(missing) == 0 {
					break
				}
			}
			for id := range missing {
				t.Errorf("the pair %q is not suspected", id)
			}
			found := suspects(t, &p, "hybrid,fasttrack", "-fixed")
			for _, id := range found["hybrid"] {
				if _, races, known := truth.Of(id[0], id[1]); races || !known {
					t.Errorf("with -fixed, the pair %q is suspected", id)
				}
			}
			if races := found["fasttrack"]; len(races) > 0 {
				t.Errorf("with -fixed, the pairs %q are races", races)
			}
		})
	}
}

// suspects returns the findings of detectors in a run of a program, which may fail.
func suspects(t *testing.T, p *Program, detectors string, more ...string) (found map[string][][2]Place) {
	t.Helper()
	args := []string{"run", "-report", "json", "-pkgs", "work", "-detect", detectors, "./" + p.Package, "--"}
	if p.Test != "" {
		args = []string{"test", "-report", "json", "-pkgs", "work", "-detect", detectors, "./" + p.Package, "--", "-count=1", "-run=^" + p.Test + "$"}
	}
	var out, errs bytes.Buffer
	status, err := driver.Run(t.Context(), append(args, p.small(more...)...), nil, &out, &errs)
	printed := errs.String() + out.String()
	failed := p.Harm != "" && regexp.MustCompile(p.Harm).MatchString(printed)
	// It leaves out accesses to the tables of package unicode. These are filled when the program is
	// initialized, because package testing imports unicode.
	forgot := p.Test != "" && strings.Contains(printed, lockset.ErrEvicted.Error())
	if err != nil || status != driver.Clean && status != driver.Findings && !failed && !forgot {
		t.Fatalf("%v: status %d, error %v\n%s%s", args, status, err, &errs, &out)
	}
	truth, err := p.Truth()
	if err != nil {
		t.Fatal(err)
	}
	var decoded bytes.Buffer
	for line := range strings.Lines(out.String()) {
		if strings.HasPrefix(line, `{"detector"`) {
			decoded.WriteString(line)
		}
	}
	findings, err := report.ReadJSON(&decoded)
	if err != nil {
		t.Fatal(err)
	}
	found = map[string][][2]Place{}
	for _, f := range findings {
		var pair Pair
		for i, side := range []*Place{&pair.A, &pair.B} {
			at := f.Accesses[i].Stack[0]
			*side = truth.Place(f.Accesses[i].Op, at.File, at.Line)
		}
		found[f.Detector] = append(found[f.Detector], pair.places())
	}
	return found
}
