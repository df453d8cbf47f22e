// Package racetag is about the build tag race. Every build of heisen has it: the recorder's parts of the standard
// library require it, and programs use it for what must differ under a race detector. A program can also be built as if
// the files of the main modules did not have the tag. Then lists of tags have one that no program can have.
package racetag

import "slices"

// Name is the tag.
const Name = "race"

// Without stands in a list of build tags if the files of the main modules are those of a build without the tag.
const Without = "!race"

// Compiles reports whether the standard library compiles with the tag for a port: whether Go's race detector knows it.
func Compiles(goos, goarch string) bool {
	switch goos {
	case "linux":
		return slices.Contains([]string{"amd64", "arm64", "loong64", "ppc64le", "riscv64", "s390x"}, goarch)
	case "darwin":
		return goarch == "amd64" || goarch == "arm64"
	case "freebsd", "netbsd", "windows":
		return goarch == "amd64"
	}
	return false
}

// Split returns a list of tags without Without, and whether it was there. Without other tags, rest is nil.
func Split(tags []string) (rest []string, without bool) {
	if !slices.Contains(tags, Without) {
		return tags, false
	}
	rest = slices.DeleteFunc(slices.Clone(tags), func(t string) bool { return t == Without })
	if len(rest) == 0 {
		rest = nil
	}
	return rest, true
}

// Add returns the tags with which the files of the main modules are chosen: tags, and race unless Without is among
// them.
func Add(tags []string) []string {
	rest, without := Split(tags)
	if without {
		return rest
	}
	return append([]string{Name}, rest...)
}
