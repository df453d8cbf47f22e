package ssaload

import (
	"os"
	"path/filepath"
	"testing"
)

// TestPorts: source is read for all ports. It has the tag race where programs can be built with it.
func TestPorts(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":   "module example.com/box\n\ngo 1.26\n",
		"box.go":   "package box\n\nimport \"sync\"\n\nvar mu sync.Mutex\n",
		"race.go":  "//go:build race\n\npackage box\n\nconst race = true\n",
		"plain.go": "//go:build !race\n\npackage box\n\nconst race = false\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("CGO_ENABLED", "0")
	for port, file := range map[[2]string]string{
		{"linux", "amd64"}:  "race.go",
		{"darwin", "arm64"}: "race.go",
		{"linux", "386"}:    "plain.go",
		{"windows", "386"}:  "plain.go",
		{"openbsd", "arm"}:  "plain.go",
	} {
		t.Setenv("GOOS", port[0])
		t.Setenv("GOARCH", port[1])
		loaded, err := Source{Dir: dir}.LoadAll(t.Context())
		if err != nil || loaded.Err != nil || len(loaded.Packages) != 1 {
			t.Fatalf("%v: %v, %+v", port, err, loaded)
		}
		c := loaded.Packages[0].Types.Scope().Lookup("race")
		if got := filepath.Base(loaded.Fset.Position(c.Pos()).Filename); got != file {
			t.Errorf("%v: %s is read, want %s", port, got, file)
		}
	}
}
