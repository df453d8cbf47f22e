package ownership

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files")

// TestAnnotations: the patch is that of a golden file and applies; the annotated source has the same owners and lacks
// no annotations.
func TestAnnotations(t *testing.T) {
	const golden = "testdata/annotate.golden"
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/annotate")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example.com/annotate\n\ngo 1.25\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	annotate := func() (patch []byte, skipped string, owners map[string]string) {
		_, r := analyze(t, dir)
		var out bytes.Buffer
		reasons, err := r.WriteAnnotations(&out)
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		for _, reason := range reasons {
			reason.File = filepath.Base(reason.File)
			text.WriteString(reason.String() + "\n")
		}
		owners = map[string]string{}
		for _, v := range r.Variables {
			owners[v.Name.String()] = v.Owner.String()
			if !v.Safe {
				t.Errorf("%v: %v", v.Name, v.Reasons)
			}
		}
		return out.Bytes(), text.String(), owners
	}
	patch, skipped, owners := annotate()
	got := append(patch, skipped...)
	if *update {
		if err := os.WriteFile(golden, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(golden); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%v\n%s", err, got)
	}
	apply := exec.Command("git", "apply", "-")
	apply.Dir, apply.Stdin = dir, bytes.NewReader(patch)
	apply.Env = append(apply.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
	if out, err := apply.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	more, still, again := annotate()
	if len(more) > 0 || strings.Count(still, "\n") != strings.Count(skipped, "\n") {
		t.Errorf("the annotated source lacks annotations:\n%s%s", more, still)
	}
	for name, owner := range owners {
		if again[name] != owner {
			t.Errorf("%s: %s, and with annotations %s", name, owner, again[name])
		}
	}
}
