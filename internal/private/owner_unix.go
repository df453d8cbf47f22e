//go:build !windows && !plan9

package private

import (
	"io/fs"
	"os"
	"syscall"
)

// invalid is the error of what a file of this kind does not do.
const invalid = syscall.EINVAL

// permissions returns what the user, the group and others may do with a file.
func permissions(info fs.FileInfo) fs.FileMode { return info.Mode().Perm() }

// own reports whether a folder or link belongs to the present user or to root.
func own(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && (stat.Uid == 0 || int(stat.Uid) == os.Geteuid())
}

// mine reports whether a file belongs to the present user.
func mine(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}

// links returns the number of names of a file.
func links(info fs.FileInfo) uint64 {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 1
	}
	return uint64(stat.Nlink)
}
