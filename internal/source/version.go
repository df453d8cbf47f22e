package source

import (
	"go/ast"
	"go/version"
	"os"
	"path"
	"path/filepath"
	"regexp"
)

// Since this version of the language, each iteration of a loop has variables of its own.
const ownVariables = "go1.22"

// goLine matches the line of a go.mod file with the version of the language.
var goLine = regexp.MustCompile(`(?m)^go[ \t]+([0-9]+\.[0-9]+)`)

// maxModuleFile bounds a go.mod file that is read, in bytes.
const maxModuleFile = 1 << 20

// modulePath matches the line of a go.mod file with the path of the module.
var modulePath = regexp.MustCompile(`(?m)^module[ \t]+"?([^\s"]+)`)

// languageOf returns the version of the language that the module of a folder has, such as go1.21. It is empty if
// that is not known.
func (c *Cache) languageOf(dir string) string {
	_, text := c.moduleOf(dir)
	if m := goLine.FindSubmatch(text); m != nil {
		return "go" + string(m[1])
	}
	return ""
}

// pathOf returns the import path of a folder in a module; an empty text if that is not known.
func (c *Cache) pathOf(dir string) string {
	root, text := c.moduleOf(dir)
	m := modulePath.FindSubmatch(text)
	if m == nil {
		return ""
	}
	folder, err := filepath.Rel(root, dir)
	if err != nil {
		return ""
	}
	return path.Join(string(m[1]), filepath.ToSlash(folder))
}

// moduleOf returns the root of the module of a folder, and its go.mod file; nil if it is not found, or may not be read.
func (c *Cache) moduleOf(dir string) (root string, text []byte) {
	for {
		name := filepath.Join(dir, "go.mod")
		if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
			if info.Size() > maxModuleFile || c.only != nil && !c.only(name) {
				return "", nil
			}
			if text, err = os.ReadFile(name); err != nil {
				return "", nil
			}
			return dir, text
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", nil
		}
		dir = parent
	}
}

// sharesLoopVariables reports whether all iterations of a loop in a file of a module have the same variables.
func sharesLoopVariables(f *ast.File, language string) bool {
	if f.GoVersion != "" { // of its build constraint
		language = f.GoVersion
	}
	return version.IsValid(language) && version.Compare(language, ownVariables) < 0
}
