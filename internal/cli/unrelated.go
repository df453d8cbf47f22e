package cli

import (
	"strings"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/recorder"
)

// unrelated knows the events of programs that conflict with no others, although they look like it, for
// atomicity.WithUnrelated: accesses of the standard library to what it keeps for itself, the locks that guard it, and the messages that order
// everything before finalizers, whatever these have to do with it.
type unrelated struct {
	symbols *heisen.Symbols
	library *standardLibrary
	itself  bool                 // the program is a test of the standard library
	private map[heisen.Site]bool // whether the memory that is accessed at a site is the library's own
	silent  map[heisen.Site]bool // whether a site is in one of silentPackages
}

func newUnrelated(from origin, folder string) *unrelated {
	library := newStandardLibrary(folder)
	return &unrelated{
		symbols: from.symbols, library: library, itself: library.has(from.pkg),
		private: map[heisen.Site]bool{}, silent: map[heisen.Site]bool{},
	}
}

// concurrentPackages are those of the standard library whose own memory is no data of a program: goroutines may call them
// at the same time, so what they keep between calls is guarded, and what they take from a pool has no history. So are all
// packages within runtime and internal. Data structures of programs, as in bytes and container/list, are in none.
var concurrentPackages = map[string]bool{
	"context": true, "fmt": true, "log": true, "log/slog": true, "math/rand": true, "math/rand/v2": true, "net": true,
	"os": true, "os/signal": true, "regexp": true, "runtime": true, "sync": true, "syscall": true, "testing": true,
	"testing/synctest": true, "time": true, "unique": true,
}

// silentPackages are those of concurrentPackages in which goroutines exchange nothing but what they take from pools.
var silentPackages = map[string]bool{"fmt": true, "log": true, "log/slog": true, "regexp": true}

// is reports whether an event conflicts with no others.
func (u *unrelated) is(a heisen.Access) bool {
	switch a.Op {
	case heisen.Send, heisen.Receive:
		return a.Object == recorder.Collector || u.within(a.Site, u.silent, func(pkg string) bool { return silentPackages[pkg] })
	case heisen.Fork, heisen.Begin, heisen.End, heisen.Join:
		return false
	}
	return u.within(a.Site, u.private, isPrivate)
}

// within reports whether a site is in one of some packages of the standard library, which is known of some sites.
func (u *unrelated) within(site heisen.Site, known map[heisen.Site]bool, one func(pkg string) bool) bool {
	if site == 0 || u.itself {
		return false
	}
	is, ok := known[site]
	if !ok {
		if frames := u.symbols.Site(site).Frames; len(frames) > 0 {
			pkg := packageOf(frames[0])
			is = one(pkg) && u.library.has(pkg)
		}
		known[site] = is
	}
	return is
}

// isPrivate reports whether the memory of a package of the standard library is its own.
func isPrivate(pkg string) bool {
	return concurrentPackages[pkg] || strings.HasPrefix(pkg, "runtime/") || strings.HasPrefix(pkg, "internal/")
}
