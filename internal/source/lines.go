package source

import (
	"bytes"
	"go/token"
	"path/filepath"
	"slices"
	"strings"

	"github.com/heisen-go/heisen"
)

// A line directive in a generated file says from which line of which other file the following code was made. The compiler names
// places by that. The other file need not be one of Go, so what is said of a place comes from the generated file.

// place is a line of a file of a package.
type place struct {
	file *file
	line int
}

// hasDirectives reports whether the text of a file may have line directives.
func hasDirectives(text []byte) bool {
	return bytes.Contains(text, []byte("//line ")) || bytes.Contains(text, []byte("/*line "))
}

// follow notes which lines of a file are named as those of others, or as other ones.
func (p *pkg) follow(name string, f *file, text []byte) {
	if f.syntax == nil || !hasDirectives(text) {
		return
	}
	at := p.fset.File(f.syntax.FileStart)
	f.named = map[int]bool{}
	for n := 1; n <= at.LineCount(); n++ {
		start, end := at.LineStart(n), token.Pos(at.Base()+at.Size())
		if n < at.LineCount() {
			end = at.LineStart(n+1) - 1
		}
		for _, pos := range [...]token.Pos{start, end} { // a directive may stand within the line
			to := at.Position(pos)
			if to.Filename == name && to.Line == n {
				f.named[n] = true
			} else {
				p.name(filepath.ToSlash(to.Filename), to.Line, place{f, n}) // as the compiler writes it
			}
		}
	}
}

// name notes that a place is named as a line of a file.
func (p *pkg) name(file string, line int, at place) {
	if p.lined == nil {
		p.lined = map[string]map[int][]place{}
	}
	if p.lined[file] == nil {
		p.lined[file] = map[int][]place{}
	}
	if all := p.lined[file][line]; !slices.Contains(all, at) {
		p.lined[file][line] = append(all, at)
	}
}

// linesOf returns the lines that are named as a line of a file, and their file; nil if there are none. It is the line itself, or those
// that were made from it.
func (p *pkg) linesOf(name string, line int) (f *file, lines []int) {
	if own := p.files[name]; own != nil && line <= len(own.lines) && (own.named == nil || own.named[line]) {
		return own, []int{line}
	}
	for _, at := range p.lined[name][line] {
		if f == nil {
			f = at.file
		}
		if at.file == f {
			lines = append(lines, at.line)
		}
	}
	return f, lines
}

// has reports whether a package has a file, or code that was made from it.
func (p *pkg) has(name string) bool { return p.files[name] != nil || p.lined[name] != nil }

// madeFrom returns the package with the code of a frame, the file of which is none of Go; nil if it is not found. The generated file
// stands beside the other one, or in the folder of the function's package.
func (c *Cache) madeFrom(frame heisen.Frame) *pkg {
	directive := []byte(filepath.Base(frame.File) + ":")
	for _, dir := range slices.Compact([]string{filepath.Dir(frame.File), c.folderOf(frame)}) {
		files := goFiles(dir)
		if len(files) > maxPackageFiles {
			continue
		}
		for _, file := range files {
			text, err := c.read(file)
			if err != nil || !hasDirectives(text) || !bytes.Contains(text, directive) {
				continue
			}
			if p := c.loadText(file, text); p.has(frame.File) {
				return p
			}
		}
	}
	return nil
}

// folderOf returns the folder of the package of a frame's function, if the file of the frame is in the same module; else that of the file.
func (c *Cache) folderOf(frame heisen.Frame) string {
	dir := filepath.Dir(frame.File)
	root, text := c.moduleOf(dir)
	m := modulePath.FindSubmatch(text)
	if m == nil {
		return dir
	}
	slash := strings.LastIndexByte(frame.Func, '/')
	name, _, _ := strings.Cut(frame.Func[slash+1:], ".")
	if inner, within := strings.CutPrefix(frame.Func[:slash+1]+name, string(m[1])); within {
		return filepath.Join(root, filepath.FromSlash(inner))
	}
	return dir
}
