package report

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/heisen-go/heisen/internal/filename"
	"github.com/heisen-go/heisen/internal/plural"
)

// stack prints a stack with a frame on each line, and source below the statement's. Frames of the standard library are counted, except
// the innermost one; those from which package testing or a go statement has called the program are left out. So are callers that the
// stack before has, too.
func (t *briefText) stack(stack []Frame, source string) {
	lines, user := t.stackLines(stack)
	same := 0
	for same < min(len(lines)-1, len(t.above)-1) && lines[len(lines)-1-same] == t.above[len(t.above)-1-same] {
		same++
	}
	t.above = lines
	shown := lines
	if same > 1 {
		shown = append(slices.Clone(lines[:len(lines)-same]), "… called as above")
	}
	if len(shown) > t.frames {
		more := len(shown) - t.frames + 1
		shown = append(slices.Clone(shown[:t.frames-1]), fmt.Sprintf("… %s", plural.Of(more, "more call")))
	}
	for i, line := range shown {
		t.linef("  %s", line)
		if i == user && source != "" {
			t.linef("        %s%s%s", asSource, source, asIs)
		}
	}
}

// stackLines returns the lines of a stack, and the index of the line with the frame of the statement, -1 if there is none.
func (t *briefText) stackLines(stack []Frame) (lines []string, user int) {
	of, found := userFrame(stack), false
	user = -1
	stack = stack[:len(stack)-entry(stack)]
	for i := 0; i < len(stack); {
		n := 0
		for i+n < len(stack) && isStandard(stack[i+n]) {
			n++
		}
		if i == 0 && n > 0 { // the innermost frame
			n = 0
		}
		if n > 0 {
			lines = append(lines, fmt.Sprintf("… %s of %s", plural.Of(n, "call"), packagesOf(stack[i:i+n])))
			i += n
			continue
		}
		if stack[i] == of && !found {
			user, found = len(lines), true
		}
		lines = append(lines, t.frame(stack[i]))
		i++
	}
	return lines, user
}

// frame returns a frame on a line.
func (t *briefText) frame(f Frame) string {
	if f.File == "" {
		return f.Func
	}
	return t.relative(siteOf(f)) + "  " + f.Func + "()"
}

// siteOf returns the file and line of a frame.
func siteOf(f Frame) string { return f.File + ":" + strconv.Itoa(f.Line) }

// relative returns a site with the name of its file as the go command prints it: relative to the folder if it is in there.
func (t *briefText) relative(site string) string {
	if t.form.Folder == "" {
		return site
	}
	name, ok := filename.Rel(t.form.Folder, site)
	switch {
	case !ok:
		return site
	case strings.ContainsAny(name, `/\`):
		return name
	case path.IsAbs(t.form.Folder):
		return "./" + name
	}
	return "." + string(filepath.Separator) + name
}

// entry returns how many of the outermost frames say only that package testing, the runtime or a function such as sync.WaitGroup.Go has
// called the program. One frame is always left.
func entry(stack []Frame) (n int) {
	for n < len(stack)-1 {
		f := stack[len(stack)-1-n]
		pkg := packageOfFunc(f.Func)
		enters := pkg == "testing" || pkg == "sync" || pkg == "runtime" || strings.HasPrefix(pkg, "internal/")
		if !(enters && isStandard(f)) && f.File != "_testmain.go" {
			break
		}
		n++
	}
	return n
}

// userStart returns the innermost frame that is not of the standard library.
func userStart(stack []Frame) (f Frame, ok bool) {
	i := slices.IndexFunc(stack, func(f Frame) bool { return f.File != "" && f.File != "_testmain.go" && !isStandard(f) })
	if i < 0 {
		return Frame{}, false
	}
	return stack[i], true
}

// packagesOf lists the packages of frames, each once.
func packagesOf(frames []Frame) string {
	var all []string
	for _, f := range frames {
		if pkg := packageOfFunc(f.Func); !slices.Contains(all, pkg) {
			all = append(all, pkg)
		}
	}
	return strings.Join(all, ", ")
}

// packageOfFunc returns the import path of a function's package.
func packageOfFunc(function string) string {
	function, _, _ = strings.Cut(function, "[") // import paths among type arguments
	slash := strings.LastIndexByte(function, '/') + 1
	name, _, _ := strings.Cut(function[slash:], ".")
	return function[:slash] + name
}

// standardRoots are the first elements of the import paths of the standard library.
var standardRoots = []string{
	"archive", "bufio", "bytes", "cmp", "compress", "container", "context", "crypto", "database", "debug", "embed", "encoding", "errors",
	"expvar", "flag", "fmt", "go", "hash", "html", "image", "index", "internal", "io", "iter", "log", "maps", "math", "mime", "net", "os",
	"path", "plugin", "reflect", "regexp", "runtime", "slices", "sort", "strconv", "strings", "structs", "sync", "syscall", "testing",
	"text", "time", "unicode", "unique", "unsafe", "uuid", "vendor", "weak",
}

// isStandard reports whether a frame is of the standard library: its package has a path of it, and its file is where that package's are,
// below the folder src of GOROOT, or, in a program built with -trimpath, below none.
func isStandard(f Frame) bool {
	pkg := packageOfFunc(f.Func)
	root, _, _ := strings.Cut(pkg, "/")
	if !slices.Contains(standardRoots, root) {
		return false
	}
	folder := path.Dir(strings.ReplaceAll(f.File, `\`, "/"))
	return folder == pkg || strings.HasSuffix(folder, "/src/"+pkg)
}
