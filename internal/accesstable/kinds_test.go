package accesstable

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/heisen-go/heisen/internal/build"
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
	b, err := build.New(context.Background(), dir, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := b.AddGcflags(context.Background(), dir, []string{"."}, "all=-d=checkptr=0"); err != nil {
		t.Fatal(err)
	}
	var trim []string
	for _, f := range flags {
		if f == "-trimpath" {
			trim = append(trim, f)
		}
	}
	if err := b.Build(context.Background(), dir, instrumented, trim, "."); err != nil {
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

// TestKinds: each line of the program has the places that its comment says.
func TestKinds(t *testing.T) {
	const dir = "testdata/kinds"
	plain, instrumented := buildBoth(t, dir)
	table, err := Find(plain, instrumented)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", table.Stats)
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
}
