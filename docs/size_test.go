package docs_test

import (
	"os"
	"path/filepath"
	"testing"
)

// TestSize: the guides are short enough to be read. What has more to say belongs into the design notes.
func TestSize(t *testing.T) {
	const most = 130_000
	files, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	total := int64(0)
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		total += info.Size()
	}
	if len(files) == 0 || total > most {
		t.Errorf("the %d guides have %d bytes, at most %d are wanted", len(files), total, most)
	}
	if info, err := os.Stat(filepath.Join(root, "README.md")); err != nil || info.Size() > 6_000 {
		t.Errorf("README.md: %v, or more than 6,000 bytes", err)
	}
}
