package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/heisen-go/heisen"
)

// standardLibrary knows which packages are of the standard library.
type standardLibrary struct {
	folder string // of its source, or "" if it is not known
	known  map[string]bool
}

func newStandardLibrary(folder string) *standardLibrary {
	return &standardLibrary{folder: folder, known: map[string]bool{}}
}

// has reports whether a package is one of the standard library.
func (l *standardLibrary) has(pkg string) bool {
	if l.folder == "" || pkg == "" {
		return false
	}
	is, ok := l.known[pkg]
	if !ok {
		info, err := os.Stat(filepath.Join(l.folder, filepath.FromSlash(pkg)))
		is = err == nil && info.IsDir()
		l.known[pkg] = is
	}
	return is
}

// findStandardLibrary returns the folder of the standard library's source in a recording, as the files of
// packages say that no module can have, or "".
func findStandardLibrary(symbols *heisen.Symbols) string {
	for site := range heisen.Site(symbols.NumSites()) {
		for _, f := range symbols.Site(site).Frames {
			pkg, _ := splitFunction(f.Func)
			dir := filepath.ToSlash(filepath.Dir(f.File))
			if folder, ok := strings.CutSuffix(dir, "/src/"+pkg); ok && (pkg == "sync" || pkg == "runtime" || strings.HasPrefix(pkg, "internal/")) {
				return folder + "/src"
			}
		}
	}
	return ""
}

// own reports whether a cycle of locks is the standard library's own affair: each lock was taken by a package of it,
// within the same call of the standard library in which the goroutine waits for the next one, so that no code of
// the program can come in between or change the order. Such cycles are known to its authors, and something that
// lockorder does not look at rules them out, such as the counter that guards syscall.ForkLock.
//
// The locks of package sync belong to who calls it.
func (l *standardLibrary) own(symbols *heisen.Symbols, f heisen.Finding) bool {
	n := len(f.Accesses)
	for i, a := range f.Accesses {
		if !l.takesBoth(symbols, a, f.Accesses[(i+n-1)%n].Object) {
			return false
		}
	}
	return n > 0
}

// takesBoth reports whether an acquisition and that of a lock that is held are of the same call of the standard
// library.
func (l *standardLibrary) takesBoth(symbols *heisen.Symbols, a heisen.Access, held heisen.Object) bool {
	stack := symbols.Stack(a.Site, a.Context)
	within := 0 // frames of the call
	for within < len(stack) && l.has(packageOf(stack[within])) {
		within++
	}
	if within == 0 || within == len(stack) || isSynchronizing(packageOf(stack[0])) {
		return false
	}
	locks := symbols.Locks(a.Context)
	at := slices.IndexFunc(locks, func(h heisen.HeldLock) bool { return h.Lock == held })
	if at < 0 {
		return false
	}
	frames := symbols.Site(locks[at].Site).Frames
	if len(frames) == 0 {
		return false
	}
	by := packageOf(frames[0])
	takenBy := func(f heisen.Frame) bool { return packageOf(f) == by }
	return l.has(by) && !isSynchronizing(by) && slices.ContainsFunc(stack[:within], takenBy) && !slices.ContainsFunc(stack[within:], takenBy)
}

func packageOf(f heisen.Frame) string {
	pkg, _ := splitFunction(f.Func)
	return pkg
}

// isSynchronizing reports whether a package takes locks for others.
func isSynchronizing(pkg string) bool {
	return pkg == "sync" || pkg == "internal/sync" || strings.HasPrefix(pkg, "sync/")
}

// withoutOwn leaves out of the findings about a stream the cycles of locks that are the standard library's own affair,
// unless the program is a test of it.
func (d *detection) withoutOwn(from origin, sink heisen.Sink) heisen.Sink {
	var library *standardLibrary
	return func(f heisen.Finding) {
		if f.Kind == heisen.Deadlock {
			if library == nil {
				folder := d.standard
				if folder == "" {
					folder = findStandardLibrary(from.symbols)
				}
				library = newStandardLibrary(folder)
			}
			if !library.has(from.pkg) && library.own(from.symbols, f) {
				return
			}
		}
		sink(f)
	}
}
