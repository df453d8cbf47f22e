package build

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
)

// importPatterns returns patterns of import paths that match what a pattern of compiler flags matches. They follow it in the
// command line, because of Go 1.27: of packages that only tests import, it knows nothing but the import path when it chooses their
// flags, so that std, work and folders do not match them. There are none for earlier releases, and for import paths.
func (b *Builder) importPatterns(pattern string) (all []string) {
	switch {
	case !newer(b.Toolchain.Version, "1.26"):
		return nil
	case pattern == "std":
		entries, err := os.ReadDir(filepath.Join(b.Toolchain.Root, "src"))
		if err != nil {
			return nil // the go command says that
		}
		for _, e := range entries {
			if name := e.Name(); e.IsDir() && name != "cmd" && !strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
				all = append(all, name+"/...")
			}
		}
		return all
	case pattern == MainModules:
		for _, module := range b.mainModules {
			all = append(all, module+"/...")
		}
		return all
	}
	return b.folders[pattern]
}

// addFolders notes the packages that a pattern of folders matches.
func (b *Builder) addFolders(pattern string, matches []string) {
	if !strings.HasPrefix(pattern, ".") && !filepath.IsAbs(pattern) {
		return
	}
	if b.folders == nil {
		b.folders = map[string][]string{}
	}
	b.folders[pattern] = matches
	if strings.HasSuffix(pattern, "/...") { // what the packages have in common is shorter
		common := strings.Split(matches[0], "/")
		for _, m := range matches[1:] {
			elements := strings.Split(m, "/")
			n := 0
			for n < min(len(common), len(elements)) && common[n] == elements[n] {
				n++
			}
			common = common[:n]
		}
		if len(common) > 0 {
			b.folders[pattern] = []string{strings.Join(slices.Clone(common), "/") + "/..."}
		}
	}
}
