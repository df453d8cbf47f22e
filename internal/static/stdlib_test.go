package static

import (
	"go/types"
	"maps"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

// pathOf returns the path of the package of a function's or type's full name, such as "(*net/http.Request).Cookie".
func pathOf(name string) string {
	name = strings.TrimPrefix(strings.TrimPrefix(name, "("), "*")
	slash := strings.LastIndexByte(name, '/') + 1
	return name[:slash+strings.IndexByte(name[slash:], '.')]
}

// library returns all packages of the tables.
func library(t *testing.T) map[string]*types.Package {
	paths := map[string]bool{}
	for path := range ofPackage {
		paths[path] = true
	}
	for _, table := range []map[string]exception{ofType, ofFunction} {
		for name := range table {
			paths[pathOf(name)] = true
		}
	}
	for name := range lockTypes {
		paths[pathOf(name)] = true
	}
	delete(paths, "unsafe")
	loaded, err := packages.Load(&packages.Config{Mode: packages.NeedName | packages.NeedTypes}, slices.Sorted(maps.Keys(paths))...)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*types.Package{}
	for _, pkg := range loaded {
		if len(pkg.Errors) > 0 {
			t.Errorf("%s: %v", pkg.PkgPath, pkg.Errors)
			continue
		}
		out[pkg.PkgPath] = pkg.Types
	}
	if len(out) != len(paths) {
		t.Fatalf("%d packages of %d", len(out), len(paths))
	}
	return out
}

// eachFunc calls visit with all exported functions of packages, and all exported methods of their types.
func eachFunc(library map[string]*types.Package, visit func(fn *types.Func)) {
	for _, pkg := range library {
		for _, name := range pkg.Scope().Names() {
			switch obj := pkg.Scope().Lookup(name).(type) {
			case *types.Func:
				if obj.Exported() {
					visit(obj)
				}
			case *types.TypeName:
				n, ok := obj.Type().(*types.Named)
				if !ok {
					continue
				}
				for method := range n.Methods() {
					visit(method)
				}
				if i, ok := n.Underlying().(*types.Interface); ok {
					for method := range i.ExplicitMethods() {
						visit(method)
					}
				}
			}
		}
	}
}

// TestEntries checks that each entry is about a function or type that there is, and that it says something that the
// entry of its package does not.
func TestEntries(t *testing.T) {
	all := library(t)
	seen := map[string]bool{}
	eachFunc(all, func(fn *types.Func) {
		seen[fn.FullName()] = true
		recv := fn.Signature().Recv()
		if recv != nil {
			seen[typeName(named(recv.Type()))] = true
		}
		entry, ok := ofFunction[fn.FullName()]
		if !ok {
			return
		}
		without := ofPackage[fn.Pkg().Path()]
		switch {
		case recv != nil && types.IsInterface(recv.Type()):
			without = 0
		case recv != nil:
			without = ofType[typeName(named(recv.Type()))].of(without)
		}
		if without&entry.is != 0 || without&entry.not != entry.not {
			t.Errorf("%s: the entry repeats what its package has", fn.FullName())
		}
	})
	for _, table := range []map[string]exception{ofType, ofFunction} {
		for name, entry := range table {
			if !seen[name] {
				t.Errorf("%s: there is none", name)
			}
			if entry.is&entry.not != 0 || entry.is|entry.not == 0 {
				t.Errorf("%s: the entry contradicts itself, or says nothing", name)
			}
		}
	}
	for name := range lockTypes {
		if !seen[name] {
			t.Errorf("%s: there is no such lock type", name)
		}
	}
}

// TestFactsThatExclude: facts of one function do not contradict one another.
func TestFactsThatExclude(t *testing.T) {
	eachFunc(library(t), func(fn *types.Func) {
		known := Known(fn)
		for _, pair := range [][2]Fact{
			{OnlyLooks, Indivisible}, {OnlyLooks, Prints}, {OnlyLooks, NeverReturns}, {Unnoticed, Prints}, {Unnoticed, Indivisible},
			{Wraps, OnlyLooks},
		} {
			if known.Has(pair[0]) && known.Has(pair[1]) {
				t.Errorf("%s: %b and %b exclude each other", fn.FullName(), pair[0], pair[1])
			}
		}
		if known.Has(OnlyLooks) && !known.Has(Prompt) {
			t.Errorf("%s only looks, so it waits for nothing", fn.FullName())
		}
	})
}

// TestLockOps compares the table of lock types with the methods of package sync.
func TestLockOps(t *testing.T) {
	got := map[string]LockOp{}
	eachFunc(library(t), func(fn *types.Func) {
		if op := LockOpOf(fn); op != NoLockOp {
			got[fn.FullName()] = op
		}
	})
	want := map[string]LockOp{
		"(*sync.Mutex).Lock": Lock, "(*sync.Mutex).TryLock": TryLock, "(*sync.Mutex).Unlock": Unlock,
		"(*sync.RWMutex).Lock": Lock, "(*sync.RWMutex).TryLock": TryLock, "(*sync.RWMutex).Unlock": Unlock,
		"(*sync.RWMutex).RLock": RLock, "(*sync.RWMutex).TryRLock": TryRLock, "(*sync.RWMutex).RUnlock": RUnlock,
		"(sync.Locker).Lock": Lock, "(sync.Locker).Unlock": Unlock,
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for op, is := range map[LockOp][4]bool{ // acquires, tries, releases, shared
		NoLockOp: {}, Lock: {true}, RLock: {true, false, false, true}, TryLock: {true, true}, TryRLock: {true, true, false, true},
		Unlock: {false, false, true}, RUnlock: {false, false, true, true},
	} {
		if got := [4]bool{op.Acquires(), op.Tries(), op.Releases(), op.Shared()}; got != is {
			t.Errorf("operation %d: %v, want %v", op, got, is)
		}
	}
}
