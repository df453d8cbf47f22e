package build

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"
)

// TestRootFolder: in the root folder, where the go command would not come to an end, the error is
// that of the go command without an overlay. Other folders are not asked about.
func TestRootFolder(t *testing.T) {
	if _, err := os.Stat("/go.mod"); err == nil {
		t.Skip("there is a module in the root folder")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	b, err := New(ctx, "/", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		dir      string
		packages []string
		refused  bool
	}{
		{"/", nil, true},
		{"/", []string{"."}, true},
		{"/", []string{"./..."}, true},
		{"/tmp", []string{"fmt", ".."}, true},
		{"/tmp", []string{"/"}, true},
		{"/", []string{"fmt", "./tmp", "./tmp/..."}, false},
		{"/tmp", []string{".", "./...", "../tmp"}, false},
		{"/", []string{"fmt"}, false},
	} {
		err := b.CheckFolders(ctx, test.dir, test.packages...)
		if (err != nil) != test.refused {
			t.Errorf("%s in %s: error %v", test.packages, test.dir, err)
		}
		if err != nil && !strings.Contains(err.Error(), "go.mod file not found") && !strings.Contains(err.Error(), "main module") {
			t.Errorf("%s in %s: error %v", test.packages, test.dir, err)
		}
	}
}
