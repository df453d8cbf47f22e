// Package filename compares names of source files.
//
// The compiler records names with slashes on all systems, with a drive in front on Windows, as in C:/m/main.go, and so do traces and
// reports. The go command and package filepath write C:\m\main.go. A trace may come from another system than the one that
// reads it.
package filename

import (
	"net/url"
	"path"
	"path/filepath"
	"strings"
)

// IsAbs reports whether a name is absolute, on this system or another one.
func IsAbs(name string) bool {
	return path.IsAbs(name) || filepath.IsAbs(name) || hasDrive(name)
}

// hasDrive reports whether a name begins in the root folder of a drive of Windows.
func hasDrive(name string) bool {
	if len(name) < 3 || name[1] != ':' || name[2] != '/' && name[2] != '\\' {
		return false
	}
	letter := name[0] | ('a' - 'A')
	return 'a' <= letter && letter <= 'z'
}

// Below reports whether a file is in a folder or below it. Both names are absolute, and either of them may have slashes.
func Below(folder, file string) bool {
	rel, ok := Rel(folder, file)
	return ok && rel != "."
}

// Rel returns the name of a file relative to a folder, and whether it is the folder, in it or below it. Both names are absolute, and
// either of them may have slashes. The result has slashes if the folder is of a system without drives, and otherwise what this system
// has between folders.
func Rel(folder, file string) (name string, ok bool) {
	rel, err := filepath.Rel(folder, file)
	if err != nil || !IsAbs(file) || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", false
	}
	if path.IsAbs(folder) {
		rel = filepath.ToSlash(rel)
	}
	return rel, true
}

// Base returns the last part of a name. A name that ends in a slash has an empty one.
func Base(name string) string {
	name = slashes(name)
	return name[strings.LastIndexByte(name, '/')+1:]
}

// URI returns the address of a file with an absolute name.
func URI(name string) string {
	name = slashes(name)
	u := url.URL{Scheme: "file", Path: name}
	switch rest, shared := strings.CutPrefix(name, "//"); {
	case shared: // by a server
		u.Host, u.Path, _ = strings.Cut(rest, "/")
		u.Path = "/" + u.Path
	case hasDrive(name):
		u.Path = "/" + name
	}
	return u.String()
}

// OfURI returns the name of the file that an address leads to, which may be a relative one. It is empty for addresses of other
// things.
func OfURI(address string) string {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Scheme != "file" && u.Scheme != "":
		return ""
	case u.Host != "" && u.Host != "localhost":
		return "//" + u.Host + u.Path
	case strings.HasPrefix(u.Path, "/") && hasDrive(u.Path[1:]):
		return u.Path[1:]
	}
	return u.Path
}

// slashes returns a name with slashes. On other systems than Windows, a name may have a backslash that separates nothing.
func slashes(name string) string {
	if hasDrive(name) {
		return strings.ReplaceAll(name, `\`, "/")
	}
	return filepath.ToSlash(name)
}
