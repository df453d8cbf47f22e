package heal

import (
	"embed"
	"fmt"
	"path"
)

//go:embed lock/doc.go lock/held.go lock/lock.go lock/mode.go lock/pause.go lock/table.go lock/waiter.go
var lockFiles embed.FS

// LockSource returns the files of package lock by name, without its tests. Programs that cannot import the package can
// have a copy. The error, which does not occur, is about reading them.
func LockSource() (map[string][]byte, error) {
	entries, err := lockFiles.ReadDir("lock")
	if err != nil {
		return nil, fmt.Errorf("heal.LockSource: %w", err)
	}
	files := map[string][]byte{}
	for _, e := range entries {
		if files[e.Name()], err = lockFiles.ReadFile(path.Join("lock", e.Name())); err != nil {
			return nil, fmt.Errorf("heal.LockSource: %w", err)
		}
	}
	return files, nil
}
