package build

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/gcexportdata"
	"golang.org/x/tools/go/ssa"

	"github.com/heisen-go/heisen/internal/ssaload"
)

// TestStopRules holds the runtime, as it is patched, to the rules for code in which a goroutine may be
// stopped (stops.go of the recorder): pointers that are needed afterwards are in frames as pointers, and
// write barriers come after the stop.
func TestStopRules(t *testing.T) {
	r := loadStopRules(t, loadRuntime(t), nil)
	for _, name := range []string{"sync_atomic_CompareAndSwapPointer", "chansend", "selectgo", "heisenReadSlowly", "racereadpc", "race_Locking"} {
		if !r.stops[r.pkg.Func(name)] {
			t.Errorf("a goroutine cannot be stopped in %s", name)
		}
	}
	if len(r.stops) < 60 {
		t.Errorf("only %d functions in which a goroutine may be stopped", len(r.stops))
	}
	for _, broken := range r.check() {
		t.Error(broken)
	}
}

// TestStopRulesBroken: each rule is noticed where code breaks it.
func TestStopRulesBroken(t *testing.T) {
	src := loadRuntime(t)
	for name, test := range map[string]struct{ code, want string }{
		"pointer as a number": {
			"func heisenBad(p *unsafe.Pointer, v unsafe.Pointer) { n := uintptr(v); heisenNoiseAt(0); *(*uintptr)(unsafe.Pointer(p)) = n }",
			"heisenBad: v is only visible as a uintptr while heisenNoiseAt",
		},
		"pointer passed as a number": {
			`func heisenBad(p *unsafe.Pointer, v unsafe.Pointer) { heisenWorse((*uintptr)(unsafe.Pointer(p)), uintptr(v)) }
			func heisenWorse(p *uintptr, v uintptr) { heisenNoiseAt(0); *p = v }`,
			"heisenBad: v is only visible as a uintptr while heisenWorse",
		},
		"early barrier": {
			"func heisenBad(p *unsafe.Pointer, v unsafe.Pointer) { if writeBarrier.enabled { atomicwb(p, v) }; heisenNoiseAt(0); atomic.StorepNoWB(unsafe.Pointer(p), v) }",
			"heisenBad: a write barrier is taken before heisenNoiseAt",
		},
		"hook that nobody scans": {
			"func heisenBad(addr uintptr) { heisenNoiseAt(0); *(*int)(unsafe.Pointer(addr)) = 1 }",
			"heisenBad: addr is a uintptr, and callers that the collector does not scan conservatively pass it",
		},
	} {
		t.Run(name, func(t *testing.T) {
			text := "package runtime\nimport (\"internal/runtime/atomic\"; \"unsafe\")\nvar _ atomic.Int32\n" + test.code + "\n"
			broken := loadStopRules(t, src, map[string]string{"heisen_bad.go": text}).check()
			if len(broken) != 1 || !strings.HasPrefix(broken[0], test.want) {
				t.Errorf("%q, not %q", broken, test.want)
			}
		})
	}
}

// stopRules is the patched runtime, and what is known of it.
type stopRules struct {
	pkg       *ssa.Package
	functions []*ssa.Function
	stops     map[*ssa.Function]bool // a goroutine may be stopped in a call
	calls     map[*ssa.Function][]ssa.CallInstruction
	callers   map[*ssa.Function][]ssa.CallInstruction
	numbers   map[*ssa.Parameter]bool // uintptr parameters that are needed after a stop
}

// loadStopRules builds the SSA form of the runtime with the overlay and more files, by name.
func loadStopRules(t *testing.T, src *runtimeSource, more map[string]string) *stopRules {
	t.Helper()
	fset := token.NewFileSet()
	var parsed []*ast.File
	parse := func(name string, text any) {
		file, err := parser.ParseFile(fset, name, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, file)
	}
	for name, text := range src.files {
		parse(name, text)
	}
	for name, text := range more {
		parse(name, text)
	}
	slices.SortFunc(parsed, func(a, b *ast.File) int {
		return strings.Compare(fset.Position(a.Package).Filename, fset.Position(b.Package).Filename)
	})
	info := &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Instances: map[*ast.Ident]types.Instance{}, Defs: map[*ast.Ident]types.Object{},
		Uses: map[*ast.Ident]types.Object{}, Implicits: map[ast.Node]types.Object{}, Scopes: map[ast.Node]*types.Scope{},
		Selections: map[*ast.SelectorExpr]*types.Selection{}, FileVersions: map[*ast.File]string{},
	}
	config := types.Config{Importer: exported{fset, src.exports, map[string]*types.Package{}}, Sizes: types.SizesFor("gc", "amd64")}
	checked, err := config.Check("runtime", fset, parsed, info)
	if err != nil {
		t.Fatal(err)
	}
	r := &stopRules{stops: map[*ssa.Function]bool{}, calls: map[*ssa.Function][]ssa.CallInstruction{},
		callers: map[*ssa.Function][]ssa.CallInstruction{}, numbers: map[*ssa.Parameter]bool{}}
	if r.pkg, r.functions, err = ssaload.Build(fset, checked, parsed, info); err != nil {
		t.Fatal(err)
	}
	r.find()
	return r
}

// runtimeSource is the patched runtime, and what it imports.
type runtimeSource struct {
	files   map[string][]byte // by name
	exports map[string]string // files of export data, by package path
}

func loadRuntime(t *testing.T) *runtimeSource {
	t.Helper()
	toolchain := installation(t)
	if err := toolchain.leaveModules(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	o, err := newOverlay(toolchain)
	if err != nil {
		t.Fatal(err)
	}
	description, err := o.write(t.TempDir(), toolchain.Root)
	if err != nil {
		t.Fatal(err)
	}
	type listed struct {
		ImportPath, Dir, Export string
		GoFiles                 []string
	}
	list := func(args ...string) (packages []listed) {
		cmd := toolchain.command(t.Context(), "", append([]string{"list", "-tags=race", "-overlay=" + description,
			"-json=ImportPath,Dir,GoFiles,Export"}, args...)...)
		cmd.Env = append(cmd.Env, "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64", "GOFLAGS=")
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(commandError("go list", err))
		}
		for d := json.NewDecoder(bytes.NewReader(out)); ; {
			var pkg listed
			if err := d.Decode(&pkg); err == io.EOF {
				return packages
			} else if err != nil {
				t.Fatal(err)
			}
			packages = append(packages, pkg)
		}
	}
	src := &runtimeSource{map[string][]byte{}, map[string]string{}}
	var imported []string
	for _, pkg := range list("-deps", "runtime") {
		if pkg.ImportPath != "runtime" {
			imported = append(imported, pkg.ImportPath)
			continue
		}
		for _, name := range pkg.GoFiles {
			text, replaced := o["runtime/"+name]
			if !replaced {
				if text, err = os.ReadFile(filepath.Join(pkg.Dir, name)); err != nil {
					t.Fatal(err)
				}
			}
			src.files[name] = text
		}
	}
	for _, pkg := range list(append([]string{"-export"}, imported...)...) {
		src.exports[pkg.ImportPath] = pkg.Export
	}
	return src
}

// exported imports packages from their export data.
type exported struct {
	fset  *token.FileSet
	files map[string]string
	known map[string]*types.Package
}

func (e exported) Import(path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	if pkg := e.known[path]; pkg != nil && pkg.Complete() {
		return pkg, nil
	}
	file, err := os.Open(e.files[path])
	if err != nil {
		return nil, err
	}
	defer file.Close()
	//lint:ignore SA1019 go list -export names archives of the compiler up to Go 1.28
	r, err := gcexportdata.NewReader(file)
	if err != nil {
		return nil, err
	}
	return gcexportdata.Read(r, e.fset, e.known, path)
}

// find finds the functions in which a goroutine may be stopped, and the numbers that they need
// afterwards.
func (r *stopRules) find() {
	for _, fn := range r.functions {
		for _, block := range fn.Blocks {
			for _, i := range block.Instrs {
				call, ok := i.(ssa.CallInstruction)
				if !ok || call.Common().StaticCallee() == nil {
					continue
				}
				if _, ok := i.(*ssa.Call); !ok {
					continue // go and defer statements call later
				}
				callee := call.Common().StaticCallee()
				r.calls[fn] = append(r.calls[fn], call)
				r.callers[callee] = append(r.callers[callee], call)
			}
		}
	}
	// What the recorder adds: its functions that yield, sleep or switch.
	for _, fn := range r.functions {
		if !strings.HasPrefix(fn.Name(), "heisen") {
			continue
		}
		for _, call := range r.calls[fn] {
			if slices.Contains([]string{"mcall", "Gosched", "timeSleep", "gopark", "goparkunlock", "notetsleepg", "GC"}, call.Common().StaticCallee().Name()) {
				r.addStop(fn)
			}
		}
	}
	for changed := true; changed; {
		changed = false
		for _, fn := range r.functions {
			if !r.stops[fn] {
				continue
			}
			for _, p := range fn.Params {
				if isNumber(p.Type()) && !r.numbers[p] && r.neededAfterStop(fn, p) {
					r.numbers[p], changed = true, true
				}
			}
		}
	}
}

func (r *stopRules) addStop(fn *ssa.Function) {
	if r.stops[fn] {
		return
	}
	r.stops[fn] = true
	for _, call := range r.callers[fn] {
		r.addStop(call.Parent())
	}
}

// isNumber reports whether values of a type may hide a pointer.
func isNumber(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && (b.Kind() == types.Uintptr || b.Kind() == types.Uint64)
}

// neededAfterStop reports whether fn, or what it calls, uses a number after the goroutine may have been stopped.
func (r *stopRules) neededAfterStop(fn *ssa.Function, v ssa.Value) bool {
	for _, call := range r.calls[fn] {
		if !r.stops[call.Common().StaticCallee()] {
			continue
		}
		if usedAfter(call, v) || r.passes(call, v) {
			return true
		}
	}
	return false
}

// passes reports whether a call passes a number that the callee needs after a stop.
func (r *stopRules) passes(call ssa.CallInstruction, v ssa.Value) bool {
	callee := call.Common().StaticCallee()
	for i, arg := range call.Common().Args {
		if i < len(callee.Params) && r.numbers[callee.Params[i]] && derived(arg, v) {
			return true
		}
	}
	return false
}

// derived reports whether a number is made of v.
func derived(number, v ssa.Value) bool {
	if number == v {
		return true
	}
	switch n := number.(type) {
	case *ssa.BinOp:
		return derived(n.X, v) || derived(n.Y, v)
	case *ssa.Convert:
		return derived(n.X, v)
	case *ssa.ChangeType:
		return derived(n.X, v)
	}
	return false
}

// usedAfter reports whether an instruction that can follow a call uses v, or a number made of it.
func usedAfter(call ssa.CallInstruction, v ssa.Value) bool {
	if v.Referrers() == nil {
		return false
	}
	for _, use := range *v.Referrers() {
		if use == call.(ssa.Instruction) {
			continue
		}
		if number, ok := use.(ssa.Value); ok && isNumber(number.Type()) {
			switch number.(type) {
			case *ssa.BinOp, *ssa.Convert, *ssa.ChangeType:
				// It is computed where it is needed.
				if usedAfter(call, number) {
					return true
				}
				continue
			}
		}
		if _, debug := use.(*ssa.DebugRef); !debug && follows(call.(ssa.Instruction), use) {
			return true
		}
	}
	return false
}

// follows reports whether an instruction can be executed after another one.
func follows(first, second ssa.Instruction) bool {
	from, to := first.Block(), second.Block()
	if from == to && slices.Index(from.Instrs, second) > slices.Index(from.Instrs, first) {
		return true
	}
	seen := map[*ssa.BasicBlock]bool{}
	var reaches func(b *ssa.BasicBlock) bool
	reaches = func(b *ssa.BasicBlock) bool {
		for _, next := range b.Succs {
			if next == to {
				return true
			}
			if !seen[next] {
				seen[next] = true
				if reaches(next) {
					return true
				}
			}
		}
		return false
	}
	return reaches(from)
}

// scanned are the functions to which compiled code passes addresses as numbers; heisenStandsIn of the
// recorder knows them.
var scanned = []string{"heisenReadSlowly", "heisenWriteSlowly", "heisenReadPassed", "heisenWritePassed", "heisenReadMiss", "heisenWriteMiss", "racereadrange", "racewriterange"}

// barriers are the functions that take a write barrier for a store that follows. One that was taken
// before a stop counts for nothing, so there must be another one.
var barriers = []string{"atomicwb", "heisenPointerBarrier", "bulkBarrierPreWrite", "bulkBarrierPreWriteSrcOnly"}

// check returns where a rule is broken.
func (r *stopRules) check() (broken []string) {
	for _, fn := range r.functions {
		for _, call := range r.calls[fn] {
			callee := call.Common().StaticCallee()
			if !r.stops[callee] {
				continue
			}
			if early, late := r.barriers(fn, call.(ssa.Instruction)); early && !late {
				broken = append(broken, fmt.Sprintf("%s: a write barrier is taken before %s, which may stop the goroutine", fn.Name(), callee.Name()))
			}
			for _, v := range r.hidden(fn, call) {
				broken = append(broken, fmt.Sprintf("%s: %s is only visible as a uintptr while %s may stop the goroutine", fn.Name(), v.Name(), callee.Name()))
			}
		}
		for _, p := range fn.Params {
			if r.numbers[p] && isAddress(p) && len(r.callers[fn]) == 0 && !slices.Contains(scanned, fn.Name()) {
				broken = append(broken, fmt.Sprintf("%s: %s is a uintptr, and callers that the collector does not scan conservatively pass it", fn.Name(), p.Name()))
			}
		}
	}
	return broken
}

// barriers reports whether fn takes write barriers before a call and after it.
func (r *stopRules) barriers(fn *ssa.Function, call ssa.Instruction) (early, late bool) {
	for _, other := range r.calls[fn] {
		if slices.Contains(barriers, other.Common().StaticCallee().Name()) {
			early = early || follows(other.(ssa.Instruction), call)
			late = late || follows(call, other.(ssa.Instruction))
		}
	}
	return early, late
}

// isAddress reports whether a parameter of a function that is called from elsewhere is an address. The
// operands of the Uintptr functions of sync/atomic are numbers of the program, and others are sizes and
// program counters.
func isAddress(p *ssa.Parameter) bool {
	return slices.Contains([]string{"addr", "ptr", "p", "obj", "on", "lock"}, p.Name())
}

// hidden returns the pointers that fn needs after a call, as numbers only.
func (r *stopRules) hidden(fn *ssa.Function, call ssa.CallInstruction) (pointers []ssa.Value) {
	for _, block := range fn.Blocks {
		for _, i := range block.Instrs {
			number, ok := i.(*ssa.Convert)
			if !ok || !isNumber(number.Type()) || !isUnsafePointer(number.X.Type()) {
				continue
			}
			pointer := number.X
			for {
				if c, ok := pointer.(*ssa.Convert); ok && !isNumber(c.X.Type()) {
					pointer = c.X
					continue
				}
				break
			}
			if _, ok := pointer.(*ssa.Const); ok {
				continue
			}
			before := follows(number, call.(ssa.Instruction))
			if before && (usedAfter(call, number) || r.passes(call, number)) && !r.visible(call, pointer) {
				pointers = append(pointers, pointer)
			}
		}
	}
	return pointers
}

// visible reports whether a pointer is in the frame as such while a call goes on: it is used afterwards.
func (r *stopRules) visible(call ssa.CallInstruction, pointer ssa.Value) bool {
	if a, ok := pointer.(*ssa.Alloc); ok && !a.Heap {
		return true
	}
	switch pointer.(type) {
	case *ssa.Global, *ssa.FieldAddr, *ssa.IndexAddr, *ssa.UnOp:
		return true // of memory that others refer to, or loaded from there
	}
	if pointer.Referrers() == nil {
		return false
	}
	for _, use := range *pointer.Referrers() {
		if use != call.(ssa.Instruction) && follows(call.(ssa.Instruction), use) {
			return true
		}
	}
	return false
}

func isUnsafePointer(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Kind() == types.UnsafePointer
}
