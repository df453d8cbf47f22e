package private

import (
	"os"
	"path/filepath"
	"slices"
	"time"
)

// unusedFor is how long entries of a cache folder are kept that nobody uses.
const unusedFor = 30 * 24 * time.Hour

// Use notes that a file or folder of a cache is in use, for [RemoveUnused]. If that is not possible, it is made again
// some time.
func Use(path string) {
	info, err := os.Lstat(path)
	if err == nil && time.Since(info.ModTime()) < time.Hour {
		return // that says enough, and leaves the times of files alone that others may be looking at
	}
	now := time.Now()
	os.Chtimes(path, now, now)
}

// RemoveUnused removes the files and folders of a cache folder whose names match one of the patterns of
// [filepath.Match], and which were neither made nor used ([Use]) within 30 days. Links stay. What cannot be removed
// stays, too.
func RemoveUnused(cache string, patterns ...string) {
	entries, err := os.ReadDir(cache)
	if err != nil {
		return
	}
	for _, e := range entries {
		matches := func(pattern string) bool {
			ok, err := filepath.Match(pattern, e.Name())
			return ok && err == nil
		}
		if !slices.ContainsFunc(patterns, matches) || !e.IsDir() && !e.Type().IsRegular() {
			continue
		}
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > unusedFor {
			os.RemoveAll(filepath.Join(cache, e.Name()))
		}
	}
}
