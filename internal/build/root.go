package build

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// CheckFolders returns an error if one of the packages, which are named as for the go command, is
// the root folder of the file system. With an overlay, the go command does not come to an end if it
// reads that folder (children in cmd/go/internal/fsys looks for names below "//"). The usual error
// is that there is no module: it is what the go command says without the overlay.
func (b *Builder) CheckFolders(ctx context.Context, dir string, packages ...string) error {
	if len(packages) == 0 {
		packages = []string{"."}
	}
	if dir == "" {
		var err error
		if dir, err = os.Getwd(); err != nil {
			return err
		}
	}
	for _, name := range packages {
		folder, _ := strings.CutSuffix(name, "...")
		slashed := filepath.ToSlash(folder)
		if slashed != "." && slashed != ".." && !strings.HasPrefix(slashed, "./") && !strings.HasPrefix(slashed, "../") && !filepath.IsAbs(folder) {
			continue
		}
		if !filepath.IsAbs(folder) {
			folder = filepath.Join(dir, folder)
		}
		if folder = filepath.Clean(folder); folder != filepath.Dir(folder) {
			continue
		}
		if _, err := b.list(ctx, dir, name); err != nil {
			return err
		}
		return fmt.Errorf("%w: %s is in the root folder, which the go command cannot read while it has an overlay", ErrUnsupported, name)
	}
	return nil
}
