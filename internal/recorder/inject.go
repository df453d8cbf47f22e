package recorder

import (
	"cmp"
	"embed"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/heisen-go/heisen/internal/core/atomrace"
	"github.com/heisen-go/heisen/internal/core/fasttrack"
	"github.com/heisen-go/heisen/internal/core/strategies"
	"github.com/heisen-go/heisen/internal/core/wire"
)

//go:embed inject/*.go inject/*.s
var inject embed.FS

// buildTag begins the first line of the injected files. It keeps them out of this module's builds. What follows
// it in some files is the constraint that they have in package runtime.
const buildTag = "//go:build heisen_inject"

// A System says what programs for Linux use of it. Programs for other systems use what the runtime has on all of its
// ports. See inject/os.go.
type System int

// The systems.
const (
	Native   System = iota
	Portable        // what programs for other systems that are like Unix use
	Apart           // the same without a connection
)

// portableEnv is set for tests. With the value 1, programs for Linux use what those for other systems use of the
// operating system. With the value alone, they do not connect either.
const portableEnv = "HEISEN_PORTABLE"

// Used returns what programs for Linux use.
func Used() System {
	switch os.Getenv(portableEnv) {
	case "":
		return Native
	case "alone":
		return Apart
	}
	return Portable
}

// substitutes has the files that a system leaves out and those that take their places on Linux, too.
func (s System) substitutes() map[string]string {
	files := map[string]string{}
	if s >= Portable {
		files["os_linux.go"] = "os_portable.go"
		files["connection_linux.go"] = "connection_portable.go"
		files["fork_linux.go"] = "fork_none.go"
		files["rewind_linux_amd64.go"] = "rewind_none.go"
		files["rewind_linux_amd64.s"] = "rewind_none.go"
	}
	if s == Apart {
		files["connection_linux.go"] = "connection_none.go"
	}
	return files
}

// Sources returns the injected files, by name, as they go into package runtime. syscallPackage is
// the import path of the runtime's system call package, which depends on the Go release.
func Sources(syscallPackage string, system System) (map[string][]byte, error) {
	instead := system.substitutes()
	everywhere := slices.Collect(maps.Values(instead)) // and where their constraints say
	entries, err := fs.ReadDir(inject, "inject")
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, e := range entries {
		text, err := fs.ReadFile(inject, "inject/"+e.Name())
		if err != nil {
			return nil, err
		}
		body, ok := strings.CutPrefix(string(text), buildTag)
		if !ok {
			return nil, fmt.Errorf("%s does not start with %q", e.Name(), buildTag)
		}
		if constraint, ok := strings.CutPrefix(body, " && "); ok {
			if slices.Contains(everywhere, e.Name()) {
				constraint = "linux || " + constraint
			}
			body = "//go:build " + constraint
		} else {
			_, body, _ = strings.Cut(body, "\n")
		}
		if instead[e.Name()] != "" {
			continue
		}
		files[e.Name()] = []byte(strings.ReplaceAll(body, `"internal/runtime/syscall/linux"`, `"`+syscallPackage+`"`))
	}
	for _, core := range []struct {
		prefix string // of its names, after "heisen"
		source embed.FS
	}{
		{"", wire.Source},
		{"AtomRace", atomrace.Source},
		{"Strategies", strategies.Source},
		{"FastTrack", fasttrack.Source},
	} {
		if err := addCore(files, core.prefix, core.source); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// addCore adds the files of a package that runs inside programs, as they go into package runtime:
// names that they declare, and those that their host declares, get the prefix "heisen" and the given one, and the atomic
// types are the runtime's.
func addCore(files map[string][]byte, prefix string, source embed.FS) error {
	entries, err := fs.ReadDir(source, ".")
	if err != nil {
		return err
	}
	fset := token.NewFileSet()
	var parsed []*ast.File
	var texts [][]byte
	for _, e := range entries {
		text, err := fs.ReadFile(source, e.Name())
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(fset, e.Name(), text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		parsed, texts = append(parsed, file), append(texts, text)
	}
	info := &types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}
	incomplete := types.Config{Importer: emptyPackages{}, Error: func(error) {}} // without the host, and what is imported
	pkg, _ := incomplete.Check("core", fset, parsed, info)
	for i, file := range parsed {
		edits := textEdits{file: fset.File(file.Pos())}
		edits.replace(file.Name, "runtime")
		for _, spec := range file.Imports {
			if spec.Path.Value == `"sync/atomic"` {
				edits.replace(spec.Path, `"internal/runtime/atomic"`)
			}
		}
		eachName(file, func(id *ast.Ident, member bool) {
			obj := cmp.Or(info.Defs[id], info.Uses[id])
			if obj == nil && member || obj != nil && obj.Parent() != pkg.Scope() {
				return
			}
			name := capital(id.Name)
			if name != id.Name && pkg.Scope().Lookup(name) != nil {
				name = "_" + id.Name // avoids a collision
			}
			edits.replace(id, "heisen"+prefix+name)
		})
		text, err := format.Source(edits.apply(texts[i]))
		if err != nil {
			return err
		}
		files[file.Name.Name+"_"+entries[i].Name()] = text
	}
	return nil
}

// emptyPackages imports packages without their content.
type emptyPackages struct{}

func (emptyPackages) Import(name string) (*types.Package, error) {
	pkg := types.NewPackage(name, path.Base(name))
	pkg.MarkComplete()
	return pkg, nil
}

// eachName calls visit for the identifiers of a file. member is set for those behind a dot and for keys, which may name fields.
func eachName(file *ast.File, visit func(id *ast.Ident, member bool)) {
	members := map[ast.Node]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			members[n.Sel] = true
		case *ast.KeyValueExpr:
			members[n.Key] = true
		case *ast.Ident:
			if n != file.Name && n.Name != "_" {
				visit(n, members[n])
			}
		}
		return true
	})
}

// textEdits are replacements in the text of a file.
type textEdits struct {
	file *token.File
	all  []textEdit
}

type textEdit struct {
	start, end int
	text       string
}

func (t *textEdits) replace(n ast.Node, text string) {
	t.all = append(t.all, textEdit{t.file.Offset(n.Pos()), t.file.Offset(n.End()), text})
}

// apply returns the text of the file with the replacements.
func (t *textEdits) apply(text []byte) (out []byte) {
	slices.SortFunc(t.all, func(a, b textEdit) int { return a.start - b.start })
	done := 0
	for _, e := range t.all {
		out = append(append(out, text[done:e.start]...), e.text...)
		done = e.end
	}
	return append(out, text[done:]...)
}

// capital returns a name with its first letter in upper case.
func capital(name string) string { return strings.ToUpper(name[:1]) + name[1:] }

// Annotations are the functions of package internal/race that the recorder implements for the
// standard library's annotations.
var Annotations = []string{
	"Acquire", "Release", "ReleaseMerge", "Disable", "Enable", "Errors",
	"Read", "Write", "ReadRange", "WriteRange",
	"ReadPC", "WritePC", "ReadObjectPC", "WriteObjectPC",
}

// AddedAnnotations are the signatures of functions that it adds there for the patched packages.
var AddedAnnotations = []string{
	"Task(name string)",
	"Looks(context unsafe.Pointer)",
	"Locking(lock unsafe.Pointer)",
	"Sharing(lock unsafe.Pointer)",
	"Trying(lock unsafe.Pointer)",
	"Synchronizing(on unsafe.Pointer)",
	"Awaiting(on unsafe.Pointer)",
	"Counting(group unsafe.Pointer, delta int)",
	"BeginStep(on unsafe.Pointer)",
	"EndStep()",
	"Input(addr unsafe.Pointer, file int)",
	"Locked(lock unsafe.Pointer) bool",
	"WriteLocked(lock unsafe.Pointer) bool",
	"TryLocked(lock unsafe.Pointer)",
	"Unlocking(lock unsafe.Pointer)",
	"RLocked(lock unsafe.Pointer) bool",
	"TryRLocked(lock unsafe.Pointer)",
	"RUnlocking(lock unsafe.Pointer)",
	"AcquireByChance(addr unsafe.Pointer)",
	"HandingOut(begins bool)",
	"Send(message unsafe.Pointer)",
	"Receive(message unsafe.Pointer)",
	"Change(state unsafe.Pointer)",
	"Observe(state unsafe.Pointer)",
	"Step(state unsafe.Pointer)",
	"CompareAndSwapInt32(addr *int32, old, new int32) bool",
	"AddInt32(addr *int32, delta int32) int32",
	"ChildEnv(replaced bool) string",
	"FuzzWorker()",
	"TestBegins()",
	"PrologueEnds()",
	"SystemCall(trap, a1, a2, a3 uintptr)",
	"ClearStack()",
	"MapKey(m unsafe.Pointer, hasher func(unsafe.Pointer, uintptr) uintptr, key unsafe.Pointer)",
	"TestLeaks() int",
	"Draw(p []byte) bool",
	"FailingInput(name string)",
	"Runs(test unsafe.Pointer)",
	"Stops(test unsafe.Pointer, skips bool)",
	"Ends(test unsafe.Pointer)",
	"Uses(test unsafe.Pointer)",
	"Fails()",
	"Kills(pid, signal uintptr)",
	"Forked(pid int)",
}
