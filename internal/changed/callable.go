package changed

import (
	"go/ast"
	"go/parser"
	"go/token"
	"runtime"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/tools/go/packages"
)

// callable says which methods of a program may be called without their names: those that an interface of any of its packages
// has, and all exported ones if a package asks reflection for methods.
type callable struct {
	names    map[string]bool
	reflects bool
	starting map[string]bool // packages outside of the repository that start processes themselves, or import one that does
}

func (c *callable) dynamically(name string) bool {
	return c.names[name] || c.reflects && token.IsExported(name)
}

// newCallable reads the source of all packages of a program, in which only the interface error does not stand. Inside says which of them are in the repository.
func newCallable(all map[string]*packages.Package, inside func(*packages.Package) bool) *callable {
	c := &callable{names: map[string]bool{"Error": true}, starting: map[string]bool{}}
	var files []string
	for _, pkg := range all {
		files = append(files, pkg.GoFiles...)
	}
	var (
		mu      sync.Mutex
		wg      sync.WaitGroup
		next    = make(chan string)
		workers = runtime.GOMAXPROCS(0)
	)
	for range workers {
		wg.Go(func() {
			names, reflects := map[string]bool{}, false
			for file := range next {
				reflects = readInterfaces(file, names) || reflects
			}
			mu.Lock()
			defer mu.Unlock()
			for name := range names {
				c.names[name] = true
			}
			c.reflects = c.reflects || reflects
		})
	}
	for _, file := range files {
		next <- file
	}
	close(next)
	wg.Wait()
	known := map[*packages.Package]bool{}
	var begins func(pkg *packages.Package) bool
	begins = func(pkg *packages.Package) bool {
		if found, ok := known[pkg]; ok {
			return found
		}
		known[pkg] = false // imports have no cycles
		if pkg.PkgPath == "os/exec" || inside(pkg) {
			return false
		}
		found := false
		for path, imported := range pkg.Imports {
			found = found || path == "os/exec" || begins(imported)
		}
		known[pkg] = found
		return found
	}
	for _, pkg := range all {
		if begins(pkg) {
			c.starting[pkg.PkgPath] = true
		}
	}
	return c
}

// readInterfaces adds the names of the methods of the interfaces in a file, and reports whether the file asks reflection for methods.
// A file that cannot be parsed does not compile.
func readInterfaces(name string, names map[string]bool) (reflects bool) {
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
	if err != nil {
		return false
	}
	for _, spec := range file.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		reflects = reflects || err == nil && path == "reflect"
	}
	asks := false
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.InterfaceType:
			for _, method := range n.Methods.List {
				for _, name := range method.Names {
					names[name.Name] = true
				}
			}
		case *ast.SelectorExpr:
			asks = asks || n.Sel.Name == "Method" || n.Sel.Name == "MethodByName"
		}
		return true
	})
	return reflects && asks && !strings.Contains(name, "/reflect/")
}
