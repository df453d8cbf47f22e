// Package repository names source files relative to the root of the repository that they are in, as
// services do that show reports beside code.
package repository

import (
	"os"
	"path/filepath"
	"strings"
)

// Root is the root folder of a repository. The zero Root contains no files.
type Root struct {
	folders []string // absolute names of the one folder, as given and without links
}

// At returns the Root that is a folder.
func At(folder string) Root {
	var r Root
	abs, err := filepath.Abs(folder)
	if err != nil {
		return r
	}
	r.folders = []string{abs}
	if real, err := filepath.EvalSymlinks(abs); err == nil && real != abs {
		r.folders = append(r.folders, real)
	}
	return r
}

// Find returns the root of the repository that a folder is in: the closest folder above it, or it
// itself, with .git. Without one, it is the outermost folder with a file go.mod, and without that the
// folder itself.
func Find(folder string) Root {
	abs, err := filepath.Abs(folder)
	if err != nil {
		return Root{}
	}
	root := abs
	for dir := abs; ; {
		if exists(filepath.Join(dir, ".git")) {
			return At(dir)
		}
		if exists(filepath.Join(dir, "go.mod")) {
			root = dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return At(root)
		}
		dir = parent
	}
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

// Contains reports whether a Go file or a go.mod file is in the repository, also if links lead to it. Relative names are
// those of the working folder.
func (r Root) Contains(file string) bool {
	real, err := filepath.EvalSymlinks(file)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err != nil || filepath.Ext(real) != ".go" && filepath.Base(real) != "go.mod" {
		return false
	}
	_, ok := r.Rel(real)
	return ok
}

// Rel returns the name of a file relative to the root, with slashes, and whether the file is in the
// repository. A name that is relative already is one of a program built with -trimpath or of a text
// trace, and of those it is not known.
func (r Root) Rel(file string) (name string, ok bool) {
	if !filepath.IsAbs(file) {
		return "", false
	}
	for _, folder := range r.folders {
		rel, err := filepath.Rel(folder, file)
		if err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
			return filepath.ToSlash(rel), true
		}
	}
	return "", false
}

// InPackage returns the file with a name in the folder of a package of the repository, which is one whose elements end the import path. It
// is the one with the most elements of which the folder has such a file.
func (r Root) InPackage(pkg, name string) (file string, ok bool) {
	for _, folder := range r.folders {
		for rest := pkg; ; {
			file = filepath.Join(folder, filepath.FromSlash(rest), name)
			if _, within := r.Rel(file); within && exists(file) {
				return file, true
			}
			if rest == "" {
				break
			}
			_, rest, _ = strings.Cut(rest, "/")
		}
	}
	return "", false
}
