// Package download gets public modules for benchmarks.
package download

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Module copies a module, such as example.com/m@v1.2.3, from the module cache to a folder, and
// downloads it first if it is not there. The copy can be changed. An error has what the go command
// says.
func Module(ctx context.Context, module, to string) error {
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", module)
	cmd.Dir = os.TempDir() // outside of any module
	cmd.Env = append(cmd.Environ(), "GOWORK=off", "GOFLAGS=")
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			out = append(out, exit.Stderr...)
		}
		return fmt.Errorf("downloading %s: %w\n%s", module, err, strings.TrimSpace(string(out)))
	}
	var found struct{ Dir, GoMod string }
	if err := json.Unmarshal(out, &found); err != nil {
		return fmt.Errorf("downloading %s: %w", module, err)
	}
	if err := os.CopyFS(to, os.DirFS(found.Dir)); err != nil {
		return fmt.Errorf("copying %s: %w", module, err)
	}
	err = filepath.WalkDir(to, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chmod(path, 0o755) // the module cache is read-only
	})
	if err != nil {
		return err
	}
	text, err := os.ReadFile(found.GoMod) // which an old module does not have itself
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(to, "go.mod"), text, 0o666)
}
