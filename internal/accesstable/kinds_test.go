package accesstable

import (
	"bufio"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/heisen-go/heisen/internal/build"
	"github.com/heisen-go/heisen/internal/testaid/tier"
)

// buildBoth builds a folder's program plain, with flags, and instrumented, and returns the paths.
func buildBoth(t testing.TB, dir string, flags ...string) (plain, instrumented string) {
	t.Helper()
	out := t.TempDir()
	plain, instrumented = filepath.Join(out, "plain"), filepath.Join(out, "instrumented")
	command := exec.Command("go", append(append([]string{"build"}, flags...), "-o", plain, ".")...)
	command.Dir = dir
	if text, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	b, err := build.New(t.Context(), dir, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := b.AddGcflags(t.Context(), dir, []string{"."}, "all=-d=checkptr=0"); err != nil {
		t.Fatal(err)
	}
	flags = slices.DeleteFunc(slices.Clone(flags), func(f string) bool { return f != "-trimpath" })
	if err := b.Build(t.Context(), dir, instrumented, flags, "."); err != nil {
		t.Fatal(err)
	}
	return plain, instrumented
}

// wants returns what the comments in the program of testdata/kinds want of their lines, by the file's last element and
// line.
func wants(t *testing.T, files ...string) map[string]string {
	t.Helper()
	all := map[string]string{}
	want := regexp.MustCompile(`// want (.*)$`)
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		lines := bufio.NewScanner(f)
		for n := 1; lines.Scan(); n++ {
			if m := want.FindStringSubmatch(lines.Text()); m != nil {
				all[fmt.Sprintf("%s:%d", filepath.Base(name), n)] = m[1]
			}
		}
	}
	return all
}

// checkKinds checks that each line of the program of testdata/kinds, built with flags, has the places that its comment says.
func checkKinds(t *testing.T, flags ...string) {
	t.Helper()
	const dir = "testdata/kinds"
	plain, instrumented := buildBoth(t, dir, flags...)
	table, err := Find(plain, instrumented)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]Kind{}
	for _, p := range table.Places {
		got[fmt.Sprintf("%s:%d", filepath.Base(p.Source.File), p.Source.Number)] |= p.Kind
	}
	for line, want := range wants(t, dir+"/main.go", dir+"/other/other.go") {
		kinds, possible := strings.CutSuffix(want, "?")
		has := got[line].String()
		if has != kinds && !(possible && has == "none") {
			t.Errorf("%s: %s, want %s", line, has, want)
		}
	}
	checkAppended(t, table, plain)
}

// checkAppended checks that an executable works with its table, and that the table can be read.
func checkAppended(t *testing.T, table *Table, program string) {
	t.Helper()
	before, err := exec.Command(program).Output()
	if err != nil {
		t.Fatal(err)
	}
	if err := table.Append(program); err != nil {
		t.Fatal(err)
	}
	after, err := exec.Command(program).Output()
	if err != nil || string(after) != string(before) {
		t.Errorf("with its table the program prints %q, %v, without %q", after, err, before)
	}
	got, err := Read(program)
	if err != nil {
		t.Fatal(err)
	}
	for i := range table.Places {
		want := table.Places[i]
		want.Source = Line{}
		if i >= len(got.Places) || got.Places[i] != want {
			t.Fatalf("place %d is not the one that was written", i)
		}
	}
	if err := table.Append(program); err == nil {
		t.Error("a second table was appended")
	}
}

// TestKinds: each line of the program has the places that its comment says, however the program is linked.
func TestKinds(t *testing.T) {
	for _, flags := range [][]string{
		nil,
		{"-ldflags=-s -w", "-trimpath"},
		{"-buildmode=pie"},
		{"-buildmode=pie", "-ldflags=-s -w"},
		{"-ldflags=-s -linkmode=external"},
		{"-buildmode=pie", "-ldflags=-s -linkmode=external"},
	} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			t.Parallel()
			if len(flags) > 0 {
				tier.Need(t, tier.CI)
			}
			if strings.Contains(strings.Join(flags, " "), "external") {
				if _, err := exec.LookPath("gcc"); err != nil {
					t.Skip(err)
				}
			}
			checkKinds(t, flags...)
		})
	}
}

// TestKindsOfReleases: with other Go releases, too.
func TestKindsOfReleases(t *testing.T) {
	tier.Need(t, tier.Nightly)
	for _, toolchain := range []string{"go1.26.0", "go1.27.4"} {
		t.Run(toolchain, func(t *testing.T) {
			t.Setenv("GOTOOLCHAIN", toolchain)
			checkKinds(t)
			checkKinds(t, "-buildmode=pie", "-ldflags=-s -w")
		})
	}
}

// TestCounters: the counters of package coverage, which are written without synchronization, are no places.
func TestCounters(t *testing.T) {
	plain, instrumented := buildBoth(t, "testdata/kinds", "-cover", "-covermode=set")
	table, err := Find(plain, instrumented)
	if err != nil {
		t.Fatal(err)
	}
	from, to := symbol(t, plain, "runtime.covctrs"), symbol(t, plain, "runtime.ecovctrs")
	text := symbol(t, plain, "runtime.text")
	if to-from < 100 {
		t.Fatalf("counters from %#x to %#x", from, to)
	}
	for _, p := range table.Places {
		if addr := text + uint64(int64(p.Disp)); p.Base == Text && from <= addr && addr < to {
			t.Errorf("%v of a counter at %v", p.Kind, p.Source)
		}
	}
}

// TestBarriers: what code does for the garbage collector is no place: the test of the flag, and writing into its buffer.
func TestBarriers(t *testing.T) {
	plain, instrumented := buildBoth(t, "testdata/kinds")
	table, err := Find(plain, instrumented)
	if err != nil {
		t.Fatal(err)
	}
	flag := int32(symbol(t, plain, "runtime.writeBarrier") - symbol(t, plain, "runtime.text"))
	for _, p := range table.Places {
		const r11 = 11 // gcWriteBarrier returns the buffer there
		if p.Base == Text && p.Disp == flag || p.Base == r11 && strings.HasSuffix(p.Source.File, "kinds/main.go") {
			t.Errorf("%v: %+v", p.Source, p)
		}
	}
}

// TestAdded: lines have no more places than accesses of the source, if they are not made of words.
func TestAdded(t *testing.T) {
	plain, instrumented := buildBoth(t, "testdata/kinds")
	table, err := Find(plain, instrumented)
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("testdata/kinds/main.go")
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(string(source), "\n") {
		got, words := 0, 0
		switch {
		case strings.Contains(line, "h.shape.Area()"):
			words = 2
		case strings.Contains(line, "h.call()"):
			words = 1
		case strings.Contains(line, "m[n.a] = n //"): // n.a and the element; the old one is read for the garbage collector only
			words = 2
		default:
			continue
		}
		for _, p := range table.Places {
			if strings.HasSuffix(p.Source.File, "kinds/main.go") && p.Source.Number == i+1 {
				got++
			}
		}
		if got != words {
			t.Errorf("%s: %d places, want %d", strings.TrimSpace(line), got, words)
		}
	}
}

// symbol returns the address of a symbol of a program.
func symbol(t *testing.T, program, name string) uint64 {
	t.Helper()
	f, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(s elf.Symbol) bool { return s.Name == name })
	if i < 0 {
		t.Fatalf("%s has no symbol %s", program, name)
	}
	return all[i].Value
}
